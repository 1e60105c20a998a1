/**
 * Machines whose place among the victims may have changed: they wait until somebody wants a victim, or until it is their
 * turn. Each waits once, however often it changed hands meanwhile.
 */
import type { Inventory } from '../inventory/inventory.ts';

/** From an eighth of the fleet on it is cheaper to go through all ids, because sorted input is only appended. */
const MANY_DIVISOR = 8;

export class VictimQueue {
  readonly #inventory: Inventory;
  readonly #waiting: number[] = [];
  /** Those before this one were visited. */
  #head = 0;
  readonly #isWaiting: Uint8Array;

  constructor(inventory: Inventory) {
    this.#inventory = inventory;
    this.#isWaiting = new Uint8Array(inventory.columns.rowCapacity);
  }

  mark(slot: number): void {
    if (this.#isWaiting[slot] === 1) return;
    this.#isWaiting[slot] = 1;
    this.#waiting.push(slot);
  }

  /** Visits the longest waiting ones, at most so many; if much of the fleet waits, all of it, in id order. */
  take(countMax: number, visit: (slot: number) => void): void {
    const waiting = this.#waiting;
    let end = Math.min(waiting.length, this.#head + countMax);
    if ((waiting.length - this.#head) * MANY_DIVISOR > this.#inventory.count) {
      for (const slot of this.#inventory.slotsById) this.#visit(slot, visit);
      end = waiting.length; // those that are gone by now
    }
    for (; this.#head < end; this.#head++) this.#visit(waiting[this.#head]!, visit);
    if (this.#head * 2 < waiting.length) return;
    waiting.splice(0, this.#head);
    this.#head = 0;
  }

  #visit(slot: number, visit: (slot: number) => void): void {
    if (this.#isWaiting[slot] === 0) return;
    this.#isWaiting[slot] = 0;
    visit(slot);
  }
}
