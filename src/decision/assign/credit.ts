/**
 * Credit (A2): a cluster's machines are attributed to its needs, in order N4. Kept from cycle to cycle and
 * *repaired*: a need is walked again only if it lost a machine, or if a machine became available that it
 * may take and that comes before the last one it took (or anything at all, if it has a deficit). A machine
 * is available to a need if nobody holds it or only a later need does; taking it marks that one. From
 * scratch is the same with every need marked, so there is one way of deciding and not two.
 *
 * Most needs have machines of their own that all have the same capacity. For such a need the count of those says what
 * remains after them, so one that comes or goes does not make it walk them all.
 *
 * Gangs that their own machines do not settle choose their place among free machines that other clusters'
 * gangs want too, so they are evaluated in order N4 over all clusters: a cluster's walk stops in front of
 * such a gang and goes on when it is the gang's turn.
 */

import { sortFew } from '../columns/sort-few.ts';
import type { ClusterState } from '../demand/cluster-state.ts';
import { Mark, MIXED, type NeedColumns, NeedKind, WalkPart } from '../demand/engine-needs.ts';
import type { NeedOrder } from '../demand/serving-order.ts';
import { type Filter, type Filters, Look } from '../supply/filters.ts';
import { type Fleet, Role } from '../supply/fleet.ts';
import type { Claims } from './claims.ts';
import type { Gangs } from './gangs.ts';
import { FreshMachines } from './newly-available.ts';
import { WaitingGangs } from './waiting-gangs.ts';

export class Credit {
  readonly #fleet: Fleet;
  readonly #filters: Filters;
  readonly #needs: NeedColumns;
  readonly #claims: Claims;
  readonly #gangs: Gangs;
  /** Clusters with gangs that are looked at in every cycle. */
  readonly #unsettled = new Set<ClusterState>();
  /** Clusters with needs that credit did not satisfy, and those needs. */
  readonly unmet = new Map<ClusterState, number[]>();
  readonly #fresh: FreshMachines;
  /** Machines of others that the need which is looked at may have instead of what it has … */
  readonly #found: number[] = [];
  /** … and those of its own that became available to it; empty if those are many. */
  readonly #own: number[] = [];
  /** The walk passed over a machine that it could have taken and that had nothing of what remained. */
  #hasPassed = false;
  readonly #laneAt: number[] = [];
  readonly #laneSlot: number[] = [];
  readonly #waiting: WaitingGangs;
  /** Needs walked in this cycle, for measurement. */
  evaluatedCount = 0;

  constructor(
    fleet: Fleet,
    filters: Filters,
    needs: NeedColumns,
    claims: Claims,
    gangs: Gangs,
    order: NeedOrder,
  ) {
    this.#fleet = fleet;
    this.#filters = filters;
    this.#needs = needs;
    this.#claims = claims;
    this.#gangs = gangs;
    this.#waiting = new WaitingGangs(order);
    this.#fresh = new FreshMachines(fleet, filters, needs);
  }

  run(touched: Iterable<ClusterState>): void {
    this.evaluatedCount = 0;
    this.#gangs.beginCycle();
    for (const cluster of touched) {
      if (!cluster.touched) continue;
      this.#claims.changed(cluster);
      this.#markGangsOfFresh(cluster);
      this.#unsettled.delete(cluster); // walked here; joins again below if it still has such gangs
      this.#walkFrom(cluster, 0);
    }
    for (const cluster of this.#unsettled) this.#walkFrom(cluster, 0);
    while (this.#waiting.count > 0) {
      const need = this.#waiting.first;
      const cluster = this.#waiting.pop();
      this.#gangs.evaluate(cluster, need - cluster.needStart);
      this.evaluatedCount++;
      this.#walkFrom(cluster, need - cluster.needStart + 1);
    }
  }

  forget(cluster: ClusterState): void {
    this.#unsettled.delete(cluster);
    this.unmet.delete(cluster);
    this.#gangs.forget(cluster);
  }

  /** A machine that came for a gang may settle or unsettle it. */
  #markGangsOfFresh(cluster: ClusterState): void {
    const { stamp, stamps } = this.#fleet;
    for (const slot of cluster.fresh) {
      const gang = stamps.gang[stamp[slot]!]!;
      if (gang !== 0) this.#needs.mark(cluster.needStart + gang - 1, Mark.Dirty);
    }
  }

