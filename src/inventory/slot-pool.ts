/**
 * The free slots. The slot that was freed first is used first, so that a slot rests as long as possible before its number
 * means another machine. A slot that was never used is taken only when none is free, so that the rows stay dense.
 *
 * The queue of free slots is linked through the rows themselves: the core's shape of a free slot is the next free slot.
 */
import { CORE_WORDS, Core, type InventoryColumns } from './columns.ts';

export class SlotPool {
  readonly #columns: InventoryColumns;
  readonly #machinesMax: number;
  #oldest = 0;
  #newest = 0;
  #freeCount = 0;

  constructor(columns: InventoryColumns, machinesMax: number) {
    this.#columns = columns;
    this.#machinesMax = machinesMax;
  }

  get freeCount(): number {
    return this.#freeCount;
  }

  /** The slot that `take` will return, 0 if there is none. */
  peek(): number {
    if (this.#oldest !== 0) return this.#oldest;
    const { slotLimit } = this.#columns;
    return slotLimit <= this.#machinesMax ? slotLimit : 0;
  }

  take(): number {
    const slot = this.peek();
    if (slot === this.#oldest) {
      this.#oldest = this.#columns.core[slot * CORE_WORDS + Core.Shape]!;
      this.#freeCount--;
    } else {
      this.#columns.slotLimit = slot + 1;
    }
    return slot;
  }

  give(slot: number): void {
    this.#columns.core[slot * CORE_WORDS + Core.Shape] = 0;
    if (this.#oldest === 0) this.#oldest = slot;
    else this.#columns.core[this.#newest * CORE_WORDS + Core.Shape] = slot;
    this.#newest = slot;
    this.#freeCount++;
  }
}
