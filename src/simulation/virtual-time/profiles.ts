/** Profiles of histories: the accidents and their frequencies. */
import type { Random } from '../../base/random.ts';
import { ACCIDENTS, type AccidentName } from './accidents.ts';

export interface Profile {
  /** Mean time between two accidents. */
  readonly everyMsMean: number;
  /** Whether providers fail operations and lose answers at random. */
  readonly hasWeakProviders: boolean;
  readonly weights: Partial<Readonly<Record<AccidentName, number>>>;
}

/** Ordinary events of any fleet. */
const LIFE = {
  'demand changes': 12,
  'price moves': 4,
  'machine appears': 2,
  'machine fails': 3,
  'machine taken back': 3,
  'machine vanishes': 1,
} as const;

const TROUBLE = {
  'demand withdrawn': 1,
  'session ends': 4,
  'operator misbehaves': 2,
  'garbage roll-up': 2,
  'network gets worse': 3,
  'network recovers': 3,
  'provider unreachable': 2,
  'provider restarts': 1,
  'shard killed': 2,
  'shard stopped': 1,
  'kill switch': 1,
  'machine flaps': 1,
  'listing empty': 1,
} as const;

const LYING = {
  'listing empty': 3,
  'rows twice': 3,
  'old listing': 4,
  'impossible rows': 4,
  'broken records': 3,
  "another's machines": 2,
} as const;

const RESTARTING = {
  'shard killed': 6,
  'shard stopped': 4,
  'shard replaced and woken': 6,
  'session ends': 2,
  'clock jumps': 2,
} as const;

export const PROFILES = {
  calm: { everyMsMean: 20_000, hasWeakProviders: false, weights: LIFE },
  usual: { everyMsMean: 8_000, hasWeakProviders: true, weights: { ...LIFE, ...TROUBLE } },
  storm: {
    everyMsMean: 2_500,
    hasWeakProviders: true,
    weights: { ...LIFE, ...TROUBLE, ...LYING, ...RESTARTING },
  },
  restarts: { everyMsMean: 12_000, hasWeakProviders: true, weights: { ...LIFE, ...RESTARTING } },
  stalls: {
    everyMsMean: 12_000,
    hasWeakProviders: true,
    weights: {
      ...LIFE,
      'shard stands still at a call': 12,
      'shard stopped': 4,
      'shard replaced and woken': 4,
      'session ends': 3,
      'network gets worse': 4,
      'network recovers': 2,
    },
  },
  breaking: {
    everyMsMean: 15_000,
    hasWeakProviders: false,
    weights: { ...LIFE, 'bootstraps break': 12, 'drains break': 4, 'session ends': 1, 'shard killed': 1 },
  },
  steered: {
    everyMsMean: 7_000,
    hasWeakProviders: false,
    weights: {
      ...LIFE,
      'control appears': 12,
      'control lifted': 5,
      // Slow calls make actions wait in the queue, where a pause must still find them.
      'network gets worse': 6,
      'network recovers': 1,
      'shard killed': 3,
      'session ends': 1,
      'demand withdrawn': 2,
    },
  },
  liar: { everyMsMean: 6_000, hasWeakProviders: false, weights: { ...LIFE, ...LYING } },
} as const satisfies Readonly<Record<string, Profile>>;

export type ProfileName = keyof typeof PROFILES;

export const PROFILE_NAMES = Object.keys(PROFILES) as readonly ProfileName[];

/** One accident of a history: its name, its time, and the seed for its random choices. */
export interface PlannedAccident {
  readonly atMs: number;
  readonly name: AccidentName;
  readonly seed: number;
}

/** Plans all accidents before the history begins, so that a replay can leave some out. */
export function planAccidents(profile: Profile, durationMs: number, random: Random): PlannedAccident[] {
  const names = Object.keys(ACCIDENTS) as AccidentName[];
  const weights = names.map((name) => profile.weights[name] ?? 0);
  const plan: PlannedAccident[] = [];
  let atMs = 0;
  for (;;) {
    atMs += random.below(2 * profile.everyMsMean);
    if (atMs >= durationMs) return plan;
    plan.push({ atMs, name: names[random.weighted(weights)]!, seed: random.uint32() });
  }
}
