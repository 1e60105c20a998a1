/**
 * Credit (A2) counts a cluster's machines for its needs, in order N4 (priority, arrival, fingerprint, group). Claims
 * persist from cycle to cycle and are *repaired*: a need is scanned again only if it lost a machine, or if a machine that
 * it may take became available before the last one it took (or anywhere, if it has a deficit). A machine is available to
 * a need if it is unclaimed or a later need claims it; taking it marks the later need. A decision from scratch marks
 * every need, so there is one way of deciding, not two.
 *
 * Most needs have machines of their own that all have the same capacity. Their number then gives what remains after
 * them, so the need is not scanned when one of them comes or goes.
 *
 * A gang that its own machines do not settle chooses among unassigned machines that gangs of other clusters want, too.
 * Such gangs are evaluated in order N4 over all clusters: a cluster's scan stops before the gang and resumes at its turn.
 */

import type { ClusterState } from '../cluster-state.ts';
import { SlotList } from '../columns/slot-list.ts';
import { type EngineNeeds, Mark, MIXED, NeedKind, ScanPart } from '../demand/engine-needs.ts';
import type { CurrentCycle, EngineTables } from '../engine-tables.ts';
import { type Filter, type Filters, MatchLevel } from '../supply/filters.ts';
import { type Fleet, Role } from '../supply/fleet.ts';
import type { Claims } from './claims.ts';
import { FoldCredit } from './fold-credit.ts';
import type { Gangs } from './gangs.ts';
import { NewlyAvailable } from './newly-available.ts';
import type { UnmetNeeds } from './unmet.ts';
import { WaitingGangs } from './waiting-gangs.ts';

export class Credit {
  readonly #fleet: Fleet;
  readonly #filters: Filters;
  readonly #needs: EngineNeeds;
  readonly #claims: Claims;
  readonly #unmet: UnmetNeeds;
  readonly #gangs: Gangs;
  readonly #cycle: CurrentCycle;
  /** Clusters with gangs that every cycle evaluates. */
  readonly #unsettled = new Set<ClusterState>();
  readonly #newlyAvailable: NewlyAvailable;
  readonly #foldCredit: FoldCredit;
  /** Machines of other assignments that the current need may take instead of what it has … */
  readonly #found = new SlotList();
  /** … and machines of its own that became available to it; empty if there are many. */
  readonly #own = new SlotList();
  /** The scan passed over a machine that it may take but that had none of the remaining dimensions. */
  #hasPassed = false;
  readonly #cursorAt: number[] = [];
  readonly #cursorSlot: number[] = [];
  readonly #waiting: WaitingGangs;
  /** Needs scanned in this cycle, for measurement. */
  evaluatedCount = 0;

  constructor(tables: EngineTables, gangs: Gangs) {
    this.#fleet = tables.fleet;
    this.#filters = tables.filters;
    this.#needs = tables.needs;
    this.#claims = tables.claims;
    this.#unmet = tables.unmet;
    this.#gangs = gangs;
    this.#cycle = tables.cycle;
    this.#waiting = new WaitingGangs(tables.order);
    this.#newlyAvailable = new NewlyAvailable(tables);
    this.#foldCredit = new FoldCredit(tables);
  }

  run(touched: Iterable<ClusterState>): void {
    this.evaluatedCount = 0;
    this.#gangs.beginCycle();
    for (const cluster of touched) {
      if (!cluster.touched) continue;
      this.#claims.changed(cluster);
      this.#markGangsOfNewlyAvailable(cluster);
      this.#unsettled.delete(cluster); // scanned here; `#finish` adds it again if it still has such gangs
      this.#scanFrom(cluster, 0);
    }
    for (const cluster of this.#unsettled) this.#scanFrom(cluster, 0);
    while (this.#waiting.count > 0) {
      const need = this.#waiting.first;
      const cluster = this.#waiting.pop();
      this.#cycle.need = need;
      this.#gangs.evaluate(cluster, need - cluster.needStart);
      this.evaluatedCount++;
      this.#scanFrom(cluster, need - cluster.needStart + 1);
    }
  }

  forget(cluster: ClusterState): void {
    this.#unsettled.delete(cluster);
    this.#unmet.forget(cluster);
    this.#gangs.forget(cluster);
  }

  /** A new machine of a gang may settle or unsettle it. */
  #markGangsOfNewlyAvailable(cluster: ClusterState): void {
    const { assignment, assignments } = this.#fleet;
    for (const slot of cluster.newlyAvailable) {
      const gang = assignments.gang[assignment[slot]!]!;
      if (gang !== 0) this.#needs.mark(cluster.needStart + gang - 1, Mark.Dirty);
    }
  }

