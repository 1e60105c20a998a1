/** Several providers behind one shard: each has its own machines, listings and failures. */
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { Flag } from '../../src/inventory/intent.ts';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { STATE_NAMES } from '../../src/machine/state.ts';
import { Operator } from '../../src/needs/requirements.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { FencingTokens } from '../../src/provider/client/fencing.ts';
import type { ActionRecord, CycleReport, ShardEvent } from '../../src/shard/ports/observer.ts';
import { SHARD_DEFAULTS, type ShardSettings } from '../../src/shard/settings.ts';
import { Shard } from '../../src/shard/shard.ts';
import { createTables } from '../../src/shard/tables.ts';
import { SimulatedProvider } from '../../src/simulation/provider/provider.ts';
import type { ProviderSettingsChange } from '../../src/simulation/provider/settings.ts';
import { Network } from '../../src/simulation/virtual-time/network.ts';
import { SimulatedProviderPort } from '../../src/simulation/virtual-time/provider-port.ts';
import { VirtualTime } from '../../src/simulation/virtual-time/time.ts';
import { machine, need, S } from './fixture.ts';

/** Two providers, local bootstraps, and no operators. */
class TwoProviders {
  readonly time = new VirtualTime(Date.UTC(2026, 0, 1));
  readonly actions: ActionRecord[] = [];
  readonly cycles: CycleReport[] = [];
  readonly events: ShardEvent[] = [];
  readonly east: SimulatedProvider;
  readonly west: SimulatedProvider;
  readonly eastNetwork = new Network(this.time, new Random(1));
  readonly westNetwork = new Network(this.time, new Random(2));
  readonly shard: Shard;

  constructor(change: Partial<ShardSettings> = {}, west: ProviderSettingsChange = {}) {
    const settings: ShardSettings = {
      ...SHARD_DEFAULTS,
      machinesMax: 256,
      checkEveryCycles: 0,
      localBootstrapBlob: new Uint8Array(1),
      hasRollupGuard: false,
      ...change,
    };
    const timers = this.time.timers();
    this.east = new SimulatedProvider({ settings: { seed: 1 }, timers });
    this.west = new SimulatedProvider({ settings: { seed: 2, ...west }, timers });
    const tables = createTables({ ...settings, guards: true });
    const port = new SimulatedProviderPort({
      links: [
        { name: 'east', provider: this.east, network: this.eastNetwork },
        { name: 'west', provider: this.west, network: this.westNetwork },
      ],
      inventory: tables.inventory.share(),
      tokens: FencingTokens.create(settings.shardId, 1),
      clock: this.time,
    });
    this.shard = new Shard({
      settings,
      tables,
      epoch: 1,
      providers: port,
      observer: {
        audits: false,
        cycleEnded: (report) => this.cycles.push(report),
        actionEnded: (record) => this.actions.push(record),
        listingEnded: () => {},
        happened: (event) => this.events.push(event),
      },
      clock: this.time,
      scheduler: this.time,
      stopwatch: () => this.time.nowMs(),
    });
  }

  run(seconds: number): Promise<void> {
    return this.time.advance(seconds * 1000);
  }

  demand(clusterId: string, rows: readonly RollupRow[]): void {
    const steps = this.shard.operatorCalls.acceptRollup(
      clusterId,
      new Uint32Array(2 * rows.length),
      (index) => rows[index]!,
    );
    for (let step = steps.next(); !step.done; step = steps.next());
  }

  known(id: string): string {
    const { inventory } = this.shard;
    const slot = inventory.find(id);
    if (slot === 0) return 'unknown';
    return `${STATE_NAMES[inventory.stateOf(slot)]} of ${['east', 'west'][inventory.columns.provider[slot]!]}`;
  }
}

