/**
 * Machines whose place among the victims may have changed: they wait until somebody wants a victim, or until it is their
 * turn. Each waits once, however often it changed hands meanwhile.
 */

import type { Inventory } from '../../inventory/inventory.ts';
import { columnU8 } from '../columns/columns.ts';
import { SlotList } from '../columns/slot-list.ts';
import { isLargePart } from './large-part.ts';

export class VictimQueue {
  readonly #inventory: Inventory;
  readonly #waiting = new SlotList();
  /** Those before this one were visited. */
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

  /** Visits the longest waiting ones, at most so many; if much of the fleet waits, all of it, in id order. */
  take(countMax: number, visit: (slot: number) => void): void {
    const waiting = this.#waiting;
    let end = Math.min(waiting.count, this.#head + countMax);
    if (isLargePart(waiting.count - this.#head, this.#inventory.count)) {
      const { slotsById } = this.#inventory;
      for (let place = 0; place < slotsById.length; place++) this.#visit(slotsById[place]!, visit);
      end = waiting.count; // those that are gone by now
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
