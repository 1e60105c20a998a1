/**
 * The machines that became available to a cluster's needs since its last credit, by family, in scan order. Needs are
 * scanned in order, so a machine that an earlier need took is out of reach for all later needs, and the first of those
 * that finds it removes it; a machine that is released during the scan is added.
 *
 * Most needs are covered by their own machines and read none of this. A newly available machine that is assigned to such
 * a need marks the need instead.
 */
import type { ClusterState } from '../cluster-state.ts';
import { type EngineNeeds, Mark, NeedKind } from '../demand/engine-needs.ts';
import type { EngineTables } from '../engine-tables.ts';
import { type Filter, type Filters, MatchLevel } from '../supply/filters.ts';
import { type Fleet, Role } from '../supply/fleet.ts';

/** Up to this many new machines are inserted one by one; more are sorted. */
const INSERTED_MAX = 4;

/** Above these, collecting a need's own machines, which compares each with each, costs more than a scan. */
const FEW_OWN = 32;
const NEWLY_AVAILABLE_FEW = 512;

interface FamilyNewlyAvailable {
  readonly family: number;
  readonly slots: number[];
  /** This many of `slots`, from the first, are in order. */
  sortedCount: number;
}

export class NewlyAvailable {
  readonly #fleet: Fleet;
  readonly #filters: Filters;
  readonly #needs: EngineNeeds;
  readonly #byFamily: (FamilyNewlyAvailable | undefined)[] = [];
  readonly #families: FamilyNewlyAvailable[] = [];
  /** How many of the cluster's newly available machines have marked their needs, and how many are in #families. */
  #seenCount = 0;
  #filedCount = 0;

  constructor({ fleet, filters, needs }: EngineTables) {
    this.#fleet = fleet;
    this.#filters = filters;
    this.#needs = needs;
  }

  /** Begins or resumes the scan of a cluster's needs. */
  open(): void {
    for (const { family } of this.#families) this.#byFamily[family] = undefined;
    this.#families.length = 0;
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
      if (kind[need] !== NeedKind.Gang) this.#needs.mark(need, Mark.OwnNewlyAvailable);
    }
  }

  /**
   * At the turn of a marked need: whether own machines are available that it does not have. `out` has them if they are
   * few; after a price change of a whole offering every machine is newly available, and then `out` stays empty.
   */
  collectOwn(cluster: ClusterState, index: number, out: number[]): boolean {
    const { assignment, claim, role } = this.#fleet;
    const need = cluster.needStart + index;
    out.length = 0;
    const own = this.#needs.assignment[need]!;
    const plain = this.#needs.plainAssignment[need]!;
    this.#needs.set(need, Mark.OwnNewlyAvailable, false);
    for (const slot of cluster.newlyAvailable) {
      if (assignment[slot] !== own && (plain === 0 || assignment[slot] !== plain)) continue;
      if ((claim[slot] !== 0 && claim[slot]! <= index + 1) || role[slot] === Role.Leaving) continue;
      if (!out.includes(slot)) out.push(slot);
      if (cluster.newlyAvailable.length <= NEWLY_AVAILABLE_FEW && out.length <= FEW_OWN) continue;
      out.length = 0;
      return true;
    }
    return out.length > 0;
  }

  /**
   * Collects in `out` the machines that the need at `index` may take and does not have, as far as it reaches them before
   * `last` (0: all).
   */
  collect(cluster: ClusterState, index: number, filter: Filter, last: number, out: number[]): void {
    this.#file(cluster);
    for (const newlyAvailable of this.#families) {
      if (filter.eligible[newlyAvailable.family] !== 1) continue;
      this.#sort(newlyAvailable);
      this.#collectFrom(newlyAvailable, index, filter, last, out);
    }
  }

  #collectFrom(
    newlyAvailable: FamilyNewlyAvailable,
    index: number,
    filter: Filter,
    last: number,
    out: number[],
  ): void {
    const { claim, role, compareAssigned } = this.#fleet;
    const { slots } = newlyAvailable;
    let kept = 0;
    let at = 0;
    let before = 0;
    for (; at < slots.length; at++) {
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
      slots.splice(kept, at - kept);
      newlyAvailable.sortedCount = slots.length;
    }
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
      let known = this.#byFamily[family];
      if (known === undefined) {
        known = { family, slots: [], sortedCount: 0 };
        this.#byFamily[family] = known;
        this.#families.push(known);
      }
      known.slots.push(slot);
    }
  }

  #sort(newlyAvailable: FamilyNewlyAvailable): void {
    const { slots } = newlyAvailable;
    if (newlyAvailable.sortedCount === slots.length) return;
    const { compareAssigned } = this.#fleet;
    if (slots.length - newlyAvailable.sortedCount > INSERTED_MAX) slots.sort(compareAssigned);
    else {
      for (let count = newlyAvailable.sortedCount; count < slots.length; count++) {
        const slot = slots[count]!;
        let at = count;
        for (; at > 0 && compareAssigned(slot, slots[at - 1]!) < 0; at--) slots[at] = slots[at - 1]!;
        slots[at] = slot;
      }
    }
    newlyAvailable.sortedCount = slots.length;
  }
}
