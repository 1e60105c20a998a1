/** Conditions of a run that are no size: the parent passes them to the scenario's process in the environment. */
import { randomInt } from 'node:crypto';
import { OFFER_MARGIN, type Placement } from '../src/decision/assign/placement.ts';

export const PLACEMENT_VARIABLE = 'FLOTILLA_BENCH_PLACEMENT';
export const SEED_VARIABLE = 'FLOTILLA_BENCH_SEED';
const SEED_MAX = 2 ** 31;

export function placementOfRun(): Placement {
  const kind = process.env[PLACEMENT_VARIABLE] === 'value' ? 'value' : 'cheapest';
  return { kind, offerMargin: OFFER_MARGIN };
}

/** The seed that the command line gives, else another one in every run. */
export function seedOfRun(): number {
  return Number(process.env[SEED_VARIABLE] ?? randomInt(1, SEED_MAX));
}
