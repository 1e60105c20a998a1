import { describe, expect, it } from 'vitest';
import type { SimulatedProvider } from '../../../src/simulation/provider/provider.ts';
import { everyOperation } from '../../../src/simulation/provider/settings.ts';
import { rig, S, seed, seedIn, value } from '../../simulation/provider/fixture.ts';
import { serve } from '../client/fixture.ts';
import { accepted, hasSettled, LATER_MS, later, startPool, withSilence } from './fixture.ts';

const SHARD_METADATA = {
  'bigfleet.lucy.sh/assigned-priority': '1000',
  'bigfleet.lucy.sh/assigned-interruption-penalty-dollars': '+Inf',
  'bigfleet.lucy.sh/assigned-reclamation-penalty-dollars': '64',
  'bigfleet.lucy.sh/assigned-need-fingerprint': 'p=1000|…',
  'bigfleet.lucy.sh/assigned-group': '',
};

describe('calls from threads', () => {
  for (const [style, latency] of [
    ['synchronous', null],
    ['asynchronous', { meanMs: 1_000, p99Ms: 3_000 }],
  ] as const) {
    it(`takes a machine through all its states with a ${style} provider`, async () => {
      const { provider, timers } = rig({ operations: everyOperation({ latency }) }, [seed('m')]);
      const { pool } = startPool([(await serve(provider)).address]);
      const machineId = 'm';
      const settled = async () => {
        timers.advance(3_600_000);
        return accepted(await pool.read({ ...later(), machineId })).machine;
      };
      const isInstant = latency === null;
      const created = await pool.call({ ...later(), kind: 'create', machineId });
      expect(accepted(created).machine.state).toBe(isInstant ? S.Idle : S.Creating);
      expect(await settled()).toMatchObject({ id: 'm', state: S.Idle, cluster: '', assignment: null });
      const configured = await pool.call({
        ...later(),
        kind: 'configure',
        machineId,
        clusterId: 'blue',
        bootstrapBlob: Buffer.from('secret'),
        shardMetadata: SHARD_METADATA,
      });
      expect(accepted(configured).machine.state).toBe(isInstant ? S.Configured : S.Configuring);
      expect(await settled()).toMatchObject({
        state: S.Configured,
        cluster: 'blue',
        instanceType: 'small-4',
        labels: { 'topology.kubernetes.io/rack': 'r1', 'kubernetes.io/arch': 'amd64' },
        capacity: { cpu: 3_900, memory: 15 * 1024 ** 2 },
        assignment: { priority: 1_000, fingerprint: 'p=1000|…', group: '', interruptionPenalty: 27 },
      });
      expect(value(provider.get({ id: 'm' })).shardMetadata).toEqual(SHARD_METADATA);
      expect(provider.ledger.entries('m').find(({ event }) => event === 'configure')?.blobBytes).toBe(6);
      await pool.call({ ...later(), kind: 'drain', machineId, graceSeconds: 600 });
      expect(await settled()).toMatchObject({ state: S.Idle, cluster: '', assignment: null });
      await pool.call({ ...later(), kind: 'delete', machineId });
      expect(await settled()).toMatchObject({ state: S.Speculative, host: null });
    });
  }

  for (const [place, byMs] of [
    ['behind', -3_600_000],
    ['ahead of', 3_600_000],
  ] as const) {
    it(`keeps deadlines of a clock that is an hour ${place} the wall clock`, async () => {
      const { provider } = rig({}, [seed('m'), seed('slow')]);
      const clock = { nowMs: () => Date.now() + byMs };
      const { pool } = startPool([(await serve(withSilence(provider))).address], { clock });
      const within = (ms: number) => ({ provider: 0, deadlineUnixMs: clock.nowMs() + ms });
      accepted(await pool.call({ ...within(LATER_MS), kind: 'create', machineId: 'm' }));
      accepted(await pool.read({ ...within(LATER_MS), machineId: 'm' }));
      const listed = await pool.list({ ...within(LATER_MS), sinceRevision: new Uint8Array(0) });
      expect(listed.kind).toBe('listed');
      const late = await pool.call({ ...within(300), kind: 'create', machineId: 'slow' });
      expect(late.kind).toBe('timeout');
    });
  }

  it('names every refusal', async () => {
    const quotas = { 'small-4/zone-a/on-demand': 0 };
    const { provider } = rig({ unsupported: ['delete'], quotas }, [seed('m'), seedIn(S.Idle, 'i')]);
    const { pool } = startPool([(await serve(provider)).address]);
    const kinds = await Promise.all([
      pool.read({ ...later(), machineId: 'ghost' }),
      pool.read({ ...later(), machineId: '' }),
      pool.call({ ...later(), kind: 'delete', machineId: 'i' }),
      pool.call({ ...later(), kind: 'create', machineId: 'm' }),
    ]);
    expect(kinds.map(({ kind }) => kind)).toEqual(['not_found', 'invalid', 'unsupported', 'other']);
  });

  it('X8: a newer epoch fences this one; reads still work', async () => {
    const { provider } = rig({}, [seedIn(S.Idle, 'm')]);
    provider.delete({ machineId: 'm', shardId: 'shard-1', shardEpoch: 2, sequenceNumber: 1 });
    const { pool } = startPool([(await serve(provider)).address]);
    expect(await pool.call({ ...later(), kind: 'delete', machineId: 'm' })).toMatchObject({ kind: 'fenced' });
    expect((await pool.read({ ...later(), machineId: 'm' })).kind).toBe('accepted');
  });

  it('V1: reports which rule a malformed record breaks', async () => {
    const { provider } = rig({}, [seed('m', { pricePerHourUsd: 0.5 })]);
    const odd = Object.assign(Object.create(provider) as SimulatedProvider, {
      get: (call: { id: string }) => {
        const answer = provider.get(call);
        return answer.kind === 'ok' ? { ...answer, value: { ...answer.value, pricePerHour: -1 } } : answer;
      },
    });
    const { pool } = startPool([(await serve(odd)).address]);
    expect(await pool.read({ ...later(), machineId: 'm' })).toMatchObject({
      kind: 'malformed',
      reason: 'price',
    });
  });

  it('a call that hangs delays no other in its batch', async () => {
    const ids = Array.from({ length: 40 }, (_, index) => (index % 4 === 0 ? `slow-${index}` : `m-${index}`));
    const { provider } = rig(
      {},
      ids.map((id) => seed(id)),
    );
    const { pool } = startPool([(await serve(withSilence(provider))).address]);
    const calls = ids.map((machineId) => pool.call({ ...later(), kind: 'create', machineId }));
    const fast = calls.filter((_, index) => index % 4 !== 0);
    for (const answer of await Promise.all(fast)) accepted(answer);
    const slow = calls.filter((_, index) => index % 4 === 0);
    for (const call of slow) expect(await hasSettled(call)).toBe(false);
    expect(pool.openCount).toBe(slow.length);
    await pool.close({ graceMs: 0 });
    for (const answer of await Promise.all(slow)) expect(answer.kind).toBe('timeout');
  });

  it('keeps hundreds of calls apart on two threads, each with its own token', async () => {
    const seeds = Array.from({ length: 300 }, (_, index) => seed(`m-${index}`));
    const { provider } = rig({}, seeds);
    const { pool } = startPool([(await serve(provider)).address], { threads: 2 });
    const answers = await Promise.all(
      seeds.map(({ id }) => pool.call({ ...later(), kind: 'create', machineId: id })),
    );
    expect(answers.map((answer) => accepted(answer).machine.id)).toEqual(seeds.map(({ id }) => id));
    const sequences = provider.ledger
      .entries()
      .filter(({ event }) => event === 'create')
      .map(({ token }) => token!.sequence);
    expect(sequences.length).toBe(300);
    expect(new Set(sequences).size).toBe(300);
    expect(pool.openCount).toBe(0);
  });

  it('calls the provider that a call names', async () => {
    const first = rig({}, [seed('a')]);
    const second = rig({}, [seed('b')]);
    const addresses = [await serve(first.provider), await serve(second.provider)].map(
      ({ address }) => address,
    );
    const { pool } = startPool(addresses);
    expect(pool.names).toEqual(['p0', 'p1']);
    expect((await pool.read({ ...later(), provider: 1, machineId: 'b' })).kind).toBe('accepted');
    expect((await pool.read({ ...later(), provider: 0, machineId: 'b' })).kind).toBe('not_found');
  });

  it('X3: a read never waits behind an execute, and executes beyond their slots wait', async () => {
    const { provider } = rig({}, [seed('m')]);
    const { pool } = startPool([(await serve(withSilence(provider))).address], {
      executeConcurrency: 2,
      readSlots: 1,
    });
    const calls = Array.from({ length: 6 }, (_, index) =>
      pool.call({ ...later(), kind: 'create', machineId: `slow-${index}` }),
    );
    for (let round = 0; round < 3; round++) {
      expect((await pool.read({ ...later(), machineId: 'm' })).kind).toBe('accepted');
    }
    expect(pool.waitingCount).toBe(4);
    await pool.close({ graceMs: 0 });
    const kinds = (await Promise.all(calls)).map(({ kind }) => kind);
    expect(kinds).toEqual(['timeout', 'timeout', 'unavailable', 'unavailable', 'unavailable', 'unavailable']);
  });
});