describe('two providers', () => {
  it('S1: an id of another provider is rejected, and accepted once that provider drops it', async () => {
    const world = new TwoProviders();
    // S6: without the other two the listing would be empty, and held.
    for (const id of ['m', 'e1', 'e2']) world.east.add(machine(id, { state: S.Idle }));
    world.shard.start();
    await world.run(5);
    world.west.add(machine('m'));
    world.west.add(machine('n'));
    await world.run(20);
    expect(world.known('m')).toBe('Idle of east');
    expect(world.known('n')).toBe('Speculative of west');
    expect(world.shard.counters.rejected.structural).toBeGreaterThan(0);
    world.east.world.remove('m');
    await world.run(60);
    expect(world.known('m')).toBe('Speculative of west');
  });

  it('S1: with cursors too, the id is accepted once the other provider drops it', async () => {
    const world = new TwoProviders({ isIncremental: true, fullListEveryCycles: 0 });
    world.east.add(machine('m', { state: S.Idle }));
    world.west.add(machine('n')); // an empty listing would make every listing full
    world.shard.start();
    await world.run(15);
    world.west.add(machine('m'));
    await world.run(30);
    expect(world.known('m')).toBe('Idle of east');
    expect(world.events).toContainEqual(
      expect.objectContaining({ kind: 'record_rejected', provider: 'west', reason: 'structural' }),
    );
    world.east.world.remove('m');
    await world.run(60);
    expect(world.known('m')).toBe('Speculative of west');
  });

  it('C2: a provider that does not answer holds back the first actions, unless it is optional', async () => {
    for (const [optionalProviders, configured] of [
      [[], 0],
      [['west'], 1],
    ] as const) {
      const world = new TwoProviders({ optionalProviders });
      world.east.add(machine('m', { state: S.Idle }));
      world.westNetwork.isDown = true;
      world.shard.start();
      world.demand('c1', [need(1)]);
      await world.run(60);
      expect(world.actions.filter(({ outcome }) => outcome === 'success')).toHaveLength(configured);
    }
  });

  it('C2: advances no count while a provider is not listed: a gang is not parked before its rack is known', async () => {
    const world = new TwoProviders();
    const inRack = { state: S.Idle, labels: { rack: 'r1' } };
    for (const id of ['m1', 'm2']) world.west.add(machine(id, inRack));
    world.east.add(machine('other', { state: S.Idle, labels: { rack: 'r2' } }));
    world.westNetwork.isDown = true;
    world.shard.start();
    const same = { key: 'rack', operator: Operator.Same, values: [] };
    world.demand('c1', [need(2, { requirements: [same] }), need(1, { type: 'none', group: 'plain' })]);
    await world.run(200);
    const { engine, inventory } = world.shard;
    const cluster = inventory.tables.clusters.find('c1');
    const counts = () => {
      const found: number[] = [];
      engine.verdictsOf(cluster, (_row, { cyclesUnmet, parkedCycles }) =>
        found.push(cyclesUnmet, parkedCycles),
      );
      return Math.max(...found, ...engine.shortfalls.map(({ ageCycles }) => ageCycles));
    };
    expect(world.shard.readiness.heldBack()).toContain('west');
    expect(counts()).toBe(0);
    world.westNetwork.isDown = false;
    await world.run(60);
    expect(world.shard.readiness.heldBack()).toBe('');
    expect(['m1', 'm2'].map((id) => world.known(id))).toEqual(['Configured of west', 'Configured of west']);
    expect(counts()).toBeGreaterThan(0); // of the need without any machine
  });

  it('P6: a machine is found Draining only by its provider’s first listing, however late that is', async () => {
    const drain = { latency: { meanMs: 3_600_000, p99Ms: 3_600_000 } };
    const world = new TwoProviders({ optionalProviders: ['west'] }, { operations: { drain } });
    world.west.add(machine('found', { state: S.Draining, cluster: 'c1' }));
    world.westNetwork.isDown = true;
    world.shard.start();
    await world.run(60);
    expect(world.shard.readiness.heldBack()).toBe('');
    world.westNetwork.isDown = false;
    await world.run(130);
    world.west.add(machine('later', { state: S.Draining, cluster: 'c1' }));
    await world.run(20);
    const { inventory } = world.shard;
    const isFound = (id: string) => inventory.hasFlag(inventory.find(id), Flag.FoundDraining);
    expect(['found', 'later'].map(isFound)).toEqual([true, false]);
  });

  it('S6: one provider’s empty listing does not affect the other’s machines', async () => {
    const world = new TwoProviders();
    for (let index = 0; index < 5; index++) {
      world.east.add(machine(`e${index}`, { state: S.Idle }));
      world.west.add(machine(`w${index}`, { state: S.Idle }));
    }
    world.shard.start();
    await world.run(5);
    for (let index = 0; index < 5; index++) world.west.world.remove(`w${index}`);
    await world.run(590);
    expect(world.shard.inventory.count).toBe(10);
    expect(world.shard.gauges().heldListings).toMatchObject([{ provider: 'west', missingCount: 5 }]);
    await world.run(40);
    expect(world.shard.inventory.count).toBe(5);
    expect(world.known('e4')).toBe('Idle of east');
  });

  it('X7: one provider that never deletes does not stop deletes at the other', async () => {
    const world = new TwoProviders({ idleHoldSpotMs: 20_000 }, { unsupported: ['delete'] });
    const capacityType = CapacityType.Spot;
    world.east.add(machine('e', { state: S.Idle, capacityType }));
    for (const id of ['w1', 'w2']) world.west.add(machine(id, { state: S.Idle, capacityType }));
    world.shard.start();
    await world.run(300);
    expect([world.known('e'), world.known('w1')]).toEqual(['Speculative of east', 'Idle of west']);
    const asked = [...world.west.ledger.entries()].filter(({ event }) => event === 'delete');
    expect(asked.length).toBeLessThanOrEqual(2); // sent before the first answer
  });

  it('X12: an offering belongs to one provider: the same kind elsewhere stays available', async () => {
    const world = new TwoProviders({}, { quotas: { 'a/z1/reserved': 0 } });
    for (let index = 0; index < 4; index++) {
      world.west.add(machine(`w${index}`, { price: 1 }));
      world.east.add(machine(`e${index}`, { price: 2 }));
    }
    world.shard.start();
    await world.run(1);
    world.demand('c1', [need(3)]);
    await world.run(30);
    expect(world.shard.gauges().offeringsInBackoff).toBe(1);
    expect(['e0', 'e1', 'e2'].map((id) => world.known(id))).toEqual(Array(3).fill('Configured of east'));
  });
});
