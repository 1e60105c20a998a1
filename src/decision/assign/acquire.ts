/**
 * Acquisition (A3): needs with a deficit take orphaned Creating, Idle and Speculative machines, the most important need
 * first, within their spread (A4), unless they have no operator or back off (A9). Decided again in every cycle, except for
 * needs that found nothing and that no change can have helped; the resulting actions count as machines of the need from
 * their enqueue on (X1).
 */
import type { VectorTable } from '../../base/vectors.ts';
import type { ProfileTable } from '../../needs/profiles.ts';
import { ActionKind, type ActionList, type ActionNeed, actionNeed } from '../actions.ts';
import { columnF64, columnU32, widerF64, widerU32 } from '../columns/columns.ts';
import { type EngineNeeds, Mark, NeedKind } from '../demand/engine-needs.ts';
import type { CurrentCycle, EngineTables } from '../engine-tables.ts';
import { type ClusterUsage, Limit, type Limits } from '../limits.ts';
import type { Restrictions } from '../restrictions.ts';
import { type Filter, type Filters, MatchLevel } from '../supply/filters.ts';
import { type Fleet, Role } from '../supply/fleet.ts';
import type { Supply } from '../supply/supply.ts';
import { Contention } from './contention.ts';
import { Exchange } from './exchange.ts';
import type { GangDomains } from './gang-domains.ts';
import { planGang } from './gang-reservation.ts';
import { Scan, type ScanContext } from './scan.ts';
import { bindingSpread, Spreading } from './spread.ts';
import { UnmetNeeds } from './unmet.ts';
import type { ValueRequest } from './value-heads.ts';
import { ValuePlan } from './value-plan.ts';

export class Acquisition {
  readonly #context: ScanContext;
  readonly #fleet: Fleet;
  readonly #filters: Filters;
  readonly #supply: Supply;
  readonly #vectors: VectorTable;
  readonly #profiles: ProfileTable;
  readonly #needs: EngineNeeds;
  readonly #domains: GangDomains;
  readonly #restrictions: Restrictions;
  readonly #limits: Limits;
  readonly #cycle: CurrentCycle;
  readonly #scan: Scan;
  readonly #contention: Contention;
  /** E1: by value, of plain needs and of gangs; null unless needs acquire so. */
  readonly #value: ValuePlan | null;
  readonly #gangValue: ValuePlan | null;
  readonly #exchange: Exchange | null;
  /** E8: whether the need's turn skipped a spot machine of which the cluster may have no more now. */
  #hasSkippedSpot = false;
  /** By filter: the cycle in which it admits no machine that is left. */
  #emptyIn = columnU32(256);
  /** By filter: when a machine that it may admit became open, as read in the cycle that … */
  #opened = columnF64(256);
  /** … this says. */
  #openedIn = columnU32(256);

  constructor(tables: EngineTables) {
    this.#context = tables.scans;
    this.#fleet = tables.fleet;
    this.#filters = tables.filters;
    this.#supply = tables.supply;
    this.#vectors = tables.vectors;
    this.#profiles = tables.needTable.profiles;
    this.#needs = tables.needs;
    this.#domains = tables.domains;
    this.#restrictions = tables.restrictions;
    this.#limits = tables.limits;
    this.#cycle = tables.cycle;
    this.#scan = new Scan(tables.scans);
    this.#contention = new Contention(tables);
    const isByValue = tables.placement.kind === 'value';
    this.#value = isByValue ? new ValuePlan(tables, this.#contention) : null;
    this.#gangValue = isByValue ? new ValuePlan(tables, null) : null;
    this.#exchange = this.#value === null ? null : new Exchange(tables, this.#value);
  }

