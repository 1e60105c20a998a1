/** Overlaps: rails with a full queue, reads with listings, full tables with answers. */
import { describe, expect, it } from 'vitest';
import type { NodeState } from '../../src/shard/ports/operators.ts';
import { encode } from '../../src/wire/codec.ts';
import { Fixture, machine, machines, need, S } from './fixture.ts';

describe('C3: the surplus of a cycle', () => {
  it('C3: waits for room in a full queue, without cycles in a row meanwhile', async () => {
    const fixture = new Fixture({
      machines: machines(20, 'm', { state: S.Idle }),
      demand: { c1: [need(20)] },
      settings: { actionsPerCycleMax: 2, executeConcurrency: 1 },
      provider: { operations: { configure: { silenceProbability: 1 } } },
    });
    let cycles = 0;
    await fixture.world.time.advance(5_000, () => {
      if (++cycles > 5_000) throw new Error('cycles follow each other without end');
    });
    expect(fixture.cycles.length).toBeLessThan(20);
  });
});

describe('S4: reads and listings', () => {
  it('S4: a read from before a listing does not undo the listing', async () => {
    const fixture = new Fixture({
      machines: [machine('m', { price: 1 })],
      settings: { isIncremental: true, fullListEveryCycles: 0 },
    });
    await fixture.run(19);
    const { inventory, reads } = fixture.shard;
    const { network, provider } = fixture.world;
    const delays = [1, 5_000]; // of the read: it arrives at once, and its answer is slow
    network.delayMs = () => delays.shift() ?? 2;
    reads.recheck(inventory.find('m'));
    await fixture.run(0.5);
    provider.world.reprice('m', 9);
    await fixture.run(30);
    expect(inventory.get(inventory.find('m')).pricePerHourUsd).toBe(9);
  });
});

describe('O3: reports to clusters', () => {
  it('O3: a machine that its provider gives to another cluster leaves the one that had it', async () => {
    const fixture = new Fixture({
      machines: [machine('m', { state: S.Idle })],
      demand: { c1: [need(1)], c2: [] },
      settings: { cycleIntervalMs: 1_000_000 },
    });
    await fixture.run(15);
    const { shard, operators } = fixture.process;
    const slot = shard.inventory.find('m');
    const told: NodeState[] = [];
    operators.nodeLeft = (node) => told.push(node);
    shard.changes.observe(slot, { ...shard.inventory.get(slot), cluster: 'c2' }, 'read', 0);
    // Configured would mean that c1 still has it, and no later update would correct that.
    expect(told).toMatchObject([{ machineId: 'm', clusterId: 'c1', state: S.Idle, lastError: '' }]);
    await fixture.run(1);
    expect(fixture.cluster('c2').nodes.get('m')).toBe(S.Configured);
  });
});

describe('full tables', () => {
  it('X8: end an action although there is no room for its error, and the machine is read', async () => {
    const fixture = new Fixture({
      machines: machines(2, 'm'),
      demand: { c1: [need(1)] },
      settings: { machinesMax: 2 },
      provider: { quotas: { 'a/z1/reserved': 0 } },
    });
    const { texts } = fixture.shard.inventory.tables;
    const held = [];
    try {
      for (let index = 0; ; index++) held.push(texts.intern(`${index}`.padEnd(20, '.')));
    } catch {
      // The table of texts is full.
    }
    await fixture.run(20);
    expect(fixture.outcomes('Provision')[0]).toBe('provider_error');
    expect(fixture.shard.gauges()).toMatchObject({ inFlight: 0, queueDepth: 0 });
    expect(fixture.known('m-0000')).toBe('Speculative');
    expect(fixture.events.some(({ kind }) => kind === 'inventory_full')).toBe(true);
    expect(fixture.shard.gauges().machinesInBackoff).toBeGreaterThan(0);
  });

  for (const [mode, isIncremental] of [
    ['full', false],
    ['incremental', true],
  ] as const) {
    it(`S1: ${mode}: delay a machine until there is room for it`, async () => {
      const fixture = new Fixture({
        machines: machines(6, 'm'),
        settings: { machinesMax: 4, isIncremental, fullListEveryCycles: 0 },
      });
      await fixture.run(5);
      expect(fixture.shard.inventory.count).toBe(4);
      fixture.world.provider.world.remove('m-0000');
      fixture.world.provider.world.remove('m-0001');
      await fixture.run(25);
      expect(fixture.known('m-0005')).toBe('Speculative');
      expect(fixture.shard.inventory.count).toBe(4);
    });
  }
});

describe('S2: doubts', () => {
  it('S2: discards, logs and counts more than 256 doubted rows that the next listing does not confirm', async () => {
    const fixture = new Fixture({
      machines: machines(300, 'm', { state: S.Idle }),
      demand: { c1: [need(300)] },
      settings: { isIncremental: true, fullListEveryCycles: 0 },
    });
    await fixture.run(25);
    const listed = fixture.world.provider.list();
    if (listed.kind !== 'ok') throw new Error('it lists');
    const lies = listed.value.machines.map((one) => ({
      ...one,
      state: S.Speculative,
      host: null,
      cluster: '',
      shardMetadata: {},
    }));
    let isLying = true;
    fixture.world.link.bendListing = (bytes) => {
      const bent = isLying ? encode('MachineList', { machines: lies, revision: new Uint8Array([1]) }) : bytes;
      isLying = false;
      return bent;
    };
    await fixture.run(20);
    expect(fixture.truth()).toEqual({ Configured: 300 });
    expect(fixture.shard.counters).toMatchObject({ observationsConfirmed: 0, observationsDiscarded: 300 });
    expect(fixture.shard.changes.doubtCount).toBe(0);
  });
});

describe('the time until a machine is a node', () => {
  it('counts from the action that bound it, not from an abandoned one', async () => {
    const fixture = new Fixture({
      machines: machines(6, 'm'),
      demand: { c1: [need(6)] },
      settings: { hasRollupGuard: false, executeConcurrency: 2, reclaimCapFraction: 0 },
    });
    fixture.world.network.faults = { delayMsMean: 2_000, requestLoss: 0, answerLoss: 0, noticedShare: 0 };
    await fixture.run(6);
    fixture.world.setDemand(fixture.cluster(), []);
    await fixture.run(600);
    expect(fixture.outcomes('Provision')).toContain('stale_state');
    fixture.world.network.faults = { delayMsMean: 2, requestLoss: 0, answerLoss: 0, noticedShare: 0 };
    fixture.world.setDemand(fixture.cluster(), [need(6)]);
    await fixture.run(60);
    expect(fixture.truth()).toEqual({ Configured: 6 });
    for (const latencyMs of fixture.latenciesMs) expect(latencyMs).toBeLessThan(60_000);
  });

  it('does not count from an old Create for another need', async () => {
    const fixture = new Fixture({
      machines: [machine('m')],
      demand: { c1: [need(1)], c2: [] },
      provider: { operations: { create: { latency: { meanMs: 900, p99Ms: 1_000 } } } },
      settings: { hasRollupGuard: false },
    });
    await fixture.run(0.6);
    expect(fixture.known('m')).toBe('Creating');
    fixture.world.setDemand(fixture.cluster('c1'), []);
    await fixture.run(600);
    expect(fixture.known('m')).toBe('Idle');
    fixture.world.setDemand(fixture.cluster('c2'), [need(1)]);
    await fixture.run(20);
    expect(fixture.latenciesMs).toHaveLength(1);
    expect(fixture.latenciesMs[0]).toBeLessThan(5_000);
  });
});
