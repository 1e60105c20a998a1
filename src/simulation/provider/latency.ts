/**
 * Latency of operations: a log-normal distribution, given by its mean and its 99th percentile, the two
 * figures that people know of their clouds. Most operations are faster than the mean and a few are far
 * slower, which reveals code that waits for the slowest.
 */
import type { Random } from '../../base/random.ts';

export interface Latency {
  readonly meanMs: number;
  readonly p99Ms: number;
}

/** 99th percentile of the standard normal distribution. */
const NORMAL_P99 = 2.3263478740408408;

/**
 * Largest p99/mean that a log-normal can have: ln(p99/mean) = z·s − s²/2 peaks at s = z, giving
 * e^(z²/2) = 14.97. Above it no such distribution exists.
 */
export const P99_TO_MEAN_MAX = 14.9;

/** Standard deviation of the logarithm: the smaller root of z·s − s²/2 = ln(p99/mean). */
export function logSpread({ meanMs, p99Ms }: Latency): number {
  if (meanMs === 0) return 0;
  return NORMAL_P99 - Math.sqrt(Math.max(0, NORMAL_P99 ** 2 - 2 * Math.log(p99Ms / meanMs)));
}

export function drawLatencyMs(latency: Latency, random: Random): number {
  if (latency.meanMs === 0) return 0;
  const spread = logSpread(latency);
  return latency.meanMs * Math.exp(spread * drawNormal(random) - (spread * spread) / 2);
}

/** Box–Muller; `1 − unit` keeps the logarithm away from zero. */
function drawNormal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.unit())) * Math.cos(2 * Math.PI * random.unit());
}
