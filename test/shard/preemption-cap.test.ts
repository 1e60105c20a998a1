/** T9: how fast needs of higher priority take the machines of a cluster. */
import { describe, expect, it } from 'vitest';
import { Operator } from '../../src/needs/requirements.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import type { ShardSettings } from '../../src/shard/settings.ts';
import { CYCLE_MS, Fixture, type MachineChange, machines, need, S } from './fixture.ts';

const RACK_KEY = 'rack';
const HIGH = { priority: 1_000_000 };
const LOW = { priority: 100 };
const IN_ONE_RACK = { labels: { [RACK_KEY]: 'r1' } };

function gang(machineCount: number): RollupRow {
  const same = { key: RACK_KEY, operator: Operator.Same, values: [] };
  return need(machineCount, { ...HIGH, group: 'gang', requirements: [same] });
}

/** By fixture: the cluster of each machine before the first preemption. */
const ownersOf = new WeakMap<Fixture, ReadonlyMap<string, string>>();

/** Clusters of low priority whose machines are bound, and a cluster `high` without demand yet. */
async function settled(
  low: Readonly<Record<string, number>>,
  settings: Partial<ShardSettings> = {},
  change: MachineChange = {},
  idleCount = 0,
): Promise<Fixture> {
  const count = Object.values(low).reduce((sum, one) => sum + one, 0);
  const fixture = new Fixture({
    machines: machines(count, 'm', { state: S.Idle, ...change }),
    demand: {
      ...Object.fromEntries(Object.entries(low).map(([id, one]) => [id, [need(one, LOW)]])),
      high: [],
    },
    settings: { hasRollupGuard: false, ...settings },
  });
  await fixture.run(35);
  expect(fixture.truth()).toEqual({ Configured: count });
  for (const one of machines(idleCount, 'idle', { state: S.Idle, ...change }))
    fixture.world.provider.add(one);
  if (idleCount > 0) await fixture.run(10);
  const { inventory } = fixture.shard;
  const owner = ({ id }: { id: string }) =>
    [id, inventory.tables.clusters.get(inventory.columns.cluster[inventory.find(id)]!)] as const;
  ownersOf.set(fixture, new Map(machines(count, 'm').map(owner)));
  return fixture;
}

/** Machines of the cluster that were told to drain. */
function preempted(fixture: Fixture, clusterId = 'low'): number {
  const owners = ownersOf.get(fixture)!;
  return fixture.asked('drain').filter(({ machineId }) => owners.get(machineId) === clusterId).length;
}

