/**
 * Roll-ups of a hostile cluster: sizes around the limits, new names in every roll-up, texts of every form. Every row asks for
 * machines of the hostile types, which no honest provider has. Each roll-up says whether the shard must accept it.
 */
import type { Random } from '../../base/random.ts';
import { GROUP_BYTES_MAX, KEY_BYTES_MAX, VALUE_BYTES_MAX } from '../../base/text-limits.ts';
import { Operator, type Requirement, WhenUnsatisfiable } from '../../needs/requirements.ts';
import { CLUSTER_DEMAND_NAMES_MAX, type RollupRow } from '../../needs/rollup.ts';
import { drawGarbage, HOSTILE, RACK_KEY, TYPE_KEY, ZONE_KEY } from './scenery.ts';

export const HOSTILE_TYPES = [`${HOSTILE}-small`, `${HOSTILE}-large`] as const;
export const HOSTILE_CPU = 4;

/**
 * T1 in a simulated world. Its tables have 512 fingerprints and 1,536 groups, so with this share a cluster may have 51 and
 * 153: a roll-up of 200 rows exceeds both and costs a millisecond.
 */
export const TABLE_SHARE = 0.1;
export const SHARE_ROWS_MIN = 16;
const PROFILES_OVER_SHARE = 60;
const GROUPS_OVER_SHARE = 170;
/** Well below each share, whatever else the rows have. */
const ROWS_WITHIN_SHARE = 12;

const PRIORITY_MAX = 2_147_483_647;

export interface HostileRollup {
  readonly what: string;
  readonly rows: readonly RollupRow[];
  /** null: either is right. */
  readonly mustAccept: boolean | null;
}

type Draw = (random: Random, name: () => string) => Omit<HostileRollup, 'what'>;

/** `name` gives a new name at each call. */
export function drawRollup(random: Random, name: () => string): HostileRollup {
  const [what, draw] = random.pick(KINDS);
  return { what, ...draw(random, name) };
}

function rowOf(random: Random, change: Partial<RollupRow> = {}): RollupRow {
  const cpu = String(HOSTILE_CPU * random.between(1, 3));
  return {
    requirements: [typeOf(random)],
    aggregate: { cpu },
    minUnit: { cpu: String(HOSTILE_CPU) },
    priority: random.pick([0, 1_000, PRIORITY_MAX - 1, PRIORITY_MAX]),
    spread: [],
    interruptionBucket: 0,
    reclamationBucket: random.pick([0, 20, 27]),
    group: '',
    ...change,
  };
}

function rowsOf(count: number, draw: (index: number) => RollupRow): RollupRow[] {
  return Array.from({ length: count }, (_, index) => draw(index));
}

function typeOf(random: Random): Requirement {
  return { key: TYPE_KEY, operator: Operator.In, values: [random.pick(HOSTILE_TYPES)] };
}

function long(name: string, bytes: number): string {
  return name.padEnd(bytes, 'x');
}

/** A text of the longest length, or one byte more. */
function aroundLimit(random: Random, name: string, bytesMax: number) {
  const mustAccept = random.chance(0.5);
  return { text: long(name, mustAccept ? bytesMax : bytesMax + 1), mustAccept };
}

