/**
 * Normalisation: turns the rows of a roll-up, and the answer which of them fold (folding.ts), into the needs that phase 1
 * scans, in order N4 (priority, arrival, fingerprint, group).
 */

import type { VectorTable } from '../../base/vectors.ts';
import type { NeedTable } from '../../needs/need-table.ts';
import type { Claims } from '../assign/claims.ts';
import type { ClusterState } from '../cluster-state.ts';
import { columnF64, columnU32, widerF64 } from '../columns/columns.ts';
import type { EngineTables } from '../engine-tables.ts';
import type { Limits } from '../limits.ts';
import type { Filter, Filters } from '../supply/filters.ts';
import type { Fleet } from '../supply/fleet.ts';
import type { ClusterRows } from './cluster-rows.ts';
import { type EngineNeeds, Mark, NeedKind } from './engine-needs.ts';
import { type NeedKey, noKey, type ServingOrder } from './serving-order.ts';

/** Reused, so that a comparison allocates nothing. */
const ROW_KEY = noKey();
const FOLD_KEY_A = noKey();
const FOLD_KEY_B = noKey();
const ROW_KEY_B = noKey();

const NO_ROWS: readonly number[] = [];
const LOOKS_AT_OTHERS = Mark.Foreign | Mark.Deficit;

export class Normaliser {
  readonly #needTable: NeedTable;
  readonly #vectors: VectorTable;
  readonly #fleet: Fleet;
  readonly #filters: Filters;
  readonly #needs: EngineNeeds;
  readonly #order: ServingOrder;
  readonly #rows: ClusterRows;
  readonly #claims: Claims;
  readonly #limits: Limits;
  #successorOf = columnU32(256);
  /** By fold group of the cluster that is being built: the earliest arrival of its folding members. */
  #foldArrivalMs = columnF64(64);
  /** The filter of the previous row of this build: the next row mostly has the same. */
  #lastFilter: Filter | null = null;

  constructor({ needTable, vectors, fleet, filters, needs, order, rows, claims, limits }: EngineTables) {
    this.#needTable = needTable;
    this.#vectors = vectors;
    this.#fleet = fleet;
    this.#filters = filters;
    this.#needs = needs;
    this.#order = order;
    this.#rows = rows;
    this.#claims = claims;
    this.#limits = limits;
  }

