/**
 * The machines that became available to a cluster's needs since its last credit, by family, in scan order. Needs are
 * scanned in order, so a machine that an earlier need took is out of reach for all later needs, and the first of those
 * that finds it removes it; a machine that is released during the scan is added.
 *
 * Most needs are covered by their own machines and read none of this. A newly available machine that is assigned to such
 * a need marks the need instead.
 */
import type { ClusterState } from '../cluster-state.ts';
import { columnU32, widerU32 } from '../columns/columns.ts';
import { SlotList } from '../columns/slot-list.ts';
import { type EngineNeeds, Mark, NeedKind } from '../demand/engine-needs.ts';
import type { EngineTables } from '../engine-tables.ts';
import { type Filter, type Filters, MatchLevel } from '../supply/filters.ts';
import { type Fleet, Role } from '../supply/fleet.ts';

/** Above this, collecting a need's own machines, which compares each with each, costs more than a scan. */
const FEW_OWN = 32;

interface FamilyNewlyAvailable {
  family: number;
  readonly slots: SlotList;
  /** This many of `slots`, from the first, are in order. */
  sortedCount: number;
}

export class NewlyAvailable {
  readonly #fleet: Fleet;
  readonly #filters: Filters;
  readonly #needs: EngineNeeds;
  /** By family: place in #families, + 1; 0 = it has none. */
  #placeOf = columnU32(64);
  /** The first #familyCount of these; the others are reused. */
  readonly #families: FamilyNewlyAvailable[] = [];
  #familyCount = 0;
  /** How many of the cluster's newly available machines have marked their needs, and how many are in #families. */
  #seenCount = 0;
  #filedCount = 0;
  /** Those that marked the need to which they are assigned: a list for each such need, linked by place, 0 = its end. */
  readonly #own = new SlotList();
  #nextOwn = columnU32(64);
  /** By index of the need: the latest place in #own, + 1. */
  #latestOwn = columnU32(64);
  readonly #ownNeeds: number[] = [];

  constructor({ fleet, filters, needs }: EngineTables) {
    this.#fleet = fleet;
    this.#filters = filters;
    this.#needs = needs;
  }

