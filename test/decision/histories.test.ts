/**
 * Random histories, decided three ways: by the oracle, by a fresh engine over the same tables, and by the
 * engine that lived through the history and was told only what changed. All three must agree on every claim,
 * action (with order), deficit, verdict and count. A failure names the seed; `seed` below replays it.
 */
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { randomWorld, step } from '../oracle/generator.ts';
import { decide } from '../oracle/oracle.ts';
import type { OracleResult, World } from '../oracle/world.ts';
import { EngineWorld, type EngineWorldOptions } from './engine-world.ts';

const HISTORIES = Number(process.env.FLOTILLA_HISTORIES ?? 2000);
const STEPS = 30;
const FIRST_SEED = Number(process.env.FLOTILLA_SEED ?? 1);

/** Grain of families and domains: as in small fleets, as in large ones, with labels of a machine's own. */
const GRAINS: readonly EngineWorldOptions[] = [
  {},
  { coarseValuesMax: 1 },
  { coarseValuesMax: 3 },
  { ownLabelKeys: ['rack'] },
];

function comparable(result: OracleResult) {
  const byKey = <T>(map: Map<string, T>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));
  const verdictKey = ({ cluster, group, fingerprint }: OracleResult['verdicts'][number]) =>
    JSON.stringify([cluster, group, fingerprint]);
  return {
    actions: result.actions,
    claims: byKey(result.claims),
    verdicts: result.verdicts.toSorted((a, b) => (verdictKey(a) < verdictKey(b) ? -1 : 1)),
    parking: byKey(result.parking),
    unmet: byKey(result.unmet),
    shortfalls: result.shortfalls.toSorted((a, b) => (a.fingerprint < b.fingerprint ? -1 : 1)),
  };
}

/** A restart loses what only the process knew: a new engine over new tables. */
function isRestart(before: World, result: OracleResult, after: World): boolean {
  const lostCounts = result.unmet.size > 0 && after.unmet.size === 0;
  const isGone = (id: string) => !after.clusters.find((cluster) => cluster.id === id)?.reported;
  return lostCounts || before.clusters.some(({ id, reported }) => reported && isGone(id));
}

function runHistory(seed: number, counts: Map<string, number>): void {
  const random = new Random(seed);
  const options = GRAINS[seed % GRAINS.length]!;
  const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1);
  let world = randomWorld(random);
  let live = new EngineWorld(options);
  for (let at = 0; at < STEPS; at++) {
    const where = `seed ${seed}, step ${at}`;
    const expected = decide(world);
    const scratch = live.decideFromScratch(world);
    expect(comparable(scratch), `${where}: from scratch against the oracle`).toEqual(comparable(expected));
    const incremental = live.decide(world);
    expect(comparable(incremental), `${where}: incremental against the oracle`).toEqual(comparable(expected));
    for (const { kind } of expected.actions) count(kind);
    for (const { reason, parked, satisfied } of expected.verdicts) {
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

describe('the decision engine', () => {
  it(`agrees with the oracle, from scratch and incrementally, over ${HISTORIES} histories of ${STEPS} steps`, () => {
    const counts = new Map<string, number>();
    for (let seed = FIRST_SEED; seed < FIRST_SEED + HISTORIES; seed++) runHistory(seed, counts);
    for (const what of ['Bootstrap', 'Provision', 'Preempt', 'Reclaim', 'Delete', 'parked', 'satisfied']) {
      expect(counts.get(what) ?? 0, what).toBeGreaterThan(0);
    }
  }, 600_000);
});
