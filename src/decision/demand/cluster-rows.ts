/**
 * The rows of a roll-up as the engine holds them: which stamp each has, and which fold each could join (A1).
 * Most rows of a cluster are small gangs that fold; those get no stamp of their own until a machine carries it
 * or a count needs it, because making one for each would be most of the cost of reading a roll-up.
 */
import type { StringTable } from '../../base/string-table.ts';
import type { VectorTable } from '../../base/vectors.ts';
import type { NeedTable } from '../../needs/need-table.ts';
import type { Filter, Filters } from '../supply/filters.ts';
import type { Fleet } from '../supply/fleet.ts';
import type { ClusterState } from './cluster-state.ts';
import { FoldGroups } from './fold-groups.ts';
import { FoldNames } from './fold-names.ts';
import type { FreeAsks } from './fold-queries.ts';
import { GroupIndex } from './group-index.ts';

const NO_ROWS = new Uint32Array(0);

export class ClusterRows {
  readonly #needTable: NeedTable;
  readonly #foldNames: FoldNames;
  readonly #vectors: VectorTable;
  readonly #fleet: Fleet;
  readonly #filters: Filters;
  readonly #asks: FreeAsks;
  /** Groups of the cluster that is being read, by remaining profile and aggregate. */
  readonly #groupOf = new GroupIndex();
  readonly #groups = new FoldGroups();
  /** By group of that cluster: profile, min_unit and filter of its last row; the next one mostly has the same. */
  readonly #lastProfile: number[] = [];
  readonly #lastMinUnit: number[] = [];
  readonly #lastFit: Filter[] = [];

  constructor(needTable: NeedTable, groups: StringTable, fleet: Fleet, filters: Filters, asks: FreeAsks) {
    this.#asks = asks;
    this.#needTable = needTable;
    this.#vectors = fleet.inventory.shapes.vectors;
    this.#foldNames = new FoldNames(groups, this.#vectors);
    this.#fleet = fleet;
    this.#filters = filters;
  }

  /** Takes over the cluster's rows from the need table; what it had before is let go. */
  read(cluster: ClusterState): void {
    const { stamps } = this.#fleet;
    const { rowStamp: oldStamps, rowFit: oldFits, groups: oldGroups } = cluster;
    const table = this.#needTable;
    const start = table.sliceStart(cluster.ref);
    const count = table.sliceCount(cluster.ref);
    for (const stamp of oldStamps) stamps.fold[stamp] = 0;
    for (let group = 0; group < oldGroups.count; group++) stamps.fold[oldGroups.stamp(group)] = 0;
    cluster.rowCount = count;
    cluster.readVersion = table.versionOf(cluster.ref);
    // In one buffer: each has a price of its own, and a fleet has thousands of clusters.
    const words = new Uint32Array(4 * count + Math.ceil(count / 4));
    cluster.rowStamp = words.subarray(0, count);
    cluster.rowGroup = words.subarray(count, 2 * count);
    cluster.rowNeed = words.subarray(2 * count, 3 * count);
    cluster.rowFit = words.subarray(3 * count, 4 * count);
    cluster.rowFolds = new Uint8Array(words.buffer, 16 * count, count);
    this.#asks.endAll(cluster);
    this.#groups.clear();
    this.#groupOf.open(count);
    const { profile: profileOf, group: groupNameOf, profiles } = table;
    for (let row = 0; row < count; row++) {
      const profile = profileOf[start + row]!;
      const groupName = groupNameOf[start + row]!;
      if (profiles.columns.hasSame[profile] === 0) {
        const { fingerprint } = profiles.columns;
        this.#giveStamp(cluster, row, stamps.intern(cluster.ref, fingerprint[profile]!, groupName));
        continue;
      }
      cluster.rowGroup[row] = this.#joinGroup(cluster, row, start + row) + 1;
      if (!stamps.isGroupStamped(groupName)) continue;
      const stamp = stamps.find(cluster.ref, profiles.columns.fingerprint[profile]!, groupName);
      if (stamp === 0) continue;
      stamps.retain(stamp);
      this.#giveStamp(cluster, row, stamp);
    }
    this.#gatherGroupRows(cluster);
    this.#releaseRows(oldStamps, oldFits, oldGroups);
    this.#fleet.families.freeVersion++; // which Creating machines A1 counts as free depends on the rows, too
    cluster.stale = true;
    cluster.wasRead = true;
    cluster.foldsTouched = true;
    cluster.touched = true;
  }

  /** Lets go of all that the cluster's rows hold. */
  forget(cluster: ClusterState): void {
    this.#releaseRows(cluster.rowStamp, cluster.rowFit, cluster.groups);
    cluster.rowCount = 0;
    cluster.readVersion = -1;
    cluster.rowStamp = cluster.rowNeed = cluster.rowGroup = cluster.rowFit = cluster.groupRows = NO_ROWS;
    cluster.groups = new FoldGroups();
    this.#asks.endAll(cluster);
  }

