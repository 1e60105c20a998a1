/**
 * Phase 2 (P1–P4) drains machines of lower priority for the deficits that phase 1 left and that no drain covers yet
 * (draining-credit.ts). Configured machines are in buckets of equal (claimed or not, priority, penalties), by family, in
 * id order; a bucket has one score for a preemptor, so ranking a few dozen buckets and reading the heads of their lists
 * finds the best victims. The buckets follow the claims with a delay: machines whose claim changes in every cycle would
 * move in every cycle, and most cycles preempt nothing. They are up to date before the first victim is chosen.
 */

import type { VectorTable } from '../../base/vectors.ts';
import { BUCKET_DOLLARS, PENALTY_BUCKET_COUNT } from '../../machine/penalty.ts';
import { ActionKind, type ActionList, actionNeed, Victim } from '../actions.ts';
import type { GangDomains } from '../assign/gang-domains.ts';
import type { Spreading } from '../assign/spread.ts';
import { UnmetNeeds } from '../assign/unmet.ts';
import { columnU8 } from '../columns/columns.ts';
import { type EngineNeeds, NeedKind } from '../demand/engine-needs.ts';
import type { CurrentCycle, EngineTables } from '../engine-tables.ts';
import { type ClusterUsage, Limit, type Limits } from '../limits.ts';
import type { Restrictions } from '../restrictions.ts';
import type { Domains } from '../supply/domains.ts';
import { type Filter, type Filters, MatchLevel } from '../supply/filters.ts';
import { type Fleet, Role } from '../supply/fleet.ts';
import { DrainingCredit, subtractSlot } from './draining-credit.ts';

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
const DRAIN_SECONDS = 30;
const PENALTY_FLOOR_USD = 0.01;

interface Bucket {
  readonly isClaimed: boolean;
  readonly priority: number;
  readonly interruptionPenalty: number;
  readonly reclamationPenalty: number;
  /** List of fleet.byId by family. */
  readonly lists: Map<number, number>;
}

/** Buckets of one score for a preemptor. */
interface Rank {
  readonly score: number;
  readonly buckets: Bucket[];
}

export class Preemption {
  readonly #cycle: CurrentCycle;
  readonly #fleet: Fleet;
  readonly #filters: Filters;
  readonly #vectors: VectorTable;
  readonly #needs: EngineNeeds;
  readonly #domains: GangDomains;
  readonly #restrictions: Restrictions;
  readonly #limits: Limits;
  readonly #drainingCredit: DrainingCredit;
  readonly #weights: PreemptionWeights;
  readonly #buckets = new Map<number, Bucket>();
  /** Ranks by tier and the preemptor's priority, for this cycle. */
  readonly #ranks = new Map<string, Rank[]>();
  /** By slot: taken as a victim in this cycle. */
  readonly #isVictim: Uint8Array;
  readonly #victims: number[] = [];

  constructor(tables: EngineTables, weights: PreemptionWeights = DEFAULT_WEIGHTS) {
    this.#cycle = tables.cycle;
    this.#fleet = tables.fleet;
    this.#filters = tables.filters;
    this.#vectors = tables.vectors;
    this.#needs = tables.needs;
    this.#domains = tables.domains;
    this.#restrictions = tables.restrictions;
    this.#limits = tables.limits;
    this.#drainingCredit = new DrainingCredit(tables);
    this.#weights = weights;
    this.#isVictim = columnU8(tables.fleet.role.length);
  }

  isVictim(slot: number): boolean {
    return this.#isVictim[slot] === 1;
  }

