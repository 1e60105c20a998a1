/** X1–X13: how actions end, and what happens to a machine whose action failed. */
import { describe, expect, it } from 'vitest';
import { Flag, Intent } from '../../src/inventory/intent.ts';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import type { Action } from '../../src/shard/execute/action.ts';
import { FairSlots } from '../../src/shard/execute/fair-slots.ts';
import { WaitingActions } from '../../src/shard/execute/waiting-actions.ts';
import { everyOperation } from '../../src/simulation/provider/settings.ts';
import { Fixture, machine, machines, need, S } from './fixture.ts';

/** Calls take two seconds, so that actions wait for slots. */
const SLOW_CALLS = { delayMsMean: 2_000, requestLoss: 0, answerLoss: 0, noticedShare: 0 };
const HANGING = everyOperation({ latency: { meanMs: 1_000, p99Ms: 1_100 }, hangProbability: 1 });

describe('X2: stale actions', () => {
  it('X2: end without a call when the need is withdrawn while they wait', async () => {
    const fixture = new Fixture({
      machines: machines(6, 'm'),
      demand: { c1: [need(6)] },
      settings: { executeConcurrency: 1, hasRollupGuard: false },
    });
    fixture.world.network.faults = SLOW_CALLS;
    await fixture.run(12);
    fixture.world.setDemand(fixture.cluster(), []);
    await fixture.run(60);
    expect(fixture.outcomes('Provision')).toContain('stale_state');
    expect(fixture.started('create').length).toBeLessThan(6);
  });

  it('X5: return the machine to Idle when the need is withdrawn before the call', async () => {
    const fixture = new Fixture({
      machines: [machine('m', { state: S.Idle })],
      demand: { c1: [need(1)] },
      settings: { hasRollupGuard: false },
    });
    fixture.cluster().faults = { delayMsMean: 4_000, blobError: 0, blobSilence: 0 };
    await fixture.run(1);
    expect(fixture.known('m')).toBe('Configuring');
    fixture.world.setDemand(fixture.cluster(), []);
    await fixture.run(60);
    expect(fixture.outcomes('Bootstrap')).toEqual(['stale_state']);
    expect(fixture.asked('configure')).toHaveLength(0);
    expect(fixture.known('m')).toBe('Idle');
  });
});

