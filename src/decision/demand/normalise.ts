/**
 * Normalisation: turns the rows of a roll-up, and the answer which of them fold (folding.ts), into the needs that phase 1
 * scans, in order N4 (priority, arrival, fingerprint, group). A need has one number from the roll-up that brings it to the
 * one that withdraws it (need-places.ts). So a changed roll-up, or a fold that flips, inserts, changes and removes single
 * needs, and every other need keeps what it has.
 */

import type { VectorTable } from '../../base/vectors.ts';
import type { NeedTable } from '../../needs/need-table.ts';
import type { Claims } from '../assign/claims.ts';
import type { ClusterState } from '../cluster-state.ts';
import { columnI32, columnU32, widerI32, widerU32 } from '../columns/columns.ts';
import type { EngineTables } from '../engine-tables.ts';
import type { Limits } from '../limits.ts';
import type { Filters } from '../supply/filters.ts';
import type { Fleet } from '../supply/fleet.ts';
import type { ClusterRows } from './cluster-rows.ts';
import { type EngineNeeds, Mark, NeedKind } from './engine-needs.ts';
import { NeedPlaces } from './need-places.ts';
import { type NeedKey, noKey, type ServingOrder } from './serving-order.ts';

/** What a row or a fold wants to be: the columns of its need, and its place in the order. */
interface Wanted extends NeedKey {
  kind: NeedKind;
  minUnit: number;
  aggregate: number;
  multiplier: number;
  firstRow: number;
  assignment: number;
  plainAssignment: number;
}

