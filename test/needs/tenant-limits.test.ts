import { describe, expect, it } from 'vitest';
import { GROUP_BYTES_MAX, KEY_BYTES_MAX, VALUE_BYTES_MAX } from '../../src/base/text-limits.ts';
import { Engine } from '../../src/decision/engine.ts';
import { RollupOverLimitError, RollupRejectedError, type RollupRow } from '../../src/needs/rollup.ts';
import { PROFILE_PARTS_PER_CLUSTER_MAX, PROFILES_PER_CLUSTER_MAX } from '../../src/needs/tenant-limits.ts';
import { createTables, type ShardTables } from '../../src/shard/tables.ts';
import { makeTables } from '../decision/world-tables.ts';
import { demand, isIn, isSame, leftovers, NOTHING_LEFT, row, rowsOf } from './support.ts';

/** Gangs that each ask for another value of a label: a label that drifts. */
const driftingGangs = (count: number): RollupRow[] =>
  Array.from({ length: count }, (_, index) =>
    row({ requirements: [isIn('revision', `r-${index}`), isSame('rack')], group: `gang-${index}` }),
  );
const plainProfiles = (count: number): RollupRow[] =>
  Array.from({ length: count }, (_, index) => row({ requirements: [isIn('revision', `r-${index}`)] }));

function errorOf(act: () => void): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}

const tablesOf = (machinesMax: number) =>
  createTables({ machinesMax, hasRollupGuard: false, takeUpRows: Number.POSITIVE_INFINITY });
const accept = ({ needs }: ShardTables, clusterId: string, rows: readonly RollupRow[]) =>
  needs.accept(clusterId, rows, 1_000, 0);
const countOf = ({ needs, inventory }: ShardTables, clusterId: string) =>
  needs.sliceCount(inventory.tables.clusters.find(clusterId));

describe('T1: limits at acceptance', () => {
  it('T1: 10,005 gangs with a label value each are refused whole, a neighbour’s roll-up is accepted', () => {
    const tables = tablesOf(20_000);
    accept(tables, 'drifting', rowsOf(3));
    const error = errorOf(() => accept(tables, 'drifting', driftingGangs(10_005)));
    expect(error).toBeInstanceOf(RollupOverLimitError);
    expect(error).toMatchObject({ what: 'distinct fingerprints', limit: 5_000, next: 'reject-input' });
    expect((error as Error).message).toMatch(
      /"drifting" was refused: needs\[2\d{3}\] brings the roll-up to 500\d distinct fingerprints; the limit for one cluster is 5000\. The shard applied none of it; the demand accepted before stays\. /,
    );
    expect(countOf(tables, 'drifting')).toBe(3);
    expect(accept(tables, 'neighbour', driftingGangs(388))).toBe('applied');
    expect(tables.inventory.tables.fingerprints.count).toBe(1 + 2 * 388);
  });

  it('T1: a cycle adds no string to a table, however full: gangs bring all that it needs', () => {
    const { needs, inventory } = makeTables();
    const { fingerprints, groups } = inventory.tables;
    const engine = new Engine({
      needs,
      inventory,
      hasSession: () => true,
      holds: { onDemandMs: 600_000, spotMs: 60_000 },
    });
    const gangs = Array.from({ length: 200 }, (_, index) =>
      row({
        requirements: [isIn('revision', `r-${index % 20}`), isSame('rack')],
        aggregate: { cpu: String(1 + (index % 50)) },
        minUnit: { memory: `${1 + (index % 7)}Gi` },
        group: `gang-${index}`,
      }),
    );
    needs.accept('east', gangs, 1_000, 0);
    while (groups.count < groups.entriesMax) groups.intern(`fill-${groups.count}`);
    while (fingerprints.count < fingerprints.entriesMax) fingerprints.intern(`fill-${fingerprints.count}`);
    engine.decide({ nowMs: 2_000, isOrdinary: true });
    expect(groups.count).toBe(groups.entriesMax);
    const another = row({ requirements: [isIn('revision', 'another')] });
    expect(() => needs.accept('east', [another], 3_000, 0)).toThrow(/table of fingerprints is full/);
    expect(needs.sliceCount(inventory.tables.clusters.find('east'))).toBe(200);
    engine.decide({ nowMs: 4_000, isOrdinary: true });
    needs.accept('east', [], 5_000, 0);
    engine.decide({ nowMs: 6_000, isOrdinary: true });
    expect(groups.count).toBeLessThan(groups.entriesMax - 200);
  });

  const LIMITS: readonly [string, (tables: ShardTables) => void, string, number][] = [
    [
      'profiles, in large tables',
      (tables) => accept(tables, 'east', plainProfiles(PROFILES_PER_CLUSTER_MAX + 1)),
      'distinct profiles',
      8_192,
    ],
    [
      'requirements and values of its profiles',
      (tables) => {
        const values = Array.from({ length: 5_000 }, (_, index) => index.toString(36));
        const wide = plainProfiles(53).map(({ requirements }) =>
          row({ requirements: [...requirements, isIn('host', ...values)] }),
        );
        accept(tables, 'east', wide);
      },
      'requirements and values of distinct profiles',
      PROFILE_PARTS_PER_CLUSTER_MAX,
    ],
    [
      'fingerprints',
      (tables) => accept(tables, 'east', plainProfiles(5_000)),
      'distinct fingerprints',
      4_096,
    ],
    [
      'bytes of fingerprints',
      (tables) => {
        const values = Array.from({ length: 60 }, (_, index) => `${index}-`.padEnd(1_000, 'x'));
        const long = plainProfiles(100).map(({ requirements }) =>
          row({ requirements: [...requirements, isIn('host', ...values)] }),
        );
        accept(tables, 'east', long);
      },
      'bytes of fingerprints',
      2_097_152,
    ],
    ['groups', (tables) => accept(tables, 'east', rowsOf(13_000)), 'distinct groups', 12_288],
    [
      'bytes of groups',
      (tables) => {
        const long = rowsOf(1_000).map(({ group }) => row({ group: group.padEnd(GROUP_BYTES_MAX, 'x') }));
        accept(tables, 'east', long);
      },
      'bytes of groups',
      786_432,
    ],
  ];
  for (const [name, act, what, limit] of LIMITS) {
    it(`T1: one cluster may have a share of the ${name}; its demand stays, and nothing leaks`, () => {
      const isLarge = name.startsWith('profiles');
      const tables = tablesOf(isLarge ? 100_000 : 16_384);
      accept(tables, 'east', [row({ group: 'before' })]);
      expect(errorOf(() => act(tables))).toMatchObject({ what, limit, clusterId: 'east' });
      expect(countOf(tables, 'east')).toBe(1);
      const { fingerprints, groups } = tables.inventory.tables;
      expect([fingerprints.count, groups.count]).toEqual([1, 1]);
    });
  }

  it('T1: 1,024 rows fit a table of any size, and the share is a setting', () => {
    const tables = createTables({ machinesMax: 16_384, hasRollupGuard: false, tableShare: 0 });
    expect(accept(tables, 'east', driftingGangs(1_024))).toBe('applied');
    expect(errorOf(() => accept(tables, 'west', driftingGangs(1_030)))).toMatchObject({ limit: 2_048 });
    const whole = createTables({ machinesMax: 16_384, hasRollupGuard: false, tableShare: 1 });
    expect(accept(whole, 'east', driftingGangs(8_000))).toBe('applied');
  });

  it('T1: kept rows count as new ones do', () => {
    const tables = tablesOf(16_384);
    const digests = (count: number) => Uint32Array.from({ length: 2 * count }, (_, word) => word + 1);
    const rows = plainProfiles(5_000);
    const send = (count: number) =>
      tables.needs.acceptDigested('east', digests(count), (index) => rows[index]!, 1_000, 0);
    expect(send(4_000)).toBe('applied');
    expect(send(4_096)).toBe('applied');
    expect(errorOf(() => send(4_097))).toMatchObject({ what: 'distinct fingerprints', limit: 4_096 });
    expect(countOf(tables, 'east')).toBe(4_096);
  });

  it('T1: merged gangs hold the name of the fold that they end as, and give it back', () => {
    const world = demand({ quarantine: false });
    const gang = row({ requirements: [isSame('rack')], group: 'g' });
    world.table.accept('east', [gang, gang, gang], 1_000, 0);
    expect(world.groups.find('fold:cpu=24')).not.toBe(0);
    expect([world.groups.find('fold:cpu=8'), world.groups.find('fold:cpu=16')]).toEqual([0, 0]);
    world.table.accept('east', [], 2_000, 0);
    expect(leftovers(world)).toEqual(NOTHING_LEFT);
  });
});

