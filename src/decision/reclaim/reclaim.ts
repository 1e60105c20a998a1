/**
 * Phase 3: drains Configured machines that no need claims (R1), and deletes machines that have been Idle for longer than
 * their hold (R3). Idle machines wait in a heap, the longest Idle first, so that a quiet cycle reads one entry.
 */
import { TimeHeap } from '../../base/time-heap.ts';
import { Flag, NOT_RELEASED } from '../../inventory/intent.ts';
import { CapacityType, isReleasable } from '../../machine/capacity-type.ts';
import { ActionKind, type ActionList } from '../actions.ts';
import type { ClusterState } from '../cluster-state.ts';
import type { EngineTables } from '../engine-tables.ts';
import type { Preemption } from '../preempt/preempt.ts';
import type { Restrictions } from '../restrictions.ts';
import { type Fleet, Role } from '../supply/fleet.ts';
import type { Supply } from '../supply/supply.ts';

const RECLAIM_GRACE_SECONDS = 600;

export interface IdleHolds {
  readonly onDemandMs: number;
  readonly spotMs: number;
}

export class Reclamation {
  readonly #fleet: Fleet;
  readonly #supply: Supply;
  readonly #restrictions: Restrictions;
  readonly #preemption: Preemption;
  /** By capacity type: Idle slots, the longest Idle first. */
  readonly #waiting = new Map<number, TimeHeap>([
    [CapacityType.OnDemand, new TimeHeap()],
    [CapacityType.Spot, new TimeHeap()],
  ]);
  /** Idle machines whose hold is over. They stay here until their Delete, or a need's action, is enqueued. */
  readonly #overdue = new Set<number>();
  readonly #found: number[] = [];

  constructor({ fleet, supply, restrictions }: EngineTables, preemption: Preemption) {
    this.#fleet = fleet;
    this.#supply = supply;
    this.#restrictions = restrictions;
    this.#preemption = preemption;
  }

  /** X3: emits Withdraws, by id, for actions that wait although no need claims their machines any more. */
  withdraw(actions: ActionList): void {
    const { unclaimedWaiting, cluster, inventory } = this.#fleet;
    if (unclaimedWaiting.size === 0) return;
    const { idRank } = inventory.columns;
    const slots = [...unclaimedWaiting].filter((slot) => !this.#preemption.isVictim(slot));
    slots.sort((a, b) => idRank[a]! - idRank[b]!);
    for (const slot of slots) actions.add(ActionKind.Withdraw, slot, cluster[slot]!, 0);
  }

  /** R1: emits Reclaims by cluster id, then in keep order. The rails cap them after the decision (R2). */
  reclaim(clusters: readonly ClusterState[], actions: ActionList): void {
    for (const cluster of clusters) {
      if (cluster.configuredCount === cluster.claimedConfiguredCount) continue; // leaving ones count as unclaimed here
      if (!this.#restrictions.isPastGate(cluster.ref) || this.#restrictions.isSuspended(cluster.ref))
        continue;
      const found = this.#found;
      found.length = 0;
      this.#collectUnclaimed(cluster, found);
      found.sort(this.#fleet.compareKeep);
      for (const slot of found) actions.add(ActionKind.Reclaim, slot, cluster.ref, RECLAIM_GRACE_SECONDS);
    }
  }

  #collectUnclaimed(cluster: ClusterState, found: number[]): void {
    const { keep } = this.#fleet;
    const { familyLists } = cluster;
    for (let familyList = 0; familyList < familyLists.count; familyList++) {
      const configured = familyLists.configured(familyList);
      if (configured === 0) continue;
      let at = keep.seekUnclaimed(keep.first(configured));
      for (; at !== 0; at = keep.seekUnclaimed(keep.next(at))) {
        const slot = keep.slotAt(at);
        if (this.#mayReclaim(slot)) found.push(slot);
      }
    }
    for (const slot of cluster.apart)
      if (this.#fleet.claimant(slot) < 0 && this.#mayReclaim(slot)) found.push(slot);
  }

  #mayReclaim(slot: number): boolean {
    return !this.#preemption.isVictim(slot) && !this.#fleet.isBarred(slot, Flag.NotReclaimed);
  }

  /** R3: emits Deletes by id. */
  release(nowMs: number, holds: IdleHolds, actions: ActionList): void {
    this.#queueNewlyIdle();
    this.#ripen(CapacityType.OnDemand, nowMs - holds.onDemandMs);
    this.#ripen(CapacityType.Spot, nowMs - holds.spotMs);
    const { role, inventory } = this.#fleet;
    const { columns } = inventory;
    const { capacityType, idRank } = columns;
    const found = this.#found;
    found.length = 0;
    for (const slot of this.#overdue) {
      const holdMs = capacityType[slot] === CapacityType.OnDemand ? holds.onDemandMs : holds.spotMs;
      if (this.#isReleasing(slot)) {
        if (!this.#fleet.isBarred(slot, Flag.NotReleased)) found.push(slot);
      } else if (role[slot] !== Role.Idle || !isReleasable(capacityType[slot]!)) this.#overdue.delete(slot);
      else if (nowMs - columns.stateSinceMsOf(slot) <= holdMs) {
        this.#overdue.delete(slot);
        this.#waiting.get(capacityType[slot]!)!.push(slot, columns.stateSinceMsOf(slot));
      } else if (this.#supply.takenBy[slot] === 0 && !this.#fleet.isBarred(slot, NOT_RELEASED))
        found.push(slot);
    }
    found.sort((a, b) => idRank[a]! - idRank[b]!);
    for (const slot of found) actions.add(ActionKind.Delete, slot, 0, 0);
  }

  #queueNewlyIdle(): void {
    const { newlyIdle, inventory } = this.#fleet;
    const { columns } = inventory;
    for (let index = 0; index < newlyIdle.count; index++) {
      const slot = newlyIdle.slots[index]!;
      if (this.#isReleasing(slot)) this.#overdue.add(slot);
      else this.#waiting.get(columns.capacityType[slot]!)?.push(slot, columns.stateSinceMsOf(slot));
    }
    newlyIdle.clear();
  }

  /** A person gives it back: it has no hold, whatever its capacity type. */
  #isReleasing(slot: number): boolean {
    const { role, inventory } = this.#fleet;
    return role[slot] === Role.Idle && (inventory.columns.flags[slot]! & Flag.Releasing) !== 0;
  }

  /** Moves machines that have been Idle since before `untilMs` to the overdue ones; `release` drops stale entries. */
  #ripen(capacityType: number, untilMs: number): void {
    const heap = this.#waiting.get(capacityType)!;
    while (heap.firstTimeMs < untilMs) this.#overdue.add(heap.pop());
  }
}
