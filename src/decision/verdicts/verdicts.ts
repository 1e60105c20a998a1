/**
 * Verdicts (A8): what a cycle says about each need, and the counts that the next cycle continues: parking (A7), cycles
 * unmet (A8), age of shortfalls (P5). Satisfied needs cost nothing: `record` reads only those that credit did not
 * satisfy, and of these it records the ones whose outcome changed. A verdict is composed when a reader asks for it.
 */

import type { VectorTable } from '../../base/vectors.ts';
import type { GangDomains } from '../assign/gang-domains.ts';
import { Counted, UnmetNeeds } from '../assign/unmet.ts';
import type { ClusterState } from '../cluster-state.ts';
import type { ClusterRows } from '../demand/cluster-rows.ts';
import { type EngineNeeds, Mark, NeedKind } from '../demand/engine-needs.ts';
import type { CurrentCycle, EngineTables } from '../engine-tables.ts';
import { LIMIT_NAMES, Limit, type LimitName } from '../limits.ts';
import { PARKED_FROM, type Restrictions } from '../restrictions.ts';
import type { AssignmentTable } from '../supply/assignments.ts';
import type { Drains } from '../supply/drains.ts';
import { type Filter, type Filters, MatchLevel } from '../supply/filters.ts';
import { type Fleet, Role } from '../supply/fleet.ts';
import { Lacks } from './lacks.ts';
import { type Shortfall, Shortfalls } from './shortfalls.ts';

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

export class Verdicts {
  readonly #fleet: Fleet;
  readonly #assignments: AssignmentTable;
  readonly #filters: Filters;
  readonly #vectors: VectorTable;
  readonly #needs: EngineNeeds;
  readonly #cycle: CurrentCycle;
  readonly #domains: GangDomains;
  readonly #drains: Drains;
  readonly #unmet: UnmetNeeds;
  readonly #rows: ClusterRows;
  readonly #restrictions: Restrictions;
  readonly lacks: Lacks;
  readonly #shortfalls: Shortfalls;
  /** By assignment of a fold: those of its members that lack a machine, and whose cycles unmet are counted. */
  readonly #membersOf = new Map<number, readonly number[]>();

  constructor(tables: EngineTables) {
    this.#cycle = tables.cycle;
    this.#fleet = tables.fleet;
    this.#assignments = tables.assignments;
    this.#filters = tables.filters;
    this.#vectors = tables.vectors;
    this.#needs = tables.needs;
    this.#domains = tables.domains;
    this.#drains = tables.drains;
    this.#unmet = tables.unmet;
    this.#rows = tables.rows;
    this.#restrictions = tables.restrictions;
    this.lacks = new Lacks(tables.assignments, tables.cycle);
    this.#shortfalls = new Shortfalls(tables);
  }

  adopt(other: Verdicts): void {
    this.#shortfalls.adopt(other.#shortfalls);
  }

  /** P5: in no order. */
  get shortfalls(): readonly Shortfall[] {
    return this.#shortfalls.list();
  }

  /** After the phases: reasons and counts of the needs that were not satisfied by credit. */
  record(): void {
    const { left, isChanged, shortOf, reason, victims, limitedBy } = this.#unmet;
    for (let index = 0; index < left.length; index += 3) {
      this.lacks.end(left[index]!);
      this.#stopCounting(left[index]!, left[index + 1]!);
      if (left[index + 2] !== 0) this.#shortfalls.end(left[index + 2]!);
    }
    for (let entry = 0; entry < this.#unmet.count; entry++) {
      const isMissing = this.#isMissing(entry);
      if (isChanged[entry] === 1) this.#recordEntry(entry, isMissing);
      // Credit and acquisition left it as it was: unmet.
      else if (victims[entry] !== 0 || reason[entry] !== this.#unpreempted(entry))
        reason[entry] = this.#reasonOf(entry, isMissing);
      const isPaused = this.#restrictions.isPaused(this.#unmet.cluster[entry]!);
      if (isPaused && this.#cycle.isCounting) this.#holdCounts(entry);
      if (isMissing && limitedBy[entry] === Limit.None && !isPaused) {
        if (shortOf[entry] === 0) this.#shortfalls.begin(entry, this.#fingerprintOf(entry));
      } else if (shortOf[entry] !== 0) this.#shortfalls.leave(entry);
    }
    this.lacks.endCycle();
    this.#assignments.endCycle(this.#cycle.isCounting);
    this.#shortfalls.endCycle();
  }

  #recordEntry(entry: number, isMissing: boolean): void {
    const unmet = this.#unmet;
    const need = unmet.need[entry]!;
    const kind = this.#needs.kind[need]!;
    const assignment = unmet.assignment[entry]!;
    const isSatisfied = this.#isSatisfied(entry);
    if (unmet.isNew[entry] === 1) this.lacks.begin(assignment, unmet.cluster[entry]!);
    if (!isMissing) unmet.limitedBy[entry] = Limit.None;
    unmet.reason[entry] = isSatisfied ? UnmetReason.None : this.#reasonOf(entry, isMissing);
    if (!isSatisfied) this.lacks.unmet(assignment, unmet.reason[entry]!);
    if (kind === NeedKind.Fold) this.#countMembers(entry);
    else if (isSatisfied) {
      this.#stopCounting(assignment, unmet.counted[entry]!);
      unmet.counted[entry] = Counted.No;
    } else if (unmet.counted[entry] === Counted.No) {
      this.#assignments.beginUnmet(assignment);
      unmet.counted[entry] = Counted.Need;
    }
    if (kind === NeedKind.Gang && !isSatisfied) this.#countParking(entry);
    unmet.isChanged[entry] = unmet.isNew[entry] = 0;
  }

