/**
 * The machines that phase 2 may take (P1), in lists of one family, tier, priority and pair of penalties, each in id order.
 * A list has one score for a preemptor (P2). So a need looks only at the lists of the families that its filter admits: a
 * scan merges their heads by tier, score and id. The lists of a family are sorted by tier, then priority, so a scan stops
 * at the first priority that the need may not take.
 *
 * The lists follow the claims with a delay: machines whose claim changes in every cycle would move in every cycle, and
 * most cycles preempt nothing. They are up to date once `settle` has run.
 */

import { NOT_PREEMPTED } from '../../inventory/intent.ts';
import { BUCKET_DOLLARS } from '../../machine/penalty.ts';
import type { EngineNeeds } from '../demand/engine-needs.ts';
import type { EngineTables } from '../engine-tables.ts';
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

/** A family with fewer lists than this keeps the empty ones. */
const LISTS_KEPT = 32;
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
  /** The first machine that no need has taken in this cycle, valid if `freeIn` is the current round. */
  freeAt: number;
  freeIn: number;
}

interface FamilyLists {
  /** Sorted by tier, priority and penalties. */
  readonly lists: VictimList[];
  /** So many lists may exist before the empty ones go: twice those that were left the last time. */
  countMax: number;
}

const NO_SLOTS: readonly number[] = [];

export class VictimLists {
  readonly #fleet: Fleet;
  readonly #needs: EngineNeeds;
  readonly #weights: PreemptionWeights;
  readonly #ofFamily: (FamilyLists | undefined)[] = [];
  /** The lists of the current scan: a heap with the best victim at the top. */
  readonly #heap: VictimList[] = [];
  #heapCount = 0;
  /** By family: machines that joined a list in this cycle, or were read again. */
  readonly #gained: (number[] | undefined)[] = [];
  readonly #gainedFamilies: number[] = [];
  #gainedCount = 0;
  /** Whether the scan still stands at the machine that `next` returned, and whether it is to leave that machine's list. */
  #isAtHead = false;
  #leavesList = false;
  /** Changes when a machine that was taken may be free again. */
  #round = 0;
  /** Whether the current scan left out machines at the head of a list, which other needs have taken in this cycle. */
  hasLeftOutTaken = false;

  constructor({ fleet, needs }: EngineTables, weights: PreemptionWeights) {
    this.#fleet = fleet;
    this.#needs = needs;
    this.#weights = weights;
  }

  /** Families are about to be rebuilt: drops the lists. */
  regroup(): void {
    for (const family of this.#ofFamily) for (const { id } of family?.lists ?? []) this.#fleet.byId.drop(id);
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
    this.#round++;
    if (!largePartChanged) this.#fleet.victims.takeSome(this.#place);
  }

  /** Machines that were taken are free again. */
  giveBack(): void {
    this.#round++;
  }

  settle(): void {
    this.#fleet.victims.takeAll(this.#place);
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
    return this.#fleet.claimant(slot) < 0 || this.priorityOf(slot) < priority;
  }

  /** Priority of the need that claims the machine, else of its assignment. */
  priorityOf(slot: number): number {
    const need = this.#fleet.claimant(slot);
    return need < 0 ? this.#fleet.inventory.columns.priority[slot]! : this.#needs.priority[need]!;
  }

  /** Begins a scan over the machines of these families that a need of this priority may take, the best first, without those that `isTaken` says at the heads of lists. */
  open(families: readonly number[], priority: number, isTaken: Uint8Array): void {
    const { byId } = this.#fleet;
    this.#heapCount = 0;
    this.#isAtHead = this.#leavesList = this.hasLeftOutTaken = false;
    for (let index = 0; index < families.length; index++) {
      const lists = this.#ofFamily[families[index]!]?.lists;
      if (lists === undefined) continue;
      for (let place = 0; place < lists.length; place++) {
        const list = lists[place]!;
        if (isClaimed(list.tier) && list.priority >= priority) {
          if (list.tier === Tier.Claimed) break; // and so for all that follow
          continue;
        }
        const first = byId.first(list.id);
        list.at = this.#firstFree(list, first, isTaken);
        if (list.at !== first) this.hasLeftOutTaken = true;
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
    if (this.#isAtHead) this.#leaveHead();
    if (this.#heapCount === 0) return 0;
    const best = this.#heap[0]!;
    this.#isAtHead = true;
    return best.slot;
  }

  /** The machine that `next` returned has nothing to give, nor has any other of its list: they are of one family. */
  leaveList(): void {
    this.#leavesList = true;
  }

  #leaveHead(): void {
    const { byId } = this.#fleet;
    const best = this.#heap[0]!;
    best.at = this.#leavesList ? 0 : byId.next(best.at);
    if (best.at !== 0) best.slot = byId.slotAt(best.at);
    else this.#heap[0] = this.#heap[--this.#heapCount]!;
    this.#isAtHead = this.#leavesList = false;
    if (this.#heapCount > 0) this.#sink(0);
  }

  /** Needs take machines from the heads of lists. Without this each need would pass those of all needs before it. */
  #firstFree(list: VictimList, first: number, isTaken: Uint8Array): number {
    const { byId } = this.#fleet;
    let at = list.freeIn === this.#round ? list.freeAt : first;
    while (at !== 0 && isTaken[byId.slotAt(at)] === 1) at = byId.next(at);
    list.freeAt = at;
    list.freeIn = this.#round;
    return at;
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
    const isConfigured =
      role[slot] === Role.Configured || (role[slot] === Role.Leaving && !this.#fleet.goesNow(slot));
    const mayGo = (isConfigured && this.#mayLose(slot)) || this.#fleet.isWaiting(slot);
    if (!mayGo || this.#fleet.isBarred(slot, NOT_PREEMPTED)) {
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

  /** N6: an unclaimed machine stays until its cluster has reported. */
  #mayLose(slot: number): boolean {
    return this.#fleet.claimant(slot) >= 0 || this.#fleet.clusterState(this.#fleet.cluster[slot]!).isPastGate;
  }

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
    const isOfNeed = this.#fleet.claimant(slot) >= 0;
    let tier: Tier = isOfNeed ? Tier.Claimed : Tier.Unclaimed;
    if (this.#fleet.isWaiting(slot)) tier = isOfNeed ? Tier.ClaimedWaiting : Tier.UnclaimedWaiting;
    const priority = this.priorityOf(slot);
    const interruption = columns.interruptionPenalty[slot]!;
    const reclamation = columns.reclamationPenalty[slot]!;
    let ofFamily = this.#ofFamily[family];
    if (ofFamily === undefined) {
      ofFamily = { lists: [], countMax: LISTS_KEPT };
      this.#ofFamily[family] = ofFamily;
    }
    const { lists } = ofFamily;
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
    const id = this.#fleet.byId.create();
    lists.splice(low, 0, {
      tier,
      priority,
      interruptionPenalty: interruption,
      reclamationPenalty: reclamation,
      id,
      score: 0,
      at: 0,
      slot: 0,
      freeAt: 0,
      freeIn: -1,
    });
    if (lists.length > ofFamily.countMax) this.#dropEmpty(ofFamily, id);
    return id;
  }

  /** Claims that change leave empty lists behind. The list that is about to get a machine stays. */
  #dropEmpty(family: FamilyLists, idKept: number): void {
    const { byId } = this.#fleet;
    const { lists } = family;
    let kept = 0;
    for (const list of lists) {
      if (list.id === idKept || byId.length(list.id) > 0) lists[kept++] = list;
      else byId.drop(list.id);
    }
    lists.length = kept;
    family.countMax = Math.max(LISTS_KEPT, 2 * kept);
  }
}
