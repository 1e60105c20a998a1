/** A need as an author writes it, for the planner and for operators: what is left out has its default. */
import { PenaltyBucket } from '../machine/penalty.ts';
import type { Requirement, Spread } from './requirements.ts';
import type { RollupRow } from './rollup.ts';

/** Kubernetes quantities as text by resource name: `{ cpu: '500m', memory: '2Gi' }`. */
export type Quantities = Readonly<Record<string, string>>;

/** What a cluster asks for. N3: needs that differ in their amounts only are merged. */
export interface Need {
  /** The total amount. */
  readonly aggregate: Quantities;
  /** What every machine must have at least. */
  readonly minUnit?: Quantities;
  readonly requirements?: readonly Requirement[];
  readonly spread?: readonly Spread[];
  /** Needs of higher priority are served first and may preempt. 0 if left out. */
  readonly priority?: number;
  /** What the workload loses with a machine: a PenaltyBucket, for example `bucketOfDollars(12.5)`. */
  readonly interruptionPenalty?: PenaltyBucket;
  readonly reclamationPenalty?: PenaltyBucket;
  readonly group?: string;
}

export function rollupRowOf(need: Need): RollupRow {
  return {
    requirements: need.requirements ?? [],
    aggregate: need.aggregate,
    minUnit: need.minUnit ?? {},
    priority: need.priority ?? 0,
    spread: need.spread ?? [],
    interruptionBucket: need.interruptionPenalty ?? PenaltyBucket.Unspecified,
    reclamationBucket: need.reclamationPenalty ?? PenaltyBucket.Unspecified,
    group: need.group ?? '',
  };
}
