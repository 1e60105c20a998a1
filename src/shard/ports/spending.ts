/** What machines cost now, by cluster, instance type and capacity type, and what they cost before. */
import type { CapacityType } from '../../machine/capacity-type.ts';

export interface SpendingRow {
  /** '' = bound to no cluster. */
  readonly clusterId: string;
  readonly instanceType: string;
  readonly capacityType: CapacityType;
  /** With a host; an offer costs nothing. Of an hour: the average. */
  readonly machines: number;
  /** Configured ones of these. */
  readonly configured: number;
  readonly usdPerHour: number;
}

export interface SpendingSample {
  readonly atMs: number;
  readonly rows: readonly SpendingRow[];
}

export type SpendingGrain = 'minute' | 'hour';

/** E5: the samples that are kept. */
export interface SpendingPast {
  /** Samples of [fromMs, toMs), oldest first. */
  samples(fromMs: number, toMs: number, grain: SpendingGrain): AsyncIterable<SpendingSample>;
  /** '' = none. */
  teamOf(clusterId: string): string;
}
