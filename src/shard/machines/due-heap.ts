/** Slots by due time, earliest first; setting a slot again replaces its time. */
import { TimeHeap } from '../../base/time-heap.ts';

/** Stale entries are skipped when they come up, and swept once they are most of the heap. */
const STALE_MIN = 64;

export class DueHeap {
  readonly #heap = new TimeHeap();
  /** By slot: the valid time; a heap entry with another time is stale. */
  readonly #dueOf = new Map<number, number>();

  get size(): number {
    return this.#dueOf.size;
  }

  has(slot: number): boolean {
    return this.#dueOf.has(slot);
  }

  dueOf(slot: number): number | undefined {
    return this.#dueOf.get(slot);
  }

  set(slot: number, dueMs: number): void {
    if (this.#dueOf.get(slot) === dueMs) return;
    this.#dueOf.set(slot, dueMs);
    this.#heap.push(slot, dueMs);
    if (this.#heap.size > 2 * this.#dueOf.size + STALE_MIN) this.#sweep();
  }

  delete(slot: number): void {
    this.#dueOf.delete(slot);
  }

  /** When the first slot is due; infinite if there is none. */
  firstDueMs(): number {
    const heap = this.#heap;
    while (heap.first !== undefined && this.#dueOf.get(heap.first) !== heap.firstTimeMs) heap.pop();
    return heap.firstTimeMs;
  }

  /** Removes and returns the first slot that is due by now; 0 if none is. */
  takeDue(nowMs: number): number {
    if (this.firstDueMs() > nowMs) return 0;
    const slot = this.#heap.pop();
    this.#dueOf.delete(slot);
    return slot;
  }

  #sweep(): void {
    this.#heap.clear();
    for (const [slot, dueMs] of this.#dueOf) this.#heap.push(slot, dueMs);
  }
}
