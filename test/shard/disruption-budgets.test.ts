/** H9: how many machines of a place the shard takes from their clusters by reclaims, and when. */
import { describe, expect, it } from 'vitest';
import { Flag } from '../../src/inventory/intent.ts';
import { WHOLE_FLEET } from '../../src/shard/controls/control.ts';
import type { BudgetAmount, DisruptionBudget } from '../../src/shard/ports/budgets.ts';
import { Fixture, type FixtureOptions, machines, need, S, SLOW } from './fixture.ts';

const MINUTE_MS = 60_000;

function budget(change: Partial<DisruptionBudget> = {}): DisruptionBudget {
  return { name: 'b', scope: WHOLE_FLEET, perWindow: null, atATime: null, schedule: null, ...change };
}

function perWindow(most: BudgetAmount, windowMs = 5 * MINUTE_MS): Partial<DisruptionBudget> {
  return { perWindow: { most, windowMs } };
}

/** Two clusters with so many bound machines each, which then ask for none. */
async function excess(
  budgets: readonly DisruptionBudget[],
  { each = 5, ...options }: FixtureOptions & { readonly each?: number } = {},
): Promise<Fixture> {
  const fixture = new Fixture({
    machines: machines(2 * each, 'm', { state: S.Idle }),
    demand: { c1: [need(each)], c2: [need(each)] },
    ...options,
    settings: { hasRollupGuard: false, reclaimCapFraction: 0, budgets, ...options.settings },
  });
  await fixture.run(25);
  expect(fixture.truth()).toEqual({ Configured: 2 * each });
  for (const cluster of ['c1', 'c2']) fixture.world.setDemand(fixture.cluster(cluster), []);
  return fixture;
}

