/**
 * Verdicts (A8): what a cycle says about each need, and the counts that the next cycle continues: parking (A7), cycles
 * unmet (A8), age of shortfalls (P5). Satisfied needs cost nothing: `record` reads only those that credit did not
 * satisfy, and a verdict is composed when a reader asks for it.
 */

import type { VectorTable } from '../../base/vectors.ts';
import type { GangDomains } from '../assign/gang-domains.ts';
import { UnmetNeeds } from '../assign/unmet.ts';
import type { ClusterState } from '../cluster-state.ts';
import { columnU8, columnU32 } from '../columns/columns.ts';
import type { ClusterRows } from '../demand/cluster-rows.ts';
import { type EngineNeeds, Mark, NeedKind } from '../demand/engine-needs.ts';
import type { CurrentCycle, EngineTables } from '../engine-tables.ts';
import { LIMIT_NAMES, Limit, type LimitName } from '../limits.ts';
import type { Restrictions } from '../restrictions.ts';
import type { Drains } from '../supply/drains.ts';
import { type Filter, type Filters, MatchLevel } from '../supply/filters.ts';
import { type Fleet, Role } from '../supply/fleet.ts';

/** The numbers of the protocol. */
export const UnmetReason = {
  None: 0,
  PriorityStarved: 1,
  NoMatchingSupply: 2,
  TopologyUnsatisfiable: 3,
  PreemptionExhausted: 4,
} as const;
export type UnmetReason = (typeof UnmetReason)[keyof typeof UnmetReason];

export interface Verdict {
  readonly satisfied: boolean;
  /** Units by dimension name, zeros left out. */
  readonly deficit: Readonly<Record<string, number>>;
  readonly claimed: number;
  readonly bootstraps: number;
  readonly provisions: number;
  /** Values of the chosen domain, joined by commas; '' without one. */
  readonly domain: string;
  readonly satisfiable: boolean;
  readonly parked: boolean;
  readonly parkedCycles: number;
  readonly cyclesUnmet: number;
  readonly reason: UnmetReason;
  /** T8: the limit that keeps machines from it. */
  readonly limitedBy: LimitName;
}

/** The demand of one fingerprint that is still missing after phase 2, summed over clusters. */
export interface Shortfall {
  readonly fingerprint: number;
  readonly profile: number;
  readonly priority: number;
  readonly missing: Map<number, number>;
  ageCycles: number;
}

export class Verdicts {
  readonly #fleet: Fleet;
  readonly #filters: Filters;
  readonly #vectors: VectorTable;
  readonly #needs: EngineNeeds;
  readonly #cycle: CurrentCycle;
  readonly #domains: GangDomains;
  readonly #drains: Drains;
  readonly #unmet: UnmetNeeds;
  readonly #rows: ClusterRows;
  readonly #restrictions: Restrictions;
  /** By need: entry + 1 among the unmet ones; valid if that entry names the need. */
  #entryOf = columnU32(256);
  #reason = columnU8(256);
  shortfalls: Shortfall[] = [];
  #ages = new Map<number, number>();

  constructor(tables: EngineTables) {
    this.#cycle = tables.cycle;
    this.#fleet = tables.fleet;
    this.#filters = tables.filters;
    this.#vectors = tables.vectors;
    this.#needs = tables.needs;
    this.#domains = tables.domains;
    this.#drains = tables.drains;
    this.#unmet = tables.unmet;
    this.#rows = tables.rows;
    this.#restrictions = tables.restrictions;
  }

  adopt(other: Verdicts): void {
    this.#ages = new Map(other.#ages);
  }

  /** By entry of the unmet needs. */
  get reasons(): Uint8Array {
    return this.#reason;
  }

