/**
 * Gangs: one domain serves a need with a Same requirement, or none does (A5, A6). The own machines of most gangs cover
 * them in one rack: such a gang is *settled*; nothing else moves it, and it costs nothing until one of those machines
 * changes. A gang that other machines of its cluster cover in some domain is *local*: unassigned machines and other
 * clusters do not move it. The rest *wait*: in every cycle they rank every domain in which they have, or could get,
 * machines, and reserve what they will acquire there. What such a gang counted in its cluster is kept while nothing
 * changes there (gang-counts.ts).
 */

import type { VectorTable } from '../../base/vectors.ts';
import type { ClusterState } from '../cluster-state.ts';
import { columnF64 } from '../columns/columns.ts';
import { type EngineNeeds, Mark, ScanPart, subtractCapacity } from '../demand/engine-needs.ts';
import type { EngineTables } from '../engine-tables.ts';
import { type ClusterUsage, Limit, type Limits } from '../limits.ts';
import type { Restrictions } from '../restrictions.ts';
import type { Domains } from '../supply/domains.ts';
import type { Drains } from '../supply/drains.ts';
import type { Families } from '../supply/families.ts';
import { type Filter, type Filters, MatchLevel } from '../supply/filters.ts';
import { type Fleet, Role } from '../supply/fleet.ts';
import type { Supply } from '../supply/supply.ts';
import type { Claims } from './claims.ts';
import { DomainTally } from './domain-tally.ts';
import { GangCounts } from './gang-counts.ts';
import type { GangDomains } from './gang-domains.ts';
import { Scan } from './scan.ts';
import { UnmetNeeds } from './unmet.ts';

export class Gangs {
  readonly #fleet: Fleet;
  readonly #families: Families;
  readonly #vectors: VectorTable;
  readonly #filters: Filters;
  readonly #needs: EngineNeeds;
  readonly #claims: Claims;
  readonly #drains: Drains;
  readonly #supply: Supply;
  readonly #restrictions: Restrictions;
  readonly #limits: Limits;
  readonly #domains: GangDomains;
  readonly #tally: DomainTally;
  readonly #counts = new GangCounts();
  readonly #scan: Scan;
  readonly #candidates: number[] = [];

  constructor(tables: EngineTables) {
    this.#fleet = tables.fleet;
    this.#families = tables.families;
    this.#vectors = tables.vectors;
    this.#filters = tables.filters;
    this.#needs = tables.needs;
    this.#claims = tables.claims;
    this.#drains = tables.drains;
    this.#supply = tables.supply;
    this.#restrictions = tables.restrictions;
    this.#limits = tables.limits;
    this.#domains = tables.domains;
    this.#tally = new DomainTally(tables.vectors, tables.families);
    this.#scan = new Scan(tables.scans);
  }

  beginCycle(): void {
    this.#supply.beginCycle();
  }

  /** The cluster's needs are about to be rebuilt. */
  forget(cluster: ClusterState): void {
    this.#counts.forget(cluster);
  }

  /**
   * Credits a gang whose own machines cover it in exactly one domain: that domain wins over every other (A5: its
   * creditable and own coverage are complete). False: the gang is not settled, and nothing was done.
   */
  trySettle(cluster: ClusterState, index: number): boolean {
    const need = cluster.needStart + index;
    const needs = this.#needs;
    if (this.#vectors.length[needs.aggregate[need]!] === 0) {
      this.#claims.beginScan();
      this.#claims.endScan(cluster, index);
      needs.creditCount[need] = 0;
      needs.setMarks(need, Mark.Satisfiable); // an empty gang takes nothing
      needs.domain[need] = 0;
      return true;
    }
    const filter = this.#filters.get(needs.filter[need]!);
    const domains = this.#domains.ofGang(need);
    const tally = this.#tally.begin(needs.aggregate[need]!, domains);
    this.#tallyOwn(cluster, index, filter, domains);
    const domain = tally.onlyDomainCoveredByOwn();
    if (domain === 0) return false;
    this.#credit(cluster, index, filter, domains, domain, true);
    needs.set(need, Mark.Unsettled, false);
    this.#counts.drop(need);
    return true;
  }