  /**
   * Rebuilds the cluster's needs. A need that existed before keeps its machines, and is credited again only if its
   * demand changed; machines of the needs that are gone become newly available to the others.
   */
  build(cluster: ClusterState): void {
    const needs = this.#needs;
    const { needStart: oldStart, needCount: oldCount } = cluster;
    let count = 0;
    for (let row = 0; row < cluster.rowCount; row++) if (cluster.rowFolds[row] === 0) count++;
    for (let group = 0; group < cluster.groups.count; group++) {
      if (cluster.groups.firstFolded(group) >= 0) count++;
    }
    const start = needs.takeSlice(count);
    cluster.needStart = start;
    this.#writeInOrder(cluster);
    cluster.needStart = oldStart;
    this.#findSuccessors(oldStart, oldCount, start, count);
    for (let need = oldStart; need < oldStart + oldCount; need++) {
      if (this.#successorOf[need - oldStart] === 0)
        this.#claims.releaseAll(cluster, need, cluster.newlyAvailable);
    }
    for (let need = oldStart; need < oldStart + oldCount; need++) {
      const successor = this.#successorOf[need - oldStart]!;
      if (successor !== 0) this.#claims.handOver(need, successor, need - oldStart, successor - start);
      this.#release(need);
    }
    needs.giveSlice(oldStart, oldCount);
    cluster.needStart = start;
    cluster.needCount = count;
    for (let need = start; need < start + count; need++) {
      this.#linkRows(cluster, need);
      // Which machines belong to another live need may have changed, so a fold that claims or lacks others scans again.
      if (needs.kind[need] === NeedKind.Fold && needs.has(need, LOOKS_AT_OTHERS))
        needs.mark(need, Mark.Dirty);
    }
    this.#lastFilter = null;
    if (oldCount === 0) cluster.newlyAvailable.length = 0; // all needs are new and scan everything
    cluster.stale = cluster.wasRead = false;
    cluster.touched = true;
  }

  /** Releases what the cluster's needs hold; their claims must have been released. */
  drop(cluster: ClusterState): void {
    for (let need = cluster.needStart; need < cluster.needStart + cluster.needCount; need++)
      this.#release(need);
    this.#needs.giveSlice(cluster.needStart, cluster.needCount);
    cluster.needCount = 0;
  }

  /**
   * Runs after the cluster's rows are read and before folds are decided: needs that are neither a row nor a possible
   * fold any more stop being live, so that A1 (folding) counts the machines created for them as unassigned at once.
   */
  retire(cluster: ClusterState): void {
    const { assignment, plainAssignment } = this.#needs;
    const { rowCount, folds } = this.#fleet.assignments;
    for (let need = cluster.needStart; need < cluster.needStart + cluster.needCount; need++) {
      const own = assignment[need]!;
      const plain = plainAssignment[need]!;
      if (rowCount[own] === 0 && folds[own] === 0) this.#releaseAssignment(need);
      if (plain !== 0 && rowCount[plain] === 0 && folds[plain] === 0) this.#releasePlainAssignment(need);
    }
  }

  /**
   * By old need: the new need of the same name, 0 = none. Only needs that kept their order succeed: then a machine that
   * was out of a need's reach still is, or was released and so announced.
   */
  #findSuccessors(oldStart: number, oldCount: number, start: number, count: number): void {
    const needs = this.#needs;
    const { carrier } = this.#fleet.assignments;
    if (this.#successorOf.length < oldCount) this.#successorOf = new Uint32Array(2 * oldCount);
    this.#successorOf.fill(0, 0, oldCount);
    let last = -1;
    for (let need = start; need < start + count; need++) {
      const index = carrier[needs.assignment[need]!]! - 1;
      if (index <= last || index >= oldCount) continue;
      const old = oldStart + index;
      if (needs.assignment[old] !== needs.assignment[need] || needs.kind[old] !== needs.kind[need]) continue;
      this.#successorOf[index] = need;
      last = index;
    }
  }

  #release(need: number): void {
    const needs = this.#needs;
    this.#filters.release(this.#filters.get(needs.filter[need]!));
    this.#vectors.release(needs.aggregate[need]!);
    this.#needTable.profiles.release(needs.profile[need]!);
    if (needs.assignment[need] !== 0) this.#releaseAssignment(need);
    if (needs.plainAssignment[need] !== 0) this.#releasePlainAssignment(need);
  }

