import { describe, expect, it } from 'vitest';
import { Pulse } from '../../../src/base/pulse.ts';
import { ProviderClient } from '../../../src/provider/client/client.ts';
import { FencingTokens } from '../../../src/provider/client/fencing.ts';
import { serveProvider } from '../../../src/simulation/provider/server.ts';
import { everyOperation } from '../../../src/simulation/provider/settings.ts';
import { encode } from '../../../src/wire/codec.ts';
import { rig, S, seed, seedIn, value } from '../../simulation/provider/fixture.ts';
import { listBatch } from '../list-batch.ts';
import { closeAfterwards, dial, serve } from './fixture.ts';
import { answer, frame, http2Server, rawServer } from './hostile-provider.ts';

const NO_BLOB = { bootstrapBlob: new Uint8Array(0), shardMetadata: {} };

describe('a client and a provider over loopback', () => {
  for (const [style, latency] of [
    ['synchronous', null],
    ['asynchronous', { meanMs: 1_000, p99Ms: 3_000 }],
  ] as const) {
    it(`takes a machine through all its states with a ${style} provider`, async () => {
      const { provider, timers } = rig({ operations: everyOperation({ latency }) }, [seed('m')]);
      const { address } = await serve(provider);
      const { reader } = dial(address);
      const isSynchronous = latency === null;
      const settled = async () => {
        timers.advance(3_600_000);
        const outcome = await reader.get({ machineId: 'm' });
        if (outcome.kind !== 'accepted') throw new Error(outcome.detail);
        return outcome.machine;
      };

      const created = await reader.create({ machineId: 'm' });
      expect(created).toMatchObject({
        kind: 'accepted',
        machine: { state: isSynchronous ? S.Idle : S.Creating },
      });
      expect(await settled()).toMatchObject({ state: S.Idle, cluster: '' });

      const shardMetadata = {
        'bigfleet.lucy.sh/assigned-priority': '1000',
        'bigfleet.lucy.sh/assigned-interruption-penalty-dollars': '+Inf',
        'bigfleet.lucy.sh/assigned-reclamation-penalty-dollars': '64',
        'bigfleet.lucy.sh/assigned-need-fingerprint': 'p=1000|…',
        'bigfleet.lucy.sh/assigned-group': '',
      };
      const bootstrapBlob = Buffer.from('secret');
      const target = { machineId: 'm', clusterId: 'blue', bootstrapBlob, shardMetadata };
      const configured = await reader.configure(target);
      const state = isSynchronous ? S.Configured : S.Configuring;
      expect(configured).toMatchObject({ kind: 'accepted', machine: { state, cluster: 'blue' } });
      expect(await settled()).toMatchObject({
        state: S.Configured,
        cluster: 'blue',
        assignment: { priority: 1_000, fingerprint: 'p=1000|…', group: '' },
      });
      expect(value(provider.get({ id: 'm' })).shardMetadata).toEqual(shardMetadata);
      expect(provider.ledger.entries('m').find(({ event }) => event === 'configure')?.blobBytes).toBe(6);

      await reader.drain({ machineId: 'm', gracePeriodSeconds: 600 });
      expect(await settled()).toMatchObject({ state: S.Idle, cluster: '', assignment: null });
      await reader.delete({ machineId: 'm' });
      expect(await settled()).toMatchObject({ state: S.Speculative, host: null });
    });
  }

  it('lists rows, removals and the cursor for the next listing', async () => {
    const { provider } = rig({}, [seed('a'), seedIn(S.Configured, 'b'), seedIn(S.Failed, 'c')]);
    const { client } = dial((await serve(provider)).address);
    const full = await listBatch(client);
    expect(full.rowCount).toBe(3);
    const { bytes, revisionStart, revisionEnd } = full;
    const sinceRevision = bytes.slice(revisionStart, revisionEnd);
    provider.world.remove('a');
    provider.world.reprice('b', 3);
    const delta = await listBatch(client, { sinceRevision });
    expect(delta.rowCount).toBe(1);
    expect(delta.pricePerHourUsd[0]).toBe(3);
    expect(delta.deletedIds.count).toBe(1);
    expect((await listBatch(client, { states: [S.Failed] })).rowCount).toBe(1);
  });

  it('names every refusal', async () => {
    const quotas = { 'small-4/zone-a/on-demand': 0 };
    const { provider } = rig({ unsupported: ['delete'], quotas }, [seed('m'), seedIn(S.Idle, 'i')]);
    const { reader } = dial((await serve(provider)).address);
    expect(await reader.get({ machineId: 'ghost' })).toMatchObject({
      kind: 'not_found',
      status: 'not_found',
    });
    expect(await reader.create({ machineId: 'ghost' })).toMatchObject({
      kind: 'not_found',
      machineId: 'ghost',
    });
    expect(await reader.get({ machineId: '' })).toMatchObject({ kind: 'invalid' });
    expect(await reader.configure({ machineId: 'i', clusterId: '', ...NO_BLOB })).toMatchObject({
      kind: 'invalid',
    });
    expect(await reader.delete({ machineId: 'i' })).toMatchObject({ kind: 'unsupported' });
    const unfit = await reader.drain({ machineId: 'm', gracePeriodSeconds: 1 });
    expect(unfit).toMatchObject({
      kind: 'other',
      status: 'aborted',
      detail: expect.stringContaining('Configured'),
    });
    const quota = await reader.create({ machineId: 'm' });
    expect(quota).toMatchObject({ kind: 'other', status: 'resource_exhausted' });
  });

  it('X8: a provider fences every mutating call of an older epoch, and no read', async () => {
    const { provider } = rig({}, [seedIn(S.Idle, 'm')]);
    const { address } = await serve(provider);
    const newer = dial(address, {}, 7);
    const older = dial(address, {}, 6);
    expect(await newer.reader.drain({ machineId: 'm', gracePeriodSeconds: 1 })).toMatchObject({
      kind: 'other',
    });
    const { reader } = older;
    for (const outcome of [
      await reader.create({ machineId: 'm' }),
      await reader.configure({ machineId: 'm', clusterId: 'blue', ...NO_BLOB }),
      await reader.drain({ machineId: 'm', gracePeriodSeconds: 1 }),
      await reader.delete({ machineId: 'm' }),
    ]) {
      expect(outcome).toMatchObject({ kind: 'fenced', machineId: 'm', status: 'failed_precondition' });
    }
    expect(await reader.get({ machineId: 'm' })).toMatchObject({ kind: 'accepted' });
    expect((await listBatch(older.client)).rowCount).toBe(1);
    expect(provider.ledger.count('create', 'started')).toBe(0);
  });

  it('a call that is executed and not answered is a timeout, and Get shows what happened', async () => {
    const { provider } = rig({ operations: { create: { silenceProbability: 1 } } }, [seed('m')]);
    const { reader } = dial((await serve(provider)).address, { callTimeoutMs: 100 });
    expect(await reader.create({ machineId: 'm' })).toMatchObject({ kind: 'timeout' });
    expect(await reader.get({ machineId: 'm' })).toMatchObject({ machine: { state: S.Idle } });
  });

  it('keeps 200 concurrent calls apart', async () => {
    const seeds = Array.from({ length: 200 }, (_, index) => seed(`m-${index}`));
    const { provider } = rig({}, seeds);
    const { reader } = dial((await serve(provider)).address);
    const outcomes = await Promise.all(seeds.map(({ id }) => reader.create({ machineId: id })));
    expect(outcomes.map((outcome) => outcome.kind === 'accepted' && outcome.machine.id)).toEqual(
      seeds.map(({ id }) => id),
    );
    const sequences = provider.ledger
      .entries()
      .filter(({ event }) => event === 'create')
      .map(({ token }) => token!.sequence);
    expect(new Set(sequences).size).toBe(200);
  });
});

