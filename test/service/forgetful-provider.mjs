/**
 * A provider whose cursor is a count that restarts with the process: it takes the cursor of an earlier process for one of its
 * own and answers that nothing changed. `node forgetful-provider.mjs ADDRESS ID…` prints its address, and then one line for
 * each List: `full` or `since`.
 */
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import { capacityProviderService } from '../../dist/src/wire/services.js';

const [address, ...ids] = process.argv.slice(2);
const machines = ids.map((id) => ({
  id,
  state: 3,
  host: { provider: 'forgetful', ref: id },
  instanceType: 'a',
  zone: 'z1',
  capacityType: 2,
  pricePerHour: 1,
  resources: { resources: { cpu: '4', memory: '16Gi' } },
}));

function list({ request }, answer) {
  const isFull = (request.sinceRevision?.length ?? 0) === 0;
  console.log(isFull ? 'full' : 'since');
  answer(null, { machines: isFull ? machines : [], revision: Buffer.from('1') });
}

const refuse = (_call, answer) => answer({ code: status.UNIMPLEMENTED, details: 'not here' });

const server = new Server();
server.addService(capacityProviderService, {
  List: list,
  Get: ({ request }, answer) => {
    const machine = machines.find(({ id }) => id === request.id);
    if (machine === undefined) answer({ code: status.NOT_FOUND, details: 'no such machine' });
    else answer(null, machine);
  },
  Create: refuse,
  Configure: refuse,
  Drain: refuse,
  Delete: refuse,
});
server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  console.log(`listening on ${address.replace(/:\d+$/, `:${port}`)}`);
});
