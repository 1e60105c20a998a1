/** The example as a real process: killed in the middle of its work and started again, it loses nothing. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ChannelCredentials, Client, status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { MachineState } from '../../src/machine/state.ts';
import { UnusableStateError } from '../../src/provider-kit/errors.ts';
import { StateLog } from '../../src/provider-kit/state-log.ts';
import { toPlain } from '../../src/wire/codec.ts';
import { capacityProviderService as calls } from '../../src/wire/services.ts';

const EXAMPLE = fileURLToPath(new URL('../../dist/docs/examples/minimal-provider.js', import.meta.url));
const STATE_FILE = 'provider-state.jsonl';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'flotilla-kit-'));
  closers.push(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function example(stateDir: string, workMs: number) {
  const child = spawn(process.execPath, [EXAMPLE, '127.0.0.1:0', stateDir, `${workMs}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  closers.push(() => child.kill('SIGKILL'));
  const address = await new Promise<string>((resolve) =>
    createInterface(child.stdout).once('line', (line) => resolve(line.slice('listening on '.length))),
  );
  const client = new Client(address, ChannelCredentials.createInsecure());
  closers.push(() => client.close());
  const kill = async () => {
    child.kill('SIGKILL');
    await exited;
  };
  return { client, kill };
}

type Calls = typeof calls;

/** The answer as a plain object, or the name of the status. */
function ask<Name extends keyof Calls>(
  client: Client,
  name: Name,
  request: object,
): Promise<Record<string, unknown> | string> {
  const { path, requestSerialize, responseDeserialize } = calls[name];
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      path,
      requestSerialize as (request: object) => Buffer,
      responseDeserialize as (bytes: Buffer) => object,
      request,
      (error, answer) => resolve(error === null ? { ...answer! } : status[error.code]),
    );
  });
}

async function machine(client: Client, id: string) {
  const { path, requestSerialize, responseDeserialize } = calls.Get;
  return new Promise<ReturnType<typeof toPlain<'Machine'>>>((resolve, reject) => {
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, { id }, (error, answer) =>
      error === null ? resolve(toPlain('Machine', answer!)) : reject(error),
    );
  });
}

const S = MachineState;
const token = (sequenceNumber: number) => ({ shardId: 'shard-0', shardEpoch: 7, sequenceNumber });
const binding = {
  clusterId: 'blue',
  shardMetadata: { 'need/group': 'a, "b"' },
  bootstrapBlob: Buffer.from('secret-blob'),
};

describe('a kit provider that is killed with SIGKILL and started again', () => {
  it('keeps marks, bindings and operation ids, goes on with its work, and has stored no blob', async () => {
    const stateDir = folder();
    const first = await example(stateDir, 20);
    const configured = await ask(first.client, 'Configure', { machineId: 'm-5', ...binding, ...token(4) });
    await expect.poll(async () => (await machine(first.client, 'm-5')).state).toBe(S.Configured);
    await first.kill();

    const slow = await example(stateDir, 600_000);
    expect(await machine(slow.client, 'm-5')).toMatchObject({
      state: S.Configured,
      cluster: 'blue',
      shardMetadata: binding.shardMetadata,
    });
    // The mark is there: the same token is refused. A newer one finds the same operation.
    expect(await ask(slow.client, 'Configure', { machineId: 'm-5', ...binding, ...token(4) })).toBe(
      'FAILED_PRECONDITION',
    );
    const repeated = await ask(slow.client, 'Configure', { machineId: 'm-5', ...binding, ...token(5) });
    expect(repeated).toMatchObject({ operationId: (configured as Record<string, unknown>).operationId });
    const creating = await ask(slow.client, 'Create', { machineId: 'm-1', ...token(1) });
    await ask(slow.client, 'Configure', { machineId: 'm-6', ...binding, ...token(1) });
    await slow.kill(); // with a Create and a Configure in progress

    const second = await example(stateDir, 20);
    await expect.poll(async () => (await machine(second.client, 'm-1')).state).toBe(S.Idle);
    const again = await ask(second.client, 'Create', { machineId: 'm-1', ...token(2) });
    expect(again).toMatchObject({ operationId: (creating as Record<string, unknown>).operationId });
    const interrupted = await machine(second.client, 'm-6');
    expect(interrupted).toMatchObject({ state: S.Failed, cluster: 'blue' });
    expect(interrupted.lastError).toContain('bootstrap blobs are not stored');
    const stored = readFileSync(join(stateDir, STATE_FILE), 'utf8');
    expect(stored).toContain('shard-0');
    expect(stored).not.toContain('secret-blob');
    expect(stored).not.toContain(Buffer.from('secret-blob').toString('base64'));
    await second.kill();
  });
});

const ENTRY = { machine: 'm-1', marks: { 'shard-0': '7.1' } };

describe('the state of a provider', () => {
  const opened = (path: string) => StateLog.open(path, 'kit', () => [ENTRY]);

  it('refuses a second process', async () => {
    const path = folder();
    const { log } = await opened(path);
    await expect(opened(path)).rejects.toThrow('another running process uses it');
    await log.close();
    await (await opened(path)).log.close();
  });

  it('drops a last line that is cut off, refuses a damaged one before it, and another provider', async () => {
    const path = folder();
    const { log } = await opened(path);
    for (const sequence of [2, 3]) {
      log.append({ machine: 'm-2', marks: { 'shard-0': `7.${sequence}` } });
      await log.flush();
    }
    await log.close();
    const file = join(path, STATE_FILE);
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.slice(0, -5));
    const { log: next, entries } = await opened(path);
    expect(entries).toEqual([ENTRY, { machine: 'm-2', marks: { 'shard-0': '7.2' } }]);
    await next.close();
    await expect(StateLog.open(path, 'other', () => [])).rejects.toThrow('another name');
    writeFileSync(file, text.replace('7.1', '6.1'));
    await expect(opened(path)).rejects.toThrow(UnusableStateError);
    await expect(opened(path)).rejects.toThrow('line 2 is damaged');
  });
});
