/** Sums over tables, on real tables. */
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ceilingUses } from '../../src/decision/ceilings.ts';
import { spotShareUses } from '../../src/decision/spot-share.ts';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import type { Machine } from '../../src/machine/machine.ts';
import { MachineState } from '../../src/machine/state.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { DemandTally, machinesFor } from '../../src/observe/demand-tally.ts';
import { FleetTally } from '../../src/observe/fleet-gauges.ts';
import type { MetricSources } from '../../src/observe/scraped-metrics.ts';
import { ShardMetrics } from '../../src/observe/shard-metrics.ts';
import { sourcesOf } from '../../src/observe/shard-sources.ts';
import type { Shard } from '../../src/shard/shard.ts';
import { createTables } from '../../src/shard/tables.ts';
import { Tenants, tenantLimits } from '../../src/shard/tenants.ts';
import { shardCounters, shardGauges } from './records.ts';

const S = MachineState;

function machine(index: number, changes: Partial<Machine>): Machine {
  return {
    id: `m-${index}`,
    state: S.Idle,
    host: { provider: 'p', ref: `h-${index}` },
    instanceType: 'general-16',
    zone: 'a',
    capacityType: CapacityType.OnDemand,
    pricePerHourUsd: 1,
    interruptionProbability: 0,
    capacity: { cpu: 16_000 },
    labels: {},
    cluster: '',
    assignment: null,
    lastError: '',
    ...changes,
  };
}

function need(
  cpu: number,
  minUnit: Record<string, string>,
  interruptionBucket: number,
  group = '',
): RollupRow {
  return {
    requirements: [],
    aggregate: { cpu: String(cpu) },
    minUnit,
    priority: 100,
    spread: [],
    interruptionBucket,
    reclamationBucket: 1,
    group,
  };
}

const tables = () => createTables({ machinesMax: 1_000, hasRollupGuard: true });

describe('the fleet', () => {
  it('is counted by state, capacity type and penalty, and priced if it has a host', () => {
    const { inventory } = tables();
    const assignment = {
      fingerprint: 'f',
      group: '',
      priority: 1,
      interruptionPenalty: 12,
      reclamationPenalty: 1,
    };
    const bound = { state: S.Configured, cluster: 'c', assignment } as const;
    inventory.insert(machine(1, { pricePerHourUsd: 2 }), 0, 0);
    inventory.insert(machine(2, { ...bound, pricePerHourUsd: 4 }), 0, 0);
    inventory.insert(machine(3, { ...bound, pricePerHourUsd: 8, capacityType: CapacityType.Spot }), 0, 0);
    inventory.insert(machine(4, { state: S.Speculative, host: null, pricePerHourUsd: 16 }), 0, 0);
    inventory.insert(machine(5, { state: S.Failed, host: null, lastError: 'x', pricePerHourUsd: 32 }), 0, 0);
    inventory.remove(inventory.insert(machine(6, {}), 0, 0));
    const tally = new FleetTally();
    tally.update(inventory.columns);
    tally.update(inventory.columns);
    expect([...tally.machines()]).toEqual([
      {
        labels: {
          state: 'Speculative',
          capacity_type: 'OnDemand',
          interruption_penalty_bucket: 'unspecified',
        },
        value: 1,
      },
      {
        labels: { state: 'Idle', capacity_type: 'OnDemand', interruption_penalty_bucket: 'unspecified' },
        value: 1,
      },
      {
        labels: { state: 'Configured', capacity_type: 'OnDemand', interruption_penalty_bucket: '512' },
        value: 1,
      },
      {
        labels: { state: 'Configured', capacity_type: 'Spot', interruption_penalty_bucket: '512' },
        value: 1,
      },
      {
        labels: { state: 'Failed', capacity_type: 'OnDemand', interruption_penalty_bucket: 'unspecified' },
        value: 1,
      },
    ]);
    const dollars = (samples: Iterable<{ labels: Readonly<Record<string, string>>; value: number }>) =>
      [...samples].filter(({ value }) => value > 0).map(({ labels, value }) => [labels.capacity_type, value]);
    expect(dollars(tally.usd())).toEqual([
      ['OnDemand', 6],
      ['Spot', 8],
    ]);
    expect(dollars(tally.idleUsd())).toEqual([['OnDemand', 2]]);
  });
});

