import { describe, expect, it } from 'vitest';
import type { RollupRow } from '../../src/needs/rollup.ts';
import {
  type Demand,
  demand,
  dirtyOf,
  isIn,
  isSame,
  leftovers,
  NOTHING_LEFT,
  needsOf,
  row,
  rowsOf,
} from './support.ts';

const groupsOf = (world: Demand, cluster: string) => needsOf(world, cluster).map(({ group }) => group);
const reported = (world: Demand, cluster: string) => world.table.hasReported(world.clusters.find(cluster));
const quarantined = (world: Demand, cluster: string) =>
  world.table.quarantinedRollups(world.clusters.find(cluster));

describe('replacing demand', () => {
  it('N1: a roll-up is the complete demand: a need that it does not contain is withdrawn', () => {
    const world = demand();
    expect(world.table.accept('east', [row({ group: 'a' }), row({ group: 'b' })], 1_000, 0)).toBe('applied');
    expect(world.table.accept('east', [row({ group: 'b' }), row({ group: 'c' })], 2_000, 0)).toBe('applied');
    expect(groupsOf(world, 'east')).toEqual(['b', 'c']);
    expect(world.table.accept('east', [], 3_000, 0)).toBe('applied');
    expect(groupsOf(world, 'east')).toEqual([]);
    expect(leftovers(world)).toEqual(NOTHING_LEFT);
  });

  it('N1: one cluster’s roll-up leaves every other cluster’s rows where they are', () => {
    const world = demand({ quarantine: false });
    for (const cluster of ['a', 'b', 'c']) world.table.accept(cluster, rowsOf(20), 1_000, 0);
    const start = world.table.sliceStart(world.clusters.find('b'));
    const before = needsOf(world, 'b');
    for (const count of [50, 3, 200, 0, 17]) {
      world.table.accept('a', rowsOf(count), 2_000, 0);
      world.table.accept('c', rowsOf(2 * count), 2_000, 0);
      expect(world.table.sliceStart(world.clusters.find('b'))).toBe(start);
      expect(needsOf(world, 'b')).toEqual(before);
      expect(world.table.count).toBe(20 + 3 * count);
    }
  });

  it('N3: rows with equal profile and group merge: aggregates add, min_unit takes the maximum', () => {
    const world = demand();
    const requirements = [isIn('zone', 'b', 'a'), isSame('rack')];
    const rows = [
      row({
        requirements,
        group: 'g',
        aggregate: { cpu: '4', memory: '8Gi' },
        minUnit: { cpu: '2', memory: '1Gi' },
      }),
      row({ group: 'g', aggregate: { cpu: '1' } }),
      row({
        requirements: [isSame('rack'), isIn('zone', 'a', 'b')],
        group: 'g',
        aggregate: { cpu: '500m', 'nvidia.com/gpu': '1' },
        minUnit: { cpu: '1', memory: '2Gi' },
      }),
    ];
    world.table.accept('east', rows, 1_000, 0);
    expect(needsOf(world, 'east').map(({ aggregate, minUnit }) => ({ aggregate, minUnit }))).toEqual([
      {
        aggregate: { cpu: 4_500, memory: 8 * 2 ** 20, 'nvidia.com/gpu': 1_000 },
        minUnit: { cpu: 2_000, memory: 2 * 2 ** 20 },
      },
      { aggregate: { cpu: 1_000 }, minUnit: {} },
    ]);
  });

  it('N3: a need keeps the arrival of the roll-up that first contained it, until it is absent once', () => {
    const world = demand();
    const arrivals = () =>
      Object.fromEntries(needsOf(world, 'east').map((need) => [need.group, need.arrivalMs]));
    world.table.accept('east', [row({ group: 'a' }), row({ group: 'b' })], 1_000, 0);
    world.table.accept(
      'east',
      [row({ group: 'a', aggregate: { cpu: '99' } }), row({ group: 'c' })],
      2_000,
      0,
    );
    expect(arrivals()).toEqual({ a: 1_000, c: 2_000 });
    world.table.accept('east', [row({ group: 'a' }), row({ group: 'b' }), row({ group: 'c' })], 3_000, 0);
    expect(arrivals()).toEqual({ a: 1_000, b: 3_000, c: 2_000 });
    world.table.accept('east', [row({ group: 'a', priority: 7 })], 4_000, 0);
    expect(arrivals()).toEqual({ a: 4_000 });
  });

  it('N3: different profiles with equal fingerprints merge too, into the same one for every order of rows', () => {
    const one = row({ requirements: [isIn('zone', 'a,b')] });
    const two = row({ requirements: [isIn('zone', 'a', 'b')] });
    const merged = [
      [one, two],
      [two, one],
    ].map((rows) => {
      const world = demand();
      world.table.accept('east', rows, 1_000, 0);
      expect(needsOf(world, 'east').map(({ aggregate }) => aggregate)).toEqual([{ cpu: 16_000 }]);
      const { requirements } = world.table.profiles.get(world.table.profile[world.table.sliceStart(1)]!);
      world.table.accept('east', [], 2_000, 0);
      expect(leftovers(world)).toEqual(NOTHING_LEFT);
      return requirements;
    });
    expect(merged[0]).toEqual(merged[1]);
  });

  it('N4: orders needs by priority desc, arrival asc, fingerprint, then group, bytewise', () => {
    const world = demand();
    const early = [row({ group: 'z' }), row({ group: 'late', priority: 5 })];
    world.table.accept('east', early, 1_000, 0);
    const zone = (name: string) => [isIn('zone', name)];
    const late = [
      row({ group: 'b' }),
      row({ group: 'gpu-2' }),
      row({ group: 'gpu-10' }),
      row({ group: '' }),
      row({ group: '\u{1F600}' }),
      row({ group: '\uFFFD' }),
      row({ group: 'x', requirements: zone('b') }),
      row({ group: 'y', requirements: zone('a') }),
      row({ group: 'urgent', priority: 1_000_000 }),
      row({ group: 'debt', priority: -1 }),
    ];
    world.table.accept('east', [...late, ...early], 2_000, 0);
    // 'reqs=zone…' sorts before 'reqs=|…': a letter is a smaller byte than the bar.
    const expected = [
      'urgent',
      'z',
      'y',
      'x',
      '',
      'b',
      'gpu-10',
      'gpu-2',
      '\uFFFD',
      '\u{1F600}',
      'late',
      'debt',
    ];
    expect(groupsOf(world, 'east')).toEqual(expected);
    expect(needsOf(world, 'east').find(({ group }) => group === 'late')!.priority).toBe(5);
  });
});