describe('X3: the queue', () => {
  it('X3: holds twice the concurrency, lets other bindings wait, and never exceeds the concurrency in flight', async () => {
    const fixture = new Fixture({
      machines: machines(50, 'm', { state: S.Idle }),
      demand: { c1: [need(50)] },
      settings: { executeConcurrency: 4 },
      provider: { operations: { configure: { silenceProbability: 1 } } },
    });
    let inFlightMax = 0;
    await fixture.world.time.advance(5_000, () => {
      inFlightMax = Math.max(inFlightMax, fixture.shard.executor.inFlight);
    });
    expect(inFlightMax).toBe(4);
    const { executor, counters } = fixture.shard;
    expect(executor.queueDepth).toBeLessThanOrEqual(8);
    expect(executor.queueDepth + executor.inFlight + executor.waitingCount).toBe(50);
    expect(counters.actionsDropped).toBe(0);
  });

  it('X3: begins waiting bindings by priority, clusters take turns, and one that has its share goes last', () => {
    const waiting = new WaitingActions();
    const action = (slot: number, clusterId: string, priority: number) =>
      ({ slot, clusterId, provider: 0, assignment: { priority } }) as Action;
    for (const [slot, clusterId, priority] of [
      [1, 'a', 10],
      [2, 'a', 10],
      [3, 'b', 10],
      [4, 'c', 20],
      [5, 'c', 20],
      [6, 'd', 5],
    ] as const) {
      waiting.add(action(slot, clusterId, priority));
    }
    expect(waiting.remove(2)?.clusterId).toBe('a');
    waiting.add(action(2, 'd', 5));
    expect(waiting.take((cluster) => cluster === 'c')?.slot).toBe(1);
    const order = Array.from({ length: 6 }, () => waiting.take(() => false)?.slot);
    expect(order).toEqual([4, 5, 3, 6, 2, undefined]);
    expect(waiting.count).toBe(0);
  });

  it('X3: withdraws a waiting binding when its need wants fewer machines', async () => {
    const fixture = new Fixture({
      machines: machines(30, 'm', { state: S.Idle }),
      demand: { c1: [need(30)] },
      settings: { executeConcurrency: 1, hasRollupGuard: false },
    });
    fixture.world.network.faults = SLOW_CALLS;
    await fixture.run(12);
    expect(fixture.shard.executor.waitingCount).toBeGreaterThan(20);
    fixture.world.setDemand(fixture.cluster(), [need(6)]);
    await fixture.run(120);
    expect(fixture.started('configure').length).toBeLessThan(12);
    expect(fixture.shard.executor.waitingCount).toBe(0);
    expect(fixture.shard.counters.actionsWithdrawn).toBeGreaterThan(10);
  });

  it('X3, P1: a need of higher priority gets the machines of bindings that wait, and nothing is drained', async () => {
    const fixture = new Fixture({
      machines: machines(20, 'm', { state: S.Idle }),
      demand: { c1: [need(20, { priority: 10 })], c2: [] },
      settings: { executeConcurrency: 1 },
    });
    fixture.world.network.faults = SLOW_CALLS;
    await fixture.run(12);
    fixture.world.setDemand(fixture.cluster('c2'), [need(5, { priority: 1_000 })]);
    await fixture.run(300);
    const bound = fixture.started('configure').filter(({ cluster }) => cluster === 'c2');
    expect(bound).toHaveLength(5);
    expect(fixture.started('drain')).toHaveLength(0);
  });

  it('X3: applies a listing to a machine whose binding waits, and decides on the machine as it is then', async () => {
    const fixture = new Fixture({
      machines: machines(12, 'm', { state: S.Idle }),
      demand: { c1: [need(12)] },
      settings: { executeConcurrency: 1 },
      provider: { operations: { configure: { silenceProbability: 1 } } },
    });
    await fixture.run(2);
    const waiting = fixture.shard.inventory.find('m-0011');
    expect(fixture.shard.inventory.hasFlag(waiting, Flag.Waiting)).toBe(true);
    fixture.world.provider.world.remove('m-0011');
    await fixture.run(60);
    expect(fixture.shard.inventory.find('m-0011')).toBe(0);
  });

  it('X3: gives one cluster at most a quarter of the slots while others wait, in turns', async () => {
    const slots = new FairSlots(8);
    const granted: string[] = [];
    const waiting = [...Array(6).fill('big'), 'b', 'c', 'd', 'b', 'c', 'big'].map((cluster) =>
      slots.take(cluster).then(() => granted.push(cluster)),
    );
    await Promise.all(waiting.slice(0, 8));
    // Alone, the first cluster may use all slots; once others wait, it gets none until it is below its share.
    expect(granted).toEqual(['big', 'big', 'big', 'big', 'big', 'big', 'b', 'c']);
    slots.give('big');
    slots.give('big');
    await Promise.all(waiting.slice(8, 10));
    expect(granted.slice(8)).toEqual(['d', 'b']);
    for (let given = 0; given < 3; given++) slots.give('big');
    await Promise.all(waiting);
    expect(granted.slice(10).sort()).toEqual(['big', 'c']);
    expect(slots.inUse).toBe(7);
  });

  it('X3: gives calls to one provider at most three quarters of the slots, if there are others', async () => {
    const slots = new FairSlots(8, 2);
    const granted: string[] = [];
    const take = (cluster: string, provider: number) =>
      slots.take(cluster, provider).then(() => granted.push(`${cluster}@${provider}`));
    for (let call = 0; call < 10; call++) void take('a', 0);
    void take('a', 1);
    await take('b', 1);
    expect(granted).toEqual([...Array(6).fill('a@0'), 'a@1', 'b@1']);
    slots.give('b', 1);
    await Promise.resolve();
    expect(slots.inUse).toBe(7);
    slots.give('a', 0);
    await take('b', 1);
    expect(granted.slice(8)).toEqual(['a@0', 'b@1']);
  });

  it('X3: begins no waiting binding of a provider that has its share, and those of others in turns', () => {
    const waiting = new WaitingActions();
    for (const [slot, clusterId, provider] of [
      [1, 'a', 0],
      [2, 'a', 0],
      [3, 'a', 1],
      [4, 'b', 0],
      [5, 'c', 1],
    ] as const) {
      waiting.add({ slot, clusterId, provider, assignment: { priority: 0 } } as Action);
    }
    const isBarred = (provider: number) => provider === 0;
    const order = Array.from({ length: 3 }, () => waiting.take(() => false, isBarred)?.slot);
    expect(order).toEqual([3, 5, undefined]);
    expect(Array.from({ length: 4 }, () => waiting.take(() => false)?.slot)).toEqual([4, 1, 2, undefined]);
  });
});