describe('demand', () => {
  for (const [aggregate, unit, machines, because] of [
    [{ cpu: 10 }, { cpu: 4 }, 3, 'a part of a machine is a machine'],
    [{ cpu: 8, memory: 90 }, { cpu: 4, memory: 10 }, 9, 'the dimension that asks for the most'],
    [{ cpu: 8 }, {}, 1, 'no unit says how many'],
    [{ cpu: 1 }, { cpu: 4 }, 1, 'less than a unit is one'],
    [{ cpu: 8 }, { gpu: 1 }, 1, 'a unit of something that is not asked for'],
    [{}, { cpu: 4 }, 0, 'nothing is nothing'],
  ] as const) {
    it(`of ${JSON.stringify(aggregate)} in units of ${JSON.stringify(unit)} is ${machines}: ${because}`, () => {
      const { vectors } = tables().inventory.shapes;
      expect(machinesFor(vectors, vectors.intern(aggregate), vectors.intern(unit))).toBe(machines);
    });
  }

  it('is summed by penalty over all clusters', () => {
    const { needs, inventory } = tables();
    needs.accept('c-1', [need(10, { cpu: '4' }, 12), need(4, { cpu: '4' }, 27, 'g')], 0, 0);
    needs.accept('c-2', [need(8, { cpu: '4' }, 12)], 0, 0);
    const tally = new DemandTally(needs, inventory.shapes.vectors);
    expect([...tally.samples(1)]).toEqual([
      { labels: { interruption_penalty_bucket: '512' }, value: 5 },
      { labels: { interruption_penalty_bucket: 'pinned' }, value: 1 },
    ]);
    needs.accept('c-2', [], 0, 0);
    expect([...tally.samples(1)], 'nothing new was said').toHaveLength(2);
    expect([...tally.samples(2)][0]).toEqual({ labels: { interruption_penalty_bucket: '512' }, value: 3 });
  });

  it('of a large table is summed in slices, and the last sum is served meanwhile', () => {
    const rowCount = 140_000;
    const { inventory } = tables();
    const { vectors } = inventory.shapes;
    const columns = {
      rowLimit: rowCount,
      profile: new Uint32Array(rowCount).fill(1),
      aggregate: new Uint32Array(rowCount).fill(vectors.intern({ cpu: 8 })),
      minUnit: new Uint32Array(rowCount).fill(vectors.intern({ cpu: 4 })),
      profiles: { get: () => ({ interruptionPenalty: 3 }) },
    };
    const deferred: (() => void)[] = [];
    const tally = new DemandTally(columns, vectors, (work) => deferred.push(work));
    let slices = 1;
    expect([...tally.samples(1)]).toEqual([]);
    expect([...tally.samples(1)], 'a running sum is not started twice').toEqual([]);
    for (let work = deferred.shift(); work !== undefined; work = deferred.shift()) {
      work();
      slices++;
    }
    expect(slices).toBe(3);
    expect([...tally.samples(1)]).toEqual([
      { labels: { interruption_penalty_bucket: '1' }, value: 2 * rowCount },
    ]);
  });

  it('is at least one machine for each need that requests anything', () => {
    const amounts = fc.dictionary(
      fc.constantFrom('cpu', 'memory', 'gpu'),
      fc.integer({ min: 1, max: 1_000 }),
    );
    let divided = 0;
    fc.assert(
      fc.property(amounts, amounts, (aggregate, unit) => {
        const { vectors } = tables().inventory.shapes;
        const machines = machinesFor(vectors, vectors.intern(aggregate), vectors.intern(unit));
        const wanted = Object.keys(aggregate).length > 0;
        expect(machines).toBeGreaterThanOrEqual(wanted ? 1 : 0);
        for (const [dimension, amount] of Object.entries(aggregate)) {
          const each = unit[dimension];
          if (each === undefined) continue;
          divided++;
          expect(machines * each).toBeGreaterThanOrEqual(amount);
        }
      }),
      { numRuns: 60 },
    );
    expect(divided).toBeGreaterThan(20);
  });
});

