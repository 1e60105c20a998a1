/**
 * Phase 2 (P1–P4) drains machines of lower priority for the deficits that phase 1 left and that no drain covers yet
 * (draining-credit.ts). A need takes the best victims of the lists that it may take from (victim-lists.ts). A need that
 * found none does not search again until a change may help it (vain-searches.ts).
 */

import type { VectorTable } from '../../base/vectors.ts';
import { ActionKind, type ActionList, actionNeed, Victim } from '../actions.ts';
import type { LeavingMachines } from '../assign/leaving.ts';
import type { Spreading } from '../assign/spread.ts';
import { UnmetNeeds } from '../assign/unmet.ts';
import { columnU8 } from '../columns/columns.ts';
import { type EngineNeeds, NeedKind } from '../demand/engine-needs.ts';
import type { CurrentCycle, EngineTables } from '../engine-tables.ts';
import { type ClusterUsage, isOfCluster, Limit, type Limits } from '../limits.ts';
import type { Restrictions } from '../restrictions.ts';
import type { Fleet } from '../supply/fleet.ts';
import { DrainingCredit, subtractSlot } from './draining-credit.ts';
import { Matching } from './matching.ts';
import { VainSearches } from './vain-searches.ts';
import { DEFAULT_WEIGHTS, type PreemptionWeights, VictimLists } from './victim-lists.ts';

export class Preemption {
  readonly #cycle: CurrentCycle;
  readonly #fleet: Fleet;
  readonly #vectors: VectorTable;
  readonly #needs: EngineNeeds;
  readonly #restrictions: Restrictions;
  readonly #limits: Limits;
  readonly #matching: Matching;
  readonly #drainingCredit: DrainingCredit;
  readonly #lists: VictimLists;
  readonly #vainSearches: VainSearches;
  /** By slot: taken as a victim in this cycle. */
  readonly #isVictim: Uint8Array;
  readonly #victims: number[] = [];
  /** By cluster with limits: the lowest priority of its machines in this cycle. */
  readonly #lowest = new Map<number, number>();
  /** Whether a search left out a machine that suits its need for a reason that may pass while the lists stay. */
  #hasLeftOut = false;

  constructor(tables: EngineTables, leaving: LeavingMachines, weights: PreemptionWeights = DEFAULT_WEIGHTS) {
    this.#cycle = tables.cycle;
    this.#fleet = tables.fleet;
    this.#vectors = tables.vectors;
    this.#needs = tables.needs;
    this.#restrictions = tables.restrictions;
    this.#limits = tables.limits;
    this.#matching = new Matching(tables);
    this.#drainingCredit = new DrainingCredit(tables, this.#matching, leaving);
    this.#lists = new VictimLists(tables, weights);
    this.#vainSearches = new VainSearches(tables, this.#lists, this.#matching);
    this.#isVictim = columnU8(tables.fleet.role.length);
  }

  isVictim(slot: number): boolean {
    return this.#isVictim[slot] === 1;
  }

  /** Families are about to be rebuilt. */
  regroup(): void {
    this.#lists.regroup();
    this.#vainSearches.regroup();
  }