describe('X5: bootstraps', () => {
  it('A9, X5: bind nothing for a cluster without a session until its operator connects', async () => {
    const fixture = new Fixture({ machines: [machine('m', { state: S.Idle })], demand: { c1: [need(1)] } });
    await fixture.run(1);
    fixture.world.disconnect(fixture.cluster());
    fixture.world.provider.add(machine('n', { state: S.Idle }));
    fixture.cluster().rows = [need(2)];
    await fixture.run(30);
    expect(fixture.started('configure')).toHaveLength(1);
    fixture.world.reconnect(fixture.cluster());
    await fixture.run(15);
    expect(fixture.started('configure')).toHaveLength(2);
  });

  it('X5: return the machine to Idle when the session ends before the answer', async () => {
    const fixture = new Fixture({ machines: [machine('m', { state: S.Idle })], demand: { c1: [need(1)] } });
    fixture.cluster().faults = { delayMsMean: 3_000, blobError: 0, blobSilence: 0 };
    await fixture.run(1.2);
    fixture.world.disconnect(fixture.cluster());
    await fixture.run(60);
    expect(fixture.outcomes('Bootstrap')[0]).toBe('no_session');
    expect(fixture.known('m')).toBe('Idle');
    expect(fixture.asked('configure')).toHaveLength(0);
  });

  for (const [kind, faults, outcome] of [
    ['an error', { delayMsMean: 5, blobError: 1, blobSilence: 0 }, 'blob_error'],
    ['silence', { delayMsMean: 5, blobError: 0, blobSilence: 1 }, 'blob_timeout'],
  ] as const) {
    it(`X5: wait 10 s, then 20 s, then 40 s after ${kind}, with the machine Idle meanwhile`, async () => {
      const fixture = new Fixture({
        machines: [machine('m', { state: S.Idle })],
        demand: { c1: [need(1)] },
        settings: { cycleIntervalMs: 1_000, bootstrapTimeoutMs: 1_000 },
      });
      fixture.cluster().faults = faults;
      await fixture.run(150);
      const failures = fixture.actions.filter((action) => action.outcome === outcome);
      const gaps = failures
        .slice(1)
        .map(({ atMs }, index) => Math.round((atMs - failures[index]!.atMs) / 10_000));
      expect(gaps.slice(0, 3)).toEqual([1, 2, 4]);
      expect(fixture.known('m')).toBe('Idle');
      fixture.cluster().faults = { delayMsMean: 5, blobError: 0, blobSilence: 0 };
      await fixture.run(90);
      expect(fixture.truth()).toEqual({ Configured: 1 });
    });
  }

  it('X5: fetch an expired blob again', async () => {
    const fixture = new Fixture({
      machines: machines(2, 'm', { state: S.Idle }),
      demand: { c1: [need(2)] },
      settings: { executeConcurrency: 1, executeTimeoutMs: 90_000 },
      provider: { operations: { configure: { silenceProbability: 1 } } },
    });
    // The first call hangs for 90 s in the only slot; the second machine's blob is valid for 60 s.
    await fixture.run(85);
    expect(fixture.asked('configure')).toHaveLength(1);
    await fixture.run(20);
    expect(fixture.asked('configure')).toHaveLength(2);
  });

  it('X5: need no operator when bootstrap data is local', async () => {
    const fixture = new Fixture({
      machines: [machine('m', { state: S.Idle })],
      demand: { c1: [need(1)] },
      settings: { localBootstrapBlob: Buffer.from('#!/bin/sh') },
    });
    await fixture.run(1);
    fixture.world.disconnect(fixture.cluster());
    await fixture.run(14);
    expect(fixture.asked('configure')[0]).toMatchObject({ blobBytes: 9 });
  });
});

