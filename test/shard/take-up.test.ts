/** T7: large roll-ups, which the shard takes up in parts, from the session to the provider. */
import { describe, expect, it } from 'vitest';
import { CYCLE_MS, Fixture, machines, need, S } from './fixture.ts';

const PART = 4;
const NEEDS = 30;
const SECONDS_PER_CYCLE = CYCLE_MS / 1_000;

const needs = (prefix: string, priority = 1_000) =>
  Array.from({ length: NEEDS }, (_, index) => need(1, { group: `${prefix}-${index}`, priority }));

function waiting({ shard }: Fixture): number {
  return shard.needs.waitingNeeds(shard.inventory.tables.clusters.find('c1'));
}

describe('T7: a shard with a large cluster', () => {
  it('T7 C1: wakes cycles until the roll-up is taken up whole, and serves every need', async () => {
    const fixture = new Fixture({
      machines: machines(NEEDS, 'm', { state: S.Idle }),
      demand: { c1: needs('a') },
      takeUpRows: PART,
    });
    await fixture.run(3);
    expect(fixture.truth()).toEqual({ Configured: NEEDS });
    expect(waiting(fixture)).toBe(0);
    expect(fixture.ordinaryCycles()).toHaveLength(1);
    expect(fixture.cycles.length).toBeGreaterThanOrEqual(NEEDS / PART);
  });

  it('T7: renaming every group moves no machine: withdrawn needs go first, and N6 keeps their machines', async () => {
    const fixture = new Fixture({
      machines: machines(NEEDS, 'm', { state: S.Idle }),
      demand: { c1: needs('a') },
      settings: { reclaimCapFraction: 0 },
      takeUpRows: PART,
    });
    await fixture.run(25);
    fixture.world.setDemand(fixture.cluster(), needs('b'));
    await fixture.run(10 * SECONDS_PER_CYCLE);
    expect(waiting(fixture)).toBe(0);
    expect(fixture.asked('configure')).toHaveLength(NEEDS);
    expect(fixture.asked('drain')).toEqual([]);
  });

  it('T7 N6 I2: reclaims nothing after a restart while needs wait', async () => {
    const fixture = new Fixture({
      machines: machines(NEEDS, 'm', { state: S.Idle }),
      demand: { c1: needs('a') },
      settings: { reclaimCapFraction: 0 },
      takeUpRows: PART,
    });
    await fixture.run(25);
    for (let round = 0; round < 3; round++) {
      fixture.world.killShard();
      fixture.world.startShard();
      await fixture.run(3 * SECONDS_PER_CYCLE);
    }
    expect(waiting(fixture)).toBe(0);
    expect(fixture.truth()).toEqual({ Configured: NEEDS });
    expect(fixture.asked('drain')).toEqual([]);
  });

  it('T7: needs that cannot be served keep no other waiting for ever', async () => {
    const hopeless = needs('hopeless', 9_000).map((row) => ({
      ...row,
      ...need(1, { type: 'none', group: row.group }),
    }));
    const fixture = new Fixture({
      machines: machines(2, 'm', { state: S.Idle }),
      demand: {
        c1: [
          ...hopeless,
          need(1, { group: 'late-1', priority: 1 }),
          need(1, { group: 'late-2', priority: 1 }),
        ],
      },
      takeUpRows: PART,
    });
    await fixture.run(5);
    expect(waiting(fixture)).toBeGreaterThan(NEEDS / 2);
    expect(fixture.truth()).toEqual({ Idle: 2 });
    await fixture.run(30 * SECONDS_PER_CYCLE);
    expect(fixture.truth()).toEqual({ Configured: 2 });
    expect(waiting(fixture)).toBeGreaterThan(0);
    // Every need had its turn, so a machine that none wants is reclaimed.
    fixture.world.setDemand(fixture.cluster(), [...hopeless, need(1, { group: 'late-1', priority: 1 })]);
    await fixture.run(30 * SECONDS_PER_CYCLE);
    expect(fixture.started('drain')).toHaveLength(1);
  });
});