describe('dirty clusters', () => {
  it('N4: the same demand in another order of rows, maps and lists changes nothing', () => {
    const world = demand();
    const rows = [
      row({
        group: 'a',
        aggregate: { cpu: '1', memory: '2Gi' },
        requirements: [isIn('zone', 'x', 'y'), isSame('rack')],
      }),
      row({ group: 'b' }),
      row({ group: 'b', aggregate: { pods: '3' } }),
    ];
    const other = [
      row({ group: 'b', aggregate: { pods: '3' } }),
      row({
        group: 'a',
        aggregate: { memory: '2Gi', cpu: '1' },
        requirements: [isSame('rack'), isIn('zone', 'y', 'x')],
      }),
      row({ group: 'b' }),
    ];
    expect(world.table.accept('east', rows, 1_000, 0)).toBe('applied');
    expect(dirtyOf(world)).toEqual(['east']);
    const before = needsOf(world, 'east');
    expect(world.table.accept('east', other, 2_000, 0)).toBe('unchanged');
    expect(dirtyOf(world)).toEqual([]);
    expect(needsOf(world, 'east')).toEqual(before);
  });

  for (const [what, changed] of [
    ['an aggregate', { aggregate: { cpu: '9' } }],
    ['a min_unit', { minUnit: { cpu: '1' } }],
    ['a group', { group: 'other' }],
    ['a priority', { priority: 101 }],
    ['a requirement', { requirements: [isIn('zone', 'a')] }],
    ['a spread', { spread: [{ topologyKey: 'rack', maxSkew: 1, whenUnsatisfiable: 1 }] }],
    ['an interruption bucket', { interruptionBucket: 2 }],
    ['a reclamation bucket', { reclamationBucket: 0 }],
  ] as const satisfies readonly (readonly [string, Partial<RollupRow>])[])
    it(`N1: a change of ${what} makes its own cluster dirty, and no other`, () => {
      const world = demand();
      for (const cluster of ['east', 'west'])
        world.table.accept(cluster, [row(), row({ group: 'g' })], 1_000, 0);
      expect(dirtyOf(world)).toEqual(['east', 'west']);
      expect(world.table.accept('west', [row(changed), row({ group: 'g' })], 2_000, 0)).toBe('applied');
      expect(dirtyOf(world)).toEqual(['west']);
      expect(dirtyOf(world)).toEqual([]);
    });

  it('forgets a cluster and its demand as if it had never reported', () => {
    const world = demand();
    world.table.accept('east', rowsOf(30), 1_000, 0);
    world.table.reject('east');
    dirtyOf(world);
    const east = world.clusters.find('east');
    expect([...world.table.clusterRefs()]).toEqual([east]);
    world.table.forget(east);
    world.table.forget(east);
    const dirty: number[] = [];
    world.table.takeDirty(dirty);
    expect(dirty).toEqual([east]);
    expect([
      world.table.hasReported(east),
      world.table.rejectedRollups(east),
      world.table.sliceCount(east),
    ]).toEqual([false, 0, 0]);
    expect([...world.table.clusterRefs()]).toEqual([]);
    expect(world.clusters.count).toBe(0);
    expect(leftovers(world)).toEqual(NOTHING_LEFT);
  });
});