  /** Scans the cluster's needs from `index` on; stops before an unsettled gang, which then waits for its turn. */
  #scanFrom(cluster: ClusterState, index: number): void {
    const needs = this.#needs;
    this.#newlyAvailable.open();
    const end = cluster.needStart + cluster.needSpan;
    for (let next = cluster.needStart + index; ; next++) {
      this.#newlyAvailable.catchUp(cluster, next - cluster.needStart); // may mark needs from here on
      next = needs.nextWatched(next, end);
      if (next === end) break;
      const need = next;
      this.#cycle.need = need;
      this.#cycle.probe?.('credit', cluster.ref);
      const at = need - cluster.needStart;
      const marks = needs.marks[need]!;
      if (needs.kind[need] === NeedKind.Gang) {
        if ((marks & Mark.Dirty) === 0 && !this.#mayMove(cluster, at)) continue;
        if ((marks & Mark.Dirty) === 0 || !this.#gangs.trySettle(cluster, at)) {
          this.#waiting.push(cluster, need);
          return;
        }
        this.evaluatedCount++;
      } else if ((marks & Mark.Dirty) !== 0) this.#evaluatePlain(cluster, at);
      else if (
        (marks & Mark.OwnNewlyAvailable) !== 0 &&
        this.#newlyAvailable.collectOwn(cluster, at, this.#own)
      ) {
        if (this.#holdOwn(cluster, at)) this.#repair(cluster, at);
        else this.#evaluatePlain(cluster, at);
      } else if (cluster.newlyAvailable.length > 0 || (marks & Mark.Lost) !== 0)
        this.#examineNewlyAvailable(cluster, at);
    }
    if (cluster.touched || index > 0) this.#finish(cluster); // else no need was evaluated
  }

  /**
   * Whether an unsettled gang may choose differently from the last time. Machines that leave its cluster do not move a local
   * gang: it claims what covers it in its domain, and no other domain gets better without a machine.
   */
  #mayMove(cluster: ClusterState, index: number): boolean {
    const need = cluster.needStart + index;
    if (!this.#needs.has(need, Mark.Local)) return this.#gangs.mayMove(cluster, need);
    if (cluster.newlyAvailable.length === 0) return false;
    const found = this.#found;
    found.count = 0;
    this.#newlyAvailable.collect(cluster, index, this.#filters.get(this.#needs.filter[need]!), 0, found);
    for (let at = 0; at < found.count; at++) if (!this.#fleet.isAssignedToGang(found.slots[at]!)) return true;
    return false;
  }

  #finish(cluster: ClusterState): void {
    const needs = this.#needs;
    cluster.touched = false;
    cluster.newlyAvailable.length = 0;
    let unsettledCount = 0;
    const deficits: number[] = [];
    const end = cluster.needStart + cluster.needSpan;
    let need = needs.nextWatched(cluster.needStart, end);
    for (; need < end; need = needs.nextWatched(need + 1, end)) {
      const marks = needs.marks[need]!;
      if ((marks & (Mark.Unsettled | Mark.Local)) === Mark.Unsettled) unsettledCount++;
      if ((marks & Mark.Deficit) !== 0) deficits.push(need);
    }
    if (unsettledCount > 0) this.#unsettled.add(cluster);
    else this.#unsettled.delete(cluster);
    this.#unmet.credited(cluster, deficits);
  }

  /** Repairs a need that its own machines do not cover, or that lost some, if newly available machines may change it. */
  #examineNewlyAvailable(cluster: ClusterState, index: number): void {
    const marks = this.#needs.marks[cluster.needStart + index]!;
    if ((marks & (Mark.Deficit | Mark.Foreign | Mark.Lost)) === 0) return;
    this.#collectNewlyAvailable(cluster, index);
    if (this.#found.count === 0 && (marks & Mark.Lost) === 0) return;
    this.#resume(cluster, index);
  }

  /** The same for a need that certainly changed. */
  #repair(cluster: ClusterState, index: number): void {
    this.#collectNewlyAvailable(cluster, index);
    this.#resume(cluster, index);
  }

