/**
 * The machines that phase 2 may take (P1), in lists of one family, tier, priority and pair of penalties, each in id order.
 * A list has one score for a preemptor (P2). So a need looks only at the lists of the families that its filter admits: a
 * scan merges their heads by tier, score and id. The lists of a family are sorted by tier, then priority, so a scan stops
 * at the first priority that the need may not take.
 *
 * The lists follow the claims with a delay: machines whose claim changes in every cycle would move in every cycle, and
 * most cycles preempt nothing. They are up to date once `settle` has run.
 */

import { BUCKET_DOLLARS } from '../../machine/penalty.ts';
import type { EngineNeeds } from '../demand/engine-needs.ts';
import type { EngineTables } from '../engine-tables.ts';
import type { Filter } from '../supply/filters.ts';
import { type Fleet, Role } from '../supply/fleet.ts';

export interface PreemptionWeights {
  readonly gap: number;
  readonly drain: number;
  readonly interruption: number;
  readonly reclamation: number;
}

export const DEFAULT_WEIGHTS: PreemptionWeights = {
  gap: 1.0,
  drain: 0.1,
  interruption: 0.1,
  reclamation: 0.1,
};

/** Takes about a quarter of a millisecond. */
const SETTLED_PER_CYCLE = 64;
/** A cycle of the largest churn moves about a thousand machines; with more, to search again costs less than to compare. */
const GAINED_MAX = 4096;
const DRAIN_SECONDS = 30;
const PENALTY_FLOOR_USD = 0.01;

/** P1: whose machines are taken first. */
export const Tier = {
  /** X3: machines whose action waits for its turn, so that nothing is drained: without a need, or with one of lower priority. */
  UnclaimedWaiting: 0,
  ClaimedWaiting: 1,
  /** Configured machines, the same. */
  Unclaimed: 2,
  Claimed: 3,
} as const;
export type Tier = (typeof Tier)[keyof typeof Tier];

function isClaimed(tier: Tier): boolean {
  return tier === Tier.ClaimedWaiting || tier === Tier.Claimed;
}

interface VictimList {
  readonly tier: Tier;
  readonly priority: number;
  readonly interruptionPenalty: number;
  readonly reclamationPenalty: number;
  /** In fleet.byId. */
  readonly id: number;
  /** In the current scan: the score for its preemptor, and the first machine that it has not returned. */
  score: number;
  at: number;
  slot: number;
}

const NO_SLOTS: readonly number[] = [];

export class VictimLists {
  readonly #fleet: Fleet;
  readonly #needs: EngineNeeds;
  readonly #weights: PreemptionWeights;
  /** By family, sorted by tier, priority and penalties. */
  readonly #ofFamily: (VictimList[] | undefined)[] = [];
  /** The lists of the current scan: a heap with the best victim at the top. */
  readonly #heap: VictimList[] = [];
  #heapCount = 0;
  /** By family: machines that joined a list in this cycle, or were read again. */
  readonly #gained: (number[] | undefined)[] = [];
  readonly #gainedFamilies: number[] = [];
  #gainedCount = 0;
  /** Tier of the machine that `next` returned. */
  tier: Tier = Tier.Claimed;

  constructor({ fleet, needs }: EngineTables, weights: PreemptionWeights) {
    this.#fleet = fleet;
    this.#needs = needs;
    this.#weights = weights;
  }