describe('which rows changed', () => {
  it('records for each row the version in which it was added or changed', () => {
    const { table, clusters } = demand();
    const three = (cpu: string) => [
      row({ group: 'a' }),
      row({ group: 'b', aggregate: { cpu } }),
      row({ group: 'c' }),
    ];
    table.accept('one', three('8'), 1_000, 0);
    const cluster = clusters.find('one');
    const changedAt = () => {
      const start = table.sliceStart(cluster);
      return [...table.changedAt.subarray(start, start + table.sliceCount(cluster))];
    };
    const first = table.versionOf(cluster);
    expect(changedAt()).toEqual([first, first, first]);
    table.accept('one', three('16'), 2_000, 0);
    const second = table.versionOf(cluster);
    expect(second).toBeGreaterThan(first);
    expect(changedAt()).toEqual([first, second, first]);
    table.accept('one', three('16').slice(1), 3_000, 0);
    expect(changedAt()).toEqual([second, first]);
    table.accept('one', three('16'), 4_000, 0);
    expect(changedAt()).toEqual([second, first, table.versionOf(cluster)]); // the latest arrival comes last
  });
});

describe('digests', () => {
  const never = (index: number): RollupRow => {
    throw new Error(`row ${index} was decoded`);
  };

  it('decodes no row of a roll-up that repeats the last one, in any order', () => {
    const world = demand();
    const rows = rowsOf(3);
    world.table.acceptDigested('east', Uint32Array.of(1, 0, 0, 2, 3, 3), (index) => rows[index]!, 1_000, 0);
    dirtyOf(world);
    expect(world.table.acceptDigested('east', Uint32Array.of(3, 3, 1, 0, 0, 2), never, 2_000, 0)).toBe(
      'unchanged',
    );
    expect(dirtyOf(world)).toEqual([]);
  });

  it('decodes only the rows that are new, and keeps the others with their arrival', () => {
    const world = demand();
    const rows = rowsOf(5);
    const asked: number[] = [];
    const decode = (index: number) => {
      asked.push(index);
      return rows[index]!;
    };
    world.table.acceptDigested('east', Uint32Array.of(1, 9, 2, 9, 3, 9), decode, 1_000, 0);
    asked.length = 0;
    world.table.acceptDigested('east', Uint32Array.of(1, 9, 8, 9, 3, 9, 4, 9, 5, 9), decode, 2_000, 0);
    expect(asked).toEqual([1, 3, 4]);
    expect(needsOf(world, 'east').map(({ group, arrivalMs }) => [group, arrivalMs])).toEqual(
      [0, 1, 2, 3, 4].map((index) => [`group-${index}`, index < 3 ? 1_000 : 2_000]),
    );
  });

  it('merges a kept row with a new one of the same need, and a repeated row with itself', () => {
    const world = demand();
    world.table.acceptDigested('east', Uint32Array.of(1, 1), () => row(), 1_000, 0);
    const cpu = () => needsOf(world, 'east').map(({ aggregate, arrivalMs }) => [aggregate.cpu, arrivalMs]);
    world.table.acceptDigested('east', Uint32Array.of(1, 1, 1, 1), never, 2_000, 0);
    expect(cpu()).toEqual([[16_000, 1_000]]);
    world.table.acceptDigested('east', Uint32Array.of(1, 1), () => row(), 3_000, 0);
    expect(cpu()).toEqual([[8_000, 1_000]]);
    const more = row({ aggregate: { cpu: '1' } });
    world.table.acceptDigested('east', Uint32Array.of(2, 2, 1, 1), () => more, 4_000, 0);
    expect(cpu()).toEqual([[9_000, 1_000]]);
    world.table.accept('east', [], 5_000, 0);
    expect(leftovers(world)).toEqual(NOTHING_LEFT);
  });

  it('learns the digests of equal rows with other bytes', () => {
    const world = demand();
    const rows = rowsOf(2);
    world.table.accept('east', rows, 1_000, 0);
    const digests = Uint32Array.of(1, 1, 2, 2);
    expect(world.table.acceptDigested('east', digests, (index) => rows[index]!, 2_000, 0)).toBe('unchanged');
    const asked: number[] = [];
    const decode = (index: number) => {
      asked.push(index);
      return row({ group: 'new' });
    };
    world.table.acceptDigested('east', Uint32Array.of(2, 2, 3, 3, 1, 1), decode, 3_000, 0);
    expect(asked).toEqual([1]);
    expect(groupsOf(world, 'east')).toEqual(['group-0', 'group-1', 'new']);
  });

  it('V2: keeps the last demand if a row cannot be decoded', () => {
    const world = demand();
    world.table.accept('east', rowsOf(2), 1_000, 0);
    const before = needsOf(world, 'east');
    expect(() => world.table.acceptDigested('east', Uint32Array.of(1, 1), never, 2_000, 0)).toThrow(
      /was decoded/,
    );
    expect(needsOf(world, 'east')).toEqual(before);
  });
});

