/**
 * Whose turn it is to write. A restart brings 2,000 operators back at once, each to be told of 250 machines; written in
 * one go that is seconds in which nothing else runs. So sessions with something to say stand in a ring, and each turn of
 * the event loop lets them write a few frames each, for a few milliseconds in all.
 */
import { WRITE_TURN_MS } from './limits.ts';

/** As many as a stream buffers before it asks to wait. */
const FRAMES_PER_VISIT = 16;

export interface Writer {
  /** Writes up to so many frames; true if there is more to write now. */
  write(framesMax: number): boolean;
}

export class WriteTurns {
  #ring: Writer[] = [];
  #next = 0;
  readonly #standing = new Set<Writer>();
  #turn: NodeJS.Immediate | null = null;

  /** Has something to write. */
  join(writer: Writer): void {
    if (this.#standing.has(writer)) return;
    this.#standing.add(writer);
    this.#ring.push(writer);
    this.#turn ??= setImmediate(() => this.#takeTurn());
  }

  #takeTurn(): void {
    this.#turn = null;
    const endMs = performance.now() + WRITE_TURN_MS;
    while (this.#next < this.#ring.length && performance.now() < endMs) {
      const writer = this.#ring[this.#next++]!;
      if (writer.write(FRAMES_PER_VISIT)) this.#ring.push(writer);
      else this.#standing.delete(writer);
    }
    // What was read is cut off when it is half of the ring: each place is moved once or so.
    if (this.#next * 2 >= this.#ring.length) {
      this.#ring = this.#ring.slice(this.#next);
      this.#next = 0;
    }
    if (this.#ring.length > this.#next) this.#turn ??= setImmediate(() => this.#takeTurn());
  }
}
