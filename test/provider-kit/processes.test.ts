/** `flotilla processes`: blobs are run as scripts, drained in order, and gone; a killed provider finds them again. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ChannelCredentials, Client, status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { MachineState } from '../../src/machine/state.ts';
import { toPlain } from '../../src/wire/codec.ts';
import type { Machine } from '../../src/wire/protocol.generated.ts';
import { capacityProviderService as calls } from '../../src/wire/services.ts';
import { Processes, until } from '../service/processes.ts';

const S = MachineState;
let processes = new Processes();
const clients: Client[] = [];
const pids: number[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await processes.end();
  for (const pid of pids.splice(0)) {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {} // it has ended, as it should
  }
  processes = new Processes();
});

async function provider(stateDir: string) {
  const program = processes.start(
    'processes',
    '--listen',
    '127.0.0.1:0',
    '--machines',
    '4',
    '--state-dir',
    stateDir,
  );
  const address = (await program.firstLine).slice('listening on '.length);
  const client = new Client(address, ChannelCredentials.createInsecure());
  clients.push(client);
  return { program, client };
}

function machines(client: Client): Promise<Machine[]> {
  const { path, requestSerialize, responseDeserialize } = calls.List;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, {}, (error, list) =>
      error === null ? resolve(list!.machines.map((machine) => toPlain('Machine', machine))) : reject(error),
    );
  });
}

function move(
  client: Client,
  name: 'Create' | 'Configure' | 'Drain' | 'Delete',
  request: object,
): Promise<string> {
  const { path, requestSerialize, responseDeserialize } = calls[name];
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      path,
      requestSerialize as (request: object) => Buffer,
      responseDeserialize,
      request,
      (error) => resolve(error === null ? 'OK' : status[error.code]),
    );
  });
}

async function inState(client: Client, id: string, state: number): Promise<Machine> {
  const find = async () => (await machines(client)).find((machine) => machine.id === id)!;
  return until(`${id} in state ${state}`, find, (machine) => machine.state === state);
}

function isAlive(pid: number): boolean {
  return existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

/** Writes its process id, and a word when it is told to end. It ends by itself after two minutes. */
const script = (file: string) =>
  Buffer.from(
    `trap 'echo drained >> ${file}; exit 0' TERM\necho $$ $FLOTILLA_MACHINE $FLOTILLA_CLUSTER > ${file}\n` +
      'n=0; while [ $n -lt 120 ]; do n=$((n+1)); sleep 1 & wait $!; done\n',
  );

async function scriptIn(file: string): Promise<{ pid: number; line: string }> {
  const line = await until(
    'the script has written its line',
    () => (existsSync(file) ? readFileSync(file, 'utf8') : ''),
    (text) => text.includes('\n'),
  );
  const pid = Number(line.split(' ')[0]);
  pids.push(pid);
  return { pid, line };
}

describe('flotilla processes', () => {
  it('runs a blob, finds it again after a SIGKILL, drains it in order and deletes the machine', async () => {
    const stateDir = processes.folder();
    const file = join(stateDir, 'script.txt');
    const first = await provider(stateDir);
    const [{ id: machineId } = { id: '' }, { id: broken } = { id: '' }] = await machines(first.client);
    expect(await move(first.client, 'Create', { machineId })).toBe('OK');
    await inState(first.client, machineId, S.Idle);
    expect(
      await move(first.client, 'Configure', { machineId, clusterId: "o'clock", bootstrapBlob: script(file) }),
    ).toBe('OK');
    await inState(first.client, machineId, S.Configured);
    const { pid, line } = await scriptIn(file);
    expect(line.trim()).toBe(`${pid} ${machineId} o'clock`);
    expect(isAlive(pid)).toBe(true);

    await move(first.client, 'Create', { machineId: broken });
    await inState(first.client, broken, S.Idle);
    await move(first.client, 'Configure', {
      machineId: broken,
      clusterId: 'blue',
      bootstrapBlob: Buffer.from('exit 3\n'),
    });
    expect((await inState(first.client, broken, S.Failed)).lastError).toContain('exit code 3');

    first.program.child.kill('SIGKILL');
    await first.program.exited;
    expect(isAlive(pid)).toBe(true);
    const second = await provider(stateDir);
    expect(await inState(second.client, machineId, S.Configured)).toMatchObject({ cluster: "o'clock" });
    expect(second.program.output.join('\n')).toContain(`${machineId} still runs for o'clock: process ${pid}`);

    await move(second.client, 'Drain', { machineId, gracePeriodSeconds: 60 });
    await inState(second.client, machineId, S.Idle);
    expect(isAlive(pid)).toBe(false);
    expect(readFileSync(file, 'utf8')).toContain('drained'); // by SIGTERM, not killed
    await move(second.client, 'Delete', { machineId });
    await inState(second.client, machineId, S.Speculative);

    writeFileSync(file, '');
    await move(second.client, 'Create', { machineId });
    await inState(second.client, machineId, S.Idle);
    await move(second.client, 'Configure', { machineId, clusterId: 'blue', bootstrapBlob: script(file) });
    await inState(second.client, machineId, S.Configured);
    const { pid: last } = await scriptIn(file);
    second.program.child.kill('SIGTERM');
    expect(await second.program.exited).toBe(0);
    expect(isAlive(last)).toBe(false); // a provider that is stopped leaves no process
    const third = await provider(stateDir);
    expect((await machines(third.client)).map(({ state }) => state)).toEqual([
      S.Speculative,
      S.Speculative,
      S.Speculative,
      S.Speculative,
    ]);
    third.program.child.kill('SIGTERM');
    expect(await third.program.exited).toBe(0);
  });
});