describe('retries', () => {
  it('the client retries a read while the provider is unavailable, and counts the attempts', async () => {
    let callCount = 0;
    const server = closeAfterwards(
      await http2Server((stream) => {
        callCount++;
        if (callCount < 3) answer(stream, null, { 'grpc-status': '14' });
        else answer(stream, frame(encode('MachineList', { machines: [{ id: 'm', state: 1 }] })));
      }),
    );
    const { client } = dial(server.address);
    expect(await client.list()).toMatchObject({ kind: 'answered', attemptCount: 3 });
    expect(callCount).toBe(3);
  });

  it('a read fails after its last attempt, and at once if the provider refuses it', async () => {
    const codes = ['14', '14', '14', '13'];
    let callCount = 0;
    const server = closeAfterwards(
      await http2Server((stream) => answer(stream, null, { 'grpc-status': codes[callCount++]! })),
    );
    const { client } = dial(server.address);
    expect(await client.get({ machineId: 'm' })).toMatchObject({ kind: 'unavailable', attemptCount: 3 });
    expect(await client.get({ machineId: 'm' })).toMatchObject({ kind: 'other', attemptCount: 1 });
    expect(callCount).toBe(4);
  });

  it('a read does not wait beyond its deadline', async () => {
    const server = closeAfterwards(
      await http2Server((stream) => answer(stream, null, { 'grpc-status': '14' })),
    );
    const { client } = dial(server.address, { readBackoffMs: 60_000 });
    const outcome = await client.get({ machineId: 'm', deadlineUnixMs: Date.now() + 5_000 });
    expect(outcome).toMatchObject({ kind: 'unavailable', attemptCount: 1 });
  });

  for (const [code, name] of [
    [1, 'CANCELLED'],
    [4, 'DEADLINE_EXCEEDED'],
    [8, 'RESOURCE_EXHAUSTED'],
    [13, 'INTERNAL'],
    [14, 'UNAVAILABLE'],
  ] as const) {
    it(`a mutating call is sent exactly once, although the answer is ${name}`, async () => {
      let callCount = 0;
      const server = closeAfterwards(
        await http2Server((stream) => {
          callCount++;
          answer(stream, null, { 'grpc-status': String(code) });
        }),
      );
      const { client } = dial(server.address);
      const outcomes = [
        await client.create({ machineId: 'm' }),
        await client.configure({ machineId: 'm', clusterId: 'blue', ...NO_BLOB }),
        await client.drain({ machineId: 'm', gracePeriodSeconds: 1 }),
        await client.delete({ machineId: 'm' }),
      ];
      for (const outcome of outcomes) expect(outcome).toMatchObject({ attemptCount: 1, machineId: 'm' });
      expect(callCount).toBe(4);
    });
  }

  it('a mutating call is sent exactly once, although the stream is refused or the connection breaks', async () => {
    let callCount = 0;
    const server = closeAfterwards(
      await http2Server((stream, cut) => {
        if (++callCount === 1) stream.close(7);
        else cut();
      }),
    );
    const { client } = dial(server.address);
    expect(await client.create({ machineId: 'm' })).toMatchObject({ kind: 'unavailable', attemptCount: 1 });
    expect(await client.create({ machineId: 'm' })).toMatchObject({ kind: 'unavailable', attemptCount: 1 });
    expect(callCount).toBe(2);
  });
});

