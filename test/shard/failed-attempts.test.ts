/** X5, X14, X15: bootstraps and drains that fail, synchronously or long after the ack. */
import { describe, expect, it } from 'vitest';
import { BurnBudget } from '../../src/shard/execute/burn-budget.ts';
import { NeedBackoffs } from '../../src/shard/execute/need-backoff.ts';
import { createTables } from '../../src/shard/tables.ts';
import { Fixture, machine, need, PROVIDERS, S } from './fixture.ts';

const ASYNCHRONOUS = PROVIDERS[1]![1];
const BREAK = { error: 'exit 1', afterMs: 100 };

const idle = (count: number, prefix = 'm') =>
  Array.from({ length: count }, (_, index) => machine(`${prefix}-${index}`, { state: S.Idle }));

/** By the provider's own record. */
function countIn({ world }: Fixture, wanted: number): number {
  const listed = world.provider.list();
  return listed.kind === 'ok' ? listed.value.machines.filter(({ state }) => state === wanted).length : -1;
}

const failed = (fixture: Fixture) => countIn(fixture, S.Failed);
const configured = (fixture: Fixture) => countIn(fixture, S.Configured);

/** Every Configure for this cluster is accepted and fails later. */
function breakBootstraps(fixture: Fixture, clusterId: string): void {
  fixture.world.link.breaks = (call) =>
    call.kind === 'configure' && call.clusterId === clusterId ? BREAK : null;
}

describe('bootstraps that fail after the ack', () => {
  it('X5: put the need into back-off, and then try one machine at a time', async () => {
    const fixture = new Fixture({ machines: idle(40), demand: { c1: [need(2)] }, provider: ASYNCHRONOUS });
    breakBootstraps(fixture, 'c1');
    await fixture.run(70);
    // Two at once, then after 10 and 20 s; before, one in every cycle and after each failure.
    expect(failed(fixture)).toBeGreaterThanOrEqual(3);
    expect(failed(fixture)).toBeLessThanOrEqual(4);
    expect(fixture.shard.gauges().needsInBackoff).toBe(1);
    expect(fixture.shard.counters.actionsHeldForProbes).toBeGreaterThan(0);
  });

  it('X5: a success ends the probation, and the need gets all that it lacks', async () => {
    const fixture = new Fixture({ machines: idle(60), demand: { c1: [need(4)] }, provider: ASYNCHRONOUS });
    breakBootstraps(fixture, 'c1');
    await fixture.run(10);
    fixture.world.link.breaks = null;
    await fixture.run(50);
    expect(configured(fixture)).toBe(4);
    expect(fixture.shard.needBackoffs.count).toBe(0);
  });

  it('X14: a cluster burns three of a few machines, or a tenth of many, and its healthy needs go on one at a time', async () => {
    const fixture = new Fixture({
      machines: [
        ...idle(40),
        ...Array.from({ length: 6 }, (_, index) => machine(`b-${index}`, { type: 'b', state: S.Idle })),
      ],
      demand: { c1: [need(6, { group: 'broken' })] },
      provider: ASYNCHRONOUS,
    });
    fixture.world.link.breaks = (call) =>
      call.kind === 'configure' && Object.values(call.shardMetadata ?? {}).includes('broken') ? BREAK : null;
    await fixture.run(300);
    expect(failed(fixture)).toBe(6); // the first batch; the budget is four of forty
    expect(fixture.shard.gauges()).toMatchObject({ burnedMachines: 6, clustersOverBurnBudget: 1 });
    fixture.world.setDemand(fixture.cluster(), [
      need(6, { group: 'broken' }),
      need(3, { type: 'b', group: 'healthy' }),
    ]);
    await fixture.run(120);
    expect(failed(fixture)).toBe(6);
    expect(configured(fixture)).toBe(3);
  });

  it('X14: forgets what is an hour old', () => {
    const { clusters } = createTables({ machinesMax: 16, hasRollupGuard: true }).inventory.tables;
    const cluster = clusters.intern('c');
    const budget = new BurnBudget(clusters, () => 0.1);
    for (const atMs of [0, 1, 2]) budget.burned(cluster, atMs);
    expect([budget.isSpent(cluster, 10), budget.isSpent(cluster, 40)]).toEqual([true, false]);
    budget.expire(3_600_001);
    expect([budget.countOf(cluster), budget.isSpent(cluster, 10)]).toEqual([1, false]);
    budget.expire(7_200_000);
    clusters.release(cluster);
    expect([budget.count, clusters.count]).toEqual([0, 0]);
  });

  it('X5: withdraws what waits, and lets a straggler of the first batch neither lengthen the back-off nor be the probe', () => {
    const { tables } = createTables({ machinesMax: 16, hasRollupGuard: true }).inventory;
    const budget = new BurnBudget(tables.clusters, () => 0);
    const backoffs = new NeedBackoffs({ tables, budget, isLive: () => true, isTried: () => true });
    const refs = [tables.clusters.intern('c'), 0, 0] as const;
    const fail = (slot: number, atMs: number) => backoffs.failed(...refs, { text: 'exit 1', slot }, atMs);
    fail(1, 0);
    expect(backoffs.admit(...refs, 2)).toBe(false);
    backoffs.expire(10_001);
    expect([backoffs.admit(...refs, 3), backoffs.admit(...refs, 3), backoffs.admit(...refs, 4)]).toEqual([
      true,
      true,
      false,
    ]);
    fail(2, 11_000); // began before the back-off
    expect(backoffs.viewOf(...refs)).toMatchObject({ failuresInARow: 1, untilMs: 21_000, probe: 3 });
    fail(3, 30_000);
    expect(backoffs.viewOf(...refs)).toMatchObject({ failuresInARow: 2, untilMs: 50_000, probe: 0 });
    backoffs.succeeded(...refs);
    expect(backoffs.admit(...refs, 5)).toBe(true);
  });
});

