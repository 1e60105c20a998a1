/** C1–C6 and R2: when cycles run, in which order, and which rails hold back their actions. */
import { describe, expect, it } from 'vitest';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { MachineState } from '../../src/machine/state.ts';
import { Fixture, machine, machines, need, PROVIDERS, S, SLOW } from './fixture.ts';

describe('C1: when cycles run', () => {
  it('C1: runs an ordinary cycle every interval', async () => {
    const fixture = new Fixture({ machines: machines(3, 'm'), demand: { c1: [need(2)] } });
    await fixture.run(100.5);
    expect(fixture.ordinaryCycles()).toHaveLength(11);
    expect(fixture.cycles.map(({ cycle }) => cycle)).toEqual(fixture.cycles.map((_, index) => index + 1));
  });

  it('C1: wakes a cycle for a roll-up that changed demand, and not for a repeated one', async () => {
    const fixture = new Fixture({ machines: machines(3, 'm', { state: S.Idle }), demand: { c1: [need(1)] } });
    await fixture.run(35);
    const before = fixture.cycles.length;
    fixture.world.setDemand(fixture.cluster(), [need(1)]);
    await fixture.run(0.5);
    expect(fixture.cycles).toHaveLength(before);
    fixture.world.setDemand(fixture.cluster(), [need(2)]);
    await fixture.run(0.5);
    expect(fixture.cycles.length).toBeGreaterThan(before);
    expect(fixture.cycles.at(-1)!.isOrdinary).toBe(false);
    expect(fixture.started('configure')).toHaveLength(2);
  });

  it('C1: wakes a cycle when a read shows a machine Idle, and binds it at once', async () => {
    const fixture = new Fixture({
      machines: [machine('m')],
      demand: { c1: [need(1)] },
      provider: PROVIDERS[1]![1],
      settings: { cycleIntervalMs: 1_000_000 },
    });
    await fixture.run(30);
    expect(fixture.ordinaryCycles()).toHaveLength(1);
    expect(fixture.truth()).toEqual({ Configured: 1 });
  });

  it('C1: emits no reclaim and advances no count in a woken cycle', async () => {
    const fixture = new Fixture({
      machines: machines(2, 'm', { state: S.Idle }),
      demand: { c1: [need(2), need(1, { type: 'missing', priority: 9 })] },
    });
    await fixture.run(25);
    const { engine, needs, inventory } = fixture.shard;
    const cluster = inventory.tables.clusters.find('c1');
    const ages = () => {
      const found: number[] = [];
      engine.verdictsOf(cluster, (_row, { cyclesUnmet }) => found.push(cyclesUnmet));
      return Math.max(...found);
    };
    const age = ages();
    expect(needs.sliceCount(cluster)).toBe(2);
    fixture.world.setDemand(fixture.cluster(), [need(1), need(1, { type: 'missing', priority: 9 })]);
    await fixture.run(0.3);
    expect(fixture.cycles.at(-1)!.isOrdinary).toBe(false);
    expect(fixture.cycles.at(-1)!.decided.Reclaim).toBe(0);
    expect(ages()).toBe(age);
    await fixture.run(10);
    expect(fixture.started('drain')).toHaveLength(1);
    expect(ages()).toBe(age + 1);
  });

  it('C1: wakes a cycle when a queue that dropped actions is half empty', async () => {
    const fixture = new Fixture({
      machines: machines(40, 'm', { state: S.Idle, capacityType: CapacityType.OnDemand }),
      settings: { executeConcurrency: 2, cycleIntervalMs: 100_000, idleHoldOnDemandMs: 10_000 },
    });
    await fixture.run(190);
    expect(fixture.shard.counters.actionsDropped).toBeGreaterThan(0);
    expect(
      fixture.cycles.filter(({ isOrdinary, enqueued }) => !isOrdinary && enqueued.Delete > 0),
    ).not.toEqual([]);
    expect(fixture.truth()).toEqual({ Speculative: 40 });
  });
});

