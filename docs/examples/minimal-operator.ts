/**
 * The smallest operator: one cluster that asks for machines, answers bootstrap requests, and prints what the shard reports. A
 * real operator adds up its pending pods, answers with the kubelet's bootstrap configuration and watches Node objects.
 * docs/getting-started.md runs it; docs/writing-an-operator.md explains each part.
 *
 * A program outside of this repository imports the kit as 'flotilla/operator-kit'.
 */
import { pathToFileURL } from 'node:url';
import { bucketOfDollars, ClusterOperator, MachineState, Operator } from '../../src/operator-kit/index.ts';

const STATE_NAMES = Object.fromEntries(Object.entries(MachineState).map(([name, state]) => [state, name]));

/** Asks for `machines` machines with 16 cores. `print` takes a line. */
export function minimalOperator(
  shard: string,
  clusterId: string,
  machines: number,
  print: (line: string) => void,
) {
  const operator = new ClusterOperator({
    shard,
    clusterId,
    bootstrap: () => ({ userData: '#cloud-config: join the cluster', ttlSeconds: 600 }),
    onNode: ({ machineId, state, lastError }) =>
      print(`${machineId} ${STATE_NAMES[state]} ${lastError}`.trimEnd()),
    onReclaim: ({ nodes, graceSeconds }) => print(`drain ${nodes.join(', ')} within ${graceSeconds} s`),
    onConnected: ({ shardEpoch }) => print(`connected to epoch ${shardEpoch} of the shard`),
    onDisconnected: ({ message }) => print(message),
  });
  const zone = { key: 'topology.kubernetes.io/zone', operator: Operator.Exists, values: [] };
  const need = { requirements: [zone], aggregate: { cpu: `${16 * machines}` }, minUnit: { cpu: '16' } };
  const penalties = { interruptionPenalty: bucketOfDollars(16), reclamationPenalty: bucketOfDollars(4) };
  operator.setNeeds([{ ...need, ...penalties, priority: 1_000 }]);
  return operator;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [shard = '127.0.0.1:7780', clusterId = 'my-cluster', machines = '3'] = process.argv.slice(2);
  const operator = minimalOperator(shard, clusterId, Number(machines), console.log);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => operator.close());
  await operator.start();
}