  verdictOf(cluster: ClusterState, row: number, memberIndex: number): Verdict {
    const need = cluster.rowNeed[row]!;
    const entry = this.#unmet.entryFor(need);
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
      reason: satisfied ? UnmetReason.None : (this.#unmet.reason[entry]! as UnmetReason),
      limitedBy: LIMIT_NAMES[satisfied ? Limit.None : (this.#unmet.limitedBy[entry]! as Limit)],
    };
  }

  /** Machines that count for the need, and those that it acquired in the last cycle. */
  machinesOf(need: number): number {
    const entry = this.#unmet.entryFor(need);
    return this.#needs.creditCount[need]! + (entry < 0 ? 0 : this.#unmet.acquired[entry]!);
  }

  /** Visits the rows that are not satisfied: of a fold, the members that its machines do not hold. */
  unmetRows(visit: (cluster: number, row: number) => void): void {
    const { need: needOf, cluster: clusterRef, reason, gangsHeld, count } = this.#unmet;
    const { kind, firstRow } = this.#needs;
    for (let entry = 0; entry < count; entry++) {
      const need = needOf[entry]!;
      if (reason[entry] === UnmetReason.None) continue; // acquired all of it
      const ref = clusterRef[entry]!;
      if (kind[need] !== NeedKind.Fold) visit(ref, firstRow[need]!);
      else
        forEachMember(this.#fleet.clusterState(ref), firstRow[need]!, gangsHeld[entry]!, (row) =>
          visit(ref, row),
        );
    }
  }

  /** The same for one cluster, with whether the row has no machine, also none on its way. */
  unmetRowsOf(cluster: number, visit: (row: number, isIdle: boolean) => void): void {
    const { need: needOf, cluster: clusterRef, reason, gangsHeld, acquired, count } = this.#unmet;
    const { kind, firstRow, claimCount, assignment } = this.#needs;
    for (let entry = 0; entry < count; entry++) {
      if (clusterRef[entry] !== cluster || reason[entry] === UnmetReason.None) continue;
      const need = needOf[entry]!;
      if (kind[need] === NeedKind.Fold) {
        const state = this.#fleet.clusterState(cluster);
        forEachMember(state, firstRow[need]!, gangsHeld[entry]!, (row) => visit(row, true));
        continue;
      }
      const own = assignment[need]!;
      const isIdle =
        claimCount[need] === 0 &&
        acquired[entry] === 0 &&
        this.#assignments.held[own] === 0 &&
        this.#drains.slotsFor(own).length === 0;
      visit(firstRow[need]!, isIdle);
    }
  }

  /** The number of rows that `unmetRows` visits, without a visit to the members of folds. */
  get unmetCount(): number {
    const { reason, counted, assignment, count } = this.#unmet;
    let rows = 0;
    for (let entry = 0; entry < count; entry++) {
      if (reason[entry] === UnmetReason.None) continue;
      const isFold = counted[entry] === Counted.Members;
      rows += isFold ? this.#membersOf.get(assignment[entry]!)!.length : 1;
    }
    return rows;
  }

  cyclesUnmet(assignment: number): number {
    return this.#assignments.unmetCount(assignment);
  }

  /** A7: ordinary cycles in a row without a domain, after this cycle. */
  parkingCount(assignment: number): number {
    const { parkFor, parkCount } = this.#fleet.assignments;
    return parkFor[assignment] === this.#cycle.number + 1 ? parkCount[assignment]! : 0;
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
  #countMembers(entry: number): void {
    const unmet = this.#unmet;
    const need = unmet.need[entry]!;
    const held = this.#gangsHeld(entry);
    if (unmet.isNew[entry] === 0 && unmet.gangsHeld[entry] === held) return;
    const fold = unmet.assignment[entry]!;
    const cluster = this.#fleet.clusterState(unmet.cluster[entry]!);
    const lacking: number[] = [];
    forEachMember(cluster, this.#needs.firstRow[need]!, held, (row) => {
      const assignment = this.#rows.assignmentOf(cluster, row);
      lacking.push(assignment);
      this.#assignments.beginUnmet(assignment);
    });
    this.#stopCounting(fold, unmet.counted[entry]!);
    this.#membersOf.set(fold, lacking);
    unmet.counted[entry] = Counted.Members;
    unmet.gangsHeld[entry] = held;
  }

  #stopCounting(assignment: number, counted: number): void {
    if (counted === Counted.Need) this.#assignments.endUnmet(assignment);
    if (counted !== Counted.Members) return;
    for (const member of this.#membersOf.get(assignment)!) this.#assignments.endUnmet(member);
    this.#membersOf.delete(assignment);
  }

  /** H4: the needs of a paused cluster are as old as they were. */
  #holdCounts(entry: number): void {
    const { counted, assignment } = this.#unmet;
    const unmet = assignment[entry]!;
    if (counted[entry] === Counted.Need) this.#assignments.holdUnmet(unmet);
    if (counted[entry] !== Counted.Members) return;
    for (const member of this.#membersOf.get(unmet)!) this.#assignments.holdUnmet(member);
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
    parkCount[assignment] = before + (this.#advancesParking(entry, before) ? 1 : 0);
    parkFor[assignment] = this.#cycle.number + 1;
  }

  /** H4: no gang is parked because of a pause; one that is parked already is tried as often as before. */
  #advancesParking(entry: number, before: number): boolean {
    if (!this.#cycle.isOrdinary || before >= PARKED_FROM) return this.#cycle.isOrdinary;
    return this.#cycle.isCounting && !this.#restrictions.isPaused(this.#unmet.cluster[entry]!);
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

  #reasonOf(entry: number, isMissing: boolean): UnmetReason {
    const need = this.#unmet.need[entry]!;
    const needs = this.#needs;
    if (needs.kind[need] === NeedKind.Gang) {
      const isStranded = !needs.has(need, Mark.Satisfiable) || needs.has(need, Mark.Parked);
      if (isStranded || needs.domain[need] === 0) return UnmetReason.TopologyUnsatisfiable;
    }
    const reason = this.#unpreempted(entry);
    if (reason === UnmetReason.NoMatchingSupply) return reason;
    const { victims, limitedBy } = this.#unmet;
    if (limitedBy[entry] !== Limit.None) return UnmetReason.PriorityStarved; // T8
    return victims[entry]! > 0 && isMissing ? UnmetReason.PreemptionExhausted : reason;
  }

  /** The reason of an entry that is no gang and for which phase 2 chose no victim. */
  #unpreempted(entry: number): UnmetReason {
    const filter = this.#filters.get(this.#needs.filter[this.#unmet.need[entry]!]!);
    return this.#exists(filter) ? UnmetReason.PriorityStarved : UnmetReason.NoMatchingSupply;
  }

  #fingerprintOf(entry: number): number {
    return this.#assignments.fingerprint[this.#unmet.assignment[entry]!]!;
  }