describe('C2: reconcile and decision', () => {
  it('C2: emits no action before the provider’s first listing, and the report says why', async () => {
    const fixture = new Fixture({
      machines: machines(2, 'm', { state: S.Idle }),
      demand: { c1: [need(1)] },
      isStopped: true,
    });
    fixture.world.network.isDown = true;
    fixture.world.startShard();
    await fixture.run(200);
    expect(fixture.ordinaryCycles().length).toBeGreaterThan(10);
    expect(fixture.cycles.at(-1)!.heldBack).toBe('waiting for the first listing of simulated (unavailable)');
    expect(fixture.asked('configure')).toHaveLength(0);
    fixture.world.network.isDown = false;
    await fixture.run(140);
    expect(fixture.truth()).toEqual({ Configured: 1, Idle: 1 });
  });

  it('C2: runs cycles without a decision until the first listing is complete', async () => {
    const fixture = new Fixture({
      machines: machines(2, 'm', { state: S.Idle }),
      demand: { c1: [need(1)] },
      isStopped: true,
    });
    fixture.world.network.faults = { delayMsMean: 25_000, requestLoss: 0, answerLoss: 0, noticedShare: 0 };
    fixture.world.startShard();
    await fixture.run(300);
    const held = fixture.cycles.filter(({ heldBack }) => heldBack !== '');
    expect(held.length).toBeGreaterThanOrEqual(1);
    expect(held.every(({ evaluatedNeeds }) => evaluatedNeeds === 0)).toBe(true);
    expect(fixture.truth()).toEqual({ Configured: 1, Idle: 1 });
  });

  it('C2: decides on the known machines when the first listing fails', async () => {
    const fixture = new Fixture({ demand: { c1: [need(1)] }, isStopped: true });
    fixture.world.network.isDown = true;
    fixture.world.startShard();
    await fixture.run(200);
    expect(fixture.cycles.at(-1)!.heldBack).not.toBe('');
    expect(fixture.cycles.at(-1)!.unmetNeeds).toBe(1);
  });

  it('C2: does not wait for an optional provider', async () => {
    const fixture = new Fixture({
      demand: { c1: [need(1)] },
      settings: { optionalProviders: ['simulated'] },
      isStopped: true,
    });
    fixture.world.network.isDown = true;
    fixture.world.startShard();
    await fixture.run(30);
    expect(fixture.cycles.at(-1)!.heldBack).toBe('');
  });

  it('C2, S7: runs cycles and keeps its machines when a listing fails', async () => {
    const fixture = new Fixture({ machines: machines(4, 'm', { state: S.Idle }), demand: { c1: [need(1)] } });
    await fixture.run(25);
    fixture.world.network.isDown = true;
    await fixture.run(300);
    expect(fixture.ordinaryCycles().length).toBeGreaterThanOrEqual(32);
    expect(fixture.shard.inventory.count).toBe(4);
    expect(fixture.shard.counters.failedListings).toBeGreaterThan(0);
  });

  it('C2: runs the cycle without a late listing, and applies that when it arrives', async () => {
    const fixture = new Fixture({ machines: machines(2, 'm'), demand: { c1: [need(1)] } });
    await fixture.run(15);
    fixture.world.network.faults = { delayMsMean: 25_000, requestLoss: 0, answerLoss: 0, noticedShare: 0 };
    fixture.world.provider.add(machine('late'));
    await fixture.run(300);
    expect(fixture.known('late')).toBe('Speculative');
    expect(fixture.ordinaryCycles().length).toBeGreaterThanOrEqual(31);
  });

  it('runs cycles on time while every call hangs', async () => {
    const fixture = new Fixture({
      machines: machines(40, 'm', { state: S.Idle }),
      demand: { c1: [need(40)] },
      settings: { executeConcurrency: 4, executeTimeoutMs: 300_000 },
      provider: { operations: { configure: { silenceProbability: 1 } } },
    });
    await fixture.run(100.5);
    expect(fixture.ordinaryCycles()).toHaveLength(11);
    expect(fixture.shard.gauges()).toMatchObject({ inFlight: 4, queueDepth: 6, actionsWaiting: 30 });
  });
});

