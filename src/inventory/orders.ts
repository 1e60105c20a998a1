/**
 * The orders that behaviour.md asks for, kept lazily:
 *
 *   acquire order of a state              price asc, id asc                                            (A3)
 *   keep order of a cluster and state     price asc, assigned reclamation penalty $ desc, id asc       (A2, R1)
 *
 * A write only marks its slot, and not even that if no order that it could concern was ever read. Reading an order takes
 * the marked slots out of wherever they are and puts them back where they belong now; the first reading sorts the members.
 * After so many changes that sorting anew is cheaper, the lists are dropped and sorted when they are next read.
 *
 *   acquireList    by state                  u32, list in `acquire`, 0 = never read
 *   keepList       cluster × 9 + state       u32, list in `keep`, 0 = never read
 *   marks          1 bit a slot each         (change-log.ts)
 */
import { BUCKET_DOLLARS } from '../machine/penalty.ts';
import { STATE_COUNT } from '../machine/state.ts';
import { ChangeLog } from './change-log.ts';
import type { InventoryColumns } from './columns.ts';
import type { FleetIndexes } from './indexes.ts';
import { OrderedLists, type SlotComparator } from './ordered-lists.ts';
import { sortSlots } from './slot-sort.ts';

/** Taking out and putting back costs about eight times as much a slot as sorting everything does. */
const REBUILD_SHARE = 1 / 8;
const REBUILD_MIN = 64;

export class FleetOrders {
  /** Lists of `acquireOrder`: read with first, next, slotAt. */
  readonly acquire: OrderedLists;
  /** Lists of `keepOrder`. */
  readonly keep: OrderedLists;
  readonly #columns: InventoryColumns;
  readonly #indexes: FleetIndexes;
  readonly #ensureRanks: () => void;
  readonly #acquireList = new Uint32Array(STATE_COUNT);
  readonly #keepList: Uint32Array;
  readonly #acquireMarks: ChangeLog;
  readonly #keepMarks: ChangeLog;
  /** One bit for each state whose acquire order was read. */
  #acquireStates = 0;
  #keepCount = 0;

  constructor(
    columns: InventoryColumns,
    indexes: FleetIndexes,
    clustersMax: number,
    ensureRanks: () => void,
  ) {
    const slotsMax = columns.rowCapacity - 1;
    this.#columns = columns;
    this.#indexes = indexes;
    this.#ensureRanks = ensureRanks;
    this.acquire = new OrderedLists(slotsMax, acquireComparator(columns));
    this.keep = new OrderedLists(slotsMax, keepComparator(columns));
    this.#keepList = new Uint32Array((clustersMax + 1) * STATE_COUNT);
    this.#acquireMarks = new ChangeLog(slotsMax);
    this.#keepMarks = new ChangeLog(slotsMax);
  }

  /** The list, in `acquire`, of the machines in a state; good until the next write. */
  acquireOrder(state: number): number {
    this.#refreshAcquire();
    const known = this.#acquireList[state]!;
    if (known !== 0) return known;
    const list = this.acquire.create();
    this.#acquireList[state] = list;
    this.#acquireStates |= 1 << state;
    const members = this.#indexes.slotsInState(state);
    this.#build(this.acquire, list, members, 0, members.length, acquireComparator(this.#columns));
    return list;
  }

  /** The list, in `keep`, of the machines that carry a cluster and are in a state; good until the next write. */
  keepOrder(cluster: number, state: number): number {
    this.#refreshKeep();
    const index = cluster * STATE_COUNT + state;
    const known = this.#keepList[index]!;
    if (known !== 0) return known;
    const list = this.keep.create();
    this.#keepList[index] = list;
    this.#keepCount++;
    const indexes = this.#indexes;
    const start = indexes.startOfCluster(cluster, state);
    const count = indexes.countOfCluster(cluster, state);
    this.#build(this.keep, list, indexes.clusterSlots, start, count, keepComparator(this.#columns));
    return list;
  }

  /** To be called with every write that changes state, cluster, price or reclamation penalty. */
  mark(slot: number, stateBefore: number, state: number, clusterBefore: number, cluster: number): void {
    const states = this.#acquireStates;
    if ((((states >>> stateBefore) | (states >>> state)) & 1) === 1) this.#acquireMarks.mark(slot);
    if (this.#keepCount > 0 && (clusterBefore | cluster) !== 0) this.#keepMarks.mark(slot);
  }

  /** Forgets all orders; those that are read again are sorted again. */
  forget(): void {
    this.#forgetAcquire();
    this.#forgetKeep();
  }

  get bytesReserved(): number {
    return this.acquire.bytesReserved + this.keep.bytesReserved;
  }

  #refreshAcquire(): void {
    this.#ensureRanks();
    const marks = this.#acquireMarks;
    if (marks.count === 0) return;
    if (this.#isTooMany(marks.count)) {
      this.#forgetAcquire();
      return;
    }
    const changed = new Uint32Array(marks.count);
    marks.take(changed);
    // All out before the first goes back in: a list with a changed key in it cannot be searched.
    for (const slot of changed) this.acquire.remove(slot);
    for (const slot of changed) {
      const list = this.#acquireList[this.#columns.state[slot]!]!;
      if (list !== 0) this.acquire.add(list, slot);
    }
  }

  #refreshKeep(): void {
    this.#ensureRanks();
    const marks = this.#keepMarks;
    if (marks.count === 0) return;
    if (this.#isTooMany(marks.count)) {
      this.#forgetKeep();
      return;
    }
    const changed = new Uint32Array(marks.count);
    marks.take(changed);
    const { cluster, state } = this.#columns;
    for (const slot of changed) this.keep.remove(slot);
    for (const slot of changed) {
      if (cluster[slot] === 0) continue;
      const list = this.#keepList[cluster[slot]! * STATE_COUNT + state[slot]!]!;
      if (list !== 0) this.keep.add(list, slot);
    }
  }

  #isTooMany(marked: number): boolean {
    return marked > REBUILD_MIN && marked > this.#columns.slotLimit * REBUILD_SHARE;
  }

  #build(
    lists: OrderedLists,
    list: number,
    slots: Uint32Array,
    start: number,
    count: number,
    compare: SlotComparator,
  ): void {
    const members = slots.slice(start, start + count);
    sortSlots(members, count, compare);
    for (let index = 0; index < count; index++) lists.add(list, members[index]!);
  }

  #forgetAcquire(): void {
    this.#acquireMarks.clear();
    for (const list of this.#acquireList) if (list !== 0) this.acquire.drop(list);
    this.#acquireList.fill(0);
    this.#acquireStates = 0;
  }

  #forgetKeep(): void {
    this.#keepMarks.clear();
    if (this.#keepCount === 0) return;
    for (const list of this.#keepList) if (list !== 0) this.keep.drop(list);
    this.#keepList.fill(0);
    this.#keepCount = 0;
  }
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
