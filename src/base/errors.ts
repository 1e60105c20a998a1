/**
 * Expected failures. Each message says what was wrong, where, what the shard did and the next step; callers
 * switch on `code` and `next`, never on message text. A broken invariant of our own is not one of these: it
 * is an assertion (assert.ts) and stops the process.
 */

/** What the caller does after a failure: the only part of an error that code may branch on besides `code`. */
export type AfterFailure =
  | 'reject-input' // refuse the input; the last good state stays
  | 'retry-next-cycle' // the next cycle decides again with what it knows then
  | 'retry-later' // the failed part tries again by itself
  | 'refuse-to-start' // a person must change something first
  | 'stop'; // the shard must not continue

export abstract class ShardError extends Error {
  /** Stable, snake_case; also the metric label. */
  abstract readonly code: string;
  abstract readonly next: AfterFailure;

  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}
