/**
 * Until when a replica is confirmed as the active one, in shared memory. The main thread writes it, and the thread that sends
 * a call checks it at the moment of sending: a decision of a second ago proves nothing now.
 *
 *   offset  bytes  meaning
 *   0       8      i64, ms of uptime (one origin for all threads): not confirmed from then on; 0 = not confirmed
 *   8       8      i64, ms of the wall clock: the same moment
 *
 * Both clocks must be before their deadline. The uptime stands still while a machine is suspended; the wall clock may be set
 * back. A reader between the two writes of `extend` sees the older wall-clock deadline, which ends sooner.
 */
import { assert } from './assert.ts';

export interface Instant {
  readonly uptimeMs: number;
  readonly wallMs: number;
}

const BYTES = 2 * BigInt64Array.BYTES_PER_ELEMENT;
const UPTIME = 0;
const WALL = 1;

export class Confirmation {
  readonly shared: SharedArrayBuffer;
  readonly #deadlines: BigInt64Array;

  static create(): Confirmation {
    return new Confirmation(new SharedArrayBuffer(BYTES));
  }

  /** In every other thread. */
  static open(shared: SharedArrayBuffer): Confirmation {
    return new Confirmation(shared);
  }

  private constructor(shared: SharedArrayBuffer) {
    assert(shared.byteLength === BYTES, 'a confirmation is two i64');
    this.shared = shared;
    this.#deadlines = new BigInt64Array(shared);
  }

  isConfirmed(now: Instant): boolean {
    return (
      now.uptimeMs < Number(Atomics.load(this.#deadlines, UPTIME)) &&
      now.wallMs < Number(Atomics.load(this.#deadlines, WALL))
    );
  }

  /** Rounded down: early is safe. */
  extend(until: Instant): void {
    Atomics.store(this.#deadlines, UPTIME, BigInt(Math.floor(until.uptimeMs)));
    Atomics.store(this.#deadlines, WALL, BigInt(Math.floor(until.wallMs)));
  }

  /** At once, for all threads. */
  clear(): void {
    Atomics.store(this.#deadlines, UPTIME, 0n);
    Atomics.store(this.#deadlines, WALL, 0n);
  }
}