  /** Families are about to be rebuilt: drops the buckets, whose lists are empty. */
  regroup(): void {
    for (const bucket of this.#buckets.values())
      for (const list of bucket.lists.values()) this.#fleet.byId.drop(list);
    this.#buckets.clear();
  }

  /**
   * Begins a cycle after credit. Machines whose claim changed move to their buckets when a need looks for a victim; until
   * then a few do in each cycle, so that few are left when it matters. None do if a large part of the fleet changed:
   * after a start the shard waits for the first decision, and later cycles have time.
   */
  beginCycle(largePartChanged: boolean): void {
    for (const slot of this.#victims) this.#isVictim[slot] = 0;
    this.#victims.length = 0;
    this.#ranks.clear();
    if (!largePartChanged) this.#settleBuckets(SETTLED_PER_CYCLE);
  }

  #settleBuckets(countMax: number): void {
    this.#fleet.victims.take(countMax, this.#place);
  }

  run(unmet: UnmetNeeds, actions: ActionList): void {
    this.#drainingCredit.countOwn(unmet);
    for (let entry = 0; entry < unmet.count; entry++) {
      const aggregate = this.#needs.aggregate[unmet.need[entry]!]!;
      if (UnmetNeeds.left(unmet.missing, entry * unmet.width, this.#vectors, aggregate) === 0) continue;
      if (this.#drainingCredit.isBarred(unmet.need[entry]!)) continue;
      this.#cycle.need = unmet.need[entry]!;
      this.#cycle.probe?.('preempt', this.#needs.cluster[unmet.need[entry]!]!);
      const left = this.#drainingCredit.countPool(unmet, entry);
      if (left > 0) this.#chooseVictims(unmet, entry, left, actions);
    }
  }

  #chooseVictims(unmet: UnmetNeeds, entry: number, wanted: number, actions: ActionList): void {
    const need = unmet.need[entry]!;
    const isGang = this.#needs.kind[need] === NeedKind.Gang;
    if (isGang && this.#needs.domain[need] === 0) return;
    this.#settleBuckets(Number.POSITIVE_INFINITY);
    const row = entry * unmet.width;
    const before = isGang ? unmet.missing.slice(row, row + unmet.width) : null;
    const first = this.#victims.length;
    const spreading = unmet.spreading.get(entry);
    const usage = this.#limits.usageOf(this.#needs.cluster[need]!);
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
      unmet.missing.set(before, row);
      if (usageBefore !== null) usage!.restore(usageBefore);
      return;
    }
    this.#emit(need, first, actions);
    unmet.victims[entry] = this.#victims.length - first;
  }

  #emit(need: number, first: number, actions: ActionList): void {
    const { cluster, claim } = this.#fleet;
    const served = actionNeed(this.#needs, this.#fleet.assignments, need);
    const ofGang = this.#needs.kind[need] === NeedKind.Gang ? Victim.OfGang : 0;
    for (let index = first; index < this.#victims.length; index++) {
      const slot = this.#victims[index]!;
      const gap = this.#needs.priority[need]! - this.#priorityOf(slot);
      const victim = (claim[slot] === 0 ? 0 : Victim.Claimed) | ofGang;
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
    const filter = this.#filters.get(this.#needs.filter[need]!);
    const isGang = this.#needs.kind[need] === NeedKind.Gang;
    const domains = isGang ? this.#domains.ofGang(need) : null;
    let left = wanted;
    for (const isClaimed of [false, true]) {
      for (const rank of this.#ranked(isClaimed, this.#needs.priority[need]!)) {
        const merge = this.#openRank(rank, filter);
        for (let slot = this.#next(merge); slot !== 0; slot = this.#next(merge)) {
          const victim = this.#fleet.cluster[slot]!;
          if (!isClaimed && !this.#restrictions.isPastGate(victim)) continue;
          if (this.#restrictions.isSuspended(victim)) continue;
          if (!this.#isWanted(need, filter, domains, spreading, slot)) continue;
          if (usage !== null && this.#isBarred(unmet, entry, slot, usage)) continue;
          const after = subtractSlot(unmet, entry, this.#fleet, this.#needs, this.#vectors, slot);
          if (after < 0) continue;
          this.#isVictim[slot] = 1;
          this.#victims.push(slot);
          usage?.take(slot);
          left = after;
          spreading?.countSlot(slot);
          if (left === 0 || spreading !== undefined) return left;
        }
      }
    }
    return left;
  }

  /** T8. A gang that a limit barred in phase 1 may preempt machines of its own cluster only: they exceed no limit. */
  #isBarred(unmet: UnmetNeeds, entry: number, slot: number, usage: ClusterUsage): boolean {
    if (usage.barredBy(slot) !== Limit.None) return true;
    const isGang = this.#needs.kind[unmet.need[entry]!] === NeedKind.Gang;
    return isGang && unmet.limitedBy[entry] !== Limit.None && this.#fleet.cluster[slot] !== usage.cluster;
  }

  /** T8: notes the limit that keeps victims from a need: it bars the first that the need could use, or leaves no room. */
  #noteLimit(unmet: UnmetNeeds, entry: number, usage: ClusterUsage): void {
    const need = unmet.need[entry]!;
    const row = entry * unmet.width;
    const aggregate = this.#needs.aggregate[need]!;
    const filter = this.#filters.get(this.#needs.filter[need]!);
    const domains = this.#needs.kind[need] === NeedKind.Gang ? this.#domains.ofGang(need) : null;
    for (const isClaimed of [false, true]) {
      for (const rank of this.#ranked(isClaimed, this.#needs.priority[need]!)) {
        const merge = this.#openRank(rank, filter);
        for (let slot = this.#next(merge); slot !== 0; slot = this.#next(merge)) {
          if (!isClaimed && !this.#restrictions.isPastGate(this.#fleet.cluster[slot]!)) continue;
          if (!this.#isWanted(need, filter, domains, undefined, slot)) continue;
          if (!this.#isOfUse(unmet, row, aggregate, slot)) continue;
          const limit = usage.barredBy(slot);
          unmet.limitedBy[entry] = limit;
          if (limit !== Limit.None) return;
        }
      }
    }
    unmet.limitedBy[entry] = usage.exhausted((dim) =>
      UnmetNeeds.unitsOf(unmet.missing, row, this.#vectors, aggregate, dim),
    );
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

  #isWanted(
    need: number,
    filter: Filter,
    domains: Domains | null,
    spreading: Spreading | undefined,
    slot: number,
  ): boolean {
    if (this.#isVictim[slot] === 1) return false;
    if (filter.matchLevel !== MatchLevel.Family && !this.#filters.admitsSlot(filter, slot)) return false;
    if (domains !== null && domains.ofSlot(slot) !== this.#needs.domain[need]) return false;
    return spreading === undefined || spreading.allows(spreading.domains.ofSlot(slot));
  }

  /** Buckets of a tier that this priority may take from, best score first (P2: gap, drain time, penalties). */
  #ranked(isClaimed: boolean, priority: number): Rank[] {
    const key = `${isClaimed}${priority}`;
    const known = this.#ranks.get(key);
    if (known !== undefined) return known;
    const { byId } = this.#fleet;
    const scored: { score: number; bucket: Bucket }[] = [];
    for (const [bucketKey, bucket] of this.#buckets) {
      if (bucket.isClaimed !== isClaimed || (isClaimed && bucket.priority >= priority)) continue;
      for (const [family, list] of bucket.lists) {
        if (byId.length(list) > 0) continue;
        byId.drop(list);
        bucket.lists.delete(family);
      }
      if (bucket.lists.size === 0) this.#buckets.delete(bucketKey);
      else scored.push({ score: this.#score(priority, bucket), bucket });
    }
    scored.sort((a, b) => b.score - a.score);
    const ranks: Rank[] = [];
    for (const { score, bucket } of scored) {
      const last = ranks[ranks.length - 1];
      if (last !== undefined && last.score === score) last.buckets.push(bucket);
      else ranks.push({ score, buckets: [bucket] });
    }
    this.#ranks.set(key, ranks);
    return ranks;
  }

  #score(priority: number, bucket: Bucket): number {
    const { gap, drain, interruption, reclamation } = this.#weights;
    const interruptionUsd = Math.max(PENALTY_FLOOR_USD, BUCKET_DOLLARS[bucket.interruptionPenalty]!);
    const reclamationUsd = Math.max(PENALTY_FLOOR_USD, BUCKET_DOLLARS[bucket.reclamationPenalty]!);
    return (
      (priority - bucket.priority) * gap +
      (1 / Math.max(1, DRAIN_SECONDS)) * drain +
      (1 / interruptionUsd) * interruption +
      (1 / reclamationUsd) * reclamation
    );
  }

  #openRank(rank: Rank, filter: Filter): number[] {
    const { byId } = this.#fleet;
    const positions: number[] = [];
    for (const bucket of rank.buckets) {
      for (const [family, list] of bucket.lists) {
        const at = filter.eligible[family] === 1 ? byId.first(list) : 0;
        if (at !== 0) positions.push(at);
      }
    }
    return positions;
  }

  /** The smallest id at the heads, and advances that head; 0 at the end. */
  #next(positions: number[]): number {
    const { byId, inventory } = this.#fleet;
    const { idRank } = inventory.columns;
    let best = -1;
    let bestSlot = 0;
    for (let index = 0; index < positions.length; index++) {
      const slot = byId.slotAt(positions[index]!);
      if (best >= 0 && idRank[slot]! > idRank[bestSlot]!) continue;
      best = index;
      bestSlot = slot;
    }
    if (best < 0) return 0;
    const next = byId.next(positions[best]!);
    if (next !== 0) positions[best] = next;
    else positions.splice(best, 1);
    return bestSlot;
  }

  /** Priority of the need that claims the machine, else of its assignment. */
  #priorityOf(slot: number): number {
    const claim = this.#fleet.claim[slot]!;
    if (claim === 0) return this.#fleet.inventory.columns.priority[slot]!;
    return this.#needs.priority[this.#fleet.clusterState(this.#fleet.cluster[slot]!).needStart + claim - 1]!;
  }

  readonly #place = (slot: number): void => {
    const { byId, role, shape, families } = this.#fleet;
    if (role[slot] === Role.Creating && this.#fleet.isOrphan(slot)) return; // it is on the orphans' list
    if (role[slot] !== Role.Configured || this.#fleet.inBackoff(slot)) {
      byId.remove(slot);
      return;
    }
    const bucket = this.#bucketOf(slot);
    const family = families.familyOf[shape[slot]!]!;
    let list = bucket.lists.get(family);
    if (list === undefined) {
      list = byId.create();
      bucket.lists.set(family, list);
    }
    if (byId.listOf(slot) === list) return;
    byId.remove(slot);
    byId.add(list, slot);
  };

  #bucketOf(slot: number): Bucket {
    const { columns } = this.#fleet.inventory;
    const isClaimed = this.#fleet.claim[slot] !== 0;
    const priority = this.#priorityOf(slot);
    const interruptionPenalty = columns.interruptionPenalty[slot]!;
    const reclamationPenalty = columns.reclamationPenalty[slot]!;
    const penalties = interruptionPenalty * PENALTY_BUCKET_COUNT + reclamationPenalty;
    const key =
      (priority * PENALTY_BUCKET_COUNT * PENALTY_BUCKET_COUNT + penalties) * 2 + (isClaimed ? 1 : 0);
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      bucket = { isClaimed, priority, interruptionPenalty, reclamationPenalty, lists: new Map() };
      this.#buckets.set(key, bucket);
    }
    return bucket;
  }
}

/** P3: the more important the preemptor, the shorter the grace. */
function graceSeconds(gap: number): number {
  if (gap > 900_000) return 10;
  if (gap > 500_000) return 30;
  return gap > 100_000 ? 120 : 600;
}
