/**
 * Operations that the provider has yet to finish, by due time: a binary heap in typed arrays behind one
 * timer. With a timer per machine, a fleet-wide drain would need half a million timer objects; an entry here
 * has 24 bytes.
 *
 *   heap entry   bytes   unit, meaning
 *   dueMs        8       f64, when the operation ends
 *   order        8       f64, order of insertion; it decides between equal due times, so a seed replays exactly
 *   row          4       i32, machine row
 *   step         4       u32, the row's step at insertion; if the row has another step by then, the entry is void
 */
import type { Timers } from './timers.ts';

const ENTRIES_AT_START = 64;

export class Agenda {
  readonly #timers: Timers;
  readonly #happen: (row: number, step: number) => void;
  #dueMs = new Float64Array(ENTRIES_AT_START);
  #order = new Float64Array(ENTRIES_AT_START);
  #row = new Int32Array(ENTRIES_AT_START);
  #step = new Uint32Array(ENTRIES_AT_START);
  #entryCount = 0;
  #nextOrder = 0;
  #timerDueMs = Number.POSITIVE_INFINITY;
  #cancelTimer: () => void = () => {};

  constructor(timers: Timers, happen: (row: number, step: number) => void) {
    this.#timers = timers;
    this.#happen = happen;
  }

  get entryCount(): number {
    return this.#entryCount;
  }

  add(delayMs: number, row: number, step: number): void {
    if (this.#entryCount === this.#dueMs.length) this.#grow();
    let at = this.#entryCount++;
    const dueMs = this.#timers.nowMs() + delayMs;
    const order = this.#nextOrder++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#dueMs[parent]! <= dueMs) break; // equal: the parent was inserted earlier
      this.#copy(parent, at);
      at = parent;
    }
    this.#put(at, dueMs, order, row, step);
    this.#arm();
  }

  clear(): void {
    this.#entryCount = 0;
    this.#cancelTimer();
    this.#timerDueMs = Number.POSITIVE_INFINITY;
  }

  #arm(): void {
    if (this.#entryCount === 0 || this.#dueMs[0]! >= this.#timerDueMs) return;
    this.#cancelTimer();
    this.#timerDueMs = this.#dueMs[0]!;
    this.#cancelTimer = this.#timers.after(this.#timerDueMs - this.#timers.nowMs(), () => this.#fire());
  }

  #fire(): void {
    this.#timerDueMs = Number.POSITIVE_INFINITY;
    // A real timer may fire a fraction of a millisecond early; entries that are not due wait for the next.
    const nowMs = this.#timers.nowMs();
    while (this.#entryCount > 0 && this.#dueMs[0]! <= nowMs) {
      const row = this.#row[0]!;
      const step = this.#step[0]!;
      this.#removeFirst();
      this.#happen(row, step);
    }
    this.#arm();
  }

  #removeFirst(): void {
    const last = --this.#entryCount;
    if (last === 0) return;
    const dueMs = this.#dueMs[last]!;
    const order = this.#order[last]!;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= last) break;
      if (child + 1 < last && this.#isBefore(child + 1, this.#dueMs[child]!, this.#order[child]!)) child++;
      if (!this.#isBefore(child, dueMs, order)) break;
      this.#copy(child, at);
      at = child;
    }
    this.#put(at, dueMs, order, this.#row[last]!, this.#step[last]!);
  }

  #isBefore(entry: number, dueMs: number, order: number): boolean {
    const entryDueMs = this.#dueMs[entry]!;
    return entryDueMs < dueMs || (entryDueMs === dueMs && this.#order[entry]! < order);
  }

  #copy(from: number, to: number): void {
    this.#put(to, this.#dueMs[from]!, this.#order[from]!, this.#row[from]!, this.#step[from]!);
  }

  #put(at: number, dueMs: number, order: number, row: number, step: number): void {
    this.#dueMs[at] = dueMs;
    this.#order[at] = order;
    this.#row[at] = row;
    this.#step[at] = step;
  }

  #grow(): void {
    const length = this.#dueMs.length * 2;
    this.#dueMs = widened(this.#dueMs, new Float64Array(length));
    this.#order = widened(this.#order, new Float64Array(length));
    this.#row = widened(this.#row, new Int32Array(length));
    this.#step = widened(this.#step, new Uint32Array(length));
  }
}

function widened<T extends Float64Array | Int32Array | Uint32Array>(from: T, into: T): T {
  into.set(from);
  return into;
}
