/**
 * Listings of a hostile provider: rows that break a limit, names that are new each time, ids of other providers, bytes that
 * are no message. The types of its machines match no honest need, and no row says that a machine is bound to an honest
 * cluster: a provider is believed about its own machines, so such a machine would be that cluster's.
 */
import type { Random } from '../../base/random.ts';
import { ASSIGNMENT_KEYS } from '../../machine/assignment-keys.ts';
import { CapacityType } from '../../machine/capacity-type.ts';
import { MachineState } from '../../machine/state.ts';
import type { Machine } from '../../wire/protocol.generated.ts';
import type { SeedMachine } from '../provider/machines.ts';
import { HOSTILE_CPU, HOSTILE_TYPES } from './hostile-demand.ts';
import { HOSTILE, RACK_KEY } from './scenery.ts';

const S = MachineState;
/** T10: its ids. */
export const HOSTILE_PREFIX = 'h-';

export function drawHostileMachine(random: Random, id: string): SeedMachine {
  const capacityType = random.pick([CapacityType.BareMetal, CapacityType.OnDemand, CapacityType.Spot]);
  return {
    id,
    kind: {
      instanceType: random.pick(HOSTILE_TYPES),
      zone: random.pick(['a', 'b']),
      capacityType,
      labels: { [RACK_KEY]: `a-${random.below(2)}` },
      resources: { cpu: String(HOSTILE_CPU), memory: '16Gi' },
      allocatable: null,
    },
    pricePerHourUsd: random.between(0, 50) / 100,
    interruptionProbability: 0,
    state: random.chance(0.5) ? S.Idle : S.Speculative,
  };
}

/** What one listing shows instead of the truth. */
export interface ListingLie {
  readonly what: string;
  /** Rows beside the provider's own. */
  readonly added: readonly Machine[];
  /** Changes the provider's own rows; those that it leaves as they are must reach the inventory (T5). */
  readonly change: ((machine: Machine) => Machine) | null;
  readonly isEmpty?: true;
  /** Bytes before and after the rows. */
  readonly head?: Uint8Array;
  readonly tail?: Uint8Array;
}

export interface Surroundings {
  /** A new name at each call. */
  readonly name: () => string;
  readonly clusterId: string;
  /** Ids of honest machines that the provider may claim. */
  readonly foreignIds: readonly string[];
}

type Draw = (random: Random, around: Surroundings) => Omit<ListingLie, 'what'>;

export function drawLie(random: Random, around: Surroundings): ListingLie {
  const [what, draw] = random.pick(KINDS);
  return { what, ...draw(random, around) };
}

function row(id: string, change: Partial<Machine> = {}): Machine {
  return {
    id,
    state: S.Idle,
    host: { provider: HOSTILE, ref: id },
    instanceType: HOSTILE_TYPES[0],
    zone: 'a',
    capacityType: CapacityType.OnDemand,
    pricePerHour: 0.1,
    interruptionProbability: 0,
    resources: { resources: { cpu: '4', memory: '16Gi' } },
    labels: {},
    lastError: '',
    allocatable: null,
    cluster: '',
    shardMetadata: {},
    ...change,
  };
}

function times<T>(count: number, draw: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => draw(index));
}

function ownId(name: string): string {
  return `${HOSTILE_PREFIX}${name}`;
}

function resourcesOf(names: readonly string[]): Machine['resources'] {
  return { resources: Object.fromEntries([['cpu', '4'], ...names.map((name) => [name, '1'])]) };
}

const KINDS: readonly (readonly [string, Draw])[] = [
  ['truth', () => ({ added: [], change: null })],
  [
    'ids of others',
    (random, { foreignIds }) => ({
      added: foreignIds.filter(() => random.chance(0.5)).map((id) => row(id)),
      change: null,
    }),
  ],
  [
    'new labels',
    (random, { name }) => ({
      added: [],
      change: (machine) =>
        random.chance(0.5) ? machine : { ...machine, labels: { ...machine.labels, [name()]: name() } },
    }),
  ],
  [
    'invented resources',
    (random, { name }) => ({
      added: times(random.between(1, 3), () =>
        row(ownId(name()), { resources: resourcesOf(times(random.between(1, 50), name)) }),
      ),
      change: null,
    }),
  ],
  [
    'more resources than any shard holds',
    (_, { name }) => ({
      added: times(10, () => row(ownId(name()), { resources: resourcesOf(times(40, name)) })),
      change: null,
    }),
  ],
  [
    'long texts',
    (random, { name }) => ({
      added: times(random.between(1, 4), () => {
        const id = ownId(name());
        const text = name().padEnd(random.pick([317, 318, 512, 513, 1_024, 1_025, 70_000]), 'x');
        return random.pick([
          row(`${HOSTILE_PREFIX}${text}`),
          row(id, { instanceType: text }),
          row(id, { zone: text }),
          row(id, { labels: { [text]: 'a' } }),
          row(id, { labels: { a: text } }),
          row(id, { resources: resourcesOf([text]) }),
          row(id, { lastError: text, state: S.Failed, host: null }),
          row(id, { state: S.Configured, cluster: text }),
        ]);
      }),
      change: null,
    }),
  ],
  [
    'invalid rows',
    (random, { name }) => ({
      added: times(random.between(1, 6), () =>
        row(random.pick([ownId(name()), '']), {
          ...random.pick<Partial<Machine>>([
            { pricePerHour: Number.NaN },
            { pricePerHour: -1 },
            { interruptionProbability: 2 },
            { state: 77 },
            { state: S.Configured, cluster: '' },
            { capacityType: 99 },
            { resources: { resources: { cpu: '-1' } } },
            { instanceType: '' },
          ]),
        }),
      ),
      change: null,
    }),
  ],
  [
    'assignments to needs of others',
    (random, { name, clusterId }) => ({
      added: times(random.between(1, 4), () =>
        row(ownId(name()), {
          state: random.pick([S.Configured, S.Configuring, S.Draining]),
          cluster: random.pick([clusterId, `${HOSTILE}-ghost`, name()]),
          shardMetadata: {
            [ASSIGNMENT_KEYS.priority]: random.pick(['2147483647', '-1', 'high', '']),
            [ASSIGNMENT_KEYS.interruptionPenalty]: '1e300',
            [ASSIGNMENT_KEYS.reclamationPenalty]: 'NaN',
            [ASSIGNMENT_KEYS.fingerprint]: random.pick([name(), `p=${name()}`, `sha256:${name()}`]),
            [ASSIGNMENT_KEYS.group]: random.pick(['g0', name(), name().padEnd(4_097, 'x')]),
          },
        }),
      ),
      change: null,
    }),
  ],
  ['nothing', () => ({ added: [], change: null, isEmpty: true })],
  /** T5: a row whose own bytes are malformed, in an intact listing: field 1, two bytes, a field without its value. */
  ['malformed row', () => ({ added: [], change: null, head: Uint8Array.of(0x0a, 0x02, 0x0a, 0x7f) })],
  // S7: these fail as a whole.
  ['cut off', () => ({ added: [], change: null, tail: Uint8Array.of(0x0a, 0x7f) })],
  ['no message', () => ({ added: [], change: null, tail: Uint8Array.of(0xff, 0xff, 0xff, 0xff) })],
];