describe('a shard', () => {
  it('has the type that the sources read', () => {
    const read: (shard: Shard) => Partial<MetricSources> = sourcesOf;
    expect(read).toBe(sourcesOf);
  });

  it('E7: shows each ceiling, and how much of it is used, as long as it is set', async () => {
    const { inventory, needs } = tables();
    inventory.insert(machine(1, { state: S.Configured, cluster: 'c1', pricePerHourUsd: 9 }), 0, 0);
    inventory.insert(machine(2, { state: S.Speculative, host: null, pricePerHourUsd: 9 }), 0, 0);
    const none = Number.POSITIVE_INFINITY;
    let ceilings = { maxDollarsPerHour: 10, maxByCapacityType: [none, none, none, 36, 0] };
    const metrics = new ShardMetrics({ hasProcessMetrics: false });
    onTestFinished(() => metrics.close());
    const engine = { shortfalls: [] };
    const counters = shardCounters();
    const uses = () => ceilingUses(ceilings, inventory);
    metrics.watch(
      sourcesOf({
        counters,
        gauges: shardGauges,
        ceilingUses: uses,
        spotShareUses: () => [],
        budgets: { views: () => [] },
        inventory,
        needs,
        engine,
      }),
    );
    const shown = async () =>
      (await metrics.scrape()).body.split('\n').filter((line) => line.startsWith('flotilla_ceiling_'));
    expect(await shown()).toEqual([
      'flotilla_ceiling_dollars_per_hour{capacity_type="All"} 10',
      'flotilla_ceiling_dollars_per_hour{capacity_type="OnDemand"} 36',
      'flotilla_ceiling_dollars_per_hour{capacity_type="Spot"} 0',
      'flotilla_ceiling_used_ratio{capacity_type="All"} 0.9',
      'flotilla_ceiling_used_ratio{capacity_type="OnDemand"} 0.25',
      'flotilla_ceiling_used_ratio{capacity_type="Spot"} 1',
    ]);
    ceilings = { maxDollarsPerHour: none, maxByCapacityType: [none, none, none, none, none] };
    expect(await shown()).toEqual([]);
  });

  it('E8: shows the share of machines that are not spot, of each cluster with a minimum and machines', async () => {
    const { inventory, needs } = tables();
    const spot = { state: S.Configured, capacityType: CapacityType.Spot };
    inventory.insert(machine(1, { ...spot, cluster: 'batch' }), 0, 0);
    inventory.insert(machine(2, { ...spot, cluster: 'batch', state: S.Draining }), 0, 0);
    inventory.insert(machine(3, { state: S.Configured, cluster: 'batch' }), 0, 0);
    inventory.insert(machine(4, { ...spot, cluster: 'web' }), 0, 0);
    const tenants = new Tenants(inventory.tables.clusters, [
      tenantLimits({ cluster: 'batch', minNonSpotShare: 0.3 }),
    ]);
    const metrics = new ShardMetrics({ hasProcessMetrics: false });
    onTestFinished(() => metrics.close());
    const spotShareUsesNow = () => spotShareUses(tenants, inventory);
    const counters = shardCounters();
    const engine = { shortfalls: [] };
    metrics.watch(
      sourcesOf({
        ...{ counters, gauges: shardGauges, inventory, needs, engine },
        ceilingUses: () => [],
        spotShareUses: spotShareUsesNow,
        budgets: { views: () => [] },
      }),
    );
    const lines = (await metrics.scrape()).body.split('\n');
    expect(lines.filter((line) => line.startsWith('flotilla_non_spot_share_'))).toEqual([
      'flotilla_non_spot_share_ratio{cluster="batch"} 0.5',
      'flotilla_non_spot_share_min_ratio{cluster="batch"} 0.3',
    ]);
  });

  it('N7: shows quarantined roll-ups, also of a cluster that never reported', async () => {
    const { inventory, needs } = tables();
    for (let index = 0; index < 12; index++) {
      inventory.insert(machine(index, { state: S.Configured, cluster: 'restarted' }), 0, 0);
    }
    expect(needs.accept('restarted', [], 0, 12)).toBe('quarantined');
    const metrics = new ShardMetrics({ hasProcessMetrics: false });
    onTestFinished(() => metrics.close());
    const counters = shardCounters();
    const ceilingUses = () => [];
    const engine = { shortfalls: [] };
    metrics.watch(
      sourcesOf({
        counters,
        gauges: shardGauges,
        ceilingUses,
        spotShareUses: () => [],
        budgets: { views: () => [] },
        inventory,
        needs,
        engine,
      }),
    );
    const { body } = await metrics.scrape();
    expect(body).toContain('bigfleet_shard_rollup_quarantined{cluster="restarted"} 1');
    expect(body).toContain(
      'bigfleet_shard_inventory_machines{state="Configured",capacity_type="OnDemand",interruption_penalty_bucket="unspecified"} 12',
    );
  });
});