describe('failures of many needs', () => {
  const CLUSTERS = ['c1', 'c2', 'c3'] as const;

  it('X15: count against the offering that three clusters fail on, and needs use another', async () => {
    const machines = [
      ...idle(20, 'bad'),
      ...Array.from({ length: 10 }, (_, index) =>
        machine(`good-${index}`, { state: S.Idle, zone: 'z2', price: 9 }),
      ),
    ];
    const fixture = new Fixture({
      machines,
      demand: Object.fromEntries(CLUSTERS.map((id) => [id, [need(1)]])),
      provider: ASYNCHRONOUS,
    });
    fixture.world.link.breaks = (call) =>
      call.kind === 'configure' && call.machineId.startsWith('bad') ? BREAK : null;
    await fixture.run(60);
    expect(fixture.shard.gauges().sharedFaults).toBe(1);
    expect(failed(fixture)).toBeLessThanOrEqual(4);
    expect(configured(fixture)).toBe(3);
  });

  it('X15: do not count against an offering from which other clusters get machines', async () => {
    const fixture = new Fixture({
      machines: idle(40),
      demand: {
        c1: ['a', 'b', 'c'].map((group) => need(1, { group })),
        c2: [need(1)],
      },
      provider: ASYNCHRONOUS,
    });
    breakBootstraps(fixture, 'c1');
    await fixture.run(40);
    expect(fixture.shard.gauges()).toMatchObject({ sharedFaults: 0, needsInBackoff: 3 });
  });
});

describe('drains that fail', () => {
  it('X5, X14: stop after a few machines of the cluster', async () => {
    const fixture = new Fixture({
      machines: idle(30),
      demand: { c1: [need(20)] },
      provider: ASYNCHRONOUS,
      settings: { reclaimCapFraction: 0, hasRollupGuard: false },
    });
    await fixture.run(40);
    fixture.world.link.breaks = (call) => (call.kind === 'drain' ? BREAK : null);
    fixture.world.setDemand(fixture.cluster(), [need(19)]);
    await fixture.run(20);
    fixture.world.setDemand(fixture.cluster(), [need(5)]);
    await fixture.run(300);
    // One, and then one at a time until three are burned.
    expect(failed(fixture)).toBe(3);
    expect(fixture.shard.gauges().clustersOverBurnBudget).toBe(1);
  });
});