describe('X8: calls without an answer', () => {
  it('X8: are followed by reads, which find a call that was executed', async () => {
    const fixture = new Fixture({
      machines: [machine('m', { state: S.Idle })],
      demand: { c1: [need(1)] },
      provider: { operations: { configure: { silenceProbability: 1 } } },
      settings: { executeTimeoutMs: 2_000, cycleIntervalMs: 1_000_000 },
    });
    await fixture.run(10);
    expect(fixture.outcomes('Bootstrap')).toEqual(['timeout']);
    expect(fixture.known('m')).toBe('Configured');
    expect(fixture.cluster().nodes.get('m')).toBe(S.Configured);
    expect(fixture.asked('configure')).toHaveLength(1);
  });

  it('X8, X12: are followed by reads, and a call that never arrived counts as a failure', async () => {
    const fixture = new Fixture({
      machines: [machine('m')],
      demand: { c1: [need(1)] },
      settings: { isPaused: true },
    });
    await fixture.run(15);
    fixture.world.network.isDown = true;
    fixture.shard.setRails({ ...fixture.shard.rails, isPaused: false });
    await fixture.run(4);
    expect(fixture.known('m')).toBe('Creating');
    fixture.world.network.isDown = false;
    await fixture.run(15);
    expect(fixture.known('m')).toBe('Speculative');
    expect(fixture.shard.counters.observationsConfirmed).toBe(1);
    const slot = fixture.shard.inventory.find('m');
    expect(fixture.shard.inventory.hasFlag(slot, Flag.Backoff)).toBe(true);
    await fixture.run(40);
    expect(fixture.truth()).toEqual({ Configured: 1 });
  });

  it('X8: a provider’s error makes the machine Failed until the provider reports another state', async () => {
    const fixture = new Fixture({
      machines: [machine('m')],
      demand: { c1: [need(1)] },
      provider: { quotas: { 'a/z1/reserved': 0 } },
    });
    await fixture.run(0.5);
    expect(fixture.outcomes('Provision')).toEqual(['provider_error']);
    expect(fixture.actions[0]!.detail).toContain('quota');
    await fixture.run(5);
    expect(fixture.known('m')).toBe('Speculative');
  });

  it('X8, I1: a process whose first calls are fenced says that its epoch may be lost, and gives one that is not', async () => {
    const fixture = new Fixture({ machines: machines(2, 'm', { state: S.Idle }), demand: { c1: [] } });
    await fixture.run(5);
    for (const id of ['m-0000', 'm-0001'])
      fixture.world.provider.create({
        machineId: id,
        shardId: 'shard-0',
        shardEpoch: 7,
        sequenceNumber: 1,
      });
    fixture.world.setDemand(fixture.cluster(), [need(1)]);
    await fixture.run(5);
    const { shard } = fixture;
    const minEpoch = Number(/--min-epoch (\d+)$/.exec(shard.readiness.notReady())?.[1]);
    expect(shard.readiness.notReady()).toContain('whose epoch is 1');
    expect(minEpoch).toBeGreaterThan(1_700_000_000);
    expect(fixture.events).toContainEqual(
      expect.objectContaining({ kind: 'fenced', next: expect.stringContaining(`--min-epoch ${minEpoch}`) }),
    );
  });

  it('X8: a fenced shard stops executing, ends its sessions, accepts none and says why', async () => {
    const fixture = new Fixture({ machines: machines(3, 'm', { state: S.Idle }), demand: { c1: [need(1)] } });
    await fixture.run(5);
    // Another process with our id and a later epoch has already called for the next machine.
    fixture.world.provider.create({
      machineId: 'm-0001',
      shardId: 'shard-0',
      shardEpoch: 99,
      sequenceNumber: 1,
    });
    fixture.world.setDemand(fixture.cluster(), [need(3)]);
    await fixture.run(1);
    const { shard, operators } = fixture.process;
    expect(fixture.events.filter(({ kind }) => kind === 'fenced').length).toBeGreaterThan(0);
    expect(shard.fence.isRaised).toBe(true);
    expect(shard.readiness.heldBack()).toContain('another process owns shard shard-0');
    // Providers accepted its first calls, so its epoch is not lost.
    expect(shard.readiness.heldBack()).not.toContain('--min-epoch');
    expect(shard.readiness.refusal()).toContain('fenced');
    expect(operators.ended).toContain('fenced');
    const asked = fixture.asked('configure').length;
    await fixture.run(100);
    expect(fixture.asked('configure')).toHaveLength(asked);
    expect(fixture.cycles.at(-1)!.heldBack).toContain('fenced');
  });

  it('X8: an action that waits for the slot of the fenced call is not sent', async () => {
    const fixture = new Fixture({
      machines: machines(3, 'm'),
      demand: { c1: [need(3)] },
      settings: { executeConcurrency: 1 },
      isStopped: true,
    });
    const token = { machineId: 'm-0000', shardId: 'shard-0', shardEpoch: 99, sequenceNumber: 1 };
    fixture.world.provider.delete(token);
    fixture.world.startShard();
    await fixture.run(100);
    expect(fixture.shard.fence.isRaised).toBe(true);
    expect(fixture.asked('create').map(({ result }) => result)).toEqual(['fenced']);
  });
});