  /** Chooses the gang's domain, credits the gang there, and reserves what it will acquire. */
  evaluate(cluster: ClusterState, index: number): void {
    const need = cluster.needStart + index;
    const isAsCounted = this.#counts.isCurrent(cluster, need);
    if (!isAsCounted && this.trySettle(cluster, index)) return;
    if (isAsCounted && this.#needs.has(need, Mark.Local)) return;
    const isParked = this.#restrictions.isParked(need);
    if (isAsCounted && isParked && this.#needs.has(need, Mark.Parked)) return;
    const filter = this.#filters.get(this.#needs.filter[need]!);
    const domains = this.#domains.ofGang(need);
    const tally = this.#tally.begin(this.#needs.aggregate[need]!, domains);
    if (isAsCounted) this.#counts.restore(need, tally);
    else if (this.#countInCluster(cluster, index, filter, domains)) return;
    if (!isParked) {
      this.#tallyDraining(need, filter, domains);
      // A covering domain with creditable machines beats every one without, so the others count only if none covers.
      const mayEndEarly = domains.matchLevel === MatchLevel.Shape && filter.matchLevel !== MatchLevel.Machine;
      if (!mayEndEarly || !this.#tallyUnassignedWithCreditable(filter, domains))
        this.#tallyUnassigned(filter, domains);
    }
    const domain = tally.choose();
    const satisfiable = domain !== 0 && tally.covers(domain);
    const isAsCredited =
      isAsCounted &&
      domain === this.#needs.domain[need] &&
      satisfiable === this.#needs.has(need, Mark.Satisfiable);
    if (!isAsCredited) this.#credit(cluster, index, filter, domains, domain, satisfiable);
    this.#counts.confirm(cluster, need);
    this.#needs.set(need, Mark.Parked, isParked);
    if (!isParked && domain !== 0 && !this.#restrictions.isBarred(need))
      this.#reserve(need, filter, domains, domain);
  }

  /** Counts the gang's own and creditable machines in its cluster. If those cover it, credits it and returns true. */
  #countInCluster(cluster: ClusterState, index: number, filter: Filter, domains: Domains): boolean {
    const need = cluster.needStart + index;
    this.#tallyOwn(cluster, index, filter, domains);
    this.#tallyOthers(cluster, index, filter, domains);
    const local = this.#tally.bestCoveredByCreditable();
    if (local === 0) {
      this.#counts.keep(need, this.#tally);
      return false;
    }
    // Creditable machines cover it, so unassigned ones decide nothing, here or elsewhere (docs/adr/0037).
    this.#credit(cluster, index, filter, domains, local, true);
    this.#needs.mark(need, Mark.Local);
    this.#counts.drop(need);
    this.#counts.confirm(cluster, need);
    return true;
  }

  #isCreditable(slot: number, index: number, filter: Filter): boolean {
    if (!this.#claims.isAvailable(slot, index)) return false;
    if (this.#fleet.role[slot] !== Role.Configured && this.#fleet.isStuck(slot)) return false;
    if (filter.eligible[this.#families.familyOf[this.#fleet.shape[slot]!]!] !== 1) return false;
    return filter.matchLevel === MatchLevel.Family || this.#filters.admitsSlot(filter, slot);
  }

  #tallyOwn(cluster: ClusterState, index: number, filter: Filter, domains: Domains): void {
    const { assigned, assignments, shape } = this.#fleet;
    const list = assignments.list[this.#needs.assignment[cluster.needStart + index]!]!;
    if (list === 0) return;
    for (let at = assigned.first(list); at !== 0; at = assigned.next(at)) {
      const slot = assigned.slotAt(at);
      if (!this.#isCreditable(slot, index, filter)) continue;
      this.#tally.addOwn(domains.ofSlot(slot), this.#families.familyOf[shape[slot]!]!);
    }
  }

  /** Counts the cluster's other machines, except those assigned to another gang. */
  #tallyOthers(cluster: ClusterState, index: number, filter: Filter, domains: Domains): void {
    const { familyLists } = cluster;
    for (let familyList = 0; familyList < familyLists.count; familyList++) {
      if (filter.eligible[familyLists.family(familyList)] !== 1) continue;
      this.#tallyList(
        familyLists.configured(familyList),
        familyLists.family(familyList),
        index,
        filter,
        domains,
      );
      this.#tallyList(
        familyLists.configuring(familyList),
        familyLists.family(familyList),
        index,
        filter,
        domains,
      );
    }
  }

  #tallyList(list: number, family: number, index: number, filter: Filter, domains: Domains): void {
    if (list === 0) return;
    const { keep } = this.#fleet;
    let at = keep.seek(keep.first(list), index + 1);
    for (; at !== 0; at = keep.seek(keep.next(at), index + 1)) {
      const slot = keep.slotAt(at);
      if (this.#assignedToGang(slot) || !this.#isCreditable(slot, index, filter)) continue;
      this.#tally.addCreditable(domains.ofSlot(slot), family);
    }
  }

  /** Assigned to a gang, this one included: its own machines are counted separately. */
  #assignedToGang(slot: number): boolean {
    const assignment = this.#fleet.assignment[slot]!;
    return assignment !== 0 && this.#fleet.assignments.gang[assignment] !== 0;
  }

  /** Adds the unassigned machines of domains that have creditable ones; returns whether one of those covers the gang. */
  #tallyUnassignedWithCreditable(filter: Filter, domains: Domains): boolean {
    const families = this.#families;
    const tally = this.#tally;
    const count = tally.entryCount;
    let covers = false;
    for (let entry = 0; entry < count; entry++) {
      if (!tally.hasCreditable(entry)) continue;
      const domain = tally.domainAt(entry);
      for (const shape of domains.shapesIn(domain)) {
        const machines = families.openIn[shape]! - this.#supply.reservedIn[shape]!;
        if (machines === 0 || !this.#filters.admitsShape(filter, shape)) continue;
        tally.addUnassigned(domain, families.familyOf[shape]!, machines);
      }
      tally.markUnassignedCounted(entry);
      if (tally.covers(domain)) covers = true;
    }
    return covers;
  }

  /** Adds the machines that no earlier gang reserved, except in domains whose unassigned machines are counted already. */
  #tallyUnassigned(filter: Filter, domains: Domains): void {
    const families = this.#families;
    const supply = this.#supply;
    for (const family of filter.families) {
      if (families.open[family] === 0) continue;
      if (domains.matchLevel === MatchLevel.Family && filter.matchLevel === MatchLevel.Family) {
        this.#tally.addUnassigned(
          domains.ofFamily(family),
          family,
          families.open[family]! - supply.reserved[family]!,
        );
        continue;
      }
      for (const shape of families.openShapesOf(family)) {
        if (!this.#filters.admitsShape(filter, shape)) continue;
        if (domains.matchLevel !== MatchLevel.Machine && filter.matchLevel !== MatchLevel.Machine) {
          const machines = families.openIn[shape]! - supply.reservedIn[shape]!;
          const domain = domains.ofShape(shape);
          if (!this.#tally.hasUnassignedCounted(domain)) this.#tally.addUnassigned(domain, family, machines);
        } else {
          this.#fleet.forEachOpen(shape, (slot) => {
            if (supply.reservedBy[slot] !== 0 || !this.#filters.admitsSlot(filter, slot)) return;
            this.#tally.addUnassigned(domains.ofSlot(slot), family, 1);
          });
        }
      }
    }
  }

  #tallyDraining(need: number, filter: Filter, domains: Domains): void {
    const { shape } = this.#fleet;
    for (const slot of this.#drains.slotsFor(this.#needs.assignment[need]!)) {
      const family = this.#families.familyOf[shape[slot]!]!;
      if (this.#fleet.isStuck(slot) || filter.eligible[family] !== 1) continue;
      if (filter.matchLevel !== MatchLevel.Family && !this.#filters.admitsSlot(filter, slot)) continue;
      this.#tally.addUnassigned(domains.ofSlot(slot), family, 1);
    }
  }

  /** Credits as A2 does, inside the chosen domain; then A6 (make before break). */
  #credit(
    cluster: ClusterState,
    index: number,
    filter: Filter,
    domains: Domains,
    domain: number,
    satisfiable: boolean,
  ): void {
    const needs = this.#needs;
    const need = cluster.needStart + index;
    const { assigned, assignments, role } = this.#fleet;
    this.#claims.beginScan();
    let left = needs.beginScan(need, this.#vectors);
    needs.domain[need] = domain;
    needs.lastTaken[need] = 0;
    const list = assignments.list[needs.assignment[need]!]!;
    if (domain !== 0 && list !== 0) {
      for (let at = assigned.first(list); at !== 0 && left > 0; at = assigned.next(at)) {
        const slot = assigned.slotAt(at);
        left = this.#offer(cluster, index, filter, domains, slot, Role.Configured - role[slot]!, left);
      }
    }
    if (domain !== 0 && left > 0)
      left = this.#scanFamilyLists(cluster, index, filter, domains, left, ScanPart.Configured);
    if (domain !== 0 && left > 0)
      left = this.#scanFamilyLists(cluster, index, filter, domains, left, ScanPart.Configuring);
    needs.endScan(need, this.#vectors);
    needs.creditCount[need] = this.#claims.heldCount;
    needs.setMarks(
      need,
      Mark.Unsettled | (left > 0 ? Mark.Deficit : 0) | (satisfiable ? Mark.Satisfiable : 0),
    );
    if (satisfiable && !this.#configuredCover(need)) this.#keepOwnOutside(cluster, index, domains, domain);
    this.#claims.endScan(cluster, index);
  }

  #scanFamilyLists(
    cluster: ClusterState,
    index: number,
    filter: Filter,
    domains: Domains,
    wanted: number,
    part: number,
  ): number {
    if (part === ScanPart.Configuring && cluster.configuringCount === 0) return wanted;
    const { keep, compareKeep } = this.#fleet;
    const candidates = this.#candidates;
    candidates.length = 0;
    const { familyLists } = cluster;
    for (let familyList = 0; familyList < familyLists.count; familyList++) {
      const list =
        part === ScanPart.Configured
          ? familyLists.configured(familyList)
          : familyLists.configuring(familyList);
      if (list === 0 || filter.eligible[familyLists.family(familyList)] !== 1) continue;
      for (
        let at = keep.seek(keep.first(list), index + 1);
        at !== 0;
        at = keep.seek(keep.next(at), index + 1)
      ) {
        const slot = keep.slotAt(at);
        if (
          !this.#assignedToGang(slot) &&
          domains.ofSlot(slot) === this.#needs.domain[cluster.needStart + index]
        ) {
          candidates.push(slot);
        }
      }
    }
    candidates.sort(compareKeep);
    let left = wanted;
    for (const slot of candidates) {
      if (left === 0) break;
      left = this.#offer(cluster, index, filter, domains, slot, part, left);
    }
    return left;
  }

  #offer(
    cluster: ClusterState,
    index: number,
    filter: Filter,
    domains: Domains,
    slot: number,
    part: number,
    left: number,
  ): number {
    const need = cluster.needStart + index;
    const needs = this.#needs;
    if (this.#claims.isHeld(slot) || !this.#isCreditable(slot, index, filter)) return left;
    if (domains.ofSlot(slot) !== needs.domain[need]) return left;
    const family = this.#families.familyOf[this.#fleet.shape[slot]!]!;
    const after = needs.subtract(need, this.#families, family, this.#vectors);
    if (after < 0) return left;
    this.#claims.hold(cluster, index, slot);
    needs.lastTaken[need] = slot;
    needs.lastPart[need] = part;
    return after;
  }

  /** Whether the Configured machines among its credited ones cover the whole gang. */
  #configuredCover(need: number): boolean {
    const { role, shape, nextClaim } = this.#fleet;
    const { start, length, units } = this.#vectors;
    const aggregate = this.#needs.aggregate[need]!;
    const left = this.#scratch(length[aggregate]!);
    for (let index = 0; index < length[aggregate]!; index++) left[index] = units[start[aggregate]! + index]!;
    let remaining: number = length[aggregate]!;
    for (let slot = this.#needs.firstClaim[need]!; slot !== 0 && remaining > 0; slot = nextClaim[slot]!) {
      if (role[slot] !== Role.Configured || !this.#claims.isHeld(slot)) continue;
      const family = this.#families.familyOf[shape[slot]!]!;
      const after = subtractCapacity(left, 0, this.#vectors, aggregate, this.#families, family);
      if (after >= 0) remaining = after;
    }
    return remaining === 0;
  }

  #scratchUnits = columnF64(8);

  #scratch(length: number): Float64Array {
    if (this.#scratchUnits.length < length) this.#scratchUnits = new Float64Array(2 * length);
    return this.#scratchUnits;
  }

  /** A6, make before break: the gang keeps its machines elsewhere until those in the chosen domain cover it. */
  #keepOwnOutside(cluster: ClusterState, index: number, domains: Domains, domain: number): void {
    const { assigned, assignments, role } = this.#fleet;
    const list = assignments.list[this.#needs.assignment[cluster.needStart + index]!]!;
    if (list === 0) return;
    for (let at = assigned.first(list); at !== 0; at = assigned.next(at)) {
      const slot = assigned.slotAt(at);
      if (role[slot] !== Role.Configured && this.#fleet.isStuck(slot)) continue;
      if (domains.ofSlot(slot) === domain || this.#claims.isHeld(slot)) continue;
      if (this.#claims.isAvailable(slot, index)) this.#claims.hold(cluster, index, slot);
    }
  }

  /** Reserves the machines that acquisition will take for it: A3's scan in its domain for what credit left open. */
  #reserve(need: number, filter: Filter, domains: Domains, domain: number): void {
    const needs = this.#needs;
    const aggregate = needs.aggregate[need]!;
    const count = this.#vectors.length[aggregate]!;
    const left = this.#scratch(count);
    let remaining = 0;
    for (let index = 0; index < count; index++) {
      left[index] = needs.remaining[need * needs.width + index]!;
      if (left[index]! > 0) remaining++;
    }
    if (remaining === 0) return;
    const planned = this.#candidates;
    planned.length = 0;
    const scan = this.#scan.open(filter, needs.interruptionPenalty[need]!, need + 1, domains, domain);
    for (let slot = scan.peek(); slot !== 0 && remaining > 0; slot = scan.peek()) {
      const family = this.#families.familyOf[this.#fleet.shape[slot]!]!;
      const after = subtractCapacity(left, 0, this.#vectors, aggregate, this.#families, family);
      if (after < 0) {
        scan.skipFamily();
        continue;
      }
      planned.push(slot);
      remaining = after;
      scan.skip();
    }
    const usage = this.#limits.usageOf(needs.cluster[need]!);
    if (usage !== null) {
      const before = usage.save();
      const limit = planGang(usage, planned, remaining > 0 ? left : null, 0, this.#vectors, aggregate);
      usage.restore(before);
      if (limit !== Limit.None) {
        this.#limits.barredGangs.set(need, limit);
        return;
      }
    }
    for (const slot of planned) this.#supply.reserve(slot, need);
  }
}

/** T8: takes the machines of a gang; the limit that bars them or, in `left`, what they leave uncovered (null: nothing). */
export function planGang(
  usage: ClusterUsage,
  planned: readonly number[],
  left: Float64Array | null,
  row: number,
  vectors: VectorTable,
  aggregate: number,
): Limit {
  for (const slot of planned) {
    const limit = usage.barredBy(slot);
    if (limit !== Limit.None) return limit;
    usage.take(slot);
  }
  if (left === null) return Limit.None;
  return usage.barsRestOfGang((dim) => UnmetNeeds.unitsOf(left, row, vectors, aggregate, dim));
}
