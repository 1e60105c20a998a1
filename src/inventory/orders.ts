/**
 * The orders in which needs acquire machines (A3) and clusters keep them in credit and reclaim (A2, R1), kept lazily:
 *
 *   acquire order of a state              price asc, id asc                                            (A3)
 *   keep order of a cluster and state     price asc, assigned reclamation penalty $ desc, id asc       (A2, R1)
 *
 * An order is an array of slots from its last read; until the next read a change costs one bit at most.
 *
 * The order of a state may cover a large part of the fleet. Once it has been read, writes mark the slots that change. The
 * next read removes the marked slots, sorts those that are in the state now and merges them: one pass over an array and a
 * bitmap, without reading a row that did not change. For the order of a cluster, the index knows whether a machine changed.
 * If so, the next read drops the slots that left, appends the new ones and sorts an array that is nearly sorted.
 *
 *   acquire    by state                  slots, undefined = never read
 *   marks      1 bit a slot              changed, in a state whose order was read (change-log.ts)
 *   keep       cluster × 9 + state       slots, only of those that were read and are not empty
 *   inOrder    1 bit a slot              clear except while a cluster's order is brought up to date
 */
import { BUCKET_DOLLARS } from '../machine/penalty.ts';
import { STATE_COUNT } from '../machine/state.ts';
import { ChangeLog } from './change-log.ts';
import type { InventoryColumns } from './columns.ts';
import type { FleetIndexes } from './indexes.ts';
import type { SlotComparator } from './ordered-lists.ts';
import { mergeSlots, sortSlots } from './slot-sort.ts';

const EMPTY = new Uint32Array(0);

export class FleetOrders {
  readonly #columns: InventoryColumns;
  readonly #indexes: FleetIndexes;
  readonly #ensureRanks: () => void;
  readonly #byPrice: SlotComparator;
  readonly #byWorth: SlotComparator;
  readonly #acquire: (Uint32Array | undefined)[] = Array.from({ length: STATE_COUNT });
  /** One bit for each state whose order was read. */
  #acquireStates = 0;
  readonly #marks: ChangeLog;
  readonly #keep = new Map<number, Uint32Array>();
  readonly #inOrder: Uint32Array;

  constructor(columns: InventoryColumns, indexes: FleetIndexes, ensureRanks: () => void) {
    const slotsMax = columns.rowCapacity - 1;
    this.#columns = columns;
    this.#indexes = indexes;
    this.#ensureRanks = ensureRanks;
    this.#byPrice = acquireComparator(columns);
    this.#byWorth = keepComparator(columns);
    this.#marks = new ChangeLog(slotsMax);
    this.#inOrder = new Uint32Array((slotsMax >>> 5) + 1);
  }

  /** The machines in a state. Read-only, and valid until the next write. */
  acquireOrder(state: number): Uint32Array {
    this.#ensureRanks();
    if (this.#marks.count > 0) this.#refreshAcquire();
    const known = this.#acquire[state];
    if (known !== undefined) return known;
    const slots = this.#indexes.slotsInState(state).slice();
    sortSlots(slots, slots.length, this.#byPrice);
    this.#acquire[state] = slots;
    this.#acquireStates |= 1 << state;
    return slots;
  }

  /** The machines of a cluster in a state. Read-only, and valid until the next write. */
  keepOrder(cluster: number, state: number): Uint32Array {
    const isStale = this.#indexes.takeStale(cluster, state);
    const key = cluster * STATE_COUNT + state;
    const known = this.#keep.get(key);
    if (known !== undefined && !isStale) return known;
    this.#ensureRanks();
    const slots = this.#membersInOldOrder(known ?? EMPTY, cluster, state);
    sortSlots(slots, slots.length, this.#byWorth);
    if (slots.length === 0) this.#keep.delete(key);
    else this.#keep.set(key, slots);
    return slots;
  }

  /** Call it with every write that changes a state, a price or an id. */
  mark(slot: number, stateBefore: number, state: number): void {
    const states = this.#acquireStates;
    if ((((states >>> stateBefore) | (states >>> state)) & 1) === 1) this.#marks.mark(slot);
  }

  #refreshAcquire(): void {
    const marks = this.#marks;
    const states = this.#columns.state;
    const kept = this.#acquire.map((slots) => slots && unmarked(slots, marks));
    const changed = new Uint32Array(marks.count);
    marks.take(changed);
    for (let state = 1; state < STATE_COUNT; state++) {
      const stayed = kept[state];
      if (stayed === undefined) continue;
      const added = changed.filter((slot) => states[slot] === state);
      sortSlots(added, added.length, this.#byPrice);
      this.#acquire[state] = mergeSlots(stayed, added, this.#byPrice);
    }
  }

  #membersInOldOrder(before: Uint32Array, wantedCluster: number, wantedState: number): Uint32Array {
    const { cluster, state } = this.#columns;
    const indexes = this.#indexes;
    const inOrder = this.#inOrder;
    const slots = new Uint32Array(indexes.countOfCluster(wantedCluster, wantedState));
    let count = 0;
    for (const slot of before) {
      if (cluster[slot] !== wantedCluster || state[slot] !== wantedState) continue;
      slots[count++] = slot;
      inOrder[slot >>> 5]! |= 1 << (slot & 31);
    }
    const stayed = count;
    const { clusterSlots } = indexes;
    for (let at = indexes.startOfCluster(wantedCluster, wantedState); count < slots.length; at++) {
      const slot = clusterSlots[at]!;
      if ((inOrder[slot >>> 5]! & (1 << (slot & 31))) === 0) slots[count++] = slot;
    }
    for (let at = 0; at < stayed; at++) inOrder[slots[at]! >>> 5] = 0;
    return slots;
  }
}

function unmarked(slots: Uint32Array, marks: ChangeLog): Uint32Array {
  const kept = new Uint32Array(slots.length);
  let count = 0;
  for (let index = 0; index < slots.length; index++) {
    if (!marks.has(slots[index]!)) kept[count++] = slots[index]!;
  }
  return kept.subarray(0, count);
}

export function acquireComparator(columns: InventoryColumns): SlotComparator {
  const { pricePerHourUsd: price, idRank } = columns;
  return (slotA, slotB) => {
    const priceA = price[slotA]!;
    const priceB = price[slotB]!;
    if (priceA !== priceB) return priceA < priceB ? -1 : 1;
    return idRank[slotA]! - idRank[slotB]!;
  };
}

export function keepComparator(columns: InventoryColumns): SlotComparator {
  const { pricePerHourUsd: price, reclamationPenalty: penalty, idRank } = columns;
  return (slotA, slotB) => {
    const priceA = price[slotA]!;
    const priceB = price[slotB]!;
    if (priceA !== priceB) return priceA < priceB ? -1 : 1;
    const dollarsA = BUCKET_DOLLARS[penalty[slotA]!]!;
    const dollarsB = BUCKET_DOLLARS[penalty[slotB]!]!;
    // By comparison, not by subtraction: pinned is infinite.
    if (dollarsA !== dollarsB) return dollarsA > dollarsB ? -1 : 1;
    return idRank[slotA]! - idRank[slotB]!;
  };
}