  /** Walks the cluster's needs from `index` on; stops in front of an unsettled gang, which then waits. */
  #walkFrom(cluster: ClusterState, index: number): void {
    const needs = this.#needs;
    this.#fresh.open();
    const end = cluster.needStart + cluster.needCount;
    for (let next = cluster.needStart + index; ; next++) {
      this.#fresh.catchUp(cluster, next - cluster.needStart); // may mark needs from here on
      next = needs.nextWatched(next, end);
      if (next === end) break;
      const need = next;
      const at = need - cluster.needStart;
      const marks = needs.marks[need]!;
      if (needs.kind[need] === NeedKind.Gang) {
        if ((marks & Mark.Dirty) === 0 || !this.#gangs.trySettle(cluster, at)) {
          this.#waiting.push(cluster, need);
          return;
        }
        this.evaluatedCount++;
      } else if ((marks & Mark.Dirty) !== 0) this.#evaluatePlain(cluster, at);
      else if ((marks & Mark.OwnFresh) !== 0 && this.#fresh.collectOwn(cluster, at, this.#own)) {
        if (this.#holdOwn(cluster, at)) this.#repair(cluster, at);
        else this.#evaluatePlain(cluster, at);
      } else if (cluster.fresh.length > 0 || (marks & Mark.Lost) !== 0) this.#lookAtFresh(cluster, at);
    }
    this.#finish(cluster);
  }

