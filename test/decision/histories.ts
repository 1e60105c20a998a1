/**
 * Random histories, decided three ways: by the oracle, by a new engine over the same tables, and by the engine that ran
 * through the whole history and read only the changes. All three must agree on every claim, action (with order), deficit,
 * verdict and count. A failure names the seed; FLOTILLA_SEED=<seed> FLOTILLA_HISTORIES=4 replays it.
 */
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { CHEAPEST, type Placement } from '../../src/decision/assign/placement.ts';
import { MachineState } from '../../src/machine/state.ts';
import { randomWorld, step } from '../oracle/generator.ts';
import { decide } from '../oracle/oracle.ts';
import type { OracleResult, World } from '../oracle/world.ts';
import { comparable } from './comparable.ts';
import { EngineWorld, type EngineWorldOptions } from './engine-world.ts';

/** In total; each of the PARTS test files runs its share, so that several cores can work. */
const HISTORIES = Number(process.env.FLOTILLA_HISTORIES ?? 2000);
const PARTS = 4;
const VALUE_SHARE = 16;
const STEPS = 30;
/** A decision from scratch costs five times an incremental one; every second step makes 30,000 of them. */
const SCRATCH_EVERY = 2;
const FIRST_SEED = Number(process.env.FLOTILLA_SEED ?? 1);

/** Which labels are fine: as in small fleets, as in large ones, and with labels of a machine's own. */
const GRAINS: readonly EngineWorldOptions[] = [
  {},
  { coarseValuesMax: 1 },
  { coarseValuesMax: 3 },
  { ownLabelKeys: ['rack'] },
];

/** E7: the ceilings of capacity types, which are rarely reached, counted together. */
const BY_TYPE = 'by a ceiling of a capacity type';

/** A restart loses what only the process knew; the test then continues with a new engine over new tables. */
function isRestart(before: World, result: OracleResult, after: World): boolean {
  const lostCounts = result.unmet.size > 0 && after.unmet.size === 0;
  const isGone = (id: string) => !after.clusters.find((cluster) => cluster.id === id)?.reported;
  return lostCounts || before.clusters.some(({ id, reported }) => reported && isGone(id));
}

function runHistory(seed: number, counts: Map<string, number>, placement: Placement): void {
  const random = new Random(seed);
  const options = { ...GRAINS[seed % GRAINS.length]!, placement };
  const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1);
  let world = randomWorld(random);
  if (placement.kind === 'value') world.value = { offerMargin: placement.offerMargin };
  let live = new EngineWorld(options);
  for (let at = 0; at < STEPS; at++) {
    const where = `seed ${seed}, step ${at}`;
    const expected = decide(world);
    const right = comparable(expected);
    if (at % SCRATCH_EVERY === 0) {
      expectSame(live.decideFromScratch(world), right, `${where}: from scratch against the oracle`);
    }
    expectSame(live.decide(world), right, `${where}: incremental against the oracle`);
    for (const { kind } of expected.actions) count(kind);
    countLeaving(world, expected, count);
    for (const { reason, parked, satisfied, limitedBy } of expected.verdicts) {
      count(`limited ${limitedBy}`);
      if (/^ceilings\..+-usd-per-hour$/.test(limitedBy)) count(`limited ${BY_TYPE}`);
      count(`reason ${reason}`);
      if (parked) count('parked');
      if (satisfied) count('satisfied');
    }
    const next = step(world, expected, random);
    if (isRestart(world, expected, next)) {
      live = new EngineWorld(options);
      count('restart');
    }
    world = next;
  }
}

/** H5, H6: how often a leaving machine was held, reclaimed, preempted, or held by a gang, and a cordoned one credited. */
function countLeaving({ machines }: World, result: OracleResult, count: (what: string) => void): void {
  const kindOf = new Map(result.actions.map(({ machine, kind }) => [machine, kind]));
  for (const { id, state, intent, leaving, cordoned } of machines) {
    if (state !== MachineState.Configured || intent !== 'none') continue;
    const claim = result.claims.get(id);
    if (leaving !== undefined) {
      if (claim !== undefined) count(/:5:/.test(claim) ? 'leaving held by a gang' : 'leaving held');
      count(`leaving ${kindOf.get(id) ?? 'stays'}`);
    } else if (cordoned === true) count(claim === undefined ? 'cordoned unclaimed' : 'cordoned credited');
  }
}

const LEAVING_SEEN = [
  ...['leaving held', 'leaving held by a gang', 'leaving Reclaim', 'leaving Preempt', 'leaving stays'],
  ...['cordoned credited', 'cordoned unclaimed'],
];

/** A structural comparison first: only a difference is worth a readable report. */
export function expectSame(
  actual: OracleResult,
  right: ReturnType<typeof comparable>,
  message: string,
): void {
  const left = comparable(actual);
  if (!isDeepStrictEqual(left, right)) expect(left, message).toEqual(right);
}

/** One part of the histories, as a test. Other seeds: FLOTILLA_SEED=… FLOTILLA_HISTORIES=… npx vitest run test/decision. */
export function describeHistories(part: number): void {
  const first = FIRST_SEED + Math.floor((HISTORIES * (part - 1)) / PARTS);
  const end = FIRST_SEED + Math.floor((HISTORIES * part) / PARTS);
  describeSeeds('the decision engine', first, end, CHEAPEST);
}

/** The histories of another placement (E1): a share of the first, because most of what they do is the same. */
export function describeValueHistories(): void {
  const end = FIRST_SEED + Math.ceil(HISTORIES / VALUE_SHARE);
  describeSeeds('E1, E2, E3, E4: the decision engine by value', FIRST_SEED, end, {
    kind: 'value',
    offerMargin: 0.2,
  });
}

function describeSeeds(what: string, first: number, end: number, placement: Placement): void {
  describe(what, () => {
    it(`agrees with the oracle, from scratch and incrementally, over histories ${first} to ${end - 1} of ${STEPS} steps`, () => {
      const counts = new Map<string, number>();
      for (let seed = first; seed < end; seed++) runHistory(seed, counts, placement);
      const actions = ['Bootstrap', 'Provision', 'Preempt', 'Reclaim', 'Delete'];
      const limits = ['max-machines', 'max-resources', 'max-dollars-per-hour', 'max-offering-share'];
      limits.push('min-non-spot-share'); // E8
      limits.push('ceilings.usd-per-hour', BY_TYPE); // E7
      for (const seen of [
        ...actions,
        ...LEAVING_SEEN,
        'parked',
        'satisfied',
        ...limits.map((name) => `limited ${name}`),
      ]) {
        expect(counts.get(seen) ?? 0, seen).toBeGreaterThan(0);
      }
    }, 900_000);
  });
}
