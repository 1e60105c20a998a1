import { describe, expect, it } from 'vitest';
import type { RollupRow } from '../../src/needs/rollup.ts';
import {
  type Demand,
  demand,
  dirtyOf,
  isIn,
  leftovers,
  NOTHING_LEFT,
  needsOf,
  row,
  rowsOf,
} from './support.ts';

const MANY = 10_000;

/** Rows of a few profiles and priorities, each with a group of its own, in no order. */
function manyRows(count: number, seed: number): RollupRow[] {
  return Array.from({ length: count }, (_, index) => {
    const number = (index * 7_919 + seed) % count;
    return row({
      group: `group-${number}`,
      priority: [100, 1_000, 10][number % 3]!,
      requirements: [isIn('zone', `z${number % 5}`)],
      aggregate: { cpu: String(1 + (number % 9)) },
    });
  });
}

function digestsOf(rows: readonly RollupRow[], salt = 0): Uint32Array {
  return Uint32Array.from(
    rows.flatMap(({ group, aggregate }) => [
      Number(group.slice(6)) + 1,
      Number(aggregate.cpu ?? 0) + 1_000 * salt,
    ]),
  );
}

function stepsOf(world: Demand, id: string, rows: readonly RollupRow[], nowMs: number, salt = 0) {
  return world.table.acceptInSteps(id, digestsOf(rows, salt), (index) => rows[index]!, nowMs, 0);
}

function large(): Demand {
  return demand({ groupsMax: 8 * MANY });
}

describe('a roll-up that is accepted in steps', () => {
  it('N1 N4: has the same result as accepting it at once, and changes demand in a single step', () => {
    const [world, plain] = [large(), large()];
    const first = manyRows(MANY, 1);
    const second = manyRows(MANY + 500, 3);
    plain.table.accept('east', first, 1_000, 0);
    plain.table.accept('east', second, 2_000, 0);
    for (const [rows, nowMs] of [
      [first, 1_000],
      [second, 2_000],
    ] as const) {
      const before = world.table.count;
      const seen = new Set<number>();
      const steps = stepsOf(world, 'east', rows, nowMs);
      let stepCount = 0;
      for (let step = steps.next(); !step.done; step = steps.next()) {
        seen.add(world.table.count);
        stepCount++;
      }
      expect(stepCount).toBeGreaterThan(50);
      expect([...seen].every((count) => count === before || count === rows.length)).toBe(true);
    }
    expect(needsOf(world, 'east')).toEqual(needsOf(plain, 'east'));
    world.table.forget(world.clusters.find('east'));
    expect(leftovers(world)).toEqual(NOTHING_LEFT);
  });

  it('N1: other roll-ups can be accepted between its steps, each with its own scratch', () => {
    const world = large();
    const steps = stepsOf(world, 'east', manyRows(MANY, 5), 1_000);
    let others = 0;
    for (let step = steps.next(); !step.done; step = steps.next()) {
      world.table.accept(`c-${others % 7}`, rowsOf(1 + (others % 40)), 1_000 + others, 0);
      others++;
    }
    expect(world.table.sliceCount(world.clusters.find('east'))).toBe(MANY);
    const groups = needsOf(world, 'east').map((need) => need.group);
    expect(new Set(groups).size).toBe(MANY);
    expect(others).toBeGreaterThan(50);
  });

  it('N1: starts over when its cluster was replaced or forgotten between two steps', () => {
    const world = large();
    world.table.accept('east', manyRows(MANY, 1), 1_000, 0);
    for (const [salt, overtake] of [
      () => world.table.accept('east', manyRows(2_000, 9), 2_000, 0),
      () => world.table.forget(world.clusters.find('east')),
    ].entries()) {
      const steps = stepsOf(world, 'east', manyRows(MANY, 3), 3_000, 7 + salt);
      for (let step = 0; step < 20; step++) steps.next();
      overtake();
      let last = steps.next();
      while (!last.done) last = steps.next();
      expect(last.value).toBe('applied');
      expect(world.table.sliceCount(world.clusters.find('east'))).toBe(MANY);
    }
    world.table.forget(world.clusters.find('east'));
    expect(leftovers(world)).toEqual(NOTHING_LEFT);
  });

  it('V2: is refused as a whole for a bad last row, and the last demand stays', () => {
    const world = large();
    world.table.accept('east', rowsOf(12), 1_000, 0);
    dirtyOf(world);
    const before = needsOf(world, 'east');
    const rows = [...manyRows(MANY, 1), row({ group: 'group-0', aggregate: { cpu: 'lots' } })];
    const steps = stepsOf(world, 'east', rows, 2_000, 1);
    expect(() => {
      for (let step = steps.next(); !step.done; step = steps.next());
    }).toThrow(/needs\[10000\].aggregate_resources\["cpu"\] is unparseable/);
    expect(needsOf(world, 'east')).toEqual(before);
    expect(dirtyOf(world)).toEqual([]);
    expect(world.table.rejectedRollups(world.clusters.find('east'))).toBe(1);
  });

  it('leaves no references when its caller gives up at any step', () => {
    for (let stop = 1; stop < 200; stop += 11) {
      const world = large();
      world.table.accept('east', rowsOf(3), 1_000, 0);
      const steps = stepsOf(world, 'east', manyRows(MANY, stop), 2_000, 1);
      for (let step = 0; step < stop; step++) steps.next();
      steps.return('quarantined');
      expect([3, MANY]).toContain(world.table.count);
      world.table.forget(world.clusters.find('east'));
      expect(leftovers(world)).toEqual(NOTHING_LEFT);
    }
  });
});
