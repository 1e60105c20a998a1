/**
 * Credit (A2): a cluster's machines are attributed to its needs, in order N4. Kept from cycle to cycle and
 * *repaired*: a need is walked again only if it lost a machine, or if a machine became available that it
 * may take and that comes before the last one it took (or anything at all, if it has a deficit). A machine
 * is available to a need if nobody holds it or only a later need does; taking it marks that one. From
 * scratch is the same with every need marked, so there is one way of deciding and not two.
 *
 * Gangs that their own machines do not settle choose their place among free machines that other clusters'
 * gangs want too, so they are evaluated in order N4 over all clusters: a cluster's walk stops in front of
 * such a gang and goes on when it is the gang's turn.
 */

import type { Claims } from './claims.ts';
import type { ClusterState } from './clusters.ts';
import { type Filter, type Filters, Look } from './filters.ts';
import { type Fleet, Role } from './fleet.ts';
import type { Gangs } from './gangs.ts';
import { Mark, type NeedColumns, NeedKind, WalkPart } from './need-columns.ts';
import type { NeedOrder } from './order.ts';

export class Credit {
  readonly #fleet: Fleet;
  readonly #filters: Filters;
  readonly #needs: NeedColumns;
  readonly #claims: Claims;
  readonly #gangs: Gangs;
  readonly #order: NeedOrder;
  /** Clusters with gangs that are looked at in every cycle. */
  readonly #unsettled = new Set<ClusterState>();
  /** Clusters with needs that credit did not satisfy, and those needs. */
  readonly unmet = new Map<ClusterState, number[]>();
  readonly #released: number[] = [];
  readonly #laneAt: number[] = [];
  readonly #laneSlot: number[] = [];
  /** Heap of clusters that wait for the turn of the gang at `#waitingNeed`. */
  readonly #waiting: ClusterState[] = [];
  readonly #waitingNeed: number[] = [];
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
    this.#order = order;
  }

  run(touched: Iterable<ClusterState>): void {
    this.evaluatedCount = 0;
    this.#gangs.beginCycle();
    for (const cluster of touched) {
      if (!cluster.touched) continue;
      this.#markGangsOfFresh(cluster);
      this.#unsettled.delete(cluster); // walked here; joins again below if it still has such gangs
      this.#walkFrom(cluster, 0);
    }
    for (const cluster of this.#unsettled) this.#walkFrom(cluster, 0);
    while (this.#waiting.length > 0) {
      const need = this.#waitingNeed[0]!;
      const cluster = this.#popWaiting();
      this.#gangs.evaluate(cluster, need - cluster.needStart, this.#released);
      this.evaluatedCount++;
      this.#claims.announce(cluster, need - cluster.needStart, this.#released);
      this.#walkFrom(cluster, need - cluster.needStart + 1);
    }
  }

  forget(cluster: ClusterState): void {
    this.#unsettled.delete(cluster);
    this.unmet.delete(cluster);
  }

  /** A machine that came for a gang may settle or unsettle it. */
  #markGangsOfFresh(cluster: ClusterState): void {
    const { stamp, stamps } = this.#fleet;
    for (const slot of cluster.fresh) {
      const gang = stamps.gang[stamp[slot]!]!;
      if (gang !== 0) this.#needs.marks[cluster.needStart + gang - 1]! |= Mark.Dirty;
    }
  }

  /** Walks the cluster's needs from `index` on; stops in front of an unsettled gang, which then waits. */
  #walkFrom(cluster: ClusterState, index: number): void {
    const needs = this.#needs;
    for (let at = index; at < cluster.needCount; at++) {
      const need = cluster.needStart + at;
      const marks = needs.marks[need]!;
      if (needs.kind[need] === NeedKind.Gang) {
        if ((marks & Mark.Dirty) === 0 && (marks & Mark.Settled) !== 0) continue;
        if ((marks & Mark.Dirty) === 0 || !this.#gangs.trySettle(cluster, at, this.#released)) {
          this.#pushWaiting(cluster, need);
          return;
        }
        this.evaluatedCount++;
        this.#claims.announce(cluster, at, this.#released);
      } else if ((marks & Mark.Dirty) !== 0 || this.#wantsFresh(cluster, at)) {
        this.#evaluatePlain(cluster, at);
      }
    }
    this.#finish(cluster);
  }

  #finish(cluster: ClusterState): void {
    const needs = this.#needs;
    cluster.touched = false;
    cluster.fresh.length = 0;
    let unsettledCount = 0;
    let deficits: number[] | undefined;
    for (let need = cluster.needStart; need < cluster.needStart + cluster.needCount; need++) {
      const marks = needs.marks[need]!;
      if (needs.kind[need] === NeedKind.Gang && (marks & Mark.Settled) === 0) unsettledCount++;
      if ((marks & (Mark.Deficit | Mark.Short)) !== 0) {
        deficits ??= [];
        deficits.push(need);
      }
    }
    if (unsettledCount > 0) this.#unsettled.add(cluster);
    else this.#unsettled.delete(cluster);
    if (deficits === undefined) this.unmet.delete(cluster);
    else this.unmet.set(cluster, deficits);
  }

  /** Whether a machine that became available would be walked by this need before it stops. */
  #wantsFresh(cluster: ClusterState, index: number): boolean {
    const { fresh } = cluster;
    if (fresh.length === 0) return false;
    const need = cluster.needStart + index;
    const needs = this.#needs;
    const filter = this.#filters.get(needs.filter[need]!);
    const { familyOf } = this.#fleet.families;
    const deficit = (needs.marks[need]! & Mark.Deficit) !== 0;
    if (!deficit && needs.lastTaken[need] === 0) return false; // wants nothing
    // Most needs are covered by their own machines: then only one more of those can come before the last one.
    const ownOnly = !deficit && needs.lastPart[need]! <= WalkPart.OwnCreating;
    const { stamp } = this.#fleet;
    for (const slot of fresh) {
      if (ownOnly && stamp[slot] !== needs.stamp[need] && stamp[slot] !== needs.plainStamp[need]) continue;
      if (!this.#claims.isAvailable(slot, index) || this.#fleet.claim[slot] === index + 1) continue;
      if (filter.eligible[familyOf[this.#fleet.shape[slot]!]!] !== 1) continue;
      const part = this.#partOf(need, slot);
      if (part < 0) continue;
      if (deficit || this.#comesBeforeLast(need, slot, part)) return true;
    }
    return false;
  }

  /** Part of the need's walk in which it meets the machine; -1 = never. */
  #partOf(need: number, slot: number): number {
    const role = this.#fleet.role[slot]!;
    if (role !== Role.Configured && this.#fleet.isStuck(slot)) return -1;
    const stamp = this.#fleet.stamp[slot]!;
    const needs = this.#needs;
    const own = stamp !== 0 && (stamp === needs.stamp[need] || stamp === needs.plainStamp[need]);
    if (role === Role.Configured) return own ? WalkPart.OwnConfigured : WalkPart.Configured;
    if (role === Role.Configuring) return own ? WalkPart.OwnConfiguring : WalkPart.Configuring;
    return own && role === Role.Creating ? WalkPart.OwnCreating : -1;
  }

  #comesBeforeLast(need: number, slot: number, part: number): boolean {
    const lastPart = this.#needs.lastPart[need]!;
    if (part !== lastPart) return part < lastPart;
    return this.#fleet.compareKeep(slot, this.#needs.lastTaken[need]!) < 0;
  }

  #evaluatePlain(cluster: ClusterState, index: number): void {
    const needs = this.#needs;
    const need = cluster.needStart + index;
    this.evaluatedCount++;
    this.#claims.beginWalk();
    needs.lastTaken[need] = 0;
    let left = needs.fillRemaining(need, this.#fleet.inventory.shapes.vectors);
    const filter = this.#filters.get(needs.filter[need]!);
    if (left > 0) left = this.#walkOwn(cluster, index, filter, left);
    if (left > 0) left = this.#walkLanes(cluster, index, filter, left, WalkPart.Configured);
    if (left > 0) left = this.#walkLanes(cluster, index, filter, left, WalkPart.Configuring);
    this.#claims.endWalk(cluster, index);
    needs.creditCount[need] = needs.claimCount[need]!;
    needs.marks[need] = left > 0 ? Mark.Deficit : 0;
    if (needs.kind[need] === NeedKind.Fold) this.#countGangs(need);
  }

  #countGangs(need: number): void {
    const needs = this.#needs;
    const { families, shape, nextClaim } = this.#fleet;
    const aggregate = needs.aggregate[need]!;
    let gangs = 0;
    for (let slot = needs.firstClaim[need]!; slot !== 0; slot = nextClaim[slot]!) {
      gangs += families.gangsPerMachine(families.familyOf[shape[slot]!]!, aggregate);
    }
    needs.gangsHeld[need] = gangs;
    if (gangs < needs.multiplier[need]! && aggregate !== 0) needs.marks[need]! |= Mark.Short;
  }

  /** The machines stamped for this very need; a fold has two stamps, whose lists are walked as one. */
  #walkOwn(cluster: ClusterState, index: number, filter: Filter, wanted: number): number {
    const { stamped, stamps, role } = this.#fleet;
    const need = cluster.needStart + index;
    const listA = stamps.list[this.#needs.stamp[need]!]!;
    const listB = stamps.list[this.#needs.plainStamp[need]!]!;
    let atA = listA === 0 ? 0 : stamped.first(listA);
    let atB = listB === 0 ? 0 : stamped.first(listB);
    let left = wanted;
    while (left > 0 && (atA !== 0 || atB !== 0)) {
      const fromB =
        atA === 0 || (atB !== 0 && this.#fleet.compareStamped(stamped.slotAt(atB), stamped.slotAt(atA)) < 0);
      const slot = stamped.slotAt(fromB ? atB : atA);
      if (fromB) atB = stamped.next(atB);
      else atA = stamped.next(atA);
      left = this.#offer(cluster, index, filter, slot, Role.Configured - role[slot]!, left);
    }
    return left;
  }

  /** The cluster's other machines of one state: the heads of the matching families' lists, merged. */
  #walkLanes(cluster: ClusterState, index: number, filter: Filter, wanted: number, part: number): number {
    const { keep, compareKeep } = this.#fleet;
    const lanesAt = this.#laneAt;
    const laneSlot = this.#laneSlot;
    let laneCount = 0;
    for (const lane of cluster.lanes) {
      const list = part === WalkPart.Configured ? lane.configured : lane.configuring;
      if (list === 0 || filter.eligible[lane.family] !== 1) continue;
      const at = keep.seek(keep.first(list), index + 1);
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
      const next = keep.seek(keep.next(lanesAt[best]!), index + 1);
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
    const after = this.#needs.subtract(need, families, family, this.#fleet.inventory.shapes.vectors);
    if (after < 0) return left; // has nothing of what remains
    this.#claims.hold(cluster, index, slot);
    this.#needs.lastTaken[need] = slot;
    this.#needs.lastPart[need] = part;
    return after;
  }

  #pushWaiting(cluster: ClusterState, need: number): void {
    const { compare } = this.#order;
    const heap = this.#waitingNeed;
    let at = heap.length;
    heap.push(need);
    this.#waiting.push(cluster);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (compare(need, heap[parent]!) >= 0) break;
      heap[at] = heap[parent]!;
      this.#waiting[at] = this.#waiting[parent]!;
      at = parent;
    }
    heap[at] = need;
    this.#waiting[at] = cluster;
  }

  #popWaiting(): ClusterState {
    const { compare } = this.#order;
    const heap = this.#waitingNeed;
    const first = this.#waiting[0]!;
    const need = heap.pop()!;
    const cluster = this.#waiting.pop()!;
    const count = heap.length;
    if (count === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= count) break;
      if (child + 1 < count && compare(heap[child + 1]!, heap[child]!) < 0) child++;
      if (compare(need, heap[child]!) <= 0) break;
      heap[at] = heap[child]!;
      this.#waiting[at] = this.#waiting[child]!;
      at = child;
    }
    heap[at] = need;
    this.#waiting[at] = cluster;
    return first;
  }
}
