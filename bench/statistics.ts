/**
 * Summaries of samples. Medians and 99th percentiles only: on a shared machine a mean mostly measures the other
 * processes.
 */

export type Statistic = 'median' | 'p99';

export interface Metric {
  readonly unit: string;
  readonly median: number;
  /** With fewer than 100 samples this is the largest or nearly so: read it with `samples`. */
  readonly p99: number;
  /** How many samples there were. */
  readonly samples: number;
}

export const NANOSECONDS = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 } as const;
export type TimeUnit = keyof typeof NANOSECONDS;

export function summarize(unit: string, values: readonly number[]): Metric {
  const sorted = Float64Array.from(values).sort();
  return { unit, median: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), samples: sorted.length };
}

/** Interpolates between the two nearest ranks, so that the median of an even number of samples is their midpoint. */
export function quantile(sorted: Float64Array, fraction: number): number {
  if (sorted.length === 0) return Number.NaN;
  const position = (sorted.length - 1) * fraction;
  const lower = Math.floor(position);
  const upper = Math.min(lower + 1, sorted.length - 1);
  return sorted[lower]! + (sorted[upper]! - sorted[lower]!) * (position - lower);
}
