import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { type Backlog, GANG_WEIGHT } from '../../src/needs/take-up.ts';
import {
  type Demand,
  demand,
  isIn,
  isSame,
  leftovers,
  NOTHING_LEFT,
  needsOf,
  row,
  rowsOf,
} from './support.ts';

const PART = 8;
const ALL_MET = (): Backlog => ({ unmet: [], idle: [] });

function inParts(): Demand {
  return demand({ takeUpRows: PART, quarantine: false });
}

function send({ table }: Demand, rows: readonly RollupRow[], nowMs: number): void {
  table.accept('east', rows, nowMs, 0);
}

function groupsOf(world: Demand): string[] {
  return needsOf(world, 'east').map(({ group }) => group);
}

/** The whole slice is unmet, and no row has a machine. */
function allUnmet({ table, clusters }: Demand): () => Backlog {
  return () => {
    const all = Array.from({ length: table.sliceCount(clusters.find('east')) }, (_, position) => position);
    return { unmet: all, idle: all };
  };
}

function isTakingUp({ table, clusters }: Demand): boolean {
  return table.isTakingUp(clusters.find('east'));
}

/** One part per cycle until nothing is left to do. */
function takeUpAll(world: Demand): number {
  let parts = 1;
  while (world.table.takeUp(false, ALL_MET)) parts++;
  return parts;
}