  /** After the phases: reasons and counts of the needs that were not satisfied by credit. */
  record(): void {
    const unmet = this.#unmet;
    if (this.#entryOf.length < this.#needs.limit) this.#entryOf = columnU32(2 * this.#needs.limit);
    if (this.#reason.length < unmet.count) this.#reason = columnU8(2 * unmet.count);
    for (let entry = 0; entry < unmet.count; entry++) {
      const need = unmet.need[entry]!;
      this.#entryOf[need] = entry + 1;
      const isSatisfied = this.#isSatisfied(entry);
      if (unmet.limitedBy[entry] !== Limit.None && !this.#isMissing(entry))
        unmet.limitedBy[entry] = Limit.None;
      this.#reason[entry] = isSatisfied ? UnmetReason.None : this.#reasonOf(entry);
      if (this.#needs.kind[need] === NeedKind.Fold) {
        this.#unmet.gangsHeld[entry] = this.#gangsHeld(entry);
        this.#countMembers(this.#fleet.clusterState(this.#needs.cluster[need]!), entry);
      } else if (!isSatisfied) {
        this.#count(this.#needs.assignment[need]!);
        if (this.#needs.kind[need] === NeedKind.Gang) this.#countParking(entry);
      }
    }
    this.#sumShortfalls();
  }

  verdictOf(cluster: ClusterState, row: number, memberIndex: number): Verdict {
    const need = cluster.rowNeed[row]!;
    const entry = this.#entryFor(need);
    const assignment = cluster.rowAssignment[row]!;
    const needs = this.#needs;
    const isFold = needs.kind[need] === NeedKind.Fold;
    const isGang = needs.kind[need] === NeedKind.Gang;
    const acquired = entry < 0 ? 0 : this.#unmet.acquired[entry]!;
    const isFirst = !isFold || memberIndex === 0;
    const satisfied =
      entry < 0 || (isFold ? memberIndex < this.#unmet.gangsHeld[entry]! : this.#isSatisfied(entry));
    const parkedCycles =
      this.#fleet.assignments.parkFor[assignment] === this.#cycle.number + 1
        ? this.#fleet.assignments.parkCount[assignment]!
        : 0;
    return {
      satisfied,
      deficit: satisfied ? {} : this.#deficitOf(need, entry, isFold),
      claimed: isFirst ? needs.creditCount[need]! + acquired : 0,
      bootstraps: isFirst && entry >= 0 ? this.#unmet.bootstraps[entry]! : 0,
      provisions: isFirst && entry >= 0 ? this.#unmet.provisions[entry]! : 0,
      domain: isGang ? this.#domains.ofGang(need).textOf(needs.domain[need]!) : '',
      satisfiable: !isGang || needs.has(need, Mark.Satisfiable),
      parked: isGang && (satisfied ? this.#restrictions.isParked(need) : needs.has(need, Mark.Parked)),
      parkedCycles: isGang ? parkedCycles : 0,
      cyclesUnmet: satisfied ? 0 : this.cyclesUnmet(assignment),
      reason: satisfied ? UnmetReason.None : (this.#reason[entry]! as UnmetReason),
      limitedBy: LIMIT_NAMES[satisfied ? Limit.None : (this.#unmet.limitedBy[entry]! as Limit)],
    };
  }

  /** Visits the rows that are not satisfied: of a fold, the members that its machines do not hold. */
  unmetRows(visit: (cluster: number, row: number) => void): void {
    const { need: needOf, gangsHeld, count } = this.#unmet;
    const { kind, firstRow, cluster: clusterRef } = this.#needs;
    for (let entry = 0; entry < count; entry++) {
      const need = needOf[entry]!;
      if (this.#reason[entry] === UnmetReason.None) continue; // acquired all of it
      const ref = clusterRef[need]!;
      if (kind[need] !== NeedKind.Fold) {
        visit(ref, firstRow[need]!);
        continue;
      }
      const { rowNeed, rowCount } = this.#fleet.clusterState(ref);
      let place = 0;
      for (let row = firstRow[need]!; row < rowCount; row++) {
        if (rowNeed[row] === need && place++ >= gangsHeld[entry]!) visit(ref, row);
      }
    }
  }

  cyclesUnmet(assignment: number): number {
    const { unmetFor, unmetCount } = this.#fleet.assignments;
    return unmetFor[assignment] === this.#cycle.number + 1 ? unmetCount[assignment]! : 0;
  }

  /** A7: ordinary cycles in a row without a domain, after this cycle. */
  parkingCount(assignment: number): number {
    const { parkFor, parkCount } = this.#fleet.assignments;
    return parkFor[assignment] === this.#cycle.number + 1 ? parkCount[assignment]! : 0;
  }

  #entryFor(need: number): number {
    const entry = (this.#entryOf[need] ?? 0) - 1;
    return entry >= 0 && entry < this.#unmet.count && this.#unmet.need[entry] === need ? entry : -1;
  }

  #isSatisfied(entry: number): boolean {
    const { rest, width, need } = this.#unmet;
    const aggregate = this.#needs.aggregate[need[entry]!]!;
    return UnmetNeeds.left(rest, entry * width, this.#vectors, aggregate) === 0;
  }

  /** Of a fold: it lacks whole gangs or nothing, so one dimension tells how many it holds. */
  #gangsHeld(entry: number): number {
    const { rest, width, need: needOf } = this.#unmet;
    const need = needOf[entry]!;
    const { start, units } = this.#vectors;
    const lacking = rest[entry * width]! / units[start[this.#needs.aggregate[need]!]!]!;
    return this.#needs.multiplier[need]! - lacking;
  }

  #deficitOf(need: number, entry: number, isFold: boolean): Record<string, number> {
    const aggregate = this.#needs.aggregate[need]!;
    if (isFold) return this.#vectors.amountsOf(aggregate);
    const { start, length, dims } = this.#vectors;
    const deficit: [string, number][] = [];
    for (let index = 0; index < length[aggregate]!; index++) {
      const units = this.#unmet.rest[entry * this.#unmet.width + index]!;
      if (units > 0) deficit.push([this.#vectors.dimensions.nameOf(dims[start[aggregate]! + index]!), units]);
    }
    return Object.fromEntries(deficit); // a resource may be called __proto__
  }

  /** Counts the members of a fold that its machines do not hold: the last ones by priority and arrival (N4). */
  #countMembers(cluster: ClusterState, entry: number): void {
    const need = this.#unmet.need[entry]!;
    let place = 0;
    for (let row = this.#needs.firstRow[need]!; row < cluster.rowCount; row++) {
      if (cluster.rowNeed[row] !== need) continue;
      if (place++ >= this.#unmet.gangsHeld[entry]!) this.#count(this.#rows.assignmentOf(cluster, row));
    }
  }

  #count(assignment: number): void {
    const { unmetFor, unmetCount } = this.#fleet.assignments;
    const before = unmetFor[assignment] === this.#cycle.number ? unmetCount[assignment]! : 0;
    unmetCount[assignment] = before + (this.#cycle.isOrdinary ? 1 : 0);
    unmetFor[assignment] = this.#cycle.number + 1;
  }

  #countParking(entry: number): void {
    const need = this.#unmet.need[entry]!;
    if (
      this.#needs.has(need, Mark.Satisfiable) ||
      this.#unmet.acquired[entry]! > 0 ||
      this.#unmet.limitedBy[entry] !== Limit.None ||
      this.#awaitsMachines(need)
    )
      return;
    const { parkFor, parkCount } = this.#fleet.assignments;
    const assignment = this.#needs.assignment[need]!;
    const before = parkFor[assignment] === this.#cycle.number ? parkCount[assignment]! : 0;
    parkCount[assignment] = before + (this.#cycle.isOrdinary ? 1 : 0);
    parkFor[assignment] = this.#cycle.number + 1;
  }

  /** Whether a machine is enqueued, Creating or draining for the gang. */
  #awaitsMachines(need: number): boolean {
    const { assigned, assignments, role } = this.#fleet;
    const assignment = this.#needs.assignment[need]!;
    const list = assignments.list[assignment]!;
    for (let at = list === 0 ? 0 : assigned.first(list); at !== 0; at = assigned.next(at)) {
      if (role[assigned.slotAt(at)] === Role.Creating) return true;
    }
    return this.#drains
      .slotsFor(assignment)
      .some((slot) => role[slot] === Role.Draining && !this.#fleet.isStuck(slot));
  }

  #reasonOf(entry: number): UnmetReason {
    const need = this.#unmet.need[entry]!;
    const needs = this.#needs;
    if (needs.kind[need] === NeedKind.Gang) {
      const isStranded = !needs.has(need, Mark.Satisfiable) || needs.has(need, Mark.Parked);
      if (isStranded || needs.domain[need] === 0) return UnmetReason.TopologyUnsatisfiable;
    }
    if (!this.#exists(this.#filters.get(needs.filter[need]!))) return UnmetReason.NoMatchingSupply;
    const { victims, limitedBy } = this.#unmet;
    if (limitedBy[entry] !== Limit.None) return UnmetReason.PriorityStarved; // T8
    if (victims[entry]! > 0 && this.#isMissing(entry)) return UnmetReason.PreemptionExhausted;
    return UnmetReason.PriorityStarved;
  }

  /** Whether phase 2 left something missing. */
  #isMissing(entry: number): boolean {
    const { missing, width, need } = this.#unmet;
    const aggregate = this.#needs.aggregate[need[entry]!]!;
    return UnmetNeeds.left(missing, entry * width, this.#vectors, aggregate) > 0;
  }

  /** Whether any machine, in any state, could serve the filter's needs. */
  #exists(filter: Filter): boolean {
    const { families, inventory } = this.#fleet;
    for (const family of filter.families) {
      if (families.machines[family] === 0) continue;
      if (filter.matchLevel === MatchLevel.Family) return true;
      for (const shape of families.shapesOf(family)) {
        if (families.machinesIn[shape] === 0 || !this.#filters.admitsShape(filter, shape)) continue;
        if (filter.matchLevel === MatchLevel.Shape) return true;
        for (let state = 1; state <= 8; state++) {
          const start = inventory.indexes.startOfShape(state, shape);
          const end = start + inventory.indexes.countOfShape(state, shape);
          for (let position = start; position < end; position++) {
            if (this.#filters.admitsSlot(filter, inventory.indexes.shapeSlots[position]!)) return true;
          }
        }
      }
    }
    return false;
  }

  /** P5: summed per fingerprint over clusters, aged by one each ordinary cycle, forgotten when met. */
  #sumShortfalls(): void {
    const unmet = this.#unmet;
    const { start, length, dims } = this.#vectors;
    const byFingerprint = new Map<number, Shortfall>();
    for (let entry = 0; entry < unmet.count; entry++) {
      const need = unmet.need[entry]!;
      const aggregate = this.#needs.aggregate[need]!;
      if (!this.#isMissing(entry) || unmet.limitedBy[entry] !== Limit.None) continue;
      const fingerprint = this.#fleet.assignments.fingerprint[this.#needs.assignment[need]!]!;
      let shortfall = byFingerprint.get(fingerprint);
      if (shortfall === undefined) {
        const age = (this.#ages.get(fingerprint) ?? 0) + (this.#cycle.isOrdinary ? 1 : 0);
        const profile = this.#needs.profile[need]!;
        const priority = this.#needs.priority[need]!;
        shortfall = { fingerprint, profile, priority, missing: new Map(), ageCycles: age };
        byFingerprint.set(fingerprint, shortfall);
      }
      for (let index = 0; index < length[aggregate]!; index++) {
        const units = unmet.missing[entry * unmet.width + index]!;
        const dim = dims[start[aggregate]! + index]!;
        if (units > 0) shortfall.missing.set(dim, (shortfall.missing.get(dim) ?? 0) + units);
      }
    }
    this.shortfalls = [...byFingerprint.values()];
    this.#ages = new Map(this.shortfalls.map(({ fingerprint, ageCycles }) => [fingerprint, ageCycles]));
  }
}