describe('X7: releases', () => {
  it('X7: are sent once to a provider that never deletes', async () => {
    const fixture = new Fixture({
      machines: machines(3, 'm', { state: S.Idle, capacityType: CapacityType.Spot }),
      provider: { unsupported: ['delete'] },
      settings: { idleHoldSpotMs: 20_000, executeConcurrency: 1 },
    });
    await fixture.run(400);
    expect(fixture.asked('delete')).toHaveLength(1);
    expect(fixture.truth()).toEqual({ Idle: 3 });
    expect(fixture.known('m-0000')).toBe('Idle');
  });
});

describe('X11: stuck machines', () => {
  it('X11: are read again, reported and replaced', async () => {
    const fixture = new Fixture({
      machines: machines(2, 'm'),
      demand: { c1: [need(1)] },
      provider: { operations: { create: HANGING.create } },
      settings: { stuckAfterMs: 60_000 },
    });
    await fixture.run(65);
    expect(fixture.asked('create')).toHaveLength(1);
    await fixture.run(15);
    expect(fixture.events.filter(({ kind }) => kind === 'machine_stuck')).toHaveLength(1);
    expect(fixture.shard.gauges().stuckMachines).toBe(1);
    expect(fixture.asked('create')).toHaveLength(2);
  });

  it('X11: do not include a drain within its grace', async () => {
    const fixture = new Fixture({
      machines: [machine('m', { state: S.Idle })],
      demand: { c1: [need(1)] },
      provider: { operations: { drain: HANGING.drain } },
      settings: { stuckAfterMs: 60_000, hasRollupGuard: false },
    });
    await fixture.run(15);
    fixture.world.setDemand(fixture.cluster(), []);
    await fixture.run(600);
    expect(fixture.known('m')).toBe('Draining');
    expect(fixture.events.filter(({ kind }) => kind === 'machine_stuck')).toHaveLength(0);
    await fixture.run(100);
    expect(fixture.events.filter(({ kind }) => kind === 'machine_stuck')).toHaveLength(1);
  });
});

