/** What a run is told. */
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
  /** The suite's own shard: no living shard may have this id. */
  readonly shardId: string;
  /** Newer than in every run before with the same shard id. */
  readonly epoch: number;
  /** May the suite delete Idle machines that it found? It creates them again. */
  readonly allowDelete: boolean;
  /** Check ids or areas; empty: all. */
  readonly only: readonly string[];
}

/** Calls in flight at once in the checks about concurrency. */
export const PARALLEL_CALLS = 100;

export const DEFAULT_TRANSITION_TIMEOUT_MS = 60_000;
/** A shard's own deadline for a call. */
export const DEFAULT_CALL_TIMEOUT_MS = 30_000;