  /** The stamp of a row, made if it has none yet. */
  stampOf(cluster: ClusterState, row: number): number {
    if (cluster.rowStamp[row] !== 0) return cluster.rowStamp[row]!;
    const table = this.#needTable;
    const tableRow = table.sliceStart(cluster.ref) + row;
    const fingerprint = table.profiles.columns.fingerprint[table.profile[tableRow]!]!;
    const stamp = this.#fleet.stamps.intern(cluster.ref, fingerprint, table.group[tableRow]!);
    this.#giveStamp(cluster, row, stamp);
    return stamp;
  }

  /** Stamps that machines or drains brought since the last cycle: rows that had none may be theirs. */
  linkNewStamps(): void {
    const { stamps, newStamps, clusters } = this.#fleet;
    for (let index = 0; index < newStamps.count; index++) {
      const stamp = newStamps.slots[index]!;
      const cluster = clusters[stamps.cluster[stamp]!];
      if (cluster === undefined || cluster.wasRead) continue;
      if (stamps.references[stamp] === 0 || stamps.rowCount[stamp]! > 0) continue;
      this.#linkStamp(cluster, stamp);
    }
    newStamps.clear();
  }

  #linkStamp(cluster: ClusterState, stamp: number): void {
    const { stamps } = this.#fleet;
    const table = this.#needTable;
    const start = table.sliceStart(cluster.ref);
    for (let row = 0; row < cluster.rowCount; row++) {
      const group = cluster.rowGroup[row]!;
      if (group === 0 || cluster.rowStamp[row] !== 0) continue;
      if (table.group[start + row] !== stamps.group[stamp]) continue;
      const fingerprint = table.profiles.columns.fingerprint[table.profile[start + row]!];
      if (fingerprint !== stamps.fingerprint[stamp]) continue;
      stamps.retain(stamp);
      this.#giveStamp(cluster, row, stamp);
      cluster.touchedGroups.push(group - 1);
      return;
    }
  }

  #giveStamp(cluster: ClusterState, row: number, stamp: number): void {
    cluster.rowStamp[row] = stamp;
    this.#fleet.stamps.rowCount[stamp]!++;
    if (cluster.rowGroup[row] !== 0) this.#fleet.stamps.fold[stamp] = cluster.rowGroup[row]!;
  }

  #releaseRows(rowStamp: Uint32Array, rowFit: Uint32Array, groups: FoldGroups): void {
    const { stamps } = this.#fleet;
    for (const stamp of rowStamp) {
      if (stamp === 0) continue;
      if (--stamps.rowCount[stamp]! === 0) {
        stamps.forgetCounts(stamp);
        stamps.gang[stamp] = 0;
      }
      stamps.release(stamp);
    }
    for (const fit of rowFit) if (fit !== 0) this.#filters.release(this.#filters.get(fit));
    for (let group = 0; group < groups.count; group++) {
      this.#foldNames.release(groups.aggregate(group));
      for (const stamp of [groups.stamp(group), groups.plainStamp(group)]) {
        stamps.folds[stamp]!--;
        stamps.release(stamp);
      }
    }
  }

  /** Sorts the rows that may fold by group, by counting: within a group they stay in order. */
  #gatherGroupRows(cluster: ClusterState): void {
    const groups = this.#groups;
    cluster.groupRows = new Uint32Array(groups.layOut());
    for (let row = 0; row < cluster.rowCount; row++) {
      const group = cluster.rowGroup[row]!;
      if (group !== 0) cluster.groupRows[groups.nextPlace(group - 1)] = row;
    }
    cluster.groups = groups.copy();
  }

  /** The fold group of a row, made if it is the first one. */
  #joinGroup(cluster: ClusterState, row: number, tableRow: number): number {
    const table = this.#needTable;
    const groups = this.#groups;
    const aggregate = table.aggregate[tableRow]!;
    const minUnit = table.minUnit[tableRow]!;
    const profile = table.profile[tableRow]!;
    const remaining = table.profiles.withoutSame(profile);
    // Rows of one profile follow each other (N4), so the group is mostly that of the row before.
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

  /** The machine must hold aggregate and min_unit; mostly the gang is the larger of the two already. */
  #fitOf(profile: number, aggregate: number, minUnit: number): Filter {
    if (this.#vectors.covers(aggregate, minUnit)) return this.#filters.intern(profile, aggregate);
    const both = this.#vectors.max(aggregate, minUnit);
    const fit = this.#filters.intern(profile, both);
    this.#vectors.release(both);
    return fit;
  }

  #addGroup(cluster: ClusterState, profile: number, aggregate: number): void {
    const { stamps } = this.#fleet;
    const fingerprint = this.#needTable.profiles.columns.fingerprint[profile]!;
    const stamp = stamps.intern(cluster.ref, fingerprint, this.#foldNames.use(aggregate));
    const plainStamp = stamps.intern(cluster.ref, fingerprint, 0);
    stamps.folds[stamp]!++;
    stamps.folds[plainStamp]!++;
    const group = this.#groups.add(profile, aggregate, stamp, plainStamp);
    stamps.fold[stamp] = group + 1;
    this.#lastProfile[group] = 0; // no row yet
  }
}
