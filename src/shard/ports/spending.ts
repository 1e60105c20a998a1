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

/** Interruptions of an offering's Configured machines: those that it declares, and those that came. */
export interface InterruptionRow {
  readonly provider: string;
  /** `general-16/zone-a/spot` */
  readonly offering: string;
  /** Of an hour: the average, as the next. */
  readonly configured: number;
  /** The sum of their interruption probabilities, which are per hour. */
  readonly declaredPerHour: number;
  /** Since the sample before. Of an hour: in all. */
  readonly observed: number;
}

export interface SpendingSample {
  readonly atMs: number;
  readonly rows: readonly SpendingRow[];
  /** Offerings with interruptions, declared or observed. Absent in files of older versions. */
  readonly interruptions?: readonly InterruptionRow[];
}

export type SpendingGrain = 'minute' | 'hour';

/** E5: the samples that are kept. */
export interface SpendingPast {
  /** Samples of [fromMs, toMs), oldest first. */
  samples(fromMs: number, toMs: number, grain: SpendingGrain): AsyncIterable<SpendingSample>;
  /** '' = none. */
  teamOf(clusterId: string): string;
}
