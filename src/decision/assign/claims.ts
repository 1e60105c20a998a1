/**
 * Claims: which need of its cluster a machine counts for. The claim list of a need is linked through the fleet's claim
 * columns, so that taking and releasing a machine takes constant time. A changed claim marks the needs that must be
 * evaluated again: the need that lost the machine, and the gang that the machine is assigned to.
 */

import type { ClusterState } from '../cluster-state.ts';
import { columnU32 } from '../columns/columns.ts';
import type { SlotList } from '../columns/slot-list.ts';
import { type EngineNeeds, Mark, MIXED, NeedKind } from '../demand/engine-needs.ts';
import { type Fleet, Role } from '../supply/fleet.ts';

export class Claims {
  readonly #fleet: Fleet;
  readonly #needs: EngineNeeds;
  /** By slot: the last scan that held it. */
  readonly #scannedIn: Uint32Array;
  #scan = 0;
  #heldCount = 0;
  #changeCount = 0;

  constructor(fleet: Fleet, needs: EngineNeeds) {
    this.#fleet = fleet;
    this.#needs = needs;
    this.#scannedIn = columnU32(fleet.role.length);
  }

  /** Invalidates what the cluster's gangs counted there: a machine, a need or a claim changed. */
  changed(cluster: ClusterState): void {
    cluster.version = ++this.#changeCount;
  }

  /**
   * Begins to credit a need again. The need keeps its claims meanwhile, `hold`s each machine that it takes, and releases
   * the others at the end: most scans find the same machines, and then no claim changes.
   */
  beginScan(): void {
    if (++this.#scan > 0xffff_ffff) {
      this.#scannedIn.fill(0);
      this.#scan = 1;
    }
    this.#heldCount = 0;
  }

  /** Machines that this scan holds. */
  get heldCount(): number {
    return this.#heldCount;
  }

  /** Whether this scan holds the machine. */
  isHeld(slot: number): boolean {
    return this.#scannedIn[slot] === this.#scan;
  }