describe('the preemption cap', () => {
  for (const [configured, fraction, allowed, because] of [
    [3, 0.2, 1, 'a small cluster still gives way'],
    [50, 0.2, 10, 'a fifth by default'],
    [100, 0.29, 29, 'what a person calls 29 of 100'],
    [30, 0, 30, '0 turns it off'],
  ] as const) {
    it(`T9: ${allowed} of ${configured} at ${fraction}: ${because}`, async () => {
      const fixture = await settled({ low: configured }, { preemptionCapFraction: fraction });
      fixture.world.setDemand(fixture.cluster('high'), [need(configured, HIGH)]);
      await fixture.run(0.5);
      expect(preempted(fixture)).toBe(allowed);
      const report = fixture.cycles.find(({ decided }) => decided.Preempt > 0)!;
      expect(report.enqueued.Preempt).toBe(allowed);
      expect(report.preemptionsCapped).toBe(configured - allowed);
      expect(fixture.shard.counters.preemptionsCapped).toBeGreaterThanOrEqual(configured - allowed);
    });
  }

  it('T9: refills over one interval, from the machines that are left', async () => {
    const fixture = await settled({ low: 100 });
    fixture.world.setDemand(fixture.cluster('high'), [need(100, HIGH)]);
    await fixture.run(1);
    expect(preempted(fixture)).toBe(20);
    // The next ordinary cycle is half an interval later: half of the 16 tokens that 80 machines give.
    await fixture.run(5);
    expect(preempted(fixture)).toBe(28);
    await fixture.run(CYCLE_MS / 1000);
    expect(preempted(fixture)).toBe(28 + 14);
    await fixture.run(400);
    expect(preempted(fixture)).toBe(100);
  });

  it('T9: woken cycles within an interval take no more than the refill', async () => {
    const fixture = await settled({ low: 50 });
    fixture.world.setDemand(fixture.cluster('high'), [need(50, HIGH)]);
    for (let change = 0; change < 8; change++) {
      await fixture.run(1);
      fixture.world.setDemand(fixture.cluster('high'), [need(50 + change, HIGH)]);
    }
    const spentMs =
      fixture.world.time.nowMs() - fixture.cycles.find(({ decided }) => decided.Preempt > 0)!.atMs;
    expect(preempted(fixture)).toBeGreaterThanOrEqual(10);
    expect(preempted(fixture)).toBeLessThanOrEqual(10 + Math.ceil((spentMs / CYCLE_MS) * 8));
  });

  it('T9: caps each cluster on its own', async () => {
    const fixture = await settled({ low: 20, lower: 10 });
    fixture.world.setDemand(fixture.cluster('high'), [need(30, HIGH)]);
    await fixture.run(0.5);
    expect(preempted(fixture, 'low')).toBe(4);
    expect(preempted(fixture, 'lower')).toBe(2);
  });

  it('T9: unclaimed victims cost no token', async () => {
    const fixture = await settled({ low: 10 }, { reclaimCapFraction: 0.01 });
    fixture.world.setDemand(fixture.cluster('low'), [need(4, LOW)]);
    fixture.world.setDemand(fixture.cluster('high'), [need(10, HIGH)]);
    await fixture.run(0.5);
    // Six machines that no need claims, and the two claimed ones that a bucket for ten machines has.
    expect(preempted(fixture)).toBe(8);
  });

  it('T9: a gang overdraws a full bucket, and the debt is paid first', async () => {
    const fixture = await settled({ low: 20 }, {}, IN_ONE_RACK, 1);
    fixture.world.setDemand(fixture.cluster('high'), [gang(13)]);
    await fixture.run(0.5);
    expect(preempted(fixture)).toBe(12);
    fixture.world.setDemand(fixture.cluster('high'), [gang(13), need(4, HIGH)]);
    // The bucket is 8 in debt, and 8 machines are left: 1 token each interval.
    await fixture.run(70);
    expect(preempted(fixture)).toBe(12);
    await fixture.run(50);
    expect(preempted(fixture)).toBeGreaterThan(12);
    await fixture.run(60);
    expect(preempted(fixture)).toBe(16);
  });

  it('T9: a gang that finds no full bucket waits whole, over all clusters, and needs after it wait too', async () => {
    const fixture = await settled({ low: 10, lower: 10 }, {}, IN_ONE_RACK, 1);
    fixture.world.setDemand(fixture.cluster('high'), [gang(1), need(2, HIGH)]);
    await fixture.run(0.5);
    const before = fixture.asked('drain').length;
    expect(before).toBe(2);
    fixture.world.setDemand(fixture.cluster('high'), [
      need(2, HIGH),
      gang(13),
      need(6, { priority: 500_000 }),
    ]);
    await fixture.run(0.5);
    expect(fixture.asked('drain')).toHaveLength(before);
    const deferred = fixture.cycles.at(-1)!;
    expect(deferred.preemptionsCapped).toBeGreaterThan(12);
    expect(deferred.preemptionsCapped).toBe(deferred.decided.Preempt);
    // P6: the victims that wait are not Draining, and R1 does not reclaim them.
    expect(fixture.shard.executor.queueDepth + fixture.shard.executor.inFlight).toBe(0);
    await fixture.run(2 * (CYCLE_MS / 1000));
    // All at once, from buckets of two tokens each.
    expect(Math.max(...fixture.cycles.map(({ enqueued }) => enqueued.Preempt))).toBeGreaterThanOrEqual(10);
    await fixture.run(300); // until the debt is paid
    expect(fixture.cluster('high').nodes.size).toBe(21);
    expect(fixture.outcomes('Reclaim')).toEqual([]);
  });

  it('T9: the kill switch and a dry run cost no token', async () => {
    const fixture = await settled({ low: 20 });
    const { rails } = fixture.shard;
    fixture.shard.setRails({ ...rails, isDryRun: true });
    fixture.world.setDemand(fixture.cluster('high'), [need(20, HIGH)]);
    await fixture.run(1);
    expect(fixture.cycles.at(-1)).toMatchObject({ preemptionsCapped: 0 });
    expect(fixture.cycles.at(-1)!.dryRun.Preempt).toBe(20);
    fixture.shard.setRails(rails);
    await fixture.run(0.5);
    expect(preempted(fixture)).toBe(4);
  });

  it('T9: a preemption that the queue or the limit on actions leaves out costs no token', async () => {
    const fixture = await settled({ low: 40 }, { actionsPerCycleMax: 3 });
    fixture.world.setDemand(fixture.cluster('high'), [need(40, HIGH)]);
    await fixture.run(0.5);
    // Three per woken cycle, until the eight tokens are spent.
    expect(preempted(fixture)).toBe(8);
  });
});