  /** Begins a cycle after credit. */
  beginCycle(largePartChanged: boolean): void {
    for (const slot of this.#victims) this.#isVictim[slot] = 0;
    this.#victims.length = 0;
    this.#lowest.clear();
    this.#lists.beginCycle(largePartChanged);
    this.#vainSearches.beginCycle();
  }

  run(unmet: UnmetNeeds, actions: ActionList): void {
    this.#drainingCredit.countOwn(unmet);
    for (let entry = 0; entry < unmet.count; entry++) {
      const need = unmet.need[entry]!;
      const aggregate = this.#needs.aggregate[need]!;
      if (UnmetNeeds.left(unmet.missing, entry * unmet.width, this.#vectors, aggregate) === 0) continue;
      this.#cycle.need = need;
      if (this.#cannotBeHelped(unmet, entry)) continue;
      if (this.#drainingCredit.isBarred(need)) continue;
      this.#cycle.probe?.('preempt', this.#needs.cluster[need]!);
      const left = this.#drainingCredit.countPool(unmet, entry);
      if (left > 0) this.#chooseVictims(unmet, entry, left, actions);
    }
  }

  /** Whether phase 2 did nothing for the need in the last cycle, and nothing has changed that could help it. */
  #cannotBeHelped(unmet: UnmetNeeds, entry: number): boolean {
    const need = unmet.need[entry]!;
    if (this.#drainingCredit.hasPoolFor(need)) return false;
    // T8: what a limit bars depends on all machines of the cluster.
    if (this.#limits.ownUsageOf(this.#needs.cluster[need]!) !== null) return false;
    return this.#vainSearches.isStillVain(unmet, entry);
  }

  #chooseVictims(unmet: UnmetNeeds, entry: number, wanted: number, actions: ActionList): void {
    const need = unmet.need[entry]!;
    const isGang = this.#needs.kind[need] === NeedKind.Gang;
    if (isGang && this.#needs.domain[need] === 0) return;
    const usage = this.#limits.ownUsageOf(this.#needs.cluster[need]!);
    if (usage?.hasAllMachines && this.#lowestOf(usage) >= this.#needs.priority[need]!) {
      // T8: every victim would be one more machine, except those of the cluster itself, which the need may not take.
      if (unmet.limitedBy[entry] === Limit.None) unmet.limitedBy[entry] = Limit.Machines;
      return;
    }
    if (usage !== null && !isGang && this.#vainSearches.isStillVain(unmet, entry)) {
      // T8: no machine suits the need, so a limit can only leave no room. What it leaves depends on the whole cluster.
      if (unmet.limitedBy[entry] === Limit.None)
        unmet.limitedBy[entry] = this.#exhausted(unmet, entry, usage);
      return;
    }
    this.#lists.settle();
    this.#hasLeftOut = false;
    const row = entry * unmet.width;
    const before = isGang ? unmet.missing.slice(row, row + unmet.width) : null;
    const first = this.#victims.length;
    const spreading = unmet.spreading.get(entry);
    const usageBefore = usage !== null && isGang ? usage.save() : null;
    let left = wanted;
    if (spreading === undefined) left = this.#sweep(unmet, entry, left, undefined, usage);
    else {
      // Each victim changes which domains the spread allows, so each sweep starts again with the best.
      for (let count = -1; left > 0 && count !== this.#victims.length; ) {
        count = this.#victims.length;
        left = this.#sweep(unmet, entry, left, spreading, usage);
      }
    }
    if (usage !== null && left > 0 && unmet.limitedBy[entry] === Limit.None)
      this.#noteLimit(unmet, entry, usage);
    if (before !== null && left > 0) {
      // P1: a gang preempts only if its victims complete it.
      for (const slot of this.#victims.splice(first)) this.#isVictim[slot] = 0;
      this.#lists.giveBack();
      unmet.missing.set(before, row);
      if (usageBefore !== null) usage!.restore(usageBefore);
    }
    unmet.victims[entry] = this.#victims.length - first;
    if (unmet.victims[entry]! > 0) this.#emit(need, first, actions);
    else if (!this.#hasLeftOut) this.#vainSearches.note(unmet, entry);
  }

  /** The lowest priority of the cluster's own machines in this cycle; without a need they have none. */
  #lowestOf(usage: ClusterUsage): number {
    let lowest = this.#lowest.get(usage.cluster);
    if (lowest === undefined) {
      lowest = Number.POSITIVE_INFINITY;
      for (const slot of this.#limits.machinesOf(usage.cluster)) {
        const isClaimed = this.#fleet.claim[slot] !== 0;
        lowest = Math.min(lowest, isClaimed ? this.#lists.priorityOf(slot) : Number.NEGATIVE_INFINITY);
      }
      this.#lowest.set(usage.cluster, lowest);
    }
    return lowest;
  }

  #emit(need: number, first: number, actions: ActionList): void {
    const { cluster } = this.#fleet;
    const served = actionNeed(this.#needs, this.#fleet.assignments, need);
    const ofGang = this.#needs.kind[need] === NeedKind.Gang ? Victim.OfGang : 0;
    for (let index = first; index < this.#victims.length; index++) {
      const slot = this.#victims[index]!;
      if (this.#fleet.isWaiting(slot)) {
        actions.add(ActionKind.Withdraw, slot, cluster[slot]!, 0, served);
        continue;
      }
      const gap = this.#needs.priority[need]! - this.#lists.priorityOf(slot);
      const victim = (this.#fleet.claimant(slot) < 0 ? 0 : Victim.Claimed) | ofGang;
      actions.add(ActionKind.Preempt, slot, cluster[slot]!, graceSeconds(gap), served, victim);
    }
  }

  /** Takes victims, best first; with a spread, one. Returns the dimensions left. */
  #sweep(
    unmet: UnmetNeeds,
    entry: number,
    wanted: number,
    spreading: Spreading | undefined,
    usage: ClusterUsage | null,
  ): number {
    const need = unmet.need[entry]!;
    const filter = this.#matching.filterOf(need);
    const domains = this.#matching.domainsOf(need);
    const lists = this.#lists;
    let left = wanted;
    lists.open(this.#matching.familiesOf(need, filter, domains), this.#needs.priority[need]!, this.#isVictim);
    if (lists.hasLeftOutTaken) this.#hasLeftOut = true;
    for (let slot = lists.next(); slot !== 0; slot = lists.next()) {
      if (!this.#matching.suits(need, filter, domains, slot)) continue;
      const isBarred = usage !== null && this.#isBarred(unmet, entry, slot, usage);
      if (isBarred || !this.#isFree(slot, spreading)) {
        this.#hasLeftOut = true;
        continue;
      }
      const after = subtractSlot(unmet, entry, this.#fleet, this.#needs, this.#vectors, slot);
      if (after < 0) {
        lists.leaveList();
        continue;
      }
      left = after;
      this.#isVictim[slot] = 1;
      this.#victims.push(slot);
      usage?.take(slot);
      spreading?.countSlot(slot);
      if (left === 0 || spreading !== undefined) return left;
    }
    return left;
  }

  /** Whether a machine that suits a need may be its victim now: no other need took it, its cluster is not suspended, and the spread allows it. */
  #isFree(slot: number, spreading: Spreading | undefined): boolean {
    if (this.#isVictim[slot] === 1) return false;
    if (this.#restrictions.isSuspended(this.#fleet.cluster[slot]!)) return false;
    return spreading === undefined || spreading.allows(spreading.domains.ofSlot(slot));
  }

  /** T8. A gang that a limit barred in phase 1 may preempt machines of its own cluster only: they exceed no limit. */
  #isBarred(unmet: UnmetNeeds, entry: number, slot: number, usage: ClusterUsage): boolean {
    if (usage.barredBy(slot) !== Limit.None) return true;
    const isGang = this.#needs.kind[unmet.need[entry]!] === NeedKind.Gang;
    return isGang && isOfCluster(unmet.limitedBy[entry]!) && this.#fleet.cluster[slot] !== usage.cluster;
  }

  /** T8: notes the limit that keeps victims from a need: it bars the first that the need could use, or leaves no room. */
  #noteLimit(unmet: UnmetNeeds, entry: number, usage: ClusterUsage): void {
    const need = unmet.need[entry]!;
    const row = entry * unmet.width;
    const aggregate = this.#needs.aggregate[need]!;
    const filter = this.#matching.filterOf(need);
    const domains = this.#matching.domainsOf(need);
    const lists = this.#lists;
    lists.open(this.#matching.familiesOf(need, filter, domains), this.#needs.priority[need]!, this.#isVictim);
    for (let slot = lists.next(); slot !== 0; slot = lists.next()) {
      if (this.#isVictim[slot] === 1) continue;
      if (!this.#matching.suits(need, filter, domains, slot)) continue;
      if (!this.#isOfUse(unmet, row, aggregate, slot)) {
        lists.leaveList();
        continue;
      }
      const limit = usage.barredBy(slot);
      unmet.limitedBy[entry] = limit;
      if (limit !== Limit.None) return;
    }
    unmet.limitedBy[entry] = this.#exhausted(unmet, entry, usage);
  }

  #exhausted(unmet: UnmetNeeds, entry: number, usage: ClusterUsage): Limit {
    const aggregate = this.#needs.aggregate[unmet.need[entry]!]!;
    const row = entry * unmet.width;
    return usage.exhausted((dim) => UnmetNeeds.unitsOf(unmet.missing, row, this.#vectors, aggregate, dim));
  }

  #isOfUse(unmet: UnmetNeeds, row: number, aggregate: number, slot: number): boolean {
    const { families, shape } = this.#fleet;
    const { start, length, dims } = this.#vectors;
    const family = families.familyOf[shape[slot]!]!;
    for (let index = 0; index < length[aggregate]!; index++) {
      if (unmet.missing[row + index] === 0) continue;
      if (families.unitsOf(family, dims[start[aggregate]! + index]!) > 0) return true;
    }
    return false;
  }
}

/** P3: the more important the preemptor, the shorter the grace. */
function graceSeconds(gap: number): number {
  if (gap > 900_000) return 10;
  if (gap > 500_000) return 30;
  return gap > 100_000 ? 120 : 600;
}