  #releaseAssignment(need: number): void {
    const { assignments } = this.#fleet;
    const assignment = this.#needs.assignment[need]!;
    this.#needs.assignment[need] = 0;
    assignments.carriers[assignment]!--;
    assignments.carrier[assignment] = assignments.gang[assignment] = 0;
    this.#changeLive(assignment, -1);
    assignments.release(assignment);
  }

  #releasePlainAssignment(need: number): void {
    const assignment = this.#needs.plainAssignment[need]!;
    this.#needs.plainAssignment[need] = 0;
    this.#changeLive(assignment, -1);
    this.#fleet.assignments.release(assignment);
  }

  #changeLive(assignment: number, by: 1 | -1): void {
    const { live } = this.#fleet.assignments;
    live[assignment]! += by;
    if (live[assignment] === (by === 1 ? 1 : 0)) this.#fleet.liveChanged(assignment);
  }

  /** Rows are in order N4; folds have another fingerprint and group, and are merged in at their places. */
  #writeInOrder(cluster: ClusterState): void {
    const folds: number[] = [];
    this.#foldArrivalMs = widerF64(this.#foldArrivalMs, cluster.groups.count);
    for (let group = 0; group < cluster.groups.count; group++) {
      if (cluster.groups.firstFolded(group) < 0) continue;
      this.#foldArrivalMs[group] = this.#earliestArrival(cluster, group);
      folds.push(group);
    }
    folds.sort((a, b) =>
      this.#order.compareKeys(this.#foldKey(cluster, a, FOLD_KEY_A), this.#foldKey(cluster, b, FOLD_KEY_B)),
    );
    const { profile, arrivalMs } = this.#needTable;
    const start = this.#needTable.sliceStart(cluster.ref);
    let next = cluster.needStart;
    let fold = 0;
    let settledProfile = 0; // rows of this profile and arrival precede the next fold, whatever their group
    let settledMs = 0;
    const capped = this.#rowsByCappedPriority(cluster);
    for (let place = 0; place < cluster.rowCount; place++) {
      const row = capped[place] ?? place;
      if (cluster.rowFolds[row] === 1) continue;
      const isSettled = profile[start + row] === settledProfile && arrivalMs[start + row] === settledMs;
      if (fold < folds.length && !isSettled) {
        this.#rowKey(cluster, row, ROW_KEY);
        while (
          fold < folds.length &&
          this.#order.compareKeys(this.#foldKey(cluster, folds[fold]!, FOLD_KEY_A), ROW_KEY) < 0
        ) {
          this.#writeFold(cluster, next++, folds[fold++]!);
        }
        const isOther = fold < folds.length && FOLD_KEY_A.profile !== ROW_KEY.profile;
        settledProfile = isOther ? ROW_KEY.profile : 0;
        settledMs = ROW_KEY.arrivalMs;
      }
      this.#writeRow(cluster, next++, row);
    }
    while (fold < folds.length) this.#writeFold(cluster, next++, folds[fold++]!);
  }

  /** T8: rows whose priority is capped, or equal to the cap, in the order that they then have: they come first. */
  #rowsByCappedPriority(cluster: ClusterState): readonly number[] {
    const max = this.#limits.maxPriority(cluster.ref);
    if (max === Number.POSITIVE_INFINITY) return NO_ROWS;
    const { profile, profiles } = this.#needTable;
    const start = this.#needTable.sliceStart(cluster.ref);
    const rows: number[] = [];
    while (rows.length < cluster.rowCount) {
      if (profiles.columns.priority[profile[start + rows.length]!]! < max) break;
      rows.push(rows.length);
    }
    return rows.sort((a, b) =>
      this.#order.compareKeys(this.#rowKey(cluster, a, ROW_KEY), this.#rowKey(cluster, b, ROW_KEY_B)),
    );
  }

  #writeRow(cluster: ClusterState, need: number, row: number): void {
    const table = this.#needTable;
    const tableRow = table.sliceStart(cluster.ref) + row;
    const profileRef = table.profile[tableRow]!;
    const minUnit = table.minUnit[tableRow]!;
    const before = this.#lastFilter;
    const filter =
      before !== null && before.profile === profileRef && before.minUnit === minUnit
        ? this.#filters.retain(before)
        : this.#filters.intern(profileRef, minUnit);
    this.#lastFilter = filter;
    const kind = table.profiles.columns.hasSame[profileRef] === 1 ? NeedKind.Gang : NeedKind.Plain;
    const assignment = this.#rows.assignmentOf(cluster, row);
    this.#write(cluster, need, kind, profileRef, filter, table.aggregate[tableRow]!, 1, row, assignment, 0);
    this.#needs.arrivalMs[need] = table.arrivalMs[tableRow]!;
  }

  /** The fold's min_unit is the maximum of one gang's aggregate and its members' min_units; its arrival the earliest. */
  #writeFold(cluster: ClusterState, need: number, group: number): void {
    const { groups } = cluster;
    const table = this.#needTable;
    const start = table.sliceStart(cluster.ref);
    const aggregate = groups.aggregate(group);
    const profile = groups.profile(group);
    let minUnit = aggregate;
    this.#vectors.retain(minUnit);
    let members = 0;
    for (let position = groups.rowsStart(group); position < groups.rowsEnd(group); position++) {
      if (cluster.rowFolds[cluster.groupRows[position]!] === 0) continue;
      const row = start + cluster.groupRows[position]!;
      members++;
      if (this.#vectors.covers(minUnit, table.minUnit[row]!)) continue;
      const greater = this.#vectors.derivedMax(minUnit, table.minUnit[row]!);
      this.#vectors.release(minUnit);
      minUnit = greater;
    }
    const filter = this.#filters.intern(profile, minUnit);
    this.#vectors.release(minUnit);
    const plainAssignment = groups.plainAssignment(group);
    const isAnothers = this.#fleet.assignments.rowCount[plainAssignment]! > 0; // a row itself has the empty group (docs/adr/0040)
    this.#write(
      cluster,
      need,
      NeedKind.Fold,
      profile,
      filter,
      aggregate,
      members,
      groups.firstFolded(group),
      groups.assignment(group),
      isAnothers ? 0 : plainAssignment,
    );
    this.#needs.arrivalMs[need] = this.#foldArrivalMs[group]!;
  }

  #write(
    cluster: ClusterState,
    need: number,
    kind: NeedKind,
    profile: number,
    filter: Filter,
    aggregate: number,
    multiplier: number,
    firstRow: number,
    assignment: number,
    plainAssignment: number,
  ): void {
    const needs = this.#needs;
    needs.fitWidth(this.#vectors.length[aggregate]!);
    needs.cluster[need] = cluster.ref;
    needs.kind[need] = kind;
    needs.setMarks(need, Mark.Dirty);
    needs.profile[need] = profile;
    needs.filter[need] = filter.id;
    needs.aggregate[need] = aggregate;
    needs.multiplier[need] = multiplier;
    needs.firstRow[need] = firstRow;
    needs.assignment[need] = assignment;
    needs.plainAssignment[need] = plainAssignment;
    const { columns } = this.#needTable.profiles;
    needs.priority[need] = this.#priorityOf(cluster, profile);
    needs.interruptionPenalty[need] = columns.interruptionPenalty[profile]!;
    needs.reclamationPenalty[need] = columns.reclamationPenalty[profile]!;
    needs.firstClaim[need] = 0;
    needs.claimCount[need] = 0;
    needs.creditCount[need] = 0;
    needs.lastTaken[need] = 0;
    needs.lastPart[need] = 0;
    needs.domain[need] = 0;
    this.#vectors.retain(aggregate);
    this.#needTable.profiles.retain(profile);
    this.#fleet.assignments.retain(assignment);
    this.#fleet.assignments.carriers[assignment]!++;
    this.#changeLive(assignment, 1);
    if (plainAssignment === 0) return;
    this.#fleet.assignments.retain(plainAssignment);
    this.#changeLive(plainAssignment, 1);
  }

  #priorityOf(cluster: ClusterState, profile: number): number {
    const priority = this.#needTable.profiles.columns.priority[profile]!;
    return Math.min(priority, this.#limits.maxPriority(cluster.ref));
  }

  #foldKey(cluster: ClusterState, group: number, key: NeedKey): NeedKey {
    const { groups } = cluster;
    key.profile = groups.profile(group);
    key.priority = this.#priorityOf(cluster, key.profile);
    key.arrivalMs = this.#foldArrivalMs[group]!;
    key.group = this.#fleet.assignments.group[groups.assignment(group)]!;
    return key;
  }

  #rowKey(cluster: ClusterState, row: number, key: NeedKey): NeedKey {
    const table = this.#needTable;
    const tableRow = table.sliceStart(cluster.ref) + row;
    key.profile = table.profile[tableRow]!;
    key.priority = this.#priorityOf(cluster, key.profile);
    key.arrivalMs = table.arrivalMs[tableRow]!;
    key.group = table.group[tableRow]!;
    return key;
  }

  #earliestArrival(cluster: ClusterState, group: number): number {
    const { groups } = cluster;
    const start = this.#needTable.sliceStart(cluster.ref);
    let earliest = Number.POSITIVE_INFINITY;
    for (let position = groups.rowsStart(group); position < groups.rowsEnd(group); position++) {
      const row = cluster.groupRows[position]!;
      if (cluster.rowFolds[row] === 1) earliest = Math.min(earliest, this.#needTable.arrivalMs[start + row]!);
    }
    return earliest;
  }

  #linkRows(cluster: ClusterState, need: number): void {
    const needs = this.#needs;
    const { assignments } = this.#fleet;
    const row = needs.firstRow[need]!;
    const assignment = needs.assignment[need]!;
    assignments.carrier[assignment] = need - cluster.needStart + 1;
    if (needs.kind[need] === NeedKind.Gang) assignments.gang[assignment] = assignments.carrier[assignment]!;
    if (needs.kind[need] !== NeedKind.Fold) {
      cluster.rowNeed[row] = need;
      return;
    }
    const { groups } = cluster;
    const group = cluster.rowGroup[row]! - 1;
    for (let position = groups.rowsStart(group); position < groups.rowsEnd(group); position++) {
      const member = cluster.groupRows[position]!;
      if (cluster.rowFolds[member] === 1) cluster.rowNeed[member] = need;
    }
  }
}