  #finish(cluster: ClusterState): void {
    const needs = this.#needs;
    cluster.touched = false;
    cluster.fresh.length = 0;
    let unsettledCount = 0;
    let deficits: number[] | undefined;
    const end = cluster.needStart + cluster.needCount;
    let need = needs.nextWatched(cluster.needStart, end);
    for (; need < end; need = needs.nextWatched(need + 1, end)) {
      const marks = needs.marks[need]!;
      if ((marks & (Mark.Unsettled | Mark.Local)) === Mark.Unsettled) unsettledCount++;
      if ((marks & Mark.Deficit) !== 0) {
        deficits ??= [];
        deficits.push(need);
      }
    }
    if (unsettledCount > 0) this.#unsettled.add(cluster);
    else this.#unsettled.delete(cluster);
    if (deficits === undefined) this.unmet.delete(cluster);
    else this.unmet.set(cluster, deficits);
  }

  /** Whether a need that its own machines do not cover, or that lost some, has to look at others again. */
  #lookAtFresh(cluster: ClusterState, index: number): void {
    const marks = this.#needs.marks[cluster.needStart + index]!;
    if ((marks & (Mark.Deficit | Mark.Foreign | Mark.Lost)) === 0) return;
    this.#collectFresh(cluster, index);
    if (this.#found.length === 0 && (marks & Mark.Lost) === 0) return;
    this.#resume(cluster, index);
  }

  /** The same for a need of which it is known. */
  #repair(cluster: ClusterState, index: number): void {
    this.#collectFresh(cluster, index);
    this.#resume(cluster, index);
  }

  /** The machines that became available to the need and that it meets before it stops. */
  #collectFresh(cluster: ClusterState, index: number): void {
    const needs = this.#needs;
    const need = cluster.needStart + index;
    const found = this.#found;
    found.length = 0;
    const isShort = needs.has(need, Mark.Deficit);
    if (!isShort && needs.lastPart[need]! < WalkPart.Configured) return; // it stopped among its own
    const filter = this.#filters.get(needs.filter[need]!);
    this.#fresh.collect(cluster, index, filter, isShort ? 0 : needs.lastTaken[need]!, found);
    if (needs.kind[need] === NeedKind.Fold) this.#fresh.leaveOut(need, found);
  }

  /**
   * The same as walking from the beginning, for a need that holds those of its own machines that it would meet, and that
   * passed none over: what else it met before it stopped was another's, which was out of its reach and still is unless it is
   * among the `found`. So it chooses between those and what it has of others, and goes on where it stopped.
   */
  #resume(cluster: ClusterState, index: number): void {
    const needs = this.#needs;
    const need = cluster.needStart + index;
    if (needs.has(need, Mark.Passed)) {
      this.#evaluatePlain(cluster, index);
      return;
    }
    const found = this.#found;
    const filter = this.#filters.get(needs.filter[need]!);
    const { claim, shape, families, role, inventory } = this.#fleet;
    const sawAll = needs.has(need, Mark.Deficit);
    const stoppedAt = needs.lastTaken[need]!;
    const stoppedIn = needs.lastPart[need]!;
    this.evaluatedCount++;
    this.#claims.collectForeign(need, found);
    sortFew(found, this.#fleet.compareStamped);
    this.#claims.beginWalk();
    this.#hasPassed = false;
    needs.lastTaken[need] = 0;
    needs.lastPart[need] = WalkPart.OwnConfigured;
    let left = needs.resumeAfterOwn(need, families, inventory.shapes.vectors);
    for (const slot of found) {
      const family = families.familyOf[shape[slot]!]!;
      const after = left === 0 ? -1 : needs.subtract(need, families, family, inventory.shapes.vectors);
      if (after < 0) {
        if (left > 0) this.#hasPassed = true;
        if (claim[slot] === index + 1) this.#claims.letGo(cluster, index, slot);
        continue;
      }
      left = after;
      this.#claims.hold(cluster, index, slot);
      needs.lastTaken[need] = slot;
      needs.lastPart[need] = role[slot] === Role.Configured ? WalkPart.Configured : WalkPart.Configuring;
    }
    // Whatever it has stands before the place where it stopped: from there on only others' machines are met.
    if (left > 0 && !sawAll && stoppedIn < WalkPart.Configuring) {
      const after = stoppedIn === WalkPart.Configured ? stoppedAt : 0;
      left = this.#walkLanes(cluster, index, filter, left, WalkPart.Configured, index + 2, after);
      if (left > 0) left = this.#walkLanes(cluster, index, filter, left, WalkPart.Configuring, index + 2, 0);
    } else if (left > 0 && !sawAll) {
      left = this.#walkLanes(cluster, index, filter, left, WalkPart.Configuring, index + 2, stoppedAt);
    }
    this.#finishNeed(need, left);
  }

  /** Gives a need those of its own machines that became available, where it needs them all; false: they must be walked. */
  #holdOwn(cluster: ClusterState, index: number): boolean {
    const needs = this.#needs;
    const need = cluster.needStart + index;
    const { families, shape, role, inventory } = this.#fleet;
    let family = needs.ownFamily[need]!;
    if (this.#own.length === 0 || family === MIXED || needs.has(need, Mark.Passed)) return false;
    const filter = this.#filters.get(needs.filter[need]!);
    for (const slot of this.#own) {
      if (role[slot] !== Role.Configured && this.#fleet.isStuck(slot)) return false; // X11
      const ownFamily = families.familyOf[shape[slot]!]!;
      if (filter.eligible[ownFamily] !== 1) return false;
      if (family === 0) family = ownFamily;
      else if (!families.areAlike(family, ownFamily)) return false;
      if (filter.look !== Look.Family && !this.#filters.admitsSlot(filter, slot)) return false;
    }
    const ownCount = needs.ownCount[need]! + this.#own.length;
    if (!needs.wants(need, ownCount, families, family, inventory.shapes.vectors)) return false;
    this.#claims.beginWalk();
    for (const slot of this.#own) this.#claims.hold(cluster, index, slot);
    needs.ownCount[need] = ownCount;
    needs.ownFamily[need] = family;
    return true;
  }

  #finishNeed(need: number, left: number): void {
    const needs = this.#needs;
    needs.endWalk(need, this.#fleet.inventory.shapes.vectors);
    needs.creditCount[need] = needs.claimCount[need]!;
    needs.setMarks(
      need,
      (left > 0 ? Mark.Deficit : 0) |
        (this.#hasPassed ? Mark.Passed : 0) |
        (needs.claimCount[need]! > needs.ownCount[need]! ? Mark.Foreign : 0),
    );
  }

  #evaluatePlain(cluster: ClusterState, index: number): void {
    const needs = this.#needs;
    const need = cluster.needStart + index;
    this.evaluatedCount++;
    this.#claims.beginWalk();
    needs.lastTaken[need] = 0;
    needs.lastPart[need] = WalkPart.OwnConfigured;
    let left = needs.beginWalk(need, this.#fleet.inventory.shapes.vectors);
    const filter = this.#filters.get(needs.filter[need]!);
    left = this.#walkOwn(cluster, index, filter, left);
    needs.ownCount[need] = this.#claims.heldCount;
    this.#hasPassed = false;
    if (left > 0) {
      if (needs.ownFamily[need] === MIXED) needs.saveAfterOwn(need, this.#fleet.inventory.shapes.vectors);
      left = this.#walkLanes(cluster, index, filter, left, WalkPart.Configured, index + 1, 0);
    }
    if (left > 0) left = this.#walkLanes(cluster, index, filter, left, WalkPart.Configuring, index + 1, 0);
    this.#claims.endWalk(cluster, index);
    this.#finishNeed(need, left);
  }

  /** The machines stamped for this very need; a fold has two stamps, whose lists are walked as one. */
  #walkOwn(cluster: ClusterState, index: number, filter: Filter, wanted: number): number {
    const { stamped, stamps, role, shape, families } = this.#fleet;
    const needs = this.#needs;
    const need = cluster.needStart + index;
    const listA = stamps.list[needs.stamp[need]!]!;
    const listB = stamps.list[needs.plainStamp[need]!]!;
    let atA = listA === 0 ? 0 : stamped.first(listA);
    let atB = listB === 0 ? 0 : stamped.first(listB);
    let left = wanted;
    let ownFamily = 0;
    this.#hasPassed = false;
    while (left > 0 && (atA !== 0 || atB !== 0)) {
      const fromB =
        atA === 0 || (atB !== 0 && this.#fleet.compareStamped(stamped.slotAt(atB), stamped.slotAt(atA)) < 0);
      const slot = stamped.slotAt(fromB ? atB : atA);
      if (fromB) atB = stamped.next(atB);
      else atA = stamped.next(atA);
      const heldCount = this.#claims.heldCount;
      left = this.#offer(cluster, index, filter, slot, Role.Configured - role[slot]!, left);
      if (this.#claims.heldCount === heldCount) continue;
      const family = families.familyOf[shape[slot]!]!;
      if (ownFamily === 0) ownFamily = family;
      else if (ownFamily !== MIXED && !families.areAlike(ownFamily, family)) ownFamily = MIXED;
    }
    // If some are left, or gave nothing, then which of them it has depends on their order.
    needs.ownFamily[need] = atA !== 0 || atB !== 0 || this.#hasPassed ? MIXED : ownFamily;
    return left;
  }

  /**
   * The cluster's other machines of one state: the heads of the matching families' lists, merged. Of machines that count
   * for a need before `claim` none is met, nor those up to `after` (0: from the first one on).
   */
  #walkLanes(
    cluster: ClusterState,
    index: number,
    filter: Filter,
    wanted: number,
    part: number,
    claim: number,
    after: number,
  ): number {
    if (part === WalkPart.Configuring && cluster.configuringCount === 0) return wanted;
    const { keep, compareKeep } = this.#fleet;
    const lanesAt = this.#laneAt;
    const laneSlot = this.#laneSlot;
    let laneCount = 0;
    const { lanes } = cluster;
    for (let lane = 0; lane < lanes.count; lane++) {
      const list = part === WalkPart.Configured ? lanes.configured(lane) : lanes.configuring(lane);
      if (list === 0 || filter.eligible[lanes.family(lane)] !== 1) continue;
      const at = keep.seek(after === 0 ? keep.first(list) : keep.after(list, after), claim);
      if (at === 0) continue;
      lanesAt[laneCount] = at;
      laneSlot[laneCount] = keep.slotAt(at);
      laneCount++;
    }
    let left = wanted;
    while (left > 0 && laneCount > 0) {
      let best = 0;
      for (let lane = 1; lane < laneCount; lane++) {
        if (compareKeep(laneSlot[lane]!, laneSlot[best]!) < 0) best = lane;
      }
      left = this.#offer(cluster, index, filter, laneSlot[best]!, part, left);
      const next = keep.seek(keep.next(lanesAt[best]!), claim);
      if (next !== 0) {
        lanesAt[best] = next;
        laneSlot[best] = keep.slotAt(next);
      } else {
        laneCount--;
        lanesAt[best] = lanesAt[laneCount]!;
        laneSlot[best] = laneSlot[laneCount]!;
      }
    }
    return left;
  }

  /** The taking rule. Returns how many dimensions still remain. */
  #offer(
    cluster: ClusterState,
    index: number,
    filter: Filter,
    slot: number,
    part: number,
    left: number,
  ): number {
    const { claim, families, shape, role } = this.#fleet;
    if ((claim[slot] !== 0 && claim[slot]! <= index) || this.#claims.isHeld(slot)) return left;
    if (role[slot] !== Role.Configured && this.#fleet.isStuck(slot)) return left; // X11
    const family = families.familyOf[shape[slot]!]!;
    if (filter.eligible[family] !== 1) return left;
    if (filter.look !== Look.Family && !this.#filters.admitsSlot(filter, slot)) return left;
    const need = cluster.needStart + index;
    if (this.#needs.kind[need] === NeedKind.Fold && this.#fresh.isOthersOwn(need, slot)) return left;
    const after = this.#needs.subtract(need, families, family, this.#fleet.inventory.shapes.vectors);
    if (after < 0) {
      this.#hasPassed = true; // has nothing of what remains
      return left;
    }
    this.#claims.hold(cluster, index, slot);
    this.#needs.lastTaken[need] = slot;
    this.#needs.lastPart[need] = part;
    return after;
  }
}
