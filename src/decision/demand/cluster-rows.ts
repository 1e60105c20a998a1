/**
 * The rows of a roll-up as the engine holds them: the assignment of each, and the fold that each could join (A1: equal
 * gangs that each fit one machine). Most rows of a cluster are small gangs that fold; they get no assignment of their own
 * until a machine carries it or a count needs it, because one for each would be most of the cost of reading a roll-up.
 */
import type { VectorTable } from '../../base/vectors.ts';
import type { FoldNames } from '../../needs/fold-names.ts';
import type { NeedTable } from '../../needs/need-table.ts';
import type { ClusterState } from '../cluster-state.ts';
import type { EngineTables } from '../engine-tables.ts';
import type { Filter, Filters } from '../supply/filters.ts';
import type { Fleet } from '../supply/fleet.ts';
import { FoldGroups } from './fold-groups.ts';
import type { FoldQueries } from './fold-queries.ts';
import { GroupIndex } from './group-index.ts';

const NO_ROWS = new Uint32Array(0);

export class ClusterRows {
  readonly #needTable: NeedTable;
  readonly #foldNames: FoldNames;
  readonly #vectors: VectorTable;
  readonly #fleet: Fleet;
  readonly #filters: Filters;
  readonly #foldQueries: FoldQueries;
  /** Groups of the cluster that is being read, by remaining profile and aggregate. */
  readonly #groupOf = new GroupIndex();
  readonly #groups = new FoldGroups();
  /** By group of that cluster: profile, min_unit and filter of its last row; the next row mostly has the same. */
  readonly #lastProfile: number[] = [];
  readonly #lastMinUnit: number[] = [];
  readonly #lastFit: Filter[] = [];

  constructor({
    inventory,
    needTable,
    fleet,
    filters,
    foldQueries,
  }: Pick<EngineTables, 'inventory' | 'needTable' | 'fleet' | 'filters' | 'foldQueries'>) {
    this.#foldQueries = foldQueries;
    this.#needTable = needTable;
    this.#vectors = inventory.shapes.vectors;
    this.#foldNames = needTable.foldNames;
    this.#fleet = fleet;
    this.#filters = filters;
  }

  /** Reads the cluster's rows from the need table and releases what the rows before held. */
  read(cluster: ClusterState): void {
    const { assignments } = this.#fleet;
    const { rowAssignment: oldAssignments, rowFit: oldFits, groups: oldGroups } = cluster;
    const table = this.#needTable;
    const start = table.sliceStart(cluster.ref);
    const count = table.sliceCount(cluster.ref);
    for (const assignment of oldAssignments) assignments.fold[assignment] = 0;
    for (let group = 0; group < oldGroups.count; group++) assignments.fold[oldGroups.assignment(group)] = 0;
    cluster.rowCount = count;
    cluster.readVersion = table.versionOf(cluster.ref);
    // One buffer: every typed array costs memory besides its content, and a fleet has thousands of clusters.
    const words = new Uint32Array(4 * count + Math.ceil(count / 4));
    cluster.rowAssignment = words.subarray(0, count);
    cluster.rowGroup = words.subarray(count, 2 * count);
    cluster.rowNeed = words.subarray(2 * count, 3 * count);
    cluster.rowFit = words.subarray(3 * count, 4 * count);
    cluster.rowFolds = new Uint8Array(words.buffer, 16 * count, count);
    this.#foldQueries.endAll(cluster);
    this.#groups.clear();
    this.#groupOf.open(count);
    const { profile: profileOf, group: groupNameOf, profiles } = table;
    for (let row = 0; row < count; row++) {
      const profile = profileOf[start + row]!;
      const groupName = groupNameOf[start + row]!;
      if (profiles.columns.hasSame[profile] === 0) {
        const { fingerprint } = profiles.columns;
        this.#giveAssignment(cluster, row, assignments.intern(cluster.ref, fingerprint[profile]!, groupName));
        continue;
      }
      cluster.rowGroup[row] = this.#joinGroup(cluster, row, start + row) + 1;
      if (!assignments.isGroupAssigned(groupName)) continue;
      const assignment = assignments.find(cluster.ref, profiles.columns.fingerprint[profile]!, groupName);
      if (assignment === 0) continue;
      assignments.retain(assignment);
      this.#giveAssignment(cluster, row, assignment);
    }
    this.#gatherGroupRows(cluster);
    this.#releaseRows(oldAssignments, oldFits, oldGroups);
    this.#fleet.families.unassignedVersion++; // which Creating machines A1 counts as unassigned depends on the rows, too
    cluster.stale = true;
    cluster.wasRead = true;
    cluster.foldsTouched = true;
    cluster.touched = true;
  }

  /** Releases all that the cluster's rows hold. */
  forget(cluster: ClusterState): void {
    this.#releaseRows(cluster.rowAssignment, cluster.rowFit, cluster.groups);
    cluster.rowCount = 0;
    cluster.readVersion = -1;
    cluster.rowAssignment = cluster.rowNeed = cluster.rowGroup = cluster.rowFit = cluster.groupRows = NO_ROWS;
    cluster.groups = new FoldGroups();
    this.#foldQueries.endAll(cluster);
  }

  /** The assignment of a row; created if it has none. */
  assignmentOf(cluster: ClusterState, row: number): number {
    if (cluster.rowAssignment[row] !== 0) return cluster.rowAssignment[row]!;
    const table = this.#needTable;
    const tableRow = table.sliceStart(cluster.ref) + row;
    const fingerprint = table.profiles.columns.fingerprint[table.profile[tableRow]!]!;
    const assignment = this.#fleet.assignments.intern(cluster.ref, fingerprint, table.group[tableRow]!);
    this.#giveAssignment(cluster, row, assignment);
    return assignment;
  }

