/** The settings of a run. */
export const STYLES = ['auto', 'sync', 'async'] as const;
export type Style = (typeof STYLES)[number];

export interface Settings {
  /** host:port */
  readonly target: string;
  /** Longest wait for a transition to end. */
  readonly transitionTimeoutMs: number;
  /** Deadline of each call. */
  readonly callTimeoutMs: number;
  /** sync: every ack shows the terminal state; async: the transitional one; auto: either. */
  readonly style: Style;
  /** The suite's own shard id. No running shard may have it. */
  readonly shardId: string;
  /** Greater than in every earlier run with the same shard id. */
  readonly epoch: number;
  /** Whether the suite may delete Idle machines that it found. It creates them again. */
  readonly allowDelete: boolean;
  /** Check ids or areas. Empty means all checks. */
  readonly only: readonly string[];
}

/** Concurrent calls in the checks about concurrency. */
export const PARALLEL_CALLS = 100;

export const DEFAULT_TRANSITION_TIMEOUT_MS = 60_000;
/** The same as a shard's deadline for a call. */
export const DEFAULT_CALL_TIMEOUT_MS = 30_000;
