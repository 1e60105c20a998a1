/**
 * T14: a certificate is checked when a connection begins. So no connection lives much longer than an hour, whichever side
 * dialled it.
 */
import type { Random } from '../base/random.ts';

export const CONNECTION_AGE_MS = 3_600_000;

/** A connection lives this much longer or shorter, so that not all of them end at once. */
const JITTER = 0.2;

export function jittered(ageMs: number, random: Random): number {
  return ageMs * (1 + JITTER * (2 * random.unit() - 1));
}