/** Reused, so that a comparison allocates nothing. */
const WANTED: Wanted = noneWanted();
const KEY_A = noKey();
const KEY_B = noKey();

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
  readonly #places: NeedPlaces;
  /** Entries that have no need yet: a row, or a fold group as -1 - group. */
  #missing = columnI32(64);
  #missingCount = 0;
  /** By need: the build that wanted it last. */
  #wantedIn = columnU32(256);
  #build = 0;

  constructor(tables: EngineTables) {
    this.#needTable = tables.needTable;
    this.#vectors = tables.vectors;
    this.#fleet = tables.fleet;
    this.#filters = tables.filters;
    this.#needs = tables.needs;
    this.#order = tables.order;
    this.#rows = tables.rows;
    this.#claims = tables.claims;
    this.#limits = tables.limits;
    this.#places = new NeedPlaces(tables);
  }

  /**
   * Brings the cluster's needs up to date: with all of its rows if those were read or its limits changed, else with the fold
   * groups that flipped. Machines of needs that are gone become newly available to the others.
   */
  build(cluster: ClusterState): void {
    this.#build++;
    this.#wantedIn = widerU32(this.#wantedIn, this.#needs.limit);
    this.#missingCount = 0;
    const isNew = cluster.needSpan === 0;
    if (cluster.stale) {
      this.#keepRows(cluster);
      this.#removeUnwanted(cluster);
    } else for (const group of cluster.flippedGroups) this.#keepGroup(cluster, group);
    this.#insertMissing(cluster);
    const end = cluster.needStart + cluster.needSpan;
    for (let need = cluster.needStart; need < end; need++) {
      // Which machines belong to another live need may have changed, so a fold that claims or lacks others scans again.
      if (this.#needs.kind[need] === NeedKind.Fold && this.#needs.has(need, LOOKS_AT_OTHERS))
        this.#needs.mark(need, Mark.Dirty);
    }
    if (isNew) cluster.newlyAvailable.length = 0; // all needs are new and scan everything
    cluster.flippedGroups.length = 0;
    cluster.stale = cluster.wasRead = false;
    cluster.touched = true;
  }

  /** Releases what the cluster's needs hold; their claims must have been released. */
  drop(cluster: ClusterState): void {
    const end = cluster.needStart + cluster.needSpan;
    for (let need = cluster.needStart; need < end; need++) {
      if (this.#needs.kind[need] !== NeedKind.None) this.#release(need);
    }
    this.#needs.giveSlice(cluster.needStart, cluster.needSpan);
    cluster.needSpan = cluster.needCount = 0;
  }

  /**
   * Runs after the cluster's rows are read and before folds are decided: needs that are neither a row nor a possible
   * fold any more stop being live, so that A1 (folding) counts the machines created for them as unassigned at once.
   */
  retire(cluster: ClusterState): void {
    const { assignment, plainAssignment, kind } = this.#needs;
    const { rowCount, folds } = this.#fleet.assignments;
    const end = cluster.needStart + cluster.needSpan;
    for (let need = cluster.needStart; need < end; need++) {
      if (kind[need] === NeedKind.None) continue;
      const own = assignment[need]!;
      const plain = plainAssignment[need]!;
      if (rowCount[own] === 0 && folds[own] === 0) this.#releaseAssignment(need);
      if (plain !== 0 && rowCount[plain] === 0 && folds[plain] === 0) this.#releasePlainAssignment(need);
    }
  }

  #keepRows(cluster: ClusterState): void {
    for (let row = 0; row < cluster.rowCount; row++) {
      if (cluster.rowFolds[row] === 0) this.#keepRow(cluster, row);
    }
    for (let group = 0; group < cluster.groups.count; group++) {
      if (cluster.groups.firstFolded(group) >= 0) this.#keepFold(cluster, group);
    }
  }

  /** A fold group flipped: its rows that fold now lose their needs. */
  #keepGroup(cluster: ClusterState, group: number): void {
    const { groups, groupRows, rowFolds, rowNeed } = cluster;
    const end = groups.rowsEnd(group);
    for (let position = groups.rowsStart(group); position < end; position++) {
      const row = groupRows[position]!;
      const need = rowNeed[row]!;
      if (rowFolds[row] === 1 && this.#needs.kind[need] === NeedKind.Gang) this.#remove(cluster, need);
    }
    const fold = this.#fleet.assignments.carrier[groups.assignment(group)]!;
    if (groups.firstFolded(group) >= 0) this.#keepFold(cluster, group);
    if (fold !== 0 && this.#wantedIn[cluster.needStart + fold - 1] !== this.#build)
      this.#remove(cluster, cluster.needStart + fold - 1);
    for (let position = groups.rowsStart(group); position < end; position++) {
      if (rowFolds[groupRows[position]!] === 0) this.#keepRow(cluster, groupRows[position]!);
    }
  }

  /** The row changed its amounts alone, and has its need. */
  changeRow(cluster: ClusterState, row: number): void {
    this.#wantRow(cluster, row, WANTED);
    this.#change(cluster.rowNeed[row]!, WANTED);
  }

  #keepRow(cluster: ClusterState, row: number): void {
    this.#wantRow(cluster, row, WANTED);
    this.#keep(cluster, WANTED, row);
  }

  #keepFold(cluster: ClusterState, group: number): void {
    this.#wantFold(cluster, group, WANTED);
    this.#keep(cluster, WANTED, -1 - group);
    this.#vectors.release(WANTED.minUnit);
  }

  /** Changes the need that the entry has; without one at its place in the order, the entry is missing. */
  #keep(cluster: ClusterState, wanted: Wanted, entry: number): void {
    const needs = this.#needs;
    const index = this.#fleet.assignments.carrier[wanted.assignment]! - 1;
    const need = cluster.needStart + index;
    const isKept =
      index >= 0 &&
      index < cluster.needSpan &&
      needs.assignment[need] === wanted.assignment &&
      needs.kind[need] === wanted.kind &&
      needs.arrivalMs[need] === wanted.arrivalMs &&
      needs.priority[need] === wanted.priority &&
      this.#wantedIn[need] !== this.#build;
    if (!isKept) {
      this.#missing = widerI32(this.#missing, this.#missingCount);
      this.#missing[this.#missingCount++] = entry;
      return;
    }
    this.#wantedIn[need] = this.#build;
    this.#change(need, wanted);
    this.#places.link(cluster, need);
  }

  #removeUnwanted(cluster: ClusterState): void {
    const end = cluster.needStart + cluster.needSpan;
    for (let need = cluster.needStart; need < end; need++) {
      if (this.#needs.kind[need] !== NeedKind.None && this.#wantedIn[need] !== this.#build)
        this.#remove(cluster, need);
    }
  }

  #remove(cluster: ClusterState, need: number): void {
    this.#claims.releaseAll(cluster, need, cluster.newlyAvailable);
    this.#release(need);
    cluster.needCount--;
  }

  #insertMissing(cluster: ClusterState): void {
    const count = this.#missingCount;
    if (!this.#places.isSpanFitting(cluster.needSpan, cluster.needCount + count))
      this.#resize(cluster, cluster.needCount + count);
    if (cluster.needCount === 0) {
      this.#layOut(cluster, count);
      return;
    }
    const entries = this.#missing.subarray(0, count);
    if (count > 1) this.#sortInOrder(cluster, entries);
    for (let at = 0; at < count; ) at += this.#insertRun(cluster, entries.subarray(at));
  }

  /** Inserts the first of these entries, and all that belong between the same neighbours; returns how many. */
  #insertRun(cluster: ClusterState, entries: Int32Array): number {
    const next = this.#places.after(cluster, this.#keyOf(cluster, entries[0]!, KEY_A));
    const isLast = next === cluster.needStart + cluster.needSpan;
    let length = isLast ? entries.length : 1;
    while (
      length < entries.length &&
      this.#order.compareToKey(next, this.#keyOf(cluster, entries[length]!, KEY_A)) > 0
    )
      length++;
    this.#places.makeRoom(cluster, next, length);
    for (let at = 0; at < length; at++) {
      this.#want(cluster, entries[at]!, WANTED);
      this.#write(cluster, this.#places.placeInRun(at), WANTED);
      if (WANTED.kind === NeedKind.Fold) this.#vectors.release(WANTED.minUnit);
    }
    return length;
  }

  /** Moves all needs to a slice for `needCount` needs, evenly. */
  #resize(cluster: ClusterState, needCount: number): void {
    const needs = this.#needs;
    const { needStart: oldStart, needSpan: oldSpan } = cluster;
    const span = this.#places.spanFor(needCount);
    const start = needs.takeSlice(span);
    this.#wantedIn = widerU32(this.#wantedIn, needs.limit);
    cluster.needStart = start;
    cluster.needSpan = span;
    let place = 0;
    for (let need = oldStart; need < oldStart + oldSpan; need++) {
      if (needs.kind[need] === NeedKind.None) continue;
      const to = start + Math.floor((place++ * span) / cluster.needCount);
      this.#places.move(need, to, start);
      this.#places.link(cluster, to);
    }
    needs.giveSlice(oldStart, oldSpan);
  }

  /** The first needs of a cluster: sorted once, and spread evenly over the slice. */
  #layOut(cluster: ClusterState, count: number): void {
    const entries = this.#missing.subarray(0, count);
    this.#sortInOrder(cluster, entries);
    for (let at = 0; at < count; at++) {
      this.#want(cluster, entries[at]!, WANTED);
      this.#write(cluster, cluster.needStart + Math.floor((at * cluster.needSpan) / count), WANTED);
      if (WANTED.kind === NeedKind.Fold) this.#vectors.release(WANTED.minUnit);
    }
  }

  /** The rows of a cluster are in order N4, unless a maximum of priorities changes it (T8); folds are merged in. */
  #sortInOrder(cluster: ClusterState, entries: Int32Array): void {
    const byKey = (a: number, b: number): number =>
      this.#order.compareKeys(this.#keyOf(cluster, a, KEY_A), this.#keyOf(cluster, b, KEY_B));
    entries.sort(); // folds are below zero
    let foldCount = 0;
    while (foldCount < entries.length && entries[foldCount]! < 0) foldCount++;
    const folds = entries.slice(0, foldCount).sort(byKey);
    const rows = entries.slice(foldCount);
    if (this.#limits.maxPriority(cluster.ref) !== Number.POSITIVE_INFINITY) rows.sort(byKey);
    let fold = 0;
    let at = 0;
    let settledProfile = 0; // rows of this profile and arrival precede the next fold, whatever their group
    let settledMs = 0;
    for (const row of rows) {
      const key = this.#keyOf(cluster, row, KEY_A);
      if (fold < folds.length && (key.profile !== settledProfile || key.arrivalMs !== settledMs)) {
        while (
          fold < folds.length &&
          this.#order.compareKeys(this.#keyOf(cluster, folds[fold]!, KEY_B), key) < 0
        )
          entries[at++] = folds[fold++]!;
        const isOther = fold < folds.length && KEY_B.profile !== key.profile;
        settledProfile = isOther ? key.profile : 0;
        settledMs = key.arrivalMs;
      }
      entries[at++] = row;
    }
    while (fold < folds.length) entries[at++] = folds[fold++]!;
  }

  #release(need: number): void {
    const needs = this.#needs;
    this.#filters.release(this.#filters.get(needs.filter[need]!));
    this.#vectors.release(needs.aggregate[need]!);
    this.#needTable.profiles.release(needs.profile[need]!);
    if (needs.assignment[need] !== 0) this.#releaseAssignment(need);
    if (needs.plainAssignment[need] !== 0) this.#releasePlainAssignment(need);
    needs.kind[need] = NeedKind.None;
    needs.setMarks(need, 0);
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

  #holdPlainAssignment(need: number, assignment: number): void {
    this.#needs.plainAssignment[need] = assignment;
    if (assignment === 0) return;
    this.#fleet.assignments.retain(assignment);
    this.#changeLive(assignment, 1);
  }

  #changeLive(assignment: number, by: 1 | -1): void {
    const { live } = this.#fleet.assignments;
    live[assignment]! += by;
    if (live[assignment] === (by === 1 ? 1 : 0)) this.#fleet.liveChanged(assignment);
  }

  /** What the entry wants; the caller releases the min_unit of a fold. */
  #want(cluster: ClusterState, entry: number, wanted: Wanted): void {
    if (entry >= 0) this.#wantRow(cluster, entry, wanted);
    else this.#wantFold(cluster, -1 - entry, wanted);
  }

  #wantRow(cluster: ClusterState, row: number, wanted: Wanted): void {
    const table = this.#needTable;
    const tableRow = table.sliceStart(cluster.ref) + row;
    this.#rowKey(cluster, row, wanted);
    wanted.kind = table.profiles.columns.hasSame[wanted.profile] === 1 ? NeedKind.Gang : NeedKind.Plain;
    wanted.minUnit = table.minUnit[tableRow]!;
    wanted.aggregate = table.aggregate[tableRow]!;
    wanted.multiplier = 1;
    wanted.firstRow = row;
    wanted.assignment = this.#rows.assignmentOf(cluster, row);
    wanted.plainAssignment = 0;
  }

  /** The fold's min_unit is the maximum of one gang's aggregate and its members' min_units; its arrival the earliest. */
  #wantFold(cluster: ClusterState, group: number, wanted: Wanted): void {
    const { groups } = cluster;
    const table = this.#needTable;
    const start = table.sliceStart(cluster.ref);
    const aggregate = groups.aggregate(group);
    this.#foldKey(cluster, group, wanted);
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
    const plainAssignment = groups.plainAssignment(group);
    const isAnothers = this.#fleet.assignments.rowCount[plainAssignment]! > 0; // a row itself has the empty group (docs/adr/0040)
    wanted.kind = NeedKind.Fold;
    wanted.minUnit = minUnit;
    wanted.aggregate = aggregate;
    wanted.multiplier = members;
    wanted.firstRow = groups.firstFolded(group);
    wanted.assignment = groups.assignment(group);
    wanted.plainAssignment = isAnothers ? 0 : plainAssignment;
  }

  /** The need goes on; it is credited again only if its demand changed. */
  #change(need: number, wanted: Wanted): void {
    const needs = this.#needs;
    const filter = this.#filters.get(needs.filter[need]!);
    needs.firstRow[need] = wanted.firstRow;
    const isSame =
      needs.profile[need] === wanted.profile &&
      filter.minUnit === wanted.minUnit &&
      needs.aggregate[need] === wanted.aggregate &&
      needs.multiplier[need] === wanted.multiplier &&
      needs.plainAssignment[need] === wanted.plainAssignment;
    if (isSame) return;
    needs.fitWidth(this.#vectors.length[wanted.aggregate]!);
    needs.filter[need] = this.#filters.intern(wanted.profile, wanted.minUnit).id;
    this.#filters.release(filter);
    this.#vectors.retain(wanted.aggregate);
    this.#vectors.release(needs.aggregate[need]!);
    this.#needTable.profiles.retain(wanted.profile);
    this.#needTable.profiles.release(needs.profile[need]!);
    needs.profile[need] = wanted.profile;
    needs.aggregate[need] = wanted.aggregate;
    needs.multiplier[need] = wanted.multiplier;
    if (needs.plainAssignment[need] !== wanted.plainAssignment) {
      if (needs.plainAssignment[need] !== 0) this.#releasePlainAssignment(need);
      this.#holdPlainAssignment(need, wanted.plainAssignment);
    }
    needs.setMarks(need, Mark.Dirty);
  }

  #write(cluster: ClusterState, need: number, wanted: Wanted): void {
    const needs = this.#needs;
    const { columns } = this.#needTable.profiles;
    const { profile, aggregate, assignment } = wanted;
    needs.fitWidth(this.#vectors.length[aggregate]!);
    needs.cluster[need] = cluster.ref;
    needs.kind[need] = wanted.kind;
    needs.setMarks(need, Mark.Dirty);
    needs.profile[need] = profile;
    needs.filter[need] = this.#filters.intern(profile, wanted.minUnit).id;
    needs.aggregate[need] = aggregate;
    needs.multiplier[need] = wanted.multiplier;
    needs.firstRow[need] = wanted.firstRow;
    needs.assignment[need] = assignment;
    needs.priority[need] = wanted.priority;
    needs.arrivalMs[need] = wanted.arrivalMs;
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
    this.#holdPlainAssignment(need, wanted.plainAssignment);
    cluster.needCount++;
    this.#places.link(cluster, need);
  }

  #priorityOf(cluster: ClusterState, profile: number): number {
    const priority = this.#needTable.profiles.columns.priority[profile]!;
    return Math.min(priority, this.#limits.maxPriority(cluster.ref));
  }

  #keyOf(cluster: ClusterState, entry: number, key: NeedKey): NeedKey {
    return entry >= 0 ? this.#rowKey(cluster, entry, key) : this.#foldKey(cluster, -1 - entry, key);
  }

  #foldKey(cluster: ClusterState, group: number, key: NeedKey): NeedKey {
    const { groups } = cluster;
    key.profile = groups.profile(group);
    key.priority = this.#priorityOf(cluster, key.profile);
    key.arrivalMs = this.#earliestArrival(cluster, group);
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
}

function noneWanted(): Wanted {
  return {
    ...noKey(),
    kind: NeedKind.Plain,
    minUnit: 0,
    aggregate: 0,
    multiplier: 0,
    firstRow: 0,
    assignment: 0,
    plainAssignment: 0,
  };
}
