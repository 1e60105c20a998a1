/**
 * A list of slots that a cycle fills and empties. A first cycle puts every machine on some of these lists: as heap arrays
 * they would be copied by each collection, and would keep their size for the few slots of later cycles.
 */
import { columnU32, widerU32 } from './columns.ts';

const SLOTS_AT_START = 64;
/** A longer list gives its memory back when it is emptied. */
const SLOTS_KEPT_MAX = 65_536;
/** So few unsorted slots are inserted one by one: a sort takes longer to start. */
const INSERTED_MAX = 8;

export class SlotList {
  /** The first `count` of these. Replaced when the list grows. */
  slots = columnU32(SLOTS_AT_START);
  count = 0;

  push(slot: number): void {
    if (this.count === this.slots.length) this.slots = widerU32(this.slots, this.count);
    this.slots[this.count++] = slot;
  }

  /** Reads the whole list. */
  has(slot: number): boolean {
    for (let index = 0; index < this.count; index++) if (this.slots[index] === slot) return true;
    return false;
  }

  dropFirst(count: number): void {
    this.slots.copyWithin(0, count, this.count);
    this.count -= count;
    if (this.count === 0) this.clear();
  }

  /** Sorts the list, whose first `sortedCount` slots are in order. */
  sort(compare: (slotA: number, slotB: number) => number, sortedCount = 0): void {
    const { slots, count } = this;
    if (count - sortedCount > INSERTED_MAX) {
      slots.subarray(0, count).sort(compare);
      return;
    }
    for (let next = Math.max(1, sortedCount); next < count; next++) {
      const slot = slots[next]!;
      let at = next;
      for (; at > 0 && compare(slot, slots[at - 1]!) < 0; at--) slots[at] = slots[at - 1]!;
      slots[at] = slot;
    }
  }

  clear(): void {
    this.count = 0;
    if (this.slots.length > SLOTS_KEPT_MAX) this.slots = columnU32(SLOTS_AT_START);
  }
}