  run(unmet: UnmetNeeds, actions: ActionList): void {
    this.#contention.beginCycle();
    this.#exchange?.begin();
    for (let entry = 0; entry < unmet.count; entry++) {
      if (this.#isSettled(unmet, entry)) continue;
      unmet.settledAt[entry] = 0;
      const need = unmet.need[entry]!;
      const isGang = this.#needs.kind[need] === NeedKind.Gang;
      if (isGang) unmet.isChanged[entry] = 1; // its domain may be another, and its machines are chosen with those of all gangs
      unmet.reset(entry);
      if (this.#needs.has(need, Mark.Parked) || this.#restrictions.isBarred(need)) continue;
      this.#cycle.need = need;
      this.#cycle.probe?.('acquire', this.#needs.cluster[need]!);
      const usage = this.#limits.usageOf(this.#needs.cluster[need]!);
      const spread = isGang ? null : bindingSpread(this.#profiles.get(this.#needs.profile[need]!));
      this.#acquire(unmet, entry, actions, spread, usage);
      const isLimited =
        unmet.limitedBy[entry] !== Limit.None || this.#limits.isLimited(unmet.cluster[entry]!);
      if (isLimited || unmet.acquired[entry]! > 0) unmet.isChanged[entry] = 1;
      else if (!isGang && spread === null) unmet.settledAt[entry] = this.#fleet.families.openVersion;
    }
    this.#exchange?.run(unmet, actions);
  }

  /**
   * Whether the need found no machine when it looked last, and nothing changed that could help it since: neither the need
   * itself, nor a machine that became open. A spread (A4) and a limit (T8) depend on more, and so do gangs. A ceiling (E7) does
   * not: it bars open machines, and a need that it keeps one from is never settled.
   */
  #isSettled(unmet: UnmetNeeds, entry: number): boolean {
    const settledAt = unmet.settledAt[entry]!;
    if (settledAt === 0 || this.#limits.isLimited(unmet.cluster[entry]!)) return false;
    return this.#openedAt(this.#needs.filter[unmet.need[entry]!]!) <= settledAt;
  }

  /** When a machine that the filter may admit became open; read once per filter and cycle. */
  #openedAt(id: number): number {
    this.#openedIn = widerU32(this.#openedIn, id);
    this.#opened = widerF64(this.#opened, id);
    if (this.#openedIn[id] === this.#supply.cycle) return this.#opened[id]!;
    const { openedAt } = this.#fleet.families;
    let last = 0;
    for (const family of this.#filters.get(id).families) last = Math.max(last, openedAt[family]!);
    this.#openedIn[id] = this.#supply.cycle;
    this.#opened[id] = last;
    return last;
  }

  #acquire(
    unmet: UnmetNeeds,
    entry: number,
    actions: ActionList,
    spread: { key: string; skew: number } | null,
    usage: ClusterUsage | null,
  ): void {
    const need = unmet.need[entry]!;
    const isGang = this.#needs.kind[need] === NeedKind.Gang;
    if (spread === null && !isGang && this.#isHopeless(need, usage)) {
      if (usage !== null) this.#noteExhausted(unmet, entry, usage);
      return;
    }
    if (usage !== null && isGang) this.#gangWithin(unmet, entry, actions, usage);
    else if (this.#value !== null) this.#byValue(unmet, entry, actions, spread, usage);
    else if (spread === null) this.#inOrder(unmet, entry, actions, usage);
    else this.#spread(unmet, entry, actions, spread, usage);
    if (usage !== null && unmet.limitedBy[entry] === Limit.None) this.#noteLimit(unmet, entry, usage);
  }

  /** Whether a scan would end without a machine: other needs took all, or the cluster has as many as it may have (T8). */
  #isHopeless(need: number, usage: ClusterUsage | null): boolean {
    const filter = this.#filters.get(this.#needs.filter[need]!);
    this.#emptyIn = widerU32(this.#emptyIn, filter.id);
    if (this.#emptyIn[filter.id] === this.#supply.cycle) return true;
    const isEmpty = usage?.hasAllMachines ? !this.#hasOrphans(filter) : !this.#hasMachines(filter);
    // Machines are only taken in a cycle, so no later need finds more. A limit is the cluster's own: not remembered.
    if (isEmpty && !usage?.hasAllMachines) this.#emptyIn[filter.id] = this.#supply.cycle;
    return isEmpty;
  }

  #hasMachines(filter: Filter): boolean {
    const { open } = this.#fleet.families;
    const { taken } = this.#supply;
    for (const family of filter.families) if (open[family]! > taken[family]!) return true;
    return false;
  }

  /** An orphan may count for the cluster already, and then exceeds no limit. */
  #hasOrphans(filter: Filter): boolean {
    const { orphanList, byId } = this.#fleet;
    for (const family of filter.families) {
      const orphans = orphanList[family] ?? 0;
      if (orphans !== 0 && byId.length(orphans) > 0) return true;
    }
    return false;
  }

  #inOrder(unmet: UnmetNeeds, entry: number, actions: ActionList, usage: ClusterUsage | null): void {
    const needs = this.#needs;
    const need = unmet.need[entry]!;
    if (needs.kind[need] === NeedKind.Gang && needs.domain[need] === 0) return;
    const scan = this.#openScan(need);
    const served = actionNeed(needs, this.#fleet.assignments, need);
    this.#hasSkippedSpot = false;
    for (let slot = scan.peek(); slot !== 0; slot = scan.peek()) {
      if (usage !== null && this.#skipIfBarred(scan, slot, usage)) continue;
      const left = this.#subtract(unmet, entry, slot);
      if (left < 0) {
        scan.skipFamily();
        continue;
      }
      this.#take(unmet, entry, slot, actions, served);
      usage?.take(slot);
      if (left === 0) return;
      if (this.#mayLookAgain(slot, usage)) this.#openScan(need);
      else scan.skip();
    }
  }

  #openScan(need: number): Scan {
    const needs = this.#needs;
    const isGang = needs.kind[need] === NeedKind.Gang;
    const filter = this.#filters.get(needs.filter[need]!);
    const penalty = needs.interruptionPenalty[need]!;
    const domains = isGang ? this.#domains.ofGang(need) : null;
    return this.#scan.open(filter, penalty, isGang ? need + 1 : 0, domains, needs.domain[need]!);
  }

  /**
   * T8: moves past a machine that would exceed a limit. Lists hold one family and are in order of price, so the rest of a list
   * exceeds a limit on machines, resources or dollars too. Orphans are in order of id, and some count already.
   */
  #skipIfBarred(scan: Scan, slot: number, usage: ClusterUsage): boolean {
    const limit = usage.barsAcquiring(slot);
    if (limit === Limit.None) return false;
    if (limit === Limit.NonSpotShare) this.#hasSkippedSpot = true;
    if (limit === Limit.OfferingShare || this.#fleet.role[slot] === Role.Creating) scan.skip();
    else scan.skipFamily();
    return true;
  }

  /** E8: whether the need took a machine that is not spot, so that it may have spot machines that it skipped. */
  #mayLookAgain(slot: number, usage: ClusterUsage | null): boolean {
    if (usage === null || !this.#hasSkippedSpot || usage.isSpot(slot)) return false;
    this.#hasSkippedSpot = false;
    return true;
  }

  /** T8: a gang takes all machines that it can have in its domain, or none if a limit bars one. */
  #gangWithin(unmet: UnmetNeeds, entry: number, actions: ActionList, usage: ClusterUsage): void {
    const needs = this.#needs;
    const need = unmet.need[entry]!;
    if (needs.domain[need] === 0) return;
    const barred = this.#limits.barredGangs.get(need);
    if (barred !== undefined) {
      unmet.limitedBy[entry] = barred;
      return;
    }
    const row = entry * unmet.width;
    const restBefore = unmet.rest.slice(row, row + unmet.width);
    const usageBefore = usage.save();
    const planned = this.#planGang(unmet, entry);
    const aggregate = needs.aggregate[need]!;
    const isCovered = UnmetNeeds.left(unmet.rest, row, this.#vectors, aggregate) === 0;
    const limit = planGang(usage, planned, isCovered ? null : unmet.rest, row, this.#vectors, aggregate);
    unmet.limitedBy[entry] = limit;
    if (limit !== Limit.None) {
      unmet.rest.set(restBefore, row);
      usage.restore(usageBefore);
      return;
    }
    const served = actionNeed(needs, this.#fleet.assignments, need);
    for (const slot of planned) this.#take(unmet, entry, slot, actions, served);
  }

  /** The machines that a gang takes if no limit bars one; subtracts them. */
  #planGang(unmet: UnmetNeeds, entry: number): readonly number[] {
    const need = unmet.need[entry]!;
    if (this.#gangValue !== null)
      return this.#gangValue.make(
        need,
        this.#request(need, null, null),
        null,
        unmet.rest,
        entry * unmet.width,
      );
    const planned: number[] = [];
    let left = 1;
    const scan = this.#openScan(need);
    for (let slot = scan.peek(); slot !== 0 && left > 0; slot = scan.peek()) {
      const after = this.#subtract(unmet, entry, slot);
      if (after < 0) {
        scan.skipFamily();
        continue;
      }
      planned.push(slot);
      left = after;
      scan.skip();
    }
    return planned;
  }

  /** E1: the need takes what it gets most from for its money. */
  #byValue(
    unmet: UnmetNeeds,
    entry: number,
    actions: ActionList,
    spread: { key: string; skew: number } | null,
    usage: ClusterUsage | null,
  ): void {
    const needs = this.#needs;
    const need = unmet.need[entry]!;
    const isGang = needs.kind[need] === NeedKind.Gang;
    if (isGang && needs.domain[need] === 0) return;
    const spreading =
      spread === null ? null : this.#beginSpread(need, this.#filters.get(needs.filter[need]!), spread);
    if (spreading !== null) unmet.spreading.set(entry, spreading);
    const usageBefore = usage?.save();
    const plan = isGang ? this.#gangValue! : this.#value!;
    const request = this.#request(need, spreading, usage);
    const slots = plan.make(need, request, spreading, unmet.rest, entry * unmet.width);
    if (usageBefore !== undefined) usage!.restore(usageBefore); // it counts what the need gave back, too
    const served = actionNeed(needs, this.#fleet.assignments, need);
    const firstAction = actions.count;
    for (const slot of slots) {
      this.#take(unmet, entry, slot, actions, served);
      usage?.take(slot);
    }
    if (!isGang && spread === null && usage === null) this.#exchange!.note(unmet, entry, slots, firstAction);
  }

  #request(need: number, spreading: Spreading | null, usage: ClusterUsage | null): ValueRequest {
    const needs = this.#needs;
    const isGang = needs.kind[need] === NeedKind.Gang;
    return {
      filter: this.#filters.get(needs.filter[need]!),
      penaltyBucket: needs.interruptionPenalty[need]!,
      gang: isGang ? need + 1 : 0,
      domains: isGang ? this.#domains.ofGang(need) : (spreading?.domains ?? null),
      domain: isGang ? needs.domain[need]! : 0,
      usage,
    };
  }

  /** T8: notes the limit that keeps machines from a need: it bars the first that the need could use, or leaves no room. */
  #noteLimit(unmet: UnmetNeeds, entry: number, usage: ClusterUsage): void {
    const needs = this.#needs;
    const need = unmet.need[entry]!;
    const isGang = needs.kind[need] === NeedKind.Gang;
    const row = entry * unmet.width;
    const aggregate = needs.aggregate[need]!;
    if (UnmetNeeds.left(unmet.rest, row, this.#vectors, aggregate) === 0) return;
    if (isGang && needs.domain[need] === 0) return;
    if (usage.hasAllMachines) {
      unmet.limitedBy[entry] = Limit.Machines; // whatever machine it could use
      return;
    }
    let limit: Limit = Limit.None;
    const scan = isGang ? null : this.#openScan(need);
    while (scan !== null && limit === Limit.None) {
      const slot = this.#usefulHead(unmet, entry, scan, null);
      if (slot === 0) break;
      limit = usage.barsAcquiring(slot);
      scan.skip();
    }
    if (limit === Limit.None) this.#noteExhausted(unmet, entry, usage);
    else unmet.limitedBy[entry] = limit;
  }

  #noteExhausted(unmet: UnmetNeeds, entry: number, usage: ClusterUsage): void {
    const row = entry * unmet.width;
    const aggregate = this.#needs.aggregate[unmet.need[entry]!]!;
    unmet.limitedBy[entry] = usage.exhausted((dim) =>
      UnmetNeeds.unitsOf(unmet.rest, row, this.#vectors, aggregate, dim),
    );
  }

  #spread(
    unmet: UnmetNeeds,
    entry: number,
    actions: ActionList,
    spread: { key: string; skew: number },
    usage: ClusterUsage | null,
  ): void {
    const need = unmet.need[entry]!;
    const filter = this.#filters.get(this.#needs.filter[need]!);
    const spreading = this.#beginSpread(need, filter, spread);
    unmet.spreading.set(entry, spreading);
    const penalty = this.#needs.interruptionPenalty[need]!;
    let scans = this.#scansByDomain(filter, penalty, spreading);
    const served = actionNeed(this.#needs, this.#fleet.assignments, need);
    this.#hasSkippedSpot = false;
    let left = 1;
    while (left > 0) {
      const best = this.#bestHead(unmet, entry, scans, spreading, usage);
      if (best === 0) return;
      const scan = scans.get(best)!;
      const slot = scan.peek();
      left = this.#subtract(unmet, entry, slot);
      this.#take(unmet, entry, slot, actions, served);
      usage?.take(slot);
      spreading.count(best);
      if (this.#mayLookAgain(slot, usage)) scans = this.#scansByDomain(filter, penalty, spreading);
      else scan.skip();
    }
  }

  /** Counts the credited machines, and opens every domain that counts for the minimum. */
  #beginSpread(need: number, filter: Filter, spread: { key: string; skew: number }): Spreading {
    const { nextClaim, families, byId, orphanList } = this.#fleet;
    const spreading = new Spreading(this.#domains.of([spread.key]), spread.skew);
    const { domains } = spreading;
    for (let slot = this.#needs.firstClaim[need]!; slot !== 0; slot = nextClaim[slot]!) {
      spreading.open(domains.ofSlot(slot));
      spreading.count(domains.ofSlot(slot));
    }
    const isCoarse = domains.matchLevel === MatchLevel.Family && filter.matchLevel === MatchLevel.Family;
    for (const family of filter.families) {
      const orphans = orphanList[family] ?? 0;
      if (isCoarse) {
        const unassigned = families.unassigned[family]! + (orphans === 0 ? 0 : byId.length(orphans));
        if (unassigned > this.#supply.taken[family]!) spreading.open(domains.ofFamily(family));
        continue;
      }
      const openIfUnassigned = (slot: number): void => {
        if (this.#supply.takenBy[slot] !== 0 || !this.#filters.admitsSlot(filter, slot)) return;
        spreading.open(domains.ofSlot(slot));
      };
      for (const one of families.shapesOf(family))
        if (families.unassignedIn[one]! > 0) this.#fleet.forEachUnassigned(one, openIfUnassigned);
      if (orphans === 0) continue;
      for (let at = byId.first(orphans); at !== 0; at = byId.next(at)) openIfUnassigned(byId.slotAt(at));
    }
    return spreading;
  }

  #scansByDomain(filter: Filter, penalty: number, { domains }: Spreading): Map<number, Scan> {
    const scans = new Map<number, Scan>();
    if (domains.matchLevel === MatchLevel.Family) {
      for (const family of filter.families) {
        const domain = domains.ofFamily(family);
        if (domain === 0 || this.#fleet.families.open[family] === 0 || scans.has(domain)) continue;
        scans.set(domain, new Scan(this.#context).open(filter, penalty, 0, domains, domain));
      }
    } else {
      for (const [domain, arrays] of this.#context.collectByDomain(filter, domains)) {
        scans.set(domain, new Scan(this.#context).open(filter, penalty, 0, domains, domain, arrays));
      }
    }
    return scans;
  }

  /** The domain whose head the need takes next: orphans by id, then Idle and Speculative by cost, domain, id. */
  #bestHead(
    unmet: UnmetNeeds,
    entry: number,
    scans: Map<number, Scan>,
    spreading: Spreading,
    usage: ClusterUsage | null,
  ): number {
    const { idRank } = this.#fleet.inventory.columns;
    let best = 0;
    let bestSlot = 0;
    for (const [domain, scan] of scans) {
      if (!spreading.allows(domain)) continue;
      const slot = this.#usefulHead(unmet, entry, scan, usage);
      if (slot === 0) {
        scans.delete(domain);
        continue;
      }
      if (best === 0) {
        best = domain;
        bestSlot = slot;
        continue;
      }
      const kind = HEAD_RANK[this.#fleet.role[slot]!]!;
      let order = kind - HEAD_RANK[this.#fleet.role[bestSlot]!]!;
      if (order === 0 && kind > 0) {
        const bestCost = scans.get(best)!.costUsd;
        order =
          scan.costUsd === bestCost
            ? spreading.domains.compare(domain, best)
            : scan.costUsd < bestCost
              ? -1
              : 1;
      }
      order ||= idRank[slot]! - idRank[bestSlot]!;
      if (order >= 0) continue;
      best = domain;
      bestSlot = slot;
    }
    return best;
  }

  /** The first machine of a scan that has some of a remaining dimension and, given a usage, is within the limits (T8). */
  #usefulHead(unmet: UnmetNeeds, entry: number, scan: Scan, usage: ClusterUsage | null): number {
    const { shape, families } = this.#fleet;
    const { start, length, dims } = this.#vectors;
    const aggregate = this.#needs.aggregate[unmet.need[entry]!]!;
    for (let slot = scan.peek(); slot !== 0; slot = scan.peek()) {
      if (usage !== null && this.#skipIfBarred(scan, slot, usage)) continue;
      const family = families.familyOf[shape[slot]!]!;
      for (let index = 0; index < length[aggregate]!; index++) {
        if (unmet.rest[entry * unmet.width + index] === 0) continue;
        if (families.unitsOf(family, dims[start[aggregate]! + index]!) > 0) return slot;
      }
      scan.skipFamily();
    }
    return 0;
  }

  #subtract(unmet: UnmetNeeds, entry: number, slot: number): number {
    const { families, shape } = this.#fleet;
    const need = unmet.need[entry]!;
    const family = families.familyOf[shape[slot]!]!;
    const row = entry * unmet.width;
    return this.#needs.subtractFrom(unmet.rest, row, need, families, family, this.#vectors);
  }

  #take(unmet: UnmetNeeds, entry: number, slot: number, actions: ActionList, served: ActionNeed): void {
    const need = unmet.need[entry]!;
    const { role } = this.#fleet;
    this.#supply.take(slot, need);
    unmet.acquired[entry]!++;
    if (role[slot] === Role.Creating) return; // is being created already: claimed, without an action
    const kind = role[slot] === Role.Idle ? ActionKind.Bootstrap : ActionKind.Provision;
    if (kind === ActionKind.Bootstrap) unmet.bootstraps[entry]!++;
    else unmet.provisions[entry]!++;
    actions.add(kind, slot, served.cluster, 0, served);
  }
}

const HEAD_RANK = new Uint8Array(8);
HEAD_RANK[Role.Creating] = 0;
HEAD_RANK[Role.Idle] = 1;
HEAD_RANK[Role.Speculative] = 2;