describe('disruption budgets', () => {
  for (const [what, most, allowed] of [
    ['three machines', { count: 3 }, 3],
    ['30 % of ten machines', { percent: 30 }, 3],
    ['1 % of ten machines, at least one', { percent: 1 }, 1],
    ['no machine', { count: 0 }, 0],
    ['0 %', { percent: 0 }, 0],
  ] as const) {
    it(`H9: reclaims ${what} in a window, and not more before the first of them stops to count`, async () => {
      const fixture = await excess([budget(perWindow(most))]);
      await fixture.run(240);
      expect(fixture.asked('drain').length).toBe(allowed);
      expect(fixture.shard.counters.reclaimsHeldByBudgets).toBeGreaterThan(0);
      await fixture.run(120);
      // A share is one of the machines that are bound now.
      expect(fixture.asked('drain').length).toBeGreaterThanOrEqual(Math.min(allowed + 1, 2 * allowed));
      expect(fixture.asked('drain').length).toBeLessThanOrEqual(2 * allowed);
    });
  }

  it('H9: the machines that go are the first in the order of R1', async () => {
    const fixture = await excess([budget(perWindow({ count: 3 }))]);
    await fixture.run(60);
    expect(
      fixture
        .asked('drain')
        .map(({ machineId }) => machineId)
        .sort(),
    ).toEqual(['m-0000', 'm-0001', 'm-0002']);
  });

  it('H9: a budget for one cluster holds no machine of another, and uses nothing of its cap', async () => {
    const scope = { ...WHOLE_FLEET, cluster: 'c1' };
    const fixture = await excess([budget({ scope, ...perWindow({ count: 1 }) })]);
    await fixture.run(60);
    expect(fixture.truth()).toEqual({ Configured: 4, Idle: 6 });
    expect(fixture.shard.budgets.views()).toMatchObject([
      { name: 'b', machines: 4, used: 1, most: 1, holds: 'used_up', isOpen: true },
    ]);
  });

  it('H9: every budget of a machine must have room', async () => {
    const fixture = await excess([
      budget({ name: 'wide', ...perWindow({ count: 8 }) }),
      budget({ name: 'narrow', ...perWindow({ count: 2 }) }),
    ]);
    await fixture.run(60);
    expect(fixture.asked('drain').length).toBe(2);
    expect(fixture.shard.budgets.views()).toMatchObject([
      { used: 2, holds: '' },
      { used: 2, holds: 'used_up' },
    ]);
  });

  it('H9: at most so many drain at a time, however slow the provider is', async () => {
    const fixture = await excess([budget({ atATime: { count: 2 } })], {
      provider: { operations: { drain: SLOW.operations!.drain! } },
    });
    await fixture.run(300);
    expect(fixture.truth()).toEqual({ Configured: 8, Draining: 2 });
    await fixture.run(600);
    expect(fixture.truth()).toMatchObject({ Draining: 2 });
    expect(fixture.asked('drain').length).toBeGreaterThan(2);
  });

  it('H9: it lets machines go only while a window of its schedule is open, and says when the next one opens', async () => {
    const openMs = 10 * MINUTE_MS;
    let fromMs = Number.POSITIVE_INFINITY;
    const schedule = {
      isOpenAt: (nowMs: number) => nowMs >= fromMs && nowMs < fromMs + openMs,
      closesMs: (nowMs: number) => (nowMs >= fromMs ? fromMs + openMs : null),
      opensMs: (nowMs: number) => (nowMs < fromMs ? fromMs : null),
    };
    const fixture = await excess([budget({ schedule })]);
    fromMs = fixture.world.time.nowMs() + 5 * MINUTE_MS;
    await fixture.run(290);
    expect(fixture.asked('drain')).toEqual([]);
    expect(fixture.shard.budgets.views()).toMatchObject([
      { isOpen: false, opensMs: fromMs, holds: 'closed', most: null },
    ]);
    await fixture.run(60);
    expect(fixture.truth()).toEqual({ Idle: 10 });
  });

  it('H9: what is used outlives a kill of the process', async () => {
    const fixture = await excess([budget(perWindow({ count: 3 }))]);
    await fixture.run(30);
    expect(fixture.asked('drain').length).toBe(3);
    fixture.world.killShard();
    fixture.world.startShard();
    await fixture.run(200);
    expect(fixture.asked('drain').length).toBe(3);
    expect(fixture.shard.budgets.views()).toMatchObject([{ used: 3, holds: 'used_up' }]);
    await fixture.run(120);
    expect(fixture.asked('drain').length).toBe(6);
  });

  it('H9: use that cannot be written counts, and its reclaims are not begun', async () => {
    const fixture = await excess([budget(perWindow({ count: 3 }))]);
    fixture.world.storeFailure = 'the disk is full';
    await fixture.run(60);
    expect(fixture.asked('drain')).toEqual([]);
    expect(fixture.outcomes('Reclaim')).toEqual(['suppressed', 'suppressed', 'suppressed']);
    expect(fixture.events.filter(({ kind }) => kind === 'budget_usage_not_written').length).toBeGreaterThan(
      0,
    );
    expect(fixture.shard.budgets.views()).toMatchObject([{ used: 3, holds: 'used_up' }]);
    fixture.world.storeFailure = '';
    await fixture.run(360);
    expect(fixture.asked('drain').length).toBeGreaterThan(0);
  });

  for (const [what, stored] of [
    ['is no JSON', '{'],
    ['is of another version', '{"version":2,"unreadMs":null,"budgets":[]}'],
    [
      'has an entry that is none',
      '{"version":1,"unreadMs":null,"budgets":[{"name":"b","windowMs":1,"entries":[[1]]}]}',
    ],
  ] as const) {
    it(`H9: stored use that ${what} counts as used up for a window`, async () => {
      const fixture = await excess([budget(perWindow({ count: 3 }))]);
      await fixture.run(30);
      fixture.world.killShard();
      fixture.world.storedUsage = stored;
      fixture.world.startShard();
      await fixture.run(280);
      expect(fixture.asked('drain').length).toBe(3);
      expect(fixture.shard.budgets.views()).toMatchObject([{ used: 0, holds: 'unread' }]);
      expect(fixture.events.filter(({ kind }) => kind === 'budget_usage_unread').length).toBe(1);
      await fixture.run(60);
      expect(fixture.asked('drain').length).toBe(6);
    });
  }

  it('H9: preemptions are counted apart and not held', async () => {
    const fixture = new Fixture({
      machines: machines(3, 'm', { state: S.Idle }),
      demand: { c1: [need(3)], c2: [] },
      settings: { budgets: [budget(perWindow({ count: 0 }))], preemptionCapFraction: 0 },
    });
    await fixture.run(25);
    fixture.world.setDemand(fixture.cluster('c2'), [need(2, { priority: 1_000_000 })]);
    await fixture.run(60);
    expect(fixture.asked('drain').length).toBe(2);
    expect(fixture.shard.budgets.views()).toMatchObject([{ used: 0, preempted: 2, most: 0 }]);
  });

  for (const [what, gracePeriodSeconds, used] of [
    ['that the shard sees', 60, 3],
    // The shard doubts the first listing that shows it.
    ['that is over before the next listing', 0, 4],
  ] as const)
    it(`H9: a drain by hand at the provider ${what} counts`, async () => {
      const fixture = await excess([budget(perWindow({ count: 3 }))], {
        provider: { operations: { drain: { latency: { meanMs: 40_000, p99Ms: 50_000 } } } },
      });
      await fixture.run(1);
      fixture.world.provider.drain({
        machineId: 'm-0009',
        shardId: 'a person',
        shardEpoch: 1,
        sequenceNumber: 1,
        gracePeriodSeconds,
      });
      await fixture.run(120);
      expect(fixture.shard.budgets.views()).toMatchObject([{ used }]);
      expect(fixture.asked('drain').length).toBe(used);
    });

  it('H9: a leaving machine counts and is not held', async () => {
    const fixture = await excess([budget(perWindow({ count: 0 }))]);
    const { inventory, budgets } = fixture.shard;
    inventory.setFlag(inventory.find('m-0003'), Flag.Leaving, true);
    await fixture.run(60);
    expect(fixture.asked('drain').map(({ machineId }) => machineId)).toEqual(['m-0003']);
    expect(budgets.views()).toMatchObject([{ used: 1, holds: 'used_up' }]);
  });

  it('H9: a reload changes the budgets, and what was used still counts', async () => {
    const fixture = await excess([budget(perWindow({ count: 1 }))]);
    await fixture.run(30);
    const { shard } = fixture;
    shard.setRails({ ...shard.rails, budgets: [budget(perWindow({ count: 4 }))] });
    await fixture.run(30);
    expect(fixture.asked('drain').length).toBe(4);
    shard.setRails({ ...shard.rails, budgets: [] });
    await fixture.run(30);
    expect(fixture.truth()).toEqual({ Idle: 10 });
  });

  it('H9: a machine that a budget keeps is explained', async () => {
    const fixture = await excess([budget({ name: 'nights', ...perWindow({ count: 1 }) })]);
    await fixture.run(60);
    const slot = fixture.shard.inventory.find('m-0004');
    expect(fixture.shard.budgets.keeping(slot)).toMatchObject({ name: 'nights', holds: 'used_up' });
  });
});
