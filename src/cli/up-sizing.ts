/**
 * Sizes the demonstration to its fleet: half a million machines need more actions at a time than ten thousand, and listings of
 * the changes alone. Flags and the environment override each value.
 *
 *   machines               to bind   actions/s   execute concurrency   latency      listings
 *   10,000                 1,200     10          256                   2s/8s        full
 *   125,000                15,000    125         256                   2s/8s        incremental
 *   500,000                60,000    500         1024                  500ms/2s     incremental
 *   2,000,000              240,000   2,000       4096                  125ms/500ms  incremental
 */
import { DEMAND_SHARE } from '../simulation/catalogue/steady-demand.ts';

/** Shares of the machines that are nodes, and Idle, when the demonstration begins. Clusters ask for 97 %. */
export const CONFIGURED_SHARE = 0.85;
export const IDLE_SHARE = 0.05;

/** Three minutes, less half a minute to start 500,000 machines and 2,000 sessions, less half a minute of margin. */
const BIND_SECONDS = 120;
/**
 * C1: a queue that dropped actions asks for more when it is half empty, and then holds as many as the concurrency. They must
 * last until the next cycle has filled it: a cycle of up to 1 s, after a rest of up to 1 s.
 */
const REFILL_SECONDS = 2;
/** The shard's own default. */
const CONCURRENCY_MIN = 256;
/** One call thread makes 5,000 calls per second (docs/results.md, execute): more actions at a time would only wait for it. */
const CONCURRENCY_MAX = 4_096;
/**
 * Machines in a transitional state are read until they leave it (X13: after 0.25, 0.5, 1 … s, 64 reads at a time). An
 * operation of 2 s costs four reads, one of 500 ms two. So at 500 actions per second an operation adds 1,000 reads per second
 * and not 2,000, of the 5,000 calls that a thread can make.
 */
const UNDER_WAY_MAX = 250;
/** An operation of a small fleet takes as long as that of a fast cloud. A long one takes four times the mean. */
const LATENCY_MS_MAX = 2_000;
const P99_FACTOR = 4;
/** A full listing takes 5.5 µs per machine (docs/results.md, reconcile-full): every five seconds 2.7 s for 500,000, 0.3 s for 50,000. */
const FULL_LISTING_MACHINES_MAX = 50_000;

export interface UpSizing {
  readonly executeConcurrency: number;
  /** As `flotilla provider --latency` takes it. */
  readonly latency: string;
  readonly isIncremental: boolean;
}

export function sizeUp(machines: number): UpSizing {
  const actionsPerSecond = (machines * (DEMAND_SHARE - CONFIGURED_SHARE)) / BIND_SECONDS;
  const inTwoSeconds = 2 ** Math.ceil(Math.log2(actionsPerSecond * REFILL_SECONDS));
  const meanMs = Math.min(LATENCY_MS_MAX, Math.round((1_000 * UNDER_WAY_MAX) / actionsPerSecond));
  return {
    executeConcurrency: Math.min(CONCURRENCY_MAX, Math.max(CONCURRENCY_MIN, inTwoSeconds)),
    latency: `${meanMs}ms/${P99_FACTOR * meanMs}ms`,
    isIncremental: machines > FULL_LISTING_MACHINES_MAX,
  };
}