  /** Collects the newly available machines that the need reaches before it stops. */
  #collectNewlyAvailable(cluster: ClusterState, index: number): void {
    const needs = this.#needs;
    const need = cluster.needStart + index;
    const found = this.#found;
    found.count = 0;
    const isShort = needs.has(need, Mark.Deficit);
    if (!isShort && needs.lastPart[need]! < ScanPart.Configured) return; // its own machines sufficed
    const filter = this.#filters.get(needs.filter[need]!);
    this.#newlyAvailable.collect(cluster, index, filter, isShort ? 0 : needs.lastTaken[need]!, found);
    if (needs.kind[need] === NeedKind.Fold) this.#foldCredit.removeOthers(need, found);
  }

  /**
   * Gives the same result as a scan from the start, for a need that holds all of its own machines and passed over none:
   * any other machine before its stop belonged to an earlier need and still does, unless it is in `found`. So the need
   * chooses between `found` and what it has of other assignments, and continues where it stopped.
   */
  #resume(cluster: ClusterState, index: number): void {
    const needs = this.#needs;
    const need = cluster.needStart + index;
    if (needs.has(need, Mark.Passed) || this.#hasRetiredFamily(need)) {
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
    found.sort(this.#fleet.compareAssigned);
    this.#claims.beginScan();
    this.#hasPassed = false;
    needs.lastTaken[need] = 0;
    needs.lastPart[need] = ScanPart.OwnConfigured;
    let left = needs.resumeAfterOwn(need, families, inventory.shapes.vectors);
    for (let at = 0; at < found.count; at++) {
      const slot = found.slots[at]!;
      const family = families.familyOf[shape[slot]!]!;
      const after = left === 0 ? -1 : needs.subtract(need, families, family, inventory.shapes.vectors);
      if (after < 0) {
        if (left > 0) this.#hasPassed = true;
        if (claim[slot] === index + 1) this.#claims.releaseToLater(cluster, index, slot);
        continue;
      }
      left = after;
      this.#claims.hold(cluster, index, slot);
      needs.lastTaken[need] = slot;
      needs.lastPart[need] = role[slot] === Role.Configured ? ScanPart.Configured : ScanPart.Configuring;
    }
    // All that the need has stands before its stop, so the rest of the scan starts at the claims of the next need.
    if (left > 0 && !sawAll && stoppedIn < ScanPart.Configuring) {
      const after = stoppedIn === ScanPart.Configured ? stoppedAt : 0;
      left = this.#scanFamilyLists(cluster, index, filter, left, ScanPart.Configured, index + 2, after);
      if (left > 0)
        left = this.#scanFamilyLists(cluster, index, filter, left, ScanPart.Configuring, index + 2, 0);
    } else if (left > 0 && !sawAll) {
      left = this.#scanFamilyLists(cluster, index, filter, left, ScanPart.Configuring, index + 2, stoppedAt);
    }
    this.#finishNeed(need, left);
  }

  /** Gives a need its own newly available machines if it needs them all; false: its own machines must be scanned. */
  #holdOwn(cluster: ClusterState, index: number): boolean {
    const needs = this.#needs;
    const need = cluster.needStart + index;
    const { families, shape, role, inventory } = this.#fleet;
    let family = needs.ownFamily[need]!;
    if (this.#own.count === 0 || family === MIXED || needs.has(need, Mark.Passed)) return false;
    if (this.#hasRetiredFamily(need)) return false;
    const filter = this.#filters.get(needs.filter[need]!);
    const own = this.#own;
    for (let at = 0; at < own.count; at++) {
      const slot = own.slots[at]!;
      if (role[slot] !== Role.Configured && this.#fleet.isStuck(slot)) return false; // X11: a stuck machine satisfies no need
      const ownFamily = families.familyOf[shape[slot]!]!;
      if (filter.eligible[ownFamily] !== 1) return false;
      if (family === 0) family = ownFamily;
      else if (!families.areAlike(family, ownFamily)) return false;
      if (filter.matchLevel !== MatchLevel.Family && !this.#filters.admitsSlot(filter, slot)) return false;
    }
    const ownCount = needs.ownCount[need]! + own.count;
    if (!needs.wants(need, ownCount, families, family, inventory.shapes.vectors)) return false;
    this.#claims.beginScan();
    for (let at = 0; at < own.count; at++) this.#claims.hold(cluster, index, own.slots[at]!);
    needs.ownCount[need] = ownCount;
    needs.ownFamily[need] = family;
    return true;
  }

  /** Whether the family that stands for the capacity of the need's own machines is gone, and with it that capacity. */
  #hasRetiredFamily(need: number): boolean {
    const family = this.#needs.ownFamily[need]!;
    return family !== 0 && family !== MIXED && this.#fleet.families.isRetired(family);
  }

  #finishNeed(need: number, left: number): void {
    const needs = this.#needs;
    needs.endScan(need, this.#fleet.inventory.shapes.vectors);
    this.#unmet.evaluated(need);
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
    this.#claims.beginScan();
    needs.lastTaken[need] = 0;
    needs.lastPart[need] = ScanPart.OwnConfigured;
    let left = needs.beginScan(need, this.#fleet.inventory.shapes.vectors);
    const filter = this.#filters.get(needs.filter[need]!);
    left = this.#scanOwn(cluster, index, filter, left);
    needs.ownCount[need] = this.#claims.heldCount;
    this.#hasPassed = false;
    if (left > 0) {
      if (needs.ownFamily[need] === MIXED) needs.saveAfterOwn(need, this.#fleet.inventory.shapes.vectors);
      left = this.#scanFamilyLists(cluster, index, filter, left, ScanPart.Configured, index + 1, 0);
    }
    if (left > 0)
      left = this.#scanFamilyLists(cluster, index, filter, left, ScanPart.Configuring, index + 1, 0);
    this.#claims.endScan(cluster, index);
    this.#finishNeed(need, left);
  }

  /** Scans the machines assigned to this need; a fold has two assignments, whose lists are merged. */
  #scanOwn(cluster: ClusterState, index: number, filter: Filter, wanted: number): number {
    const { assigned, assignments, role, shape, families } = this.#fleet;
    const needs = this.#needs;
    const need = cluster.needStart + index;
    const listA = assignments.list[needs.assignment[need]!]!;
    const listB = assignments.list[needs.plainAssignment[need]!]!;
    let atA = listA === 0 ? 0 : assigned.first(listA);
    let atB = listB === 0 ? 0 : assigned.first(listB);
    let left = wanted;
    let ownFamily = 0;
    this.#hasPassed = false;
    while (left > 0 && (atA !== 0 || atB !== 0)) {
      const fromB =
        atA === 0 ||
        (atB !== 0 && this.#fleet.compareAssigned(assigned.slotAt(atB), assigned.slotAt(atA)) < 0);
      const slot = assigned.slotAt(fromB ? atB : atA);
      if (fromB) atB = assigned.next(atB);
      else atA = assigned.next(atA);
      if (role[slot] === Role.Leaving) continue; // H5: no need is credited it
      const heldCount = this.#claims.heldCount;
      left = this.#offer(cluster, index, filter, slot, Role.Configured - role[slot]!, left);
      if (this.#claims.heldCount === heldCount) continue;
      const family = families.familyOf[shape[slot]!]!;
      if (ownFamily === 0) ownFamily = family;
      else if (ownFamily !== MIXED && !families.areAlike(ownFamily, family)) ownFamily = MIXED;
    }
    // If some are left over or gave nothing, their order decides which of them the need has.
    needs.ownFamily[need] = atA !== 0 || atB !== 0 || this.#hasPassed ? MIXED : ownFamily;
    return left;
  }

  /**
   * Scans the cluster's other machines of one state: merges the heads of the matching families' lists. Skips machines
   * that needs before `claim` claim, and those up to `after` (0: none).
   */
  #scanFamilyLists(
    cluster: ClusterState,
    index: number,
    filter: Filter,
    wanted: number,
    part: number,
    claim: number,
    after: number,
  ): number {
    if (part === ScanPart.Configuring && cluster.configuringCount === 0) return wanted;
    const { keep, compareKeep } = this.#fleet;
    const cursorAt = this.#cursorAt;
    const cursorSlot = this.#cursorSlot;
    let cursorCount = 0;
    const { familyLists } = cluster;
    const { families, eligible } = filter;
    const isNarrow = families.length < familyLists.count;
    const count = isNarrow ? families.length : familyLists.count;
    for (let place = 0; place < count; place++) {
      const familyList = isNarrow ? familyLists.find(families[place]!) : place;
      if (familyList < 0) continue;
      const list =
        part === ScanPart.Configured
          ? familyLists.configured(familyList)
          : familyLists.configuring(familyList);
      if (list === 0 || eligible[familyLists.family(familyList)] !== 1) continue;
      const at = keep.seek(after === 0 ? keep.first(list) : keep.after(list, after), claim);
      if (at === 0) continue;
      cursorAt[cursorCount] = at;
      cursorSlot[cursorCount] = keep.slotAt(at);
      cursorCount++;
    }
    let left = wanted;
    while (left > 0 && cursorCount > 0) {
      let best = 0;
      for (let cursor = 1; cursor < cursorCount; cursor++) {
        if (compareKeep(cursorSlot[cursor]!, cursorSlot[best]!) < 0) best = cursor;
      }
      left = this.#offer(cluster, index, filter, cursorSlot[best]!, part, left);
      const next = keep.seek(keep.next(cursorAt[best]!), claim);
      if (next !== 0) {
        cursorAt[best] = next;
        cursorSlot[best] = keep.slotAt(next);
      } else {
        cursorCount--;
        cursorAt[best] = cursorAt[cursorCount]!;
        cursorSlot[best] = cursorSlot[cursorCount]!;
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
    if (filter.matchLevel !== MatchLevel.Family && !this.#filters.admitsSlot(filter, slot)) return left;
    const need = cluster.needStart + index;
    if (this.#needs.kind[need] === NeedKind.Fold && this.#foldCredit.isAssignedElsewhere(need, slot))
      return left;
    const after = this.#needs.subtract(need, families, family, this.#fleet.inventory.shapes.vectors);
    if (after < 0) {
      this.#hasPassed = true;
      return left;
    }
    this.#claims.hold(cluster, index, slot);
    this.#needs.lastTaken[need] = slot;
    this.#needs.lastPart[need] = part;
    return after;
  }
}