describe('X12: back-off', () => {
  it('X12: of a machine lasts 30 s, then 60 s, then 120 s', async () => {
    const fixture = new Fixture({
      machines: [machine('m')],
      demand: { c1: [need(1)] },
      provider: { quotas: { 'a/z1/reserved': 0 } },
      settings: { cycleIntervalMs: 1_000 },
    });
    await fixture.run(260);
    const asked = fixture.asked('create').map(({ atMs }) => atMs);
    const gaps = asked.slice(1).map((atMs, index) => Math.round((atMs - asked[index]!) / 10_000));
    expect(gaps.slice(0, 3)).toEqual([3, 6, 12]);
  });

  it('X12: of an offering begins after three failed creates, and needs use the next best one', async () => {
    const fixture = new Fixture({
      machines: [
        ...machines(50, 'cheap', { zone: 'z1', price: 1 }),
        ...machines(5, 'dear', { zone: 'z2', price: 2 }),
      ],
      demand: { c1: [need(1)] },
      provider: { quotas: { 'a/z1/reserved': 0 } },
      settings: { cycleIntervalMs: 1_000 },
    });
    await fixture.run(20);
    expect(fixture.asked('create').filter(({ result }) => result === 'over_quota')).toHaveLength(3);
    expect(fixture.events.some(({ kind }) => kind === 'offering_backoff')).toBe(true);
    expect(fixture.cluster().nodes.size).toBe(1);
    expect(fixture.shard.gauges().offeringsInBackoff).toBe(1);
  });

  it('X12: of an offering without capacity prevents a create in every cycle', async () => {
    const fixture = new Fixture({
      machines: machines(200, 'm'),
      demand: { c1: [need(100)] },
      provider: { quotas: { 'a/z1/reserved': 0 } },
    });
    await fixture.run(25);
    const asked = fixture.asked('create').length;
    await fixture.run(300);
    // Each end of back-off allows one burst: after 30 s, 60 s and 120 s, so three bursts and not thirty.
    expect(fixture.asked('create').length).toBeLessThanOrEqual(4 * asked);
  });

  it('X12: ends with a success', async () => {
    const fixture = new Fixture({
      machines: [machine('m')],
      demand: { c1: [need(1)] },
      provider: { operations: { create: { latency: { meanMs: 1_000, p99Ms: 1_100 } } } },
    });
    await fixture.run(0.6);
    fixture.world.provider.world.finish('m', 'no capacity');
    await fixture.run(5);
    fixture.world.provider.world.reset('m', 'repaired');
    await fixture.run(90);
    expect(fixture.truth()).toEqual({ Configured: 1 });
    expect(fixture.shard.gauges().machinesInBackoff).toBe(0);
  });
});

