/**
 * Machines whose victim list may have changed. They wait until preemption looks for a victim, or until their turn: a
 * few are placed in each cycle. A machine waits once, however often its claim changed.
 */

import type { Inventory } from '../../inventory/inventory.ts';
import { columnU8 } from '../columns/columns.ts';
import { SlotList } from '../columns/slot-list.ts';
import { isLargePart } from './large-part.ts';

/** `wasRead`: the engine read the machine's row again; else its claim alone changed. */
export type VictimVisitor = (slot: number, wasRead: boolean) => void;

/** Placed in each cycle: at least so many, which takes a tenth of a millisecond … */
const PLACED_MIN = 128;
/** … and of many this part, so that all have had their turn after some minutes: of 500,000, two milliseconds a cycle. */
const PLACED_PART = 1 / 256;

/** Why a machine waits. */
const Waits = { No: 0, ForClaim: 1, ForRow: 2 } as const;

export class VictimQueue {
  readonly #inventory: Inventory;
  readonly #waiting = new SlotList();
  /** The waiting machines before this index were visited. */
  #head = 0;
  /** By slot. */
  readonly #waits: Uint8Array;

  constructor(inventory: Inventory) {
    this.#inventory = inventory;
    this.#waits = columnU8(inventory.columns.rowCapacity);
  }

  /** Its claim changed. */
  mark(slot: number): void {
    if (this.#waits[slot] !== Waits.No) return;
    this.#waits[slot] = Waits.ForClaim;
    this.#waiting.push(slot);
  }

  /** The engine read its row again: anything may have changed. */
  markRead(slot: number): void {
    this.mark(slot);
    this.#waits[slot] = Waits.ForRow;
  }

  /** Visits some of the machines that wait longest. */
  takeSome(visit: VictimVisitor): void {
    const count = this.#waiting.count - this.#head;
    this.#takeFirst(Math.max(PLACED_MIN, Math.floor(count * PLACED_PART)), visit);
  }

  /** Visits all; in id order if they are a large part of the fleet, which is faster then. */
  takeAll(visit: VictimVisitor): void {
    if (isLargePart(this.#waiting.count - this.#head, this.#inventory.count)) {
      const { slotsById } = this.#inventory;
      for (let place = 0; place < slotsById.length; place++) this.#visit(slotsById[place]!, visit);
    }
    this.#takeFirst(Number.POSITIVE_INFINITY, visit); // of a large part: those that left the inventory
  }

  #takeFirst(countMax: number, visit: VictimVisitor): void {
    const waiting = this.#waiting;
    const end = Math.min(waiting.count, this.#head + countMax);
    for (; this.#head < end; this.#head++) this.#visit(waiting.slots[this.#head]!, visit);
    if (this.#head * 2 < waiting.count) return;
    waiting.dropFirst(this.#head);
    this.#head = 0;
  }

  #visit(slot: number, visit: VictimVisitor): void {
    const waits = this.#waits[slot];
    if (waits === Waits.No) return;
    this.#waits[slot] = Waits.No;
    visit(slot, waits === Waits.ForRow);
  }
}