describe('the first-roll-up gate', () => {
  it('N6: is closed until the cluster has reported once, with rows or without', () => {
    const world = demand();
    expect(world.table.hasReported(7)).toBe(false);
    world.table.accept('east', [row()], 1_000, 0);
    expect(reported(world, 'east')).toBe(true);
    expect(world.table.accept('west', [], 1_000, 9)).toBe('applied');
    expect(reported(world, 'west')).toBe(true);
    expect(dirtyOf(world)).toEqual(['east', 'west']);
    expect(world.table.accept('west', [], 2_000, 9)).toBe('unchanged');
    expect(dirtyOf(world)).toEqual([]);
  });

  it('N6: a refused roll-up does not open it', () => {
    const world = demand();
    expect(() => world.table.accept('east', [row({ priority: 0.5 })], 1_000, 0)).toThrow(/priority/);
    expect(reported(world, 'east')).toBe(false);
    expect([...world.table.clusterRefs()]).toEqual([]);
  });
});

describe('quarantine', () => {
  for (const [accepted, then, outcome, because] of [
    [10, 0, 'quarantined', 'ten rows, then none'],
    [11, 1, 'quarantined', 'less than a tenth is left'],
    [10, 1, 'applied', 'just a tenth is left'],
    [9, 0, 'applied', 'nine rows may well end all at once'],
    [100, 10, 'applied', 'just a tenth of a hundred'],
    [101, 10, 'quarantined', 'less than a tenth of a hundred and one'],
    [100, 200, 'applied', 'growth is never suspicious'],
  ] as const)
    it(`N7: ${then} rows after ${accepted} are ${outcome}: ${because}`, () => {
      const world = demand();
      world.table.accept('east', rowsOf(accepted), 1_000, 0);
      dirtyOf(world);
      expect(world.table.accept('east', rowsOf(then), 2_000, 500)).toBe(outcome);
      expect(world.table.count).toBe(outcome === 'quarantined' ? accepted : then);
      expect(dirtyOf(world)).toEqual(outcome === 'quarantined' ? [] : ['east']);
      expect(quarantined(world, 'east')).toBe(outcome === 'quarantined' ? 1 : 0);
      expect(reported(world, 'east')).toBe(true);
    });

  it('N7: the third roll-up in a row that agrees on the drop is applied, though they differ in rows', () => {
    const world = demand();
    world.table.accept('east', rowsOf(100), 1_000, 0);
    const outcomes = [3, 0, 5].map((count) => world.table.accept('east', rowsOf(count), 2_000, 0));
    expect(outcomes).toEqual(['quarantined', 'quarantined', 'applied']);
    expect(world.table.count).toBe(5);
    expect(quarantined(world, 'east')).toBe(0);
    expect(world.table.accept('east', [], 3_000, 0)).toBe('applied');
  });

  it('N7: any other roll-up, also a repetition, is applied at once and resets the count', () => {
    for (const between of [rowsOf(100), rowsOf(50)]) {
      const world = demand();
      world.table.accept('east', rowsOf(100), 1_000, 0);
      const drop = () => world.table.accept('east', [], 2_000, 0);
      expect([drop(), drop()]).toEqual(['quarantined', 'quarantined']);
      world.table.accept('east', between, 3_000, 0);
      expect(quarantined(world, 'east')).toBe(0);
      expect([drop(), drop(), drop()]).toEqual(['quarantined', 'quarantined', 'applied']);
    }
  });

  it('N7: counts rows as received, before they merge', () => {
    const world = demand();
    const twins = Array.from({ length: 20 }, () => row());
    world.table.accept('east', twins, 1_000, 0);
    expect(world.table.count).toBe(1);
    expect(world.table.accept('east', [row()], 2_000, 0)).toBe('quarantined');
    expect(world.table.accept('east', twins.slice(0, 2), 3_000, 0)).toBe('applied');
    expect(needsOf(world, 'east')[0]!.aggregate).toEqual({ cpu: 16_000 });
  });

  it('N7: a refused roll-up counts as refused even if it would be quarantined, and ends the row of quarantined ones', () => {
    const world = demand();
    world.table.accept('east', rowsOf(100), 1_000, 0);
    const drop = () => world.table.accept('east', [], 2_000, 0);
    expect([drop(), drop()]).toEqual(['quarantined', 'quarantined']);
    expect(() => world.table.accept('east', [row({ priority: 0.5 })], 3_000, 0)).toThrow(/priority/);
    expect(world.table.rejectedRollups(world.clusters.find('east'))).toBe(1);
    expect([drop(), drop(), drop()]).toEqual(['quarantined', 'quarantined', 'applied']);
  });

  it('N7: quarantines an empty first roll-up of a cluster with ten bound machines, and keeps the gate closed', () => {
    const world = demand();
    expect(world.table.accept('east', [], 1_000, 10)).toBe('quarantined');
    expect([reported(world, 'east'), quarantined(world, 'east')]).toEqual([false, 1]);
    expect(world.table.accept('east', [], 2_000, 10)).toBe('quarantined');
    expect(reported(world, 'east')).toBe(false);
    expect(world.table.accept('east', [], 3_000, 10)).toBe('applied');
    expect(reported(world, 'east')).toBe(true);
    expect(dirtyOf(world)).toEqual(['east']);
  });

  it('N7: applies a first roll-up at once if the cluster has nine machines, or the roll-up has a row', () => {
    const world = demand();
    expect(world.table.accept('nine', [], 1_000, 9)).toBe('applied');
    expect(world.table.accept('rows', [row()], 1_000, 500)).toBe('applied');
    expect(world.table.accept('rows', [], 2_000, 500)).toBe('applied');
  });

  it('N7: once demand was accepted, a quarantined roll-up leaves the gate open', () => {
    const world = demand();
    world.table.accept('east', rowsOf(10), 1_000, 50);
    expect(world.table.accept('east', [], 2_000, 50)).toBe('quarantined');
    expect(reported(world, 'east')).toBe(true);
  });

  it('N7: with quarantine off, every valid roll-up is applied at once', () => {
    const world = demand({ quarantine: false });
    expect(world.table.accept('east', [], 1_000, 500)).toBe('applied');
    world.table.accept('east', rowsOf(100), 2_000, 500);
    expect(world.table.accept('east', [], 3_000, 500)).toBe('applied');
    expect(quarantined(world, 'east')).toBe(0);
  });

  it('N7: a quarantined roll-up keeps no references', () => {
    const world = demand();
    world.table.accept('east', rowsOf(100), 1_000, 0);
    const before = leftovers(world);
    const strange = row({ group: 'strange', aggregate: { cpu: '123' }, requirements: [isIn('zone', 'q')] });
    expect(world.table.accept('east', [strange], 2_000, 0)).toBe('quarantined');
    expect(leftovers(world)).toEqual(before);
  });
});