describe('T7: a large roll-up is taken up in parts', () => {
  it('T7: takes up a small cluster whole when it is accepted', () => {
    const world = inParts();
    send(world, rowsOf(PART), 1_000);
    expect(groupsOf(world)).toHaveLength(PART);
    expect(world.table.takeUp(false, ALL_MET)).toBe(false);
  });

  it('T7: adds at most one part of the rows in each cycle, in the order of needs', () => {
    const world = inParts();
    send(world, rowsOf(20), 1_000);
    expect(groupsOf(world)).toEqual([]);
    const all = rowsOf(20)
      .map(({ group }) => group)
      .sort();
    for (const count of [8, 16, 20]) {
      expect(isTakingUp(world)).toBe(true);
      expect(world.table.takeUp(false, ALL_MET)).toBe(count < 20);
      expect(groupsOf(world)).toEqual(all.slice(0, count));
      expect(world.table.takenUp(world.clusters.find('east'))).toEqual({ needs: count, of: 20 });
    }
    expect(isTakingUp(world)).toBe(false);
  });

  it('T7: withdraws rows before it adds others, and N6 holds until all are in', () => {
    const world = inParts();
    send(world, rowsOf(12), 1_000);
    takeUpAll(world);
    const others = rowsOf(12).map((one) => ({ ...one, group: `other-${one.group}` }));
    send(world, others, 2_000);
    const seen: [old: number, others: number, isTakingUp: boolean][] = [];
    for (let more = true; more; ) {
      more = world.table.takeUp(false, ALL_MET);
      const isOther = groupsOf(world).filter((group) => group.startsWith('other')).length;
      seen.push([groupsOf(world).length - isOther, isOther, isTakingUp(world)]);
    }
    expect(seen).toEqual([
      [4, 0, true],
      [0, 4, true],
      [0, 12, false],
    ]);
  });

  it('T7: changes rows in place, and counts them', () => {
    const world = inParts();
    send(world, rowsOf(20), 1_000);
    takeUpAll(world);
    const larger = rowsOf(20).map((one) => ({ ...one, aggregate: { cpu: '16' } }));
    send(world, larger, 2_000);
    world.table.takeUp(false, ALL_MET);
    const isLarger = () => needsOf(world, 'east').filter(({ aggregate }) => aggregate.cpu === 16_000);
    expect(isLarger()).toHaveLength(PART);
    expect(isTakingUp(world)).toBe(true);
    takeUpAll(world);
    expect(isLarger()).toHaveLength(20);
    expect(isLarger().every(({ arrivalMs }) => arrivalMs === 1_000)).toBe(true);
  });

  it('T7: a row with many requirements counts as several', () => {
    const world = inParts();
    const requirements = Array.from({ length: 24 }, (_, index) => isIn(`key-${index}`, 'a'));
    send(
      world,
      rowsOf(6).map((one) => ({ ...one, requirements })),
      1_000,
    );
    expect(groupsOf(world)).toEqual([]); // 24 are 8 more than usual, so each row counts as 4
    for (const count of [2, 4, 6]) {
      world.table.takeUp(false, ALL_MET);
      expect(groupsOf(world)).toHaveLength(count);
    }
  });

  it('T7: a need that the decision compares with each shape weighs as much as a gang', () => {
    const world = demand({ takeUpRows: 2 * GANG_WEIGHT, quarantine: false });
    send(world, rowsOf(200), 1_000);
    world.table.takeUp(false, ALL_MET, () => true);
    expect(groupsOf(world)).toHaveLength(2);
    world.table.takeUp(false, allUnmet(world), () => true);
    expect(groupsOf(world)).toHaveLength(2);
  });

  it('T7: adds no rows while many needs of the cluster are unmet, and gives others a turn in ordinary cycles', () => {
    const world = inParts();
    send(world, rowsOf(40), 1_000);
    const unmet = allUnmet(world);
    expect(world.table.takeUp(false, unmet)).toBe(true);
    expect(world.table.takeUp(false, unmet)).toBe(false);
    const first = groupsOf(world);
    expect(first).toHaveLength(PART);
    const hadTurn = new Set(first);
    for (let cycle = 0; cycle < 9; cycle++) {
      expect(isTakingUp(world)).toBe(hadTurn.size < 40);
      world.table.takeUp(true, unmet);
      expect(groupsOf(world).length).toBeLessThanOrEqual(PART);
      expect(groupsOf(world).slice(0, PART / 2)).toEqual(first.slice(0, PART / 2));
      for (const group of groupsOf(world)) hadTurn.add(group);
    }
    expect(hadTurn.size).toBe(40);
    expect(isTakingUp(world)).toBe(false); // every row had its turn, although most wait again
  });

  it('T7: rows with machines keep their place while others take turns', () => {
    const world = inParts();
    send(world, rowsOf(40), 1_000);
    world.table.takeUp(false, ALL_MET);
    const before = groupsOf(world);
    const all = before.map((_, position) => position);
    world.table.takeUp(true, () => ({ unmet: all, idle: [] }));
    expect(groupsOf(world).filter((group) => before.includes(group))).toEqual(before);
    expect(groupsOf(world)).toHaveLength(PART + PART / 2);
  });

  it('T7: a gang weighs as much as many plain needs until rows turn out to be met', () => {
    const world = inParts();
    send(
      world,
      rowsOf(40).map((one) => ({ ...one, requirements: [isSame('rack')] })),
      1_000,
    );
    const counts = Array.from({ length: 7 }, () => {
      world.table.takeUp(false, ALL_MET);
      return groupsOf(world).length;
    });
    expect(counts).toEqual([1, 2, 3, 4, 6, 10, 18]);
  });

  it('N1 T7: a newer roll-up loses no row of the one that it replaces half-way', () => {
    const world = inParts();
    send(world, rowsOf(30), 1_000);
    world.table.takeUp(false, ALL_MET);
    send(world, [...rowsOf(30), row({ group: 'one-more' })], 2_000);
    takeUpAll(world);
    const needs = needsOf(world, 'east');
    expect(needs).toHaveLength(31);
    // N3: rows that waited keep the arrival of the roll-up that brought them.
    expect(needs.filter(({ arrivalMs }) => arrivalMs === 1_000)).toHaveLength(30);
  });

  it('N3 T7: a need that one roll-up left out arrives with the next one that has it', () => {
    const world = inParts();
    send(world, rowsOf(30), 1_000);
    takeUpAll(world);
    send(world, rowsOf(30).slice(1), 2_000); // not taken up yet
    send(world, rowsOf(30), 3_000);
    takeUpAll(world);
    const arrivals = needsOf(world, 'east').map(({ group, arrivalMs }) => [group, arrivalMs] as const);
    expect(arrivals.filter(([, arrivalMs]) => arrivalMs !== 1_000)).toEqual([['group-0', 3_000]]);
  });

  it('T7: waits for a decision that has read the last part', () => {
    const world = inParts();
    send(world, rowsOf(20), 1_000);
    expect(world.table.takeUp(false, () => null)).toBe(true);
    expect(groupsOf(world)).toEqual([]);
  });

  it('T7 T12: ends as if every roll-up had been taken up whole, whatever comes in between, and gives everything back', () => {
    let replaced = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const random = new Random(seed);
      const [world, whole] = [inParts(), demand({ quarantine: false })];
      for (let round = 1; round <= 12; round++) {
        const rows = drawRows(random);
        for (const one of [world, whole]) send(one, rows, 1_000 * round);
        const parts = random.below(5);
        for (let part = 0; part < parts; part++)
          world.table.takeUp(random.chance(0.3), random.chance(0.5) ? allUnmet(world) : ALL_MET);
        if (isTakingUp(world)) replaced++;
        const inOrder = needsOf(whole, 'east').map(({ fingerprint, group }) => `${fingerprint} ${group}`);
        expect(world.table.count).toBe(needsOf(world, 'east').length);
        if (!isTakingUp(world)) {
          const live = needsOf(world, 'east').map(({ fingerprint, group }) => `${fingerprint} ${group}`);
          expect(inOrder.filter((name) => live.includes(name))).toEqual(live);
        }
      }
      takeUpAll(world);
      expect(needsOf(world, 'east')).toEqual(needsOf(whole, 'east'));
      for (const one of [world, whole]) {
        one.table.forget(one.clusters.find('east'));
        expect(leftovers(one)).toEqual(NOTHING_LEFT);
      }
    }
    expect(replaced).toBeGreaterThan(100);
  });
});

function drawRows(random: Random): RollupRow[] {
  const count = random.pick([0, 3, PART, 20, 60]);
  const from = random.below(30);
  return rowsOf(from + count)
    .slice(from)
    .map((one) => ({
      ...one,
      priority: random.pick([10, 1_000]),
      aggregate: { cpu: String(random.between(1, 2)) },
      requirements: random.chance(0.2) ? [isSame('rack')] : [],
    }));
}
