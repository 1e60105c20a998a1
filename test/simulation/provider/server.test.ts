import { Client, credentials, status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { ALL_STATES } from '../../../src/machine/state.ts';
import type { SimulatedProvider } from '../../../src/simulation/provider/provider.ts';
import { SimulatedProvider as Provider } from '../../../src/simulation/provider/provider.ts';
import {
  CannotListenError,
  type ProviderCalls,
  type ServedProvider,
  type ServeOptions,
  serveProvider,
} from '../../../src/simulation/provider/server.ts';
import { everyOperation } from '../../../src/simulation/provider/settings.ts';
import { systemTimers } from '../../../src/simulation/provider/timers.ts';
import { encode } from '../../../src/wire/codec.ts';
import { rig, S, Shard, seed, seedIn, value } from './fixture.ts';
import { call } from './grpc-call.ts';

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function connect(
  provider: ProviderCalls,
  options: ServeOptions = {},
): Promise<{ served: ServedProvider; client: Client }> {
  const served = await serveProvider(provider, '127.0.0.1:0', { closeGraceMs: 50, ...options });
  closing.push(() => served.close());
  const client = new Client(served.address, credentials.createInsecure());
  closing.push(() => client.close());
  return { served, client };
}

const CREATE = ['CreateRequest', 'TransitionAck'] as const;
const LIST = ['ListFilter', 'MachineList'] as const;
const GET = ['MachineRef', 'Machine'] as const;

/** Two machines of every state, with prices, errors and bindings, so that all fields are used. */
function everything(): SimulatedProvider {
  return rig(
    {},
    ALL_STATES.flatMap((state) => [seedIn(state, `a-${state}`), seedIn(state, `b-${state}`)]),
  ).provider;
}

describe('a provider behind gRPC', () => {
  it('lists over the wire exactly what it lists in memory', async () => {
    const provider = everything();
    const { client } = await connect(provider);
    const overWire = await call(client, 'List', LIST, {});
    const { machines, revision } = value(provider.list());
    expect(overWire.machines).toEqual(machines);
    expect(Buffer.from(overWire.revision)).toEqual(Buffer.from(revision));
  });

  it('applies filter, limit and cursor over the wire, and names removals', async () => {
    const provider = everything();
    const { client } = await connect(provider);
    const failed = await call(client, 'List', LIST, { states: [S.Failed] });
    expect(failed.machines.map(({ id }) => id)).toEqual(['a-8', 'b-8']);
    const page = await call(client, 'List', LIST, { maxResults: 3 });
    expect(page.machines).toHaveLength(3);
    const { revision } = await call(client, 'List', LIST, {});
    provider.world.remove('a-3');
    provider.world.reprice('b-1', 7);
    const delta = await call(client, 'List', LIST, { sinceRevision: revision });
    expect(delta.machines.map(({ id }) => id)).toEqual(['b-1']);
    expect(delta.deletedIds).toEqual(['a-3']);
  });

  it('moves a machine through its lifecycle and shows it alike in ack, Get and List', async () => {
    const { provider } = rig({}, [seed('m')]);
    const { client } = await connect(provider);
    const shard = new Shard();
    const token = () => shard.next('m') as { machineId: string; shardEpoch: number; sequenceNumber: number };
    await call(client, 'Create', CREATE, token());
    const configure = ['ConfigureRequest', 'TransitionAck'] as const;
    const shardMetadata = { 'x/y': '+Inf', empty: '' };
    const ack = await call(client, 'Configure', configure, { ...token(), clusterId: 'blue', shardMetadata });
    expect(ack.machine).toMatchObject({ state: S.Configured, cluster: 'blue', shardMetadata });
    expect(await call(client, 'Get', GET, { id: 'm' })).toEqual(ack.machine);
    expect((await call(client, 'List', LIST, {})).machines).toEqual([ack.machine]);
    const drain = ['DrainRequest', 'TransitionAck'] as const;
    const drained = await call(client, 'Drain', drain, { ...token(), gracePeriodSeconds: 5 });
    expect(drained.machine).toMatchObject({ state: S.Idle, cluster: '', shardMetadata: {} });
    const deleted = await call(client, 'Delete', ['DeleteRequest', 'TransitionAck'] as const, token());
    expect(deleted.machine).toMatchObject({ state: S.Speculative, host: null });
  });

  it('delays the answers to lifecycle calls if configured, but carries them out at once', async () => {
    const { provider } = rig({}, [seed('m')]);
    const { client } = await connect(provider, { answerDelayMs: () => 200 });
    const startedMs = performance.now();
    const created = await call(client, 'Create', CREATE, { machineId: 'm' });
    expect(created.machine).toMatchObject({ state: S.Idle });
    expect(performance.now() - startedMs).toBeGreaterThan(195); // timers are never early by more
  });

  it('finishes an operation later if it is asynchronous', async () => {
    const provider = new Provider({
      settings: { operations: everyOperation({ latency: { meanMs: 20, p99Ms: 40 } }) },
      timers: systemTimers,
    });
    closing.push(() => provider.close());
    provider.add(seed('m'));
    const { client } = await connect(provider);
    const ack = await call(client, 'Create', CREATE, { machineId: 'm' });
    expect(ack.machine?.state).toBe(S.Creating);
    const giveUpMs = Date.now() + 10_000;
    let state: number = S.Creating;
    while (state === S.Creating && Date.now() < giveUpMs) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      state = (await call(client, 'Get', GET, { id: 'm' })).state;
    }
    expect(state).toBe(S.Idle);
  });

  for (const [what, method, message, code] of [
    ['an unknown machine', 'Get', { id: 'ghost' }, status.NOT_FOUND],
    ['an empty id', 'Get', {}, status.INVALID_ARGUMENT],
    ['an unsupported operation', 'Delete', { machineId: 'm' }, status.UNIMPLEMENTED],
    ['a call that the state does not allow', 'Drain', { machineId: 'm' }, status.ABORTED],
    ['an exhausted quota', 'Create', { machineId: 'm' }, status.RESOURCE_EXHAUSTED],
    [
      'a stale token',
      'Create',
      { machineId: 'm', shardId: 's', sequenceNumber: 0 },
      status.FAILED_PRECONDITION,
    ],
  ] as const) {
    it(`answers ${what} with ${status[code]}`, async () => {
      const quotas = { 'small-4/zone-a/on-demand': 0 };
      const { provider } = rig({ unsupported: ['delete'], quotas }, [seed('m')]);
      provider.create({ machineId: 'm', shardId: 's', shardEpoch: 0, sequenceNumber: 0 });
      const { client } = await connect(provider);
      const types = method === 'Get' ? GET : CREATE;
      const request = method === 'Delete' ? encode('DeleteRequest', message) : encode(types[0], message);
      await expect(call(client, method, types, request)).rejects.toMatchObject({ code });
    });
  }

  it('reads tokens beyond 2^53 exactly', async () => {
    const { provider } = rig({}, [seed('m')]);
    const { client } = await connect(provider);
    // Field 3 "s", field 4 varint 2^53 and 2^53 + 1, field 5 varint 1.
    const request = (low: number) =>
      Buffer.concat([
        encode('CreateRequest', { machineId: 'm', shardId: 's' }),
        Buffer.from([0x20, 0x80 | low, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10, 0x28, 1]),
      ]);
    await call(client, 'Create', CREATE, request(1));
    await expect(call(client, 'Create', CREATE, request(0))).rejects.toMatchObject({
      code: status.FAILED_PRECONDITION,
    });
    expect(provider.ledger.entries('m')[0]?.token?.epoch).toBe(2n ** 53n + 1n);
  });

  it('leaves a call without an answer open until its deadline, and still closes', async () => {
    const { provider } = rig({ operations: { create: { silenceProbability: 1 } } }, [seed('m')]);
    const { client, served } = await connect(provider);
    const answer = call(client, 'Create', CREATE, { machineId: 'm' }, 100);
    await expect(answer).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
    expect(value(provider.get({ id: 'm' })).state).toBe(S.Idle);
    const open = call(client, 'Create', CREATE, { machineId: 'm' }, 60_000);
    const ended = expect(open).rejects.toMatchObject({ code: expect.any(Number) });
    while (provider.ledger.count('create') < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    await served.close();
    await ended;
  });

  it('names the address on which it could not listen', async () => {
    const { served } = await connect(everything());
    await expect(serveProvider(everything(), served.address)).rejects.toThrow(CannotListenError);
    await expect(serveProvider(everything(), '127.0.0.1:99999')).rejects.toThrow('127.0.0.1:99999');
  });
});
