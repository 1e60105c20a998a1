/**
 * Machines whose victim bucket may have changed. They wait until preemption looks for a victim, or until their turn: a
 * few are placed in each cycle. A machine waits once, however often its claim changed.
 */

import type { Inventory } from '../../inventory/inventory.ts';
import { columnU8 } from '../columns/columns.ts';
import { SlotList } from '../columns/slot-list.ts';
import { isLargePart } from './large-part.ts';

export class VictimQueue {
  readonly #inventory: Inventory;
  readonly #waiting = new SlotList();
  /** The waiting machines before this index were visited. */
  #head = 0;
  readonly #isWaiting: Uint8Array;

  constructor(inventory: Inventory) {
    this.#inventory = inventory;
    this.#isWaiting = columnU8(inventory.columns.rowCapacity);
  }

  mark(slot: number): void {
    if (this.#isWaiting[slot] === 1) return;
    this.#isWaiting[slot] = 1;
    this.#waiting.push(slot);
  }

  /** Visits the `countMax` machines that wait longest; if a large part of the fleet waits, all of them, in id order. */
  take(countMax: number, visit: (slot: number) => void): void {
    const waiting = this.#waiting;
    let end = Math.min(waiting.count, this.#head + countMax);
    if (isLargePart(waiting.count - this.#head, this.#inventory.count)) {
      const { slotsById } = this.#inventory;
      for (let place = 0; place < slotsById.length; place++) this.#visit(slotsById[place]!, visit);
      end = waiting.count; // the rest left the inventory
    }
    for (; this.#head < end; this.#head++) this.#visit(waiting.slots[this.#head]!, visit);
    if (this.#head * 2 < waiting.count) return;
    waiting.dropFirst(this.#head);
    this.#head = 0;
  }

  #visit(slot: number, visit: (slot: number) => void): void {
    if (this.#isWaiting[slot] === 0) return;
    this.#isWaiting[slot] = 0;
    visit(slot);
  }
}