  /** Gives assignments that are new with machines or drains to the rows of the same name. */
  linkNewAssignments(): void {
    const { assignments, newAssignments, clusters } = this.#fleet;
    for (let index = 0; index < newAssignments.count; index++) {
      const assignment = newAssignments.slots[index]!;
      const cluster = clusters[assignments.cluster[assignment]!];
      if (cluster === undefined || cluster.wasRead) continue;
      if (assignments.references[assignment] === 0 || assignments.rowCount[assignment]! > 0) continue;
      this.#linkAssignment(cluster, assignment);
    }
    newAssignments.clear();
  }

  #linkAssignment(cluster: ClusterState, assignment: number): void {
    const { assignments } = this.#fleet;
    const table = this.#needTable;
    const start = table.sliceStart(cluster.ref);
    for (let row = 0; row < cluster.rowCount; row++) {
      const group = cluster.rowGroup[row]!;
      if (group === 0 || cluster.rowAssignment[row] !== 0) continue;
      if (table.group[start + row] !== assignments.group[assignment]) continue;
      const fingerprint = table.profiles.columns.fingerprint[table.profile[start + row]!];
      if (fingerprint !== assignments.fingerprint[assignment]) continue;
      assignments.retain(assignment);
      this.#giveAssignment(cluster, row, assignment);
      cluster.touchedGroups.push(group - 1);
      return;
    }
  }

  #giveAssignment(cluster: ClusterState, row: number, assignment: number): void {
    cluster.rowAssignment[row] = assignment;
    this.#fleet.assignments.rowCount[assignment]!++;
    if (cluster.rowGroup[row] !== 0) this.#fleet.assignments.fold[assignment] = cluster.rowGroup[row]!;
  }

  #releaseRows(rowAssignment: Uint32Array, rowFit: Uint32Array, groups: FoldGroups): void {
    const { assignments } = this.#fleet;
    for (const assignment of rowAssignment) {
      if (assignment === 0) continue;
      if (--assignments.rowCount[assignment]! === 0) {
        assignments.forgetCounts(assignment);
        assignments.gang[assignment] = 0;
      }
      assignments.release(assignment);
    }
    for (const fit of rowFit) if (fit !== 0) this.#filters.release(this.#filters.get(fit));
    for (let group = 0; group < groups.count; group++) {
      this.#foldNames.release(groups.aggregate(group));
      for (const assignment of [groups.assignment(group), groups.plainAssignment(group)]) {
        assignments.folds[assignment]!--;
        assignments.release(assignment);
      }
    }
  }

  /** Sorts the rows that may fold by group with a counting sort, which keeps their order within a group. */
  #gatherGroupRows(cluster: ClusterState): void {
    const groups = this.#groups;
    cluster.groupRows = new Uint32Array(groups.layOut());
    for (let row = 0; row < cluster.rowCount; row++) {
      const group = cluster.rowGroup[row]!;
      if (group !== 0) cluster.groupRows[groups.nextPlace(group - 1)] = row;
    }
    cluster.groups = groups.copy();
  }

  /** The fold group of a row; created if it has none. */
  #joinGroup(cluster: ClusterState, row: number, tableRow: number): number {
    const table = this.#needTable;
    const groups = this.#groups;
    const aggregate = table.aggregate[tableRow]!;
    const minUnit = table.minUnit[tableRow]!;
    const profile = table.profile[tableRow]!;
    const remaining = table.profiles.withoutSame(profile);
    // Order N4 (priority, arrival, fingerprint) puts rows of one profile together: mostly the group of the row before.
    let group = groups.count - 1;
    if (group < 0 || groups.profile(group) !== remaining || groups.aggregate(group) !== aggregate) {
      group = this.#groupOf.find(groups, remaining, aggregate);
      if (group === groups.count) this.#addGroup(cluster, remaining, aggregate);
    }
    groups.addRow(group);
    if (this.#lastProfile[group] === profile && this.#lastMinUnit[group] === minUnit) {
      this.#filters.retain(this.#lastFit[group]!);
    } else {
      this.#lastFit[group] = this.#fitOf(profile, aggregate, minUnit);
      this.#lastProfile[group] = profile;
      this.#lastMinUnit[group] = minUnit;
    }
    cluster.rowFit[row] = this.#lastFit[group]!.id;
    return group;
  }

  /** The machine must hold aggregate and min_unit; mostly the aggregate covers min_unit already. */
  #fitOf(profile: number, aggregate: number, minUnit: number): Filter {
    if (this.#vectors.covers(aggregate, minUnit)) return this.#filters.intern(profile, aggregate);
    const both = this.#vectors.derivedMax(aggregate, minUnit);
    const fit = this.#filters.intern(profile, both);
    this.#vectors.release(both);
    return fit;
  }

  #addGroup(cluster: ClusterState, profile: number, aggregate: number): void {
    const { assignments } = this.#fleet;
    const fingerprint = this.#needTable.profiles.columns.fingerprint[profile]!;
    const assignment = assignments.intern(cluster.ref, fingerprint, this.#foldNames.use(aggregate));
    const plainAssignment = assignments.intern(cluster.ref, fingerprint, 0);
    assignments.folds[assignment]!++;
    assignments.folds[plainAssignment]!++;
    const group = this.#groups.add(profile, aggregate, assignment, plainAssignment);
    assignments.fold[assignment] = group + 1;
    this.#lastProfile[group] = 0; // no row yet
  }
}