describe('rails', () => {
  it('C3: executes at most so many actions a cycle, and the surplus in woken cycles', async () => {
    const fixture = new Fixture({
      machines: machines(10, 'm', { state: S.Idle }),
      demand: { c1: [need(10)] },
      settings: { actionsPerCycleMax: 3 },
    });
    await fixture.run(9);
    for (const { enqueued } of fixture.cycles) expect(enqueued.Bootstrap).toBeLessThanOrEqual(3);
    expect(fixture.shard.counters.actionsDeferred).toBe(7 + 4 + 1);
    expect(fixture.truth()).toEqual({ Configured: 10 });
  });

  for (const [rail, outcome] of [
    ['isPaused', 'suppressed'],
    ['isDryRun', 'dryRun'],
  ] as const) {
    it(`C4: with ${rail}, decides and counts every action as ${outcome}, and executes none`, async () => {
      const fixture = new Fixture({
        machines: machines(3, 'm', { state: S.Idle }),
        demand: { c1: [need(2)] },
        settings: { [rail]: true, actionsPerCycleMax: 1 },
      });
      await fixture.run(35);
      const last = fixture.cycles.at(-1)!;
      expect(last.decided.Bootstrap).toBe(2);
      expect(last[outcome].Bootstrap).toBe(2);
      expect(last.enqueued.Bootstrap).toBe(0);
      expect(fixture.truth()).toEqual({ Idle: 3 });
      fixture.shard.setRails({ ...fixture.shard.rails, isPaused: false, isDryRun: false });
      await fixture.run(5);
      expect(fixture.truth()).toEqual({ Configured: 2, Idle: 1 });
    });
  }

  for (const [rail, outcome] of [
    ['isPaused', 'suppressed'],
    ['isDryRun', 'dryrun'],
  ] as const) {
    const slowly = { delayMsMean: 1_500, requestLoss: 0, answerLoss: 0, noticedShare: 0 };
    const restrained = { isPaused: rail === 'isPaused', isDryRun: rail === 'isDryRun' };
    const free = { isPaused: false, isDryRun: false };

    for (const [call, kind, state, demand] of [
      ['drain', 'Reclaim', 'Configured', []],
      ['configure', 'Bootstrap', 'Idle', [need(8)]],
      ['create', 'Provision', 'Speculative', [need(8)]],
    ] as const) {
      it(`C4: with ${rail}, stops each queued ${kind}, and its machine stays ${state}`, async () => {
        const fixture = new Fixture({
          machines: machines(8, 'm', { state: state === 'Speculative' ? S.Speculative : S.Idle }),
          demand: { c1: call === 'drain' ? [need(8)] : [] },
          settings: { executeConcurrency: 2, hasRollupGuard: false, reclaimCapFraction: 0 },
        });
        await fixture.run(60);
        fixture.world.network.faults = slowly;
        fixture.world.setDemand(fixture.cluster(), demand);
        for (let second = 0; fixture.asked(call).length === 0 && second < 60; second++) await fixture.run(1);
        fixture.shard.setRails({ ...fixture.shard.rails, ...restrained });
        const { inFlight, queueDepth } = fixture.shard.executor;
        expect(queueDepth).toBeGreaterThan(0);
        const sentCount = fixture.asked(call).length + fixture.asked('configure').length;
        await fixture.run(60);
        // Only calls that were under way reach the provider.
        expect(fixture.asked(call).length + fixture.asked('configure').length).toBeLessThanOrEqual(
          sentCount + inFlight,
        );
        expect(fixture.truth()[state]).toBe(8 - fixture.asked(call).length);
        expect(fixture.outcomes(kind)).toContain(outcome);
        fixture.shard.setRails({ ...fixture.shard.rails, ...free });
        await fixture.run(200);
        expect(fixture.truth()).toEqual(call === 'drain' ? { Idle: 8 } : { Configured: 8 });
      });
    }
  }

  it('C4: applies the kill switch before the dry run', async () => {
    const fixture = new Fixture({
      machines: machines(1, 'm', { state: S.Idle }),
      demand: { c1: [need(1)] },
      settings: { isPaused: true, isDryRun: true },
    });
    await fixture.run(15);
    expect(fixture.cycles.at(-1)!.suppressed.Bootstrap).toBe(1);
    expect(fixture.cycles.at(-1)!.dryRun.Bootstrap).toBe(0);
  });

  for (const [configured, fraction, allowed, because] of [
    [5, 0.05, 1, 'a small cluster still shrinks by one'],
    [100, 0.05, 5, 'five in a hundred'],
    [100, 0.29, 29, 'what a person calls 29 of 100'],
    [30, 0, 30, '0 turns it off'],
  ] as const) {
    it(`R2: ${allowed} of ${configured} at ${fraction}: ${because}`, async () => {
      const fixture = new Fixture({
        machines: machines(configured, 'm', { state: S.Idle }),
        demand: { c1: [need(configured)] },
        settings: { reclaimCapFraction: fraction, hasRollupGuard: false },
      });
      await fixture.run(15);
      fixture.world.setDemand(fixture.cluster(), []);
      await fixture.run(9);
      const reclaims = fixture.ordinaryCycles().map(({ enqueued }) => enqueued.Reclaim);
      expect(reclaims.filter((count) => count > 0)[0]).toBe(allowed);
      if (fraction > 0) {
        expect(fixture.shard.counters.reclaimsCapped).toBe(configured - allowed);
        await fixture.run(10);
        const second = fixture
          .ordinaryCycles()
          .map(({ enqueued }) => enqueued.Reclaim)
          .filter((count) => count > 0);
        expect(second).toHaveLength(2);
      }
    });
  }

  it('R2: caps each cluster on its own', async () => {
    const fixture = new Fixture({
      machines: machines(40, 'm', { state: S.Idle }),
      demand: { c1: [need(20)], c2: [need(20)] },
      settings: { hasRollupGuard: false },
    });
    await fixture.run(15);
    for (const id of ['c1', 'c2']) fixture.world.setDemand(fixture.cluster(id), []);
    await fixture.run(6);
    const reclaims = fixture.actions.filter(({ kind }) => kind === 'Reclaim');
    expect(reclaims.map(({ clusterId }) => clusterId).sort()).toEqual(['c1', 'c2']);
  });

  it('X1, R2: does not count a machine with an enqueued reclaim as Configured', async () => {
    const fixture = new Fixture({
      machines: machines(40, 'm', { state: S.Idle }),
      demand: { c1: [need(40)] },
      settings: {
        reclaimCapFraction: 0.5,
        hasRollupGuard: false,
        executeConcurrency: 2,
        executeTimeoutMs: 60_000,
      },
      provider: { operations: { drain: { silenceProbability: 1 } } },
    });
    await fixture.run(25);
    fixture.world.setDemand(fixture.cluster(), []);
    await fixture.run(20);
    const enqueued = fixture.shard.executor.queueDepth + fixture.shard.executor.inFlight;
    expect(enqueued).toBeGreaterThan(2);
    const { decided, capped } = fixture.ordinaryCycles().at(-1)!;
    expect(decided.Reclaim).toBe(40 - enqueued);
    expect(capped).toBe(decided.Reclaim - Math.floor(0.5 * (40 - enqueued)));
  });

  it('C6: reports the time of each phase and the work of every cycle', async () => {
    const fixture = new Fixture({ machines: machines(2, 'm'), demand: { c1: [need(1)] } });
    await fixture.run(5);
    const [first] = fixture.cycles;
    expect(Object.keys(first!.phaseMs)).toEqual([
      'reconcile',
      'snapread',
      'phase1',
      'phase2',
      'phase3',
      'emit',
      'execute',
    ]);
    expect(first!.changedMachines).toBe(2);
  });
});

