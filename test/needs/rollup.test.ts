import { describe, expect, it } from 'vitest';
import {
  RollupOverLimitError,
  RollupRejectedError,
  type RollupRow,
  requireOwnCluster,
} from '../../src/needs/rollup.ts';
import { demand, dirtyOf, isIn, leftovers, NOTHING_LEFT, needsOf, row, rowsOf, supply } from './support.ts';

const many = (count: number, prefix = 'example.com/r') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, '1']));
const spread = (over: object) => [{ topologyKey: 'rack', maxSkew: 1, whenUnsatisfiable: 1, ...over }];

describe('a roll-up with one bad row', () => {
  for (const [because, bad, field] of [
    ['unknown interruption bucket', { interruptionBucket: 28 }, 'interruption_penalty_bucket'],
    ['negative reclamation bucket', { reclamationBucket: -1 }, 'reclamation_penalty_bucket'],
    [
      'unknown operator',
      { requirements: [isIn('a', 'b'), { ...isIn('zone'), operator: 6 }] },
      'requirements[1].operator',
    ],
    ['negative operator', { requirements: [{ ...isIn('zone'), operator: -1 }] }, 'requirements[0].operator'],
    ['empty requirement key', { requirements: [isIn('', 'a')] }, 'requirements[0].key'],
    ['unknown mode of spread', { spread: spread({ whenUnsatisfiable: 3 }) }, 'spread[0].when_unsatisfiable'],
    ['skew that is not an int32', { spread: spread({ maxSkew: 2 ** 31 }) }, 'spread[0].max_skew'],
    ['priority that is not an int32', { priority: 2 ** 31 }, 'priority'],
    ['priority that is not an integer', { priority: 0.5 }, 'priority'],
    ['unparseable quantity', { aggregate: { cpu: '8 cores' } }, 'aggregate_resources["cpu"]'],
    ['empty quantity', { aggregate: { cpu: '' } }, 'aggregate_resources["cpu"]'],
    ['negative quantity', { aggregate: { memory: '-1Gi' } }, 'aggregate_resources["memory"]'],
    ['unparseable min_unit', { minUnit: { 'nvidia.com/gpu': 'one' } }, 'min_unit["nvidia.com/gpu"]'],
    ['negative min_unit', { minUnit: { cpu: '-1' } }, 'min_unit["cpu"]'],
    ['quantity above the limit', { aggregate: { cpu: '1e13' } }, 'aggregate_resources["cpu"]'],
    ['65 dimensions', { aggregate: many(65) }, 'aggregate_resources'],
    ['65 dimensions in two maps', { aggregate: many(33), minUnit: many(32, 'example.com/m') }, 'min_unit'],
  ] as const satisfies readonly (readonly [string, Partial<RollupRow>, string])[])
    it(`V2: is refused as a whole, and the error names row and field: ${because}`, () => {
      const world = demand();
      world.table.accept('east', [row({ group: 'first' })], 1_000, 0);
      const [before] = [needsOf(world, 'east'), dirtyOf(world)];
      const rows = [row({ group: 'good', aggregate: { disks: '1' } }), row(), row(bad)];
      expect(refusalOf(() => world.table.accept('east', rows, 2_000, 0)).field).toBe(`needs[2].${field}`);
      const east = world.clusters.find('east');
      expect(world.table.rejectedRollups(east)).toBe(1);
      expect(needsOf(world, 'east')).toEqual(before);
      expect(dirtyOf(world)).toEqual([]);
      expect(world.vectors.dimensions.find('disks')).toBe(-1);
      world.table.accept('east', [], 3_000, 0);
      expect(leftovers(world)).toEqual(NOTHING_LEFT);
    });
});

