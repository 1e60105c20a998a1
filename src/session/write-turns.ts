/**
 * Write turns of sessions. After a restart 2,000 operators reconnect at once, and each needs updates for 250 machines; to
 * write them all at once would block the thread for seconds. So sessions with frames to write wait in a queue, and in each
 * event-loop turn they write a few frames each, for a few milliseconds in all.
 */
import type { Arrivals } from './arrivals.ts';
import { WRITE_TURN_MS } from './limits.ts';

/** As many as a stream buffers before it signals back-pressure. */
const FRAMES_PER_VISIT = 16;

export interface Writer {
  /** Writes at most so many frames; true if it can write more now. */
  write(framesMax: number): boolean;
}

export class WriteTurns {
  #queue: Writer[] = [];
  #next = 0;
  readonly #queued = new Set<Writer>();
  readonly #arrivals: Arrivals;
  #turn: NodeJS.Immediate | null = null;

  constructor(arrivals: Arrivals) {
    this.#arrivals = arrivals;
  }

  /** The writer has frames to write. */
  join(writer: Writer): void {
    if (this.#queued.has(writer)) return;
    this.#queued.add(writer);
    this.#queue.push(writer);
    this.#turn ??= setImmediate(() => this.#takeTurn());
  }

  #takeTurn(): void {
    this.#turn = null;
    const endMs = performance.now() + this.#arrivals.turnMs(WRITE_TURN_MS);
    while (this.#next < this.#queue.length && performance.now() < endMs) {
      const writer = this.#queue[this.#next++]!;
      if (writer.write(FRAMES_PER_VISIT)) this.#queue.push(writer);
      else this.#queued.delete(writer);
    }
    // Cut off the visited part once it is half of the queue, so that an entry moves about once.
    if (this.#next * 2 >= this.#queue.length) {
      this.#queue = this.#queue.slice(this.#next);
      this.#next = 0;
    }
    if (this.#queue.length > this.#next) this.#turn ??= setImmediate(() => this.#takeTurn());
  }
}