describe('X13: follow-up reads', () => {
  it('X13: come 0.25, 0.5, 1, 2 … seconds after a transitional ack, up to the interval', async () => {
    const fixture = new Fixture({
      machines: [machine('m')],
      demand: { c1: [need(1)] },
      provider: { operations: { create: HANGING.create } },
      settings: { cycleIntervalMs: 8_000 },
    });
    await fixture.run(50);
    const reads = fixture.asked('get').map(({ atMs }) => atMs);
    const gaps = reads.slice(1).map((atMs, index) => (atMs - reads[index]!) / 1000);
    expect(gaps.slice(0, 6).map((gap) => Math.round(gap * 4) / 4)).toEqual([0.25, 0.5, 1, 2, 4, 8]);
  });

  for (const [isDoubtful, waiting, fact] of [
    [false, 0, 'end when another observation shows that the provider has finished'],
    [true, 1, 'do not end then, if the machine must be read for another reason, too'],
  ] as const) {
    it(`X13: ${fact}`, async () => {
      const fixture = new Fixture({
        machines: [machine('m')],
        demand: { c1: [need(1)] },
        provider: { operations: { create: HANGING.create } },
      });
      await fixture.run(3);
      const { inventory, reads, changes } = fixture.shard;
      const slot = inventory.find('m');
      expect([fixture.known('m'), reads.waitingCount]).toEqual(['Creating', 1]);
      if (isDoubtful) reads.recheck(slot, 1_000);
      const host = { provider: 'p', ref: 'h' };
      changes.observe(slot, { ...inventory.get(slot), state: S.Idle, host, cluster: '' }, 'ack', 0);
      expect(reads.waitingCount).toBe(waiting);
    });
  }

  it.each([
    [false, 'reads'],
    [true, 'listings of changes, which cannot show that row again'],
  ])(
    'X13: serve a row that was deferred while the action was under way, with %s: %s',
    async (isIncremental) => {
      const fixture = new Fixture({
        machines: [machine('m')],
        demand: { c1: [need(1)] },
        settings: { isIncremental, readsListedMin: 1 },
        provider: { operations: { create: HANGING.create } },
      });
      const { network, time } = fixture.world;
      network.faults = { delayMsMean: 400, requestLoss: 0, answerLoss: 0, noticedShare: 0 };
      let firstReadMs = 0;
      await time.advance(30_000, () => {
        const { inventory, reads, counters } = fixture.shard;
        const slot = inventory.find('m');
        const isUnderWay = slot !== 0 && inventory.columns.intent[slot] !== Intent.None;
        if (isUnderWay && reads.deferredCount === 0) {
          reads.defer(slot);
          network.faults = { delayMsMean: 1, requestLoss: 0, answerLoss: 0, noticedShare: 0 };
        }
        if (firstReadMs === 0 && counters.followUpReads === 1) firstReadMs = time.nowMs();
      });
      expect(fixture.shard.counters.rowsDeferred).toBeGreaterThan(0);
      expect(fixture.shard.reads.deferredCount).toBe(0);
      expect(firstReadMs - fixture.actions[0]!.atMs).toBeGreaterThanOrEqual(250);
    },
  );

  it.each([
    [true, 40, 'many are answered by listings of changes'],
    [true, 20, 'few are made one by one'],
    [false, 40, 'all are made one by one without a cursor'],
  ])('X13: incremental listings %s, %i machines: %s', async (isIncremental, count) => {
    const fixture = new Fixture({
      machines: machines(count, 'm'),
      demand: { c1: [need(count)] },
      settings: { isIncremental, executeConcurrency: 64 },
      provider: { operations: everyOperation({ latency: { meanMs: 2_000, p99Ms: 2_000 } }) },
    });
    let listings = 0;
    let wasListing = false;
    await fixture.world.time.advance(9_000, () => {
      const isListing = fixture.shard.reconciler.view().some((known) => known.isListing);
      if (isListing && !wasListing) listings++;
      wasListing = isListing;
    });
    const isListed = isIncremental && count === 40;
    // All machines are done before the second ordinary cycle.
    expect(fixture.known('m-0000')).toBe('Configured');
    expect(fixture.shard.counters.followUpReads > count).toBe(!isListed);
    expect(listings > 3).toBe(isListed);
  });

  it('X13: end with a machine that is gone, if listings of changes do not show that', async () => {
    const fixture = new Fixture({
      machines: [machine('m')],
      demand: { c1: [need(1)] },
      settings: { isIncremental: true, readsListedMin: 1 },
      provider: { deletedIds: false, operations: { create: HANGING.create } },
    });
    await fixture.run(1);
    expect(fixture.known('m')).toBe('Creating');
    fixture.world.links[0]!.provider.world.remove('m');
    await fixture.world.time.advance(30_000);
    expect(fixture.shard.inventory.find('m')).toBe(0);
  });

  it.each([
    [16, 64],
    [100, 100],
  ])('X13: with %i calls at a time number at most %i', async (executeConcurrency, expected) => {
    const fixture = new Fixture({
      machines: machines(300, 'm'),
      demand: { c1: [need(300)] },
      settings: { executeConcurrency },
      provider: { operations: { create: HANGING.create } },
    });
    let readsMax = 0;
    fixture.world.network.faults = { delayMsMean: 200, requestLoss: 0, answerLoss: 0, noticedShare: 0 };
    await fixture.world.time.advance(30_000, () => {
      readsMax = Math.max(readsMax, fixture.shard.reads.inFlightCount);
    });
    expect(readsMax).toBe(expected);
  });
});