  /** The need at `index` takes the machine, or keeps it. */
  hold(cluster: ClusterState, index: number, slot: number): void {
    this.#scannedIn[slot] = this.#scan;
    this.#heldCount++;
    if (this.#fleet.claim[slot] !== index + 1) this.take(cluster, index, slot);
  }

  /** Ends a scan: the need releases what it did not hold, which becomes newly available to later needs. */
  endScan(cluster: ClusterState, index: number): void {
    const needs = this.#needs;
    const need = cluster.needStart + index;
    if (needs.claimCount[need] === this.#heldCount) return;
    const { nextClaim } = this.#fleet;
    for (let slot = needs.firstClaim[need]!; slot !== 0; ) {
      const next = nextClaim[slot]!;
      if (this.#scannedIn[slot] !== this.#scan) this.releaseToLater(cluster, index, slot);
      slot = next;
    }
  }

  /** The need at `index` releases a machine, which becomes newly available to later needs. */
  releaseToLater(cluster: ClusterState, index: number, slot: number): void {
    this.release(cluster, slot);
    cluster.newlyAvailable.push(slot);
    const gang = this.#fleet.assignments.gang[this.#fleet.assignment[slot]!]!;
    if (gang > index + 1) this.#needs.mark(cluster.needStart + gang - 1, Mark.Dirty);
  }

  /** Whether the need at this index may take the machine: it is unclaimed, or a later need claims it. */
  isAvailable(slot: number, index: number): boolean {
    const claim = this.#fleet.claim[slot]!;
    return claim === 0 || claim > index;
  }

  /** Gives a machine to the need at `index`; a later need that had it is marked to be credited again. */
  take(cluster: ClusterState, index: number, slot: number): void {
    const { claim, nextClaim, previousClaim, assignment, assignments } = this.#fleet;
    const needs = this.#needs;
    if (claim[slot] !== 0) this.takeAway(cluster, slot, false);
    const need = cluster.needStart + index;
    const first = needs.firstClaim[need]!;
    nextClaim[slot] = first;
    previousClaim[slot] = 0;
    if (first !== 0) previousClaim[first] = slot;
    needs.firstClaim[need] = slot;
    needs.claimCount[need]!++;
    claim[slot] = index + 1;
    this.changed(cluster);
    if (this.#fleet.role[slot] === Role.Configured) cluster.claimedConfiguredCount++;
    else if (this.#fleet.isWaiting(slot)) this.#fleet.unclaimedWaiting.delete(slot);
    this.#fleet.victims.mark(slot);
    const gang = assignments.gang[assignment[slot]!]!;
    if (gang > index + 1) needs.mark(cluster.needStart + gang - 1, Mark.Dirty);
  }

  /**
   * Whether the machine counts by number: it is its need's own, and the need wants all of those, which have one capacity. Then
   * the place of the machine among them changes nothing.
   */
  countsByNumber(cluster: ClusterState, slot: number): boolean {
    const { claim, assignment, assignments } = this.#fleet;
    if (claim[slot] === 0) return false;
    const needs = this.#needs;
    const need = cluster.needStart + claim[slot]! - 1;
    if (needs.kind[need] === NeedKind.Gang || needs.ownFamily[need] === MIXED) return false;
    return this.#isOwn(need, slot) && assignments.carriers[assignment[slot]!]! <= 1; // of two, the earlier may take it
  }

  /** Takes a machine from its need and marks the need: Lost if credit can resume where it stopped, else Dirty. */
  takeAway(cluster: ClusterState, slot: number, isLeaving: boolean): void {
    const needs = this.#needs;
    const need = cluster.needStart + this.#fleet.claim[slot]! - 1;
    const isGang = needs.kind[need] === NeedKind.Gang;
    const isOwn = !isGang && this.#isOwn(need, slot);
    if (isOwn) needs.ownCount[need]!--;
    // Once the last machine taken leaves its list, its place no longer tells where the scan stopped.
    const isStop = !isOwn && isLeaving && needs.lastTaken[need] === slot;
    const isCounted = !isOwn || needs.ownFamily[need] !== MIXED;
    needs.mark(need, isGang || isStop || !isCounted ? Mark.Dirty : Mark.Lost);
    this.release(cluster, slot);
  }

  /** Appends the machines of a need that are not assigned to it. */
  collectForeign(need: number, out: SlotList): void {
    let count = this.#needs.claimCount[need]! - this.#needs.ownCount[need]!;
    for (
      let slot = this.#needs.firstClaim[need]!;
      count > 0 && slot !== 0;
      slot = this.#fleet.nextClaim[slot]!
    ) {
      if (this.#isOwn(need, slot)) continue;
      out.push(slot);
      count--;
    }
  }

  #isOwn(need: number, slot: number): boolean {
    const assignment = this.#fleet.assignment[slot]!;
    return (
      assignment !== 0 &&
      (assignment === this.#needs.assignment[need] || assignment === this.#needs.plainAssignment[need])
    );
  }

  /** Takes a machine from its need. The caller marks the needs that must be evaluated again. */
  release(cluster: ClusterState, slot: number): void {
    const { claim, nextClaim, previousClaim } = this.#fleet;
    const needs = this.#needs;
    const need = cluster.needStart + claim[slot]! - 1;
    const next = nextClaim[slot]!;
    const previous = previousClaim[slot]!;
    if (previous === 0) needs.firstClaim[need] = next;
    else nextClaim[previous] = next;
    if (next !== 0) previousClaim[next] = previous;
    needs.claimCount[need]!--;
    claim[slot] = 0;
    this.changed(cluster);
    this.#fleet.keep.released(slot);
    if (this.#fleet.role[slot] === Role.Configured) cluster.claimedConfiguredCount--;
    else if (this.#fleet.isWaiting(slot)) this.#fleet.unclaimedWaiting.add(slot);
    this.#fleet.victims.mark(slot);
  }

  /** Releases all of a need's machines into `released`. */
  releaseAll(cluster: ClusterState, need: number, released: number[]): void {
    const first = released.length;
    for (let slot = this.#needs.firstClaim[need]!; slot !== 0; slot = this.#fleet.nextClaim[slot]!) {
      released.push(slot);
    }
    for (let position = first; position < released.length; position++) {
      this.release(cluster, released[position]!);
    }
  }

  /** The need has another place in its cluster now: its claims name it. */
  renumber(need: number, index: number): void {
    const { claim, nextClaim, keep } = this.#fleet;
    for (let slot = this.#needs.firstClaim[need]!; slot !== 0; slot = nextClaim[slot]!) {
      claim[slot] = index + 1;
      keep.renumbered(slot);
    }
  }
}