  /** Begins or resumes the scan of a cluster's needs. */
  open(): void {
    for (let place = 0; place < this.#familyCount; place++) this.#placeOf[this.#families[place]!.family] = 0;
    this.#familyCount = 0;
    for (const index of this.#ownNeeds) this.#latestOwn[index] = 0;
    this.#ownNeeds.length = 0;
    this.#own.clear();
    this.#seenCount = this.#filedCount = 0;
  }

  /** Before the scan reaches the need at `index`: marks the needs to which newly available machines are assigned. */
  catchUp(cluster: ClusterState, index: number): void {
    const { newlyAvailable } = cluster;
    if (this.#seenCount === newlyAvailable.length) return;
    const { assignment, assignments, claim } = this.#fleet;
    const { kind } = this.#needs;
    for (; this.#seenCount < newlyAvailable.length; this.#seenCount++) {
      const slot = newlyAvailable[this.#seenCount]!;
      const own = assignment[slot]!;
      if (own === 0) continue;
      if (assignments.folds[own]! > 0 && assignments.group[own] === 0) this.#markFoldsOf(cluster, index, own);
      const carrier = assignments.carrier[own]!;
      if (carrier <= index || (claim[slot] !== 0 && claim[slot]! <= carrier)) continue;
      const need = cluster.needStart + carrier - 1;
      if (kind[need] === NeedKind.Gang) continue;
      this.#needs.mark(need, Mark.OwnNewlyAvailable);
      this.#addOwn(carrier - 1, slot);
    }
  }

  #addOwn(index: number, slot: number): void {
    this.#latestOwn = widerU32(this.#latestOwn, index);
    const before = this.#latestOwn[index]!;
    if (before === 0) this.#ownNeeds.push(index);
    this.#own.push(slot);
    this.#nextOwn = widerU32(this.#nextOwn, this.#own.count);
    this.#nextOwn[this.#own.count] = before;
    this.#latestOwn[index] = this.#own.count;
  }

  /**
   * At the turn of a marked need: whether own machines are available that it does not have. `out` has them if they are
   * few; after a price change of a whole offering every machine is newly available, and then `out` stays empty.
   */
  collectOwn(cluster: ClusterState, index: number, out: SlotList): boolean {
    const need = cluster.needStart + index;
    out.count = 0;
    this.#needs.set(need, Mark.OwnNewlyAvailable, false);
    if (this.#needs.plainAssignment[need] !== 0) return this.#collectOwnOfAll(cluster, index, out); // #markFoldsOf adds none
    let place = index < this.#latestOwn.length ? this.#latestOwn[index]! : 0;
    for (; place !== 0; place = this.#nextOwn[place]!) {
      if (!this.#addIfOwn(need, index, this.#own.slots[place - 1]!, out)) return true;
    }
    return out.count > 0;
  }

  /** The same, from all newly available machines. */
  #collectOwnOfAll(cluster: ClusterState, index: number, out: SlotList): boolean {
    const need = cluster.needStart + index;
    for (const slot of cluster.newlyAvailable) {
      if (!this.#addIfOwn(need, index, slot, out)) return true;
    }
    return out.count > 0;
  }

  /** False: there are many, and `out` is empty. */
  #addIfOwn(need: number, index: number, slot: number, out: SlotList): boolean {
    const { assignment, claim, role } = this.#fleet;
    const own = assignment[slot]!;
    const plain = this.#needs.plainAssignment[need]!;
    if (own !== this.#needs.assignment[need] && (plain === 0 || own !== plain)) return true;
    if ((claim[slot] !== 0 && claim[slot]! <= index + 1) || role[slot] === Role.Leaving) return true;
    if (out.has(slot)) return true;
    out.push(slot);
    if (out.count <= FEW_OWN) return true;
    out.count = 0;
    return false;
  }

  /**
   * Collects in `out` the machines that the need at `index` may take and does not have, as far as it reaches them before
   * `last` (0: all).
   */
  collect(cluster: ClusterState, index: number, filter: Filter, last: number, out: SlotList): void {
    this.#file(cluster);
    const { families, eligible } = filter;
    if (families.length < this.#familyCount) {
      for (let at = 0; at < families.length; at++) {
        const place = this.#placeIn(families[at]!);
        if (place !== 0) this.#collectFrom(this.#families[place - 1]!, index, filter, last, out);
      }
      return;
    }
    for (let place = 0; place < this.#familyCount; place++) {
      const newlyAvailable = this.#families[place]!;
      if (eligible[newlyAvailable.family] === 1) this.#collectFrom(newlyAvailable, index, filter, last, out);
    }
  }

  #placeIn(family: number): number {
    return family < this.#placeOf.length ? this.#placeOf[family]! : 0;
  }

  #collectFrom(
    newlyAvailable: FamilyNewlyAvailable,
    index: number,
    filter: Filter,
    last: number,
    out: SlotList,
  ): void {
    const { claim, role, compareAssigned } = this.#fleet;
    const { slots: list } = newlyAvailable;
    if (newlyAvailable.sortedCount < list.count) list.sort(compareAssigned, newlyAvailable.sortedCount);
    const { slots, count } = list;
    let kept = 0;
    let at = 0;
    let before = 0;
    for (; at < count; at++) {
      const slot = slots[at]!;
      const held = claim[slot]!;
      // An earlier need claims it, so no later one can. Or it was released twice and is listed twice.
      if ((held !== 0 && held <= index) || slot === before) continue;
      before = slot;
      if (last !== 0 && compareAssigned(slot, last) >= 0) break;
      slots[kept++] = slot;
      if (held === index + 1) continue;
      if (role[slot] !== Role.Configured && this.#fleet.isStuck(slot)) continue; // X11: a stuck machine satisfies no need
      if (filter.matchLevel !== MatchLevel.Family && !this.#filters.admitsSlot(filter, slot)) continue;
      out.push(slot);
    }
    if (kept < at) {
      while (at < count) slots[kept++] = slots[at++]!;
      list.count = kept;
    }
    newlyAvailable.sortedCount = list.count;
  }

  /** An assignment with the empty group belongs to every fold of its fingerprint. */
  #markFoldsOf(cluster: ClusterState, index: number, assignment: number): void {
    const { plainAssignment } = this.#needs;
    const end = cluster.needStart + cluster.needSpan;
    for (let need = cluster.needStart + index; need < end; need++) {
      if (plainAssignment[need] === assignment) this.#needs.mark(need, Mark.OwnNewlyAvailable);
    }
  }

  #file(cluster: ClusterState): void {
    const { role, shape, families, cordoned } = this.#fleet;
    const { newlyAvailable } = cluster;
    for (; this.#filedCount < newlyAvailable.length; this.#filedCount++) {
      const slot = newlyAvailable[this.#filedCount]!;
      if (role[slot] !== Role.Configured && role[slot] !== Role.Configuring) continue;
      if (cordoned[slot] === 1) continue; // H6: only its own need is credited it, and that one finds it by `collectOwn`
      const family = families.familyOf[shape[slot]!]!;
      const place = this.#placeIn(family);
      const known = place === 0 ? this.#addFamily(family) : this.#families[place - 1]!;
      known.slots.push(slot);
    }
  }

  #addFamily(family: number): FamilyNewlyAvailable {
    let added = this.#families[this.#familyCount];
    if (added === undefined) {
      added = { family, slots: new SlotList(), sortedCount: 0 };
      this.#families.push(added);
    } else {
      added.family = family;
      added.slots.clear();
      added.sortedCount = 0;
    }
    this.#placeOf = widerU32(this.#placeOf, family);
    this.#placeOf[family] = ++this.#familyCount;
    return added;
  }
}