describe('over many cycles', () => {
  it('X1, A2: requests exactly the demanded machines when creates take 60 cycles', async () => {
    const fixture = new Fixture({ machines: machines(20, 'm'), demand: { c1: [need(5)] }, provider: SLOW });
    await fixture.run(1_300);
    expect(fixture.asked('create')).toHaveLength(5);
    expect(fixture.asked('configure')).toHaveLength(5);
    await fixture.run(700);
    expect(fixture.truth()).toEqual({ Configured: 5, Speculative: 15 });
  });

  it('P6: preempts exactly the needed victims when drains take 60 cycles', async () => {
    const fixture = new Fixture({
      machines: machines(10, 'm', { state: MachineState.Idle }),
      demand: { low: [need(10, { priority: 100 })], high: [] },
      settings: { preemptionCapFraction: 0 },
      provider: { operations: { drain: { latency: { meanMs: 590_000, p99Ms: 600_000 } } } },
    });
    await fixture.run(30);
    fixture.world.setDemand(fixture.cluster('high'), [need(3, { priority: 100_100 })]);
    await fixture.run(550);
    expect(fixture.asked('drain')).toHaveLength(3);
    await fixture.run(100);
    expect(fixture.asked('drain')).toHaveLength(3);
    expect(fixture.cluster('high').nodes.size).toBe(3);
  });
});