  /** Whether phase 2 left something missing. */
  #isMissing(entry: number): boolean {
    const { missing, width, need } = this.#unmet;
    const aggregate = this.#needs.aggregate[need[entry]!]!;
    return UnmetNeeds.left(missing, entry * width, this.#vectors, aggregate) > 0;
  }

  /** Whether any machine, in any state, could serve the filter's needs. Looked up again when a shape came or went. */
  #exists(filter: Filter): boolean {
    const { machinesVersion } = this.#fleet.families;
    if (filter.existsAt === machinesVersion && filter.matchLevel !== MatchLevel.Machine) return filter.exists;
    filter.exists = this.#find(filter);
    filter.existsAt = machinesVersion;
    return filter.exists;
  }

  #find(filter: Filter): boolean {
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
}

/** Visits the rows of a fold, in order N4, except the first `held`. */
function forEachMember(
  cluster: ClusterState,
  firstRow: number,
  held: number,
  visit: (row: number) => void,
): void {
  const { groups, groupRows, rowGroup, rowFolds } = cluster;
  const group = rowGroup[firstRow]! - 1;
  let place = 0;
  for (let position = groups.rowsStart(group); position < groups.rowsEnd(group); position++) {
    const row = groupRows[position]!;
    if (rowFolds[row] === 1 && place++ >= held) visit(row);
  }
}
