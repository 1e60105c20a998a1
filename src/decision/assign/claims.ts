/**
 * Claims of credit: which need of its cluster a machine counts for. Each need's machines form a ring
 * through the fleet's claim columns, so that taking and releasing one machine costs nothing but itself.
 * A change of hands tells whom it concerns: the need that loses a machine, and the gang that the machine
 * is assigned to, must be looked at again.
 */

import { columnU32 } from '../columns/columns.ts';
import type { ClusterState } from '../demand/cluster-state.ts';
import { type EngineNeeds, Mark, MIXED, NeedKind } from '../demand/engine-needs.ts';
import { type Fleet, Role } from '../supply/fleet.ts';

export class Claims {
  readonly #fleet: Fleet;
  readonly #needs: EngineNeeds;
  /** By slot: the last walk that took it or found it taken. */
  readonly #scannedIn: Uint32Array;
  #scan = 0;
  #heldCount = 0;
  #changeCount = 0;

  constructor(fleet: Fleet, needs: EngineNeeds) {
    this.#fleet = fleet;
    this.#needs = needs;
    this.#scannedIn = columnU32(fleet.role.length);
  }

  /** What the cluster's gangs counted there no longer holds: a machine or a need changed, or a machine changed hands. */
  changed(cluster: ClusterState): void {
    cluster.version = ++this.#changeCount;
  }

  /**
   * Begins to credit a need again. It keeps its machines meanwhile, `hold`s each one that it would take, and gives up
   * the others at the end: most walks find what was there before, and then nothing changes hands.
   */
  beginScan(): void {
    if (++this.#scan > 0xffff_ffff) {
      this.#scannedIn.fill(0);
      this.#scan = 1;
    }
    this.#heldCount = 0;
  }

  /** Machines held by this walk. */
  get heldCount(): number {
    return this.#heldCount;
  }

  /** Whether this walk took the machine already. */
  isHeld(slot: number): boolean {
    return this.#scannedIn[slot] === this.#scan;
  }

  /** The need at `index` takes the machine, or goes on having it. */
  hold(cluster: ClusterState, index: number, slot: number): void {
    this.#scannedIn[slot] = this.#scan;
    this.#heldCount++;
    if (this.#fleet.claim[slot] !== index + 1) this.take(cluster, index, slot);
  }

  /** Ends a walk: what the need had and did not hold is let go, which is news for the needs after it. */
  endScan(cluster: ClusterState, index: number): void {
    const needs = this.#needs;
    const need = cluster.needStart + index;
    if (needs.claimCount[need] === this.#heldCount) return;
    const { nextClaim } = this.#fleet;
    for (let slot = needs.firstClaim[need]!; slot !== 0; ) {
      const next = nextClaim[slot]!;
      if (this.#scannedIn[slot] !== this.#scan) this.letGo(cluster, index, slot);
      slot = next;
    }
  }

  /** The need at `index` gives a machine up, which is news for the needs after it. */
  letGo(cluster: ClusterState, index: number, slot: number): void {
    this.release(cluster, slot);
    cluster.newlyAvailable.push(slot);
    const gang = this.#fleet.assignments.gang[this.#fleet.assignment[slot]!]!;
    if (gang > index + 1) this.#needs.mark(cluster.needStart + gang - 1, Mark.Dirty);
  }

  /** Whether the need at this index may take the machine: nobody has it, or only a later need does. */
  isAvailable(slot: number, index: number): boolean {
    const claim = this.#fleet.claim[slot]!;
    return claim === 0 || claim > index;
  }

  /** Gives a machine to the need at `index`; a later need that had it will be credited again. */
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
    this.#fleet.victims.mark(slot);
    const gang = assignments.gang[assignment[slot]!]!;
    if (gang > index + 1) needs.mark(cluster.needStart + gang - 1, Mark.Dirty);
  }

  /** Takes a machine from the need that has it, which will be credited again: from where it stopped, if that will do. */
  takeAway(cluster: ClusterState, slot: number, isLeaving: boolean): void {
    const needs = this.#needs;
    const need = cluster.needStart + this.#fleet.claim[slot]! - 1;
    const isGang = needs.kind[need] === NeedKind.Gang;
    const isOwn = !isGang && this.#isOwn(need, slot);
    if (isOwn) needs.ownCount[need]!--;
    // A machine that leaves its list no longer says where the walk stopped, if it stopped among others'.
    const isStop = !isOwn && isLeaving && needs.lastTaken[need] === slot;
    const isCounted = !isOwn || needs.ownFamily[need] !== MIXED;
    needs.mark(need, isGang || isStop || !isCounted ? Mark.Dirty : Mark.Lost);
    this.release(cluster, slot);
  }

  /** Appends the machines of a need that are not assigned to it. */
  collectForeign(need: number, out: number[]): void {
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

  /** Takes a machine from the need that has it. The caller sees to who must look again. */
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

  /**
   * The machines of a need go to its successor; dirty, if that asks otherwise. `oldIndex` and `index` are their places in
   * their cluster's old and new slice.
   */
  handOver(need: number, successor: number, oldIndex: number, index: number): void {
    const needs = this.#needs;
    const { claim, nextClaim, keep } = this.#fleet;
    const { width, remaining, afterOwn } = needs;
    const isSame =
      needs.profile[need] === needs.profile[successor] &&
      needs.filter[need] === needs.filter[successor] &&
      needs.aggregate[need] === needs.aggregate[successor] &&
      needs.multiplier[need] === needs.multiplier[successor] &&
      needs.plainAssignment[need] === needs.plainAssignment[successor];
    needs.setMarks(successor, isSame ? needs.marks[need]! : Mark.Dirty);
    needs.firstClaim[successor] = needs.firstClaim[need]!;
    needs.claimCount[successor] = needs.claimCount[need]!;
    needs.creditCount[successor] = needs.creditCount[need]!;
    needs.ownCount[successor] = needs.ownCount[need]!;
    needs.ownFamily[successor] = needs.ownFamily[need]!;
    needs.lastTaken[successor] = needs.lastTaken[need]!;
    needs.lastPart[successor] = needs.lastPart[need]!;
    needs.domain[successor] = needs.domain[need]!;
    for (let at = 0; at < width; at++) {
      const from = need * width + at;
      const to = successor * width + at;
      if (remaining[to] !== remaining[from]) remaining[to] = remaining[from]!;
      if (afterOwn[to] !== afterOwn[from]) afterOwn[to] = afterOwn[from]!;
    }
    if (oldIndex === index) return;
    for (let slot = needs.firstClaim[need]!; slot !== 0; slot = nextClaim[slot]!) {
      claim[slot] = index + 1;
      keep.renumbered(slot);
    }
  }
}