describe('channels', () => {
  it('open once, one for calls and one for listings, and reconnect after the provider was down', async () => {
    const { provider } = rig({}, [seed('m')]);
    const first = await serve(provider);
    const { client } = dial(first.address, { readAttemptsMax: 1 });
    for (let round = 0; round < 3; round++) {
      expect(await client.get({ machineId: 'm' })).toMatchObject({ kind: 'answered' });
      expect(await client.list()).toMatchObject({ kind: 'answered' });
    }
    await first.close();
    expect(await client.get({ machineId: 'm' })).toMatchObject({ kind: 'unavailable' });
    closeAfterwards(await serveProvider(provider, first.address));
    let outcome = await client.get({ machineId: 'm' });
    for (let wait = 0; wait < 200 && outcome.kind !== 'answered'; wait++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      outcome = await client.get({ machineId: 'm' });
    }
    expect(outcome.kind).toBe('answered');
  });

  it('use at most two connections', async () => {
    let connectionCount = 0;
    const counting = closeAfterwards(
      await rawServer((socket) => {
        connectionCount++;
        socket.resume();
      }),
    );
    const { client } = dial(counting.address, { callTimeoutMs: 150, listTimeoutMs: 150 });
    await Promise.all([
      client.get({ machineId: 'm' }),
      client.create({ machineId: 'm' }),
      client.list(),
      client.list(),
    ]);
    expect(connectionCount).toBe(2);
  });

  it('a closed client fails new calls and lets those in flight finish', async () => {
    const arrived: (() => void)[] = [];
    const server = closeAfterwards(
      await http2Server((stream) => arrived.push(() => answer(stream, frame(encode('MachineList', {}))))),
    );
    const { client } = dial(server.address);
    const underWay = client.list();
    while (arrived.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    client.close();
    expect(await client.create({ machineId: 'm' })).toMatchObject({ kind: 'unavailable' });
    arrived[0]!();
    expect(await underWay).toMatchObject({ kind: 'answered' });
  });
});

describe('a process that stood still', () => {
  const STALL_MS = 50;
  const standStill = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * STALL_MS);

  it('X16: sends no call that it decided before', async () => {
    const { provider } = rig({}, [seed('m')]);
    const { address } = await serve(provider);
    const pulse = Pulse.create(STALL_MS);
    const tokens = FencingTokens.create('shard-1', 1, pulse);
    const client = closeAfterwards(new ProviderClient({ name: 'p', address }, tokens));
    expect(await client.get({ machineId: 'm' })).toMatchObject({ kind: 'answered' }); // connected
    pulse.beat();
    const stretch = pulse.stretch;
    standStill();
    // The sender runs before the main loop has noticed, and then after it.
    expect(await client.create({ machineId: 'm', stretch })).toMatchObject({ kind: 'held' });
    pulse.beat();
    expect(await client.create({ machineId: 'm', stretch })).toMatchObject({ kind: 'held' });
    pulse.beat();
    expect(tokens.take().sequenceNumber).toBe(1);
    pulse.beat();
    expect(await client.create({ machineId: 'm', stretch: pulse.stretch })).toMatchObject({
      kind: 'answered',
    });
  });

  it('X16: does not leave a call to the library until there is a connection', async () => {
    const { provider } = rig({}, [seed('m')]);
    const { address } = await serve(provider);
    const pulse = Pulse.create(STALL_MS);
    const tokens = FencingTokens.create('shard-1', 1, pulse);
    const client = closeAfterwards(new ProviderClient({ name: 'p', address }, tokens));
    // The client is not connected yet. By the time it is, the process has stood still.
    const created = client.create({ machineId: 'm', stretch: pulse.stretch });
    standStill();
    expect(await created).toMatchObject({ kind: 'held' });
    expect(provider.ledger.count('create')).toBe(0);
  });
});