describe('roll-ups as a whole', () => {
  it('V2: counts dimensions over all rows, kept ones too, but not quantities of zero', () => {
    const world = demand();
    supply(world, [...Object.keys(many(40)), ...Object.keys(many(25, 'other'))]);
    const first = row({ group: 'a', aggregate: many(40) });
    const digests = Uint32Array.of(1, 1);
    world.table.acceptDigested('east', digests, () => first, 1_000, 0);
    const zeros = Object.fromEntries(Object.keys(many(40, 'zero')).map((name) => [name, '0']));
    const small = row({ group: 'b', aggregate: { ...many(24, 'other'), ...zeros } });
    const large = row({ group: 'b', aggregate: many(25, 'other') });
    const decode = (second: RollupRow) => (index: number) => {
      expect(index).toBe(1);
      return second;
    };
    const both = Uint32Array.of(1, 1, 2, 2);
    expect(() => world.table.acceptDigested('east', both, decode(large), 2_000, 0)).toThrow(/more than 64/);
    expect(() => world.table.accept('west', [first, large], 2_000, 0)).toThrow(/more than 64/);
    expect(world.table.acceptDigested('east', both, decode(small), 2_000, 0)).toBe('applied');
  });

  it('T6: a cluster may use 16 resource names that no machine has, and any that machines have', () => {
    const world = demand();
    const capacity = supply(world, Object.keys(many(40, 'known/')));
    const sent = (count: number) => row({ aggregate: { ...many(40, 'known/'), ...many(count, 'odd/') } });
    expect(world.table.accept('east', [sent(16)], 1_000, 0)).toBe('applied');
    const refused = refusalOf(() => world.table.accept('east', [sent(17)], 2_000, 0));
    expect(refused).toBeInstanceOf(RollupOverLimitError);
    expect(refused.message).toMatch(
      /needs brings the roll-up to 17 resource names that no machine has \("odd\/\d+", .*…\); the limit for one cluster is 16\. /,
    );
    expect(needsOf(world, 'east')[0]?.aggregate).toHaveProperty('known/0');
    world.vectors.changeSupply(capacity, -1);
    world.vectors.release(capacity);
    expect(() => world.table.accept('west', [sent(0)], 3_000, 0)).toThrow(
      /40 resource names that no machine/,
    );
  });

  it('T6: kept rows count too', () => {
    const world = demand();
    const first = row({ group: 'a', aggregate: many(16, 'odd/') });
    world.table.acceptDigested('east', Uint32Array.of(1, 1), () => first, 1_000, 0);
    const both = Uint32Array.of(1, 1, 2, 2);
    const second = () => row({ group: 'b', aggregate: { 'one/more': '1' } });
    expect(() => world.table.acceptDigested('east', both, second, 2_000, 0)).toThrow(/to 17 resource names/);
  });

  it('T6: all clusters together leave 64 names to machines, and withdrawn names are given back', () => {
    const world = demand({ quarantine: false });
    const { vectors, table } = world;
    const invented = (cluster: number) => [row({ aggregate: many(16, `c${cluster}/`) })];
    for (let cluster = 0; cluster < 12; cluster++) table.accept(`c${cluster}`, invented(cluster), 1_000, 0);
    expect(vectors.dimensions.demandOnlyCount).toBe(192);
    const refused = refusalOf(() => table.accept('late', [row({ aggregate: { late: '1' } })], 2_000, 0));
    expect(refused.message).toMatch(
      /name 1 resources that are new to this shard \("late"\), which has 64 of 256 names left and 192 of at most 192 names that no machine has/,
    );
    const machine = supply(world, ['cpu', 'memory', 'amd.com/gpu', ...Object.keys(many(61, 'm/'))]);
    expect(Object.keys(vectors.amountsOf(machine))).toHaveLength(64);
    expect(table.accept('late', [row({ aggregate: { cpu: '1', 'amd.com/gpu': '1' } })], 2_000, 0)).toBe(
      'applied',
    );
    table.accept('c3', [], 3_000, 0);
    expect(table.accept('late', [row({ aggregate: many(16, 'late/') })], 3_000, 0)).toBe('applied');
    expect(vectors.dimensions.demandOnlyCount).toBe(192);
    for (let cluster = 0; cluster < 12; cluster++) table.accept(`c${cluster}`, [], 4_000, 0);
    table.accept('late', [], 4_000, 0);
    expect(vectors.dimensions.room).toBe(192);
  });

  it('T6: two roll-ups in steps at once do not pass the limit together', () => {
    const world = demand({ quarantine: false });
    const rowsWith = (prefix: string) => [
      ...rowsOf(300),
      row({ group: 'last', aggregate: many(16, prefix) }),
    ];
    for (let cluster = 0; cluster < 11; cluster++)
      world.table.accept(`c${cluster}`, [row({ aggregate: many(16, `c${cluster}/`) })], 1_000, 0);
    supply(world, ['cpu']);
    const steps = ['a', 'b'].map((name) => {
      const rows = rowsWith(`${name}/`);
      const digests = new Uint32Array(2 * rows.length);
      return world.table.acceptInSteps(name, digests, (index) => rows[index]!, 2_000, 0);
    });
    const ends = steps.map(() => 'running');
    while (ends.includes('running')) {
      for (const [index, step] of steps.entries()) {
        if (ends[index] !== 'running') continue;
        try {
          const { done, value } = step.next();
          if (done) ends[index] = value;
        } catch (error) {
          ends[index] = (error as RollupRejectedError).code;
        }
      }
    }
    expect(ends).toEqual(['applied', 'too_many_dimensions']);
    expect(world.vectors.dimensions.demandOnlyCount).toBe(192);
  });

  it('V2: is refused when merged rows add up to more than 2^53 − 1 units, and keeps no references', () => {
    const world = demand();
    const most = row({ aggregate: { cpu: '9007199254740991m', memory: '1Gi' } });
    expect(world.table.accept('east', [most, row({ aggregate: { memory: '1Gi' } })], 1_000, 0)).toBe(
      'applied',
    );
    const tooMuch = [most, row({ group: 'other' }), row({ aggregate: { cpu: '1m' } })];
    const refused = refusalOf(() => world.table.accept('east', tooMuch, 2_000, 0));
    expect(refused.field).toBe('needs[2].aggregate_resources["cpu"]');
    expect(needsOf(world, 'east').map(({ aggregate }) => aggregate)).toEqual([
      { cpu: Number.MAX_SAFE_INTEGER, memory: 2 ** 21 },
    ]);
    world.table.accept('east', [], 3_000, 0);
    expect(leftovers(world)).toEqual(NOTHING_LEFT);
  });

  it('V2: is refused if it names another cluster; without a name it is for its session’s cluster', () => {
    expect(refusalOf(() => requireOwnCluster('east', 'west')).field).toBe('cluster_id');
    requireOwnCluster('east', 'east');
    requireOwnCluster('east', '');
    const world = demand();
    world.table.reject('east');
    world.table.reject('east');
    expect(world.table.rejectedRollups(world.clusters.find('east'))).toBe(2);
    expect(world.table.hasReported(world.clusters.find('east'))).toBe(false);
  });

  it('V2: unspecified operator, mode and buckets are known values, and are accepted', () => {
    const world = demand();
    const unspecified = row({
      requirements: [{ key: 'zone', operator: 0, values: [] }],
      spread: spread({ whenUnsatisfiable: 0 }),
      interruptionBucket: 0,
      reclamationBucket: 0,
    });
    expect(world.table.accept('east', [unspecified], 1_000, 0)).toBe('applied');
    expect(needsOf(world, 'east')[0]!.fingerprint).toBe('p=100|ipb=0|rpb=0|reqs=zone:0:;|spr=rack:1:0;');
  });

  it('V2: a full table refuses the roll-up and does not change', () => {
    const world = demand({ groupsMax: 3 });
    const rows = ['a', 'b', 'c'].map((group) => row({ group }));
    world.table.accept('east', rows, 1_000, 0);
    const before = needsOf(world, 'east');
    const more = [...rows, row({ group: 'd', aggregate: { cpu: '77' } })];
    expect(() => world.table.accept('east', more, 2_000, 0)).toThrow(/groups is full/);
    expect(needsOf(world, 'east')).toEqual(before);
    expect(world.table.rejectedRollups(world.clusters.find('east'))).toBe(1);
    expect(world.table.accept('east', [], 3_000, 0)).toBe('applied');
    expect(leftovers(world)).toEqual(NOTHING_LEFT);
  });

  it('V3: the same value in another spelling is the same demand', () => {
    const world = demand();
    world.table.accept('east', [row({ aggregate: { memory: '16Gi', cpu: '1.5' } })], 1_000, 0);
    const other = row({ aggregate: { cpu: '1500m', memory: '17179869184', pods: '0' } });
    expect(world.table.accept('east', [other], 2_000, 0)).toBe('unchanged');
  });

  it('V3: rounds each row up before rows are added', () => {
    const world = demand();
    const half = row({ aggregate: { cpu: '0.0005', memory: '1' } });
    world.table.accept('east', [half, half], 1_000, 0);
    expect(needsOf(world, 'east')[0]!.aggregate).toEqual({ cpu: 2, memory: 2 });
  });
});

function refusalOf(accept: () => unknown): RollupRejectedError {
  try {
    accept();
  } catch (error) {
    if (error instanceof RollupRejectedError) return error;
    throw error;
  }
  throw new Error('the roll-up was accepted');
}