  /** Families are about to be rebuilt: drops the lists. */
  regroup(): void {
    for (const lists of this.#ofFamily) for (const { id } of lists ?? []) this.#fleet.byId.drop(id);
    this.#ofFamily.length = 0;
  }

  /**
   * Begins a cycle. Machines whose claim changed move to their lists when a need looks for a victim; until then a few do in
   * each cycle, so that few are left when it matters. None do if a large part of the fleet changed: after a start the
   * shard waits for the first decision, and later cycles have time.
   */
  beginCycle(largePartChanged: boolean): void {
    for (const family of this.#gainedFamilies) this.#gained[family]!.length = 0;
    this.#gainedFamilies.length = 0;
    this.#gainedCount = 0;
    if (!largePartChanged) this.#fleet.victims.take(SETTLED_PER_CYCLE, this.#place);
  }

  settle(): void {
    this.#fleet.victims.take(Number.POSITIVE_INFINITY, this.#place);
  }

  /** Whether too many machines joined lists in this cycle to look at each. */
  get hasGainedMany(): boolean {
    return this.#gainedCount > GAINED_MAX;
  }

  /** The machines of a family that may be victims in this cycle and were not before, or were read again. */
  gainedOf(family: number): readonly number[] {
    return this.#gained[family] ?? NO_SLOTS;
  }

  /** P1: whether a need of this priority may take the machine, which is on a list. */
  mayTake(slot: number, priority: number): boolean {
    return this.#fleet.claim[slot] === 0 || this.priorityOf(slot) < priority;
  }

  /** Priority of the need that claims the machine, else of its assignment. */
  priorityOf(slot: number): number {
    const claim = this.#fleet.claim[slot]!;
    if (claim === 0) return this.#fleet.inventory.columns.priority[slot]!;
    return this.#needs.priority[this.#fleet.clusterState(this.#fleet.cluster[slot]!).needStart + claim - 1]!;
  }

  /** Begins a scan over the machines that a need of this priority may take, the best first. */
  open(filter: Filter, priority: number): void {
    const { byId } = this.#fleet;
    this.#heapCount = 0;
    for (let index = 0; index < filter.families.length; index++) {
      const lists = this.#ofFamily[filter.families[index]!];
      if (lists === undefined) continue;
      for (let place = 0; place < lists.length; place++) {
        const list = lists[place]!;
        if (isClaimed(list.tier) && list.priority >= priority) {
          if (list.tier === Tier.Claimed) break; // and so for all that follow
          continue;
        }
        list.at = byId.first(list.id);
        if (list.at === 0) continue;
        list.slot = byId.slotAt(list.at);
        list.score = this.#score(priority, list);
        this.#heap[this.#heapCount++] = list;
      }
    }
    for (let place = (this.#heapCount >>> 1) - 1; place >= 0; place--) this.#sink(place);
  }

  /** The best machine that the scan has not returned; 0 at the end. */
  next(): number {
    if (this.#heapCount === 0) return 0;
    const { byId } = this.#fleet;
    const best = this.#heap[0]!;
    const { slot } = best;
    this.tier = best.tier;
    best.at = byId.next(best.at);
    if (best.at !== 0) best.slot = byId.slotAt(best.at);
    else this.#heap[0] = this.#heap[--this.#heapCount]!;
    this.#sink(0);
    return slot;
  }

  #sink(from: number): void {
    const heap = this.#heap;
    const count = this.#heapCount;
    const sunk = heap[from]!;
    let place = from;
    for (let child = 2 * place + 1; child < count; child = 2 * place + 1) {
      if (child + 1 < count && this.#precedes(heap[child + 1]!, heap[child]!)) child++;
      if (!this.#precedes(heap[child]!, sunk)) break;
      heap[place] = heap[child]!;
      place = child;
    }
    heap[place] = sunk;
  }

  /** P2: the best score of the tier first, then the smaller id. */
  #precedes(a: VictimList, b: VictimList): boolean {
    if (a.tier !== b.tier) return a.tier < b.tier;
    if (a.score !== b.score) return a.score > b.score;
    const { idRank } = this.#fleet.inventory.columns;
    return idRank[a.slot]! < idRank[b.slot]!;
  }

  /** P2, added from left to right. */
  #score(priority: number, list: VictimList): number {
    const { gap, drain, interruption, reclamation } = this.#weights;
    const interruptionUsd = Math.max(PENALTY_FLOOR_USD, BUCKET_DOLLARS[list.interruptionPenalty]!);
    const reclamationUsd = Math.max(PENALTY_FLOOR_USD, BUCKET_DOLLARS[list.reclamationPenalty]!);
    return (
      (priority - list.priority) * gap +
      (1 / Math.max(1, DRAIN_SECONDS)) * drain +
      (1 / interruptionUsd) * interruption +
      (1 / reclamationUsd) * reclamation
    );
  }

  readonly #place = (slot: number, wasRead: boolean): void => {
    const { byId, role, shape, families } = this.#fleet;
    if (role[slot] === Role.Creating && this.#fleet.isOrphan(slot)) return; // it is on the orphans' list
    const mayGo = role[slot] === Role.Configured || this.#fleet.isWaiting(slot);
    if (!mayGo || this.#fleet.inBackoff(slot)) {
      byId.remove(slot);
      return;
    }
    const family = families.familyOf[shape[slot]!]!;
    const list = this.#listFor(family, slot);
    if (byId.listOf(slot) !== list) {
      byId.remove(slot);
      byId.add(list, slot);
    } else if (!wasRead) return; // its claim changed and changed back
    this.#gain(family, slot);
  };

  #gain(family: number, slot: number): void {
    if (++this.#gainedCount > GAINED_MAX) return;
    let gained = this.#gained[family];
    if (gained === undefined) {
      gained = [];
      this.#gained[family] = gained;
    }
    if (gained.length === 0) this.#gainedFamilies.push(family);
    gained.push(slot);
  }

  /** The list on which the machine belongs, as its id in fleet.byId. */
  #listFor(family: number, slot: number): number {
    const { columns } = this.#fleet.inventory;
    const isOfNeed = this.#fleet.claim[slot] !== 0;
    let tier: Tier = isOfNeed ? Tier.Claimed : Tier.Unclaimed;
    if (this.#fleet.isWaiting(slot)) tier = isOfNeed ? Tier.ClaimedWaiting : Tier.UnclaimedWaiting;
    const priority = this.priorityOf(slot);
    const interruption = columns.interruptionPenalty[slot]!;
    const reclamation = columns.reclamationPenalty[slot]!;
    const lists = this.#ofFamily[family] ?? [];
    let low = 0;
    for (let high = lists.length; low < high; ) {
      const middle = (low + high) >>> 1;
      const list = lists[middle]!;
      const order =
        list.tier - tier ||
        list.priority - priority ||
        list.interruptionPenalty - interruption ||
        list.reclamationPenalty - reclamation;
      if (order === 0) return list.id;
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return this.#create(family, lists, low, tier, priority, interruption, reclamation);
  }

  /** A new list at this place; the family's empty lists go. */
  #create(
    family: number,
    lists: readonly VictimList[],
    place: number,
    tier: Tier,
    priority: number,
    interruptionPenalty: number,
    reclamationPenalty: number,
  ): number {
    const { byId } = this.#fleet;
    const id = byId.create();
    const list = { tier, priority, interruptionPenalty, reclamationPenalty, id, score: 0, at: 0, slot: 0 };
    this.#ofFamily[family] = lists.toSpliced(place, 0, list).filter((other) => {
      if (other === list || byId.length(other.id) > 0) return true;
      byId.drop(other.id);
      return false;
    });
    return id;
  }
}