describe('T3: limits on texts', () => {
  const name = (bytes: number) => 'n'.repeat(bytes);
  const TEXTS: readonly [string, number, (text: string) => RollupRow, string][] = [
    [
      'requirement key',
      KEY_BYTES_MAX,
      (text) => row({ requirements: [isIn(text, 'v')] }),
      'requirements[0].key',
    ],
    [
      'requirement value',
      VALUE_BYTES_MAX,
      (text) => row({ requirements: [isIn('key', 'v', text)] }),
      'requirements[0].values[1]',
    ],
    [
      'topology key',
      KEY_BYTES_MAX,
      (text) => row({ spread: [{ topologyKey: text, maxSkew: 1, whenUnsatisfiable: 1 }] }),
      'spread[0].topology_key',
    ],
    ['group', GROUP_BYTES_MAX, (text) => row({ group: text }), 'group'],
    ['resource name', KEY_BYTES_MAX, (text) => row({ aggregate: { [text]: '1' } }), 'aggregate_resources'],
    ['resource name of min_unit', KEY_BYTES_MAX, (text) => row({ minUnit: { [text]: '1' } }), 'min_unit'],
  ];
  for (const [what, bytesMax, rowWith, field] of TEXTS) {
    it(`T3: a ${what} has at most ${bytesMax} bytes; a longer one refuses the roll-up whole`, () => {
      const tables = tablesOf(64);
      expect(accept(tables, 'east', [rowWith(name(bytesMax))])).toBe('applied');
      for (const [text, bytes] of [
        [name(bytesMax + 1), bytesMax + 1],
        ['é'.repeat(bytesMax), 2 * bytesMax],
        ['\u{1F600}'.repeat(Math.ceil(bytesMax / 3)), 4 * Math.ceil(bytesMax / 3)],
      ] as const) {
        const error = errorOf(() => accept(tables, 'east', [row(), rowWith(text)]));
        expect(error).toBeInstanceOf(RollupRejectedError);
        const { message, field: at } = error as RollupRejectedError;
        expect(at).toBe(`needs[1].${field}`);
        expect(message).toContain(`begins with ${JSON.stringify(text.slice(0, 64))}`);
        expect(message).toContain(`has ${bytes} bytes; the limit is ${bytesMax}`);
        expect(message.length).toBeLessThan(700);
        expect(countOf(tables, 'east')).toBe(1);
      }
    });
  }
});
