/** What the shard's behaviour is set by, with the defaults that a user of the reference knows. */
import type { PreemptionWeights } from '../decision/preempt/preempt.ts';

export interface ShardSettings {
  readonly shardId: string;
  readonly cycleIntervalMs: number;
  readonly machinesMax: number;
  /** S1: pass cursors, and list in full only now and then. */
  readonly isIncremental: boolean;
  /** S5: in incremental mode a full listing every so many ordinary cycles; 0 = never. */
  readonly fullListEveryCycles: number;
  /** C2: providers that the first actions do not wait for, by name. */
  readonly optionalProviders: readonly string[];
  readonly listTimeoutMs: number;
  readonly executeConcurrency: number;
  readonly executeTimeoutMs: number;
  readonly bootstrapTimeoutMs: number;
  /** Bootstraps need no operator: what the cluster's nodes are started with. */
  readonly localBootstrapBlob: Uint8Array | null;
  /** C3: 0 = none. */
  readonly actionsPerCycleMax: number;
  /** C4: nothing executes. */
  readonly isPaused: boolean;
  readonly isDryRun: boolean;
  /** R2: 0 = off. */
  readonly reclaimCapFraction: number;
  /** N7. */
  readonly hasRollupGuard: boolean;
  /** R3. */
  readonly idleHoldOnDemandMs: number;
  readonly idleHoldSpotMs: number;
  /** X11. */
  readonly stuckAfterMs: number;
  /** O5. */
  readonly hintIntervalMs: number;
  /** From-scratch checks, in ordinary cycles; 0 = never. */
  readonly checkEveryCycles: number;
  readonly preemptionWeights: PreemptionWeights | null;
}

export const SHARD_DEFAULTS: ShardSettings = {
  shardId: 'shard-0',
  cycleIntervalMs: 10_000,
  machinesMax: 1_048_576,
  isIncremental: false,
  fullListEveryCycles: 360,
  optionalProviders: [],
  listTimeoutMs: 120_000,
  executeConcurrency: 256,
  executeTimeoutMs: 30_000,
  bootstrapTimeoutMs: 30_000,
  localBootstrapBlob: null,
  actionsPerCycleMax: 0,
  isPaused: false,
  isDryRun: false,
  reclaimCapFraction: 0.05,
  hasRollupGuard: true,
  idleHoldOnDemandMs: 600_000,
  idleHoldSpotMs: 60_000,
  stuckAfterMs: 900_000,
  hintIntervalMs: 5_000,
  checkEveryCycles: 360,
  preemptionWeights: null,
};

/** What may change while the shard runs. */
export type Rails = Pick<
  ShardSettings,
  'actionsPerCycleMax' | 'isPaused' | 'isDryRun' | 'reclaimCapFraction' | 'hasRollupGuard'
>;