const KINDS: readonly (readonly [string, Draw])[] = [
  ['modest', (random) => ({ rows: rowsOf(random.between(1, 4), () => rowOf(random)), mustAccept: true })],
  [
    'new labels',
    (random, name) => ({
      rows: rowsOf(random.between(1, ROWS_WITHIN_SHARE), () =>
        rowOf(random, {
          requirements: [
            typeOf(random),
            { key: name(), operator: Operator.In, values: [name()] },
            { key: name(), operator: Operator.DoesNotExist, values: [] },
          ],
        }),
      ),
      mustAccept: true,
    }),
  ],
  [
    'gangs over new keys',
    (random, name) => ({
      rows: rowsOf(random.between(1, ROWS_WITHIN_SHARE), () =>
        rowOf(random, {
          requirements: [
            typeOf(random),
            { key: random.pick([RACK_KEY, name()]), operator: Operator.Same, values: [] },
          ],
          group: name(),
        }),
      ),
      mustAccept: true,
    }),
  ],
  [
    'spread over new keys',
    (random, name) => ({
      rows: rowsOf(random.between(1, ROWS_WITHIN_SHARE), () =>
        rowOf(random, {
          spread: [
            {
              topologyKey: random.pick([ZONE_KEY, name()]),
              maxSkew: 1,
              whenUnsatisfiable: WhenUnsatisfiable.DoNotSchedule,
            },
          ],
        }),
      ),
      mustAccept: true,
    }),
  ],
  [
    'invented resources',
    (random, name) => {
      const names = Array.from({ length: random.between(1, 2 * CLUSTER_DEMAND_NAMES_MAX) }, name);
      const rows = names.map((resource) => rowOf(random, { aggregate: { cpu: '4', [resource]: '1' } }));
      return { rows, mustAccept: names.length <= CLUSTER_DEMAND_NAMES_MAX };
    },
  ],
  [
    'many profiles',
    (random, name) => {
      const count = random.pick([PROFILES_OVER_SHARE, 2 * PROFILES_OVER_SHARE, ROWS_WITHIN_SHARE]);
      const rows = rowsOf(count, () =>
        rowOf(random, {
          requirements: [typeOf(random), { key: 'label', operator: Operator.In, values: [name()] }],
        }),
      );
      return { rows, mustAccept: count === ROWS_WITHIN_SHARE };
    },
  ],
  [
    'many groups',
    (random, name) => {
      const count = random.pick([GROUPS_OVER_SHARE, ROWS_WITHIN_SHARE]);
      const rows = rowsOf(count, () => rowOf(random, { group: name() }));
      return { rows, mustAccept: count === ROWS_WITHIN_SHARE };
    },
  ],
  [
    'any number of rows',
    (random, name) => ({
      rows: rowsOf(random.between(0, GROUPS_OVER_SHARE), () =>
        rowOf(random, { group: random.chance(0.5) ? '' : name() }),
      ),
      mustAccept: null,
    }),
  ],
  [
    'long group',
    (random, name) => {
      const { text, mustAccept } = aroundLimit(random, name(), GROUP_BYTES_MAX);
      return { rows: [rowOf(random, { group: text })], mustAccept };
    },
  ],
  [
    'long requirement key',
    (random, name) => {
      const { text, mustAccept } = aroundLimit(random, name(), KEY_BYTES_MAX);
      const requirements = [typeOf(random), { key: text, operator: Operator.Exists, values: [] }];
      return { rows: [rowOf(random, { requirements })], mustAccept };
    },
  ],
  [
    'long requirement value',
    (random, name) => {
      const { text, mustAccept } = aroundLimit(random, name(), VALUE_BYTES_MAX);
      const requirements = [typeOf(random), { key: 'label', operator: Operator.In, values: [text] }];
      return { rows: [rowOf(random, { requirements })], mustAccept };
    },
  ],
  [
    'long resource name',
    (random, name) => {
      const { text, mustAccept } = aroundLimit(random, name(), KEY_BYTES_MAX);
      return { rows: [rowOf(random, { aggregate: { cpu: '4', [text]: '1' } })], mustAccept };
    },
  ],
  [
    'groups that look like names of the shard',
    (random, name) => ({
      rows: rowsOf(random.between(1, 6), () =>
        rowOf(random, {
          group: random.pick([
            `fold:${name()}`,
            `fold:cpu=4,${name()}`,
            `sha256:${name()}`,
            `p=${name()}`,
            `${name()}\n\0"`,
            `${name()} 🚢`,
          ]),
        }),
      ),
      // A version of the protocol may reserve a form.
      mustAccept: null,
    }),
  ],
  [
    'huge quantities',
    (random) => ({
      rows: rowsOf(random.between(1, 4), () =>
        rowOf(random, {
          aggregate: { cpu: random.pick(['1000000', '1e6', '4000001m']), memory: '1Ei' },
          minUnit: random.pick([{ cpu: '1000000' }, { cpu: '1m' }, {}]),
        }),
      ),
      mustAccept: null,
    }),
  ],
  ['garbage', (random) => ({ rows: drawGarbage(random), mustAccept: false })],
];
