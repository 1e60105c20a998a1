/**
 * Normalisation (A1): from the rows of a roll-up to the needs that phase 1 walks. A gang that fits one
 * machine whole needs no co-location; equal ones fold into one plain need, as long as machines exist that
 * hold them. Which rows fold is looked at again only when a machine stamped for one of them changes, or,
 * where the own machines do not suffice, when the free machines do.
 */
import type { StringTable } from '../base/string-table.ts';
import type { VectorTable } from '../base/vectors.ts';
import type { NeedTable } from '../needs/need-table.ts';
import type { ClusterState, FoldGroup } from './clusters.ts';
import type { Families } from './families.ts';
import { type Filter, type Filters, Look } from './filters.ts';
import type { Fleet } from './fleet.ts';
import { FoldNames } from './fold-names.ts';
import { Mark, type NeedColumns, NeedKind } from './need-columns.ts';
import { type NeedKey, type NeedOrder, noKey } from './order.ts';

export class Normaliser {
  readonly #needTable: NeedTable;
  readonly #foldNames: FoldNames;
  readonly #vectors: VectorTable;
  readonly #fleet: Fleet;
  readonly #families: Families;
  readonly #filters: Filters;
  readonly #needs: NeedColumns;
  readonly #order: NeedOrder;
  /** Clusters with a group that asks the free machines. */
  readonly #askingFree = new Set<ClusterState>();
  #freeAsked = -1;
  /** Of the row written before, within one build: the next one mostly asks for the same. */
  #lastFilter: Filter | null = null;

  constructor(
    needTable: NeedTable,
    groups: StringTable,
    fleet: Fleet,
    filters: Filters,
    needs: NeedColumns,
    order: NeedOrder,
  ) {
    this.#needTable = needTable;
    this.#vectors = fleet.inventory.shapes.vectors;
    this.#foldNames = new FoldNames(groups, this.#vectors);
    this.#fleet = fleet;
    this.#families = fleet.families;
    this.#filters = filters;
    this.#needs = needs;
    this.#order = order;
  }

  /** Takes over the cluster's rows from the need table; what it had before is let go. */
  readRows(cluster: ClusterState): void {
    const { stamps } = this.#fleet;
    const { rowStamp: oldStamps, groups: oldGroups } = cluster;
    const table = this.#needTable;
    const start = table.sliceStart(cluster.ref);
    const count = table.sliceCount(cluster.ref);
    for (const stamp of oldStamps) stamps.fold[stamp] = 0;
    for (const { stamp } of oldGroups) stamps.fold[stamp] = 0;
    cluster.rowCount = count;
    cluster.rowStamp = new Uint32Array(count);
    cluster.rowGroup = new Uint32Array(count);
    cluster.rowNeed = new Uint32Array(count);
    cluster.groups = [];
    cluster.askingCount = 0;
    const groupOf = new Map<number, FoldGroup>();
    const { profile: profileOf, group: groupNameOf, profiles } = table;
    for (let row = 0; row < count; row++) {
      const { fingerprintRef, sameKeys } = profiles.get(profileOf[start + row]!);
      if (sameKeys.length === 0) {
        this.#giveStamp(cluster, row, stamps.intern(cluster.ref, fingerprintRef, groupNameOf[start + row]!));
        continue;
      }
      cluster.rowGroup[row] = this.#joinGroup(cluster, row, start + row, groupOf).index + 1;
      const groupName = groupNameOf[start + row]!;
      if (!stamps.isGroupStamped(groupName)) continue;
      const stamp = stamps.find(cluster.ref, fingerprintRef, groupName);
      if (stamp === 0) continue;
      stamps.retain(stamp);
      this.#giveStamp(cluster, row, stamp);
    }
    this.#releaseRows(oldStamps, oldGroups);
    this.#families.freeVersion++; // which Creating machines A1 counts as free depends on the rows, too
    cluster.stale = true;
    cluster.wasRead = true;
    cluster.foldsTouched = true;
    cluster.touched = true;
  }

  /** The stamp of a row, made if it has none yet. */
  stampOfRow(cluster: ClusterState, row: number): number {
    if (cluster.rowStamp[row] !== 0) return cluster.rowStamp[row]!;
    const table = this.#needTable;
    const tableRow = table.sliceStart(cluster.ref) + row;
    const { fingerprintRef } = table.profiles.get(table.profile[tableRow]!);
    const stamp = this.#fleet.stamps.intern(cluster.ref, fingerprintRef, table.group[tableRow]!);
    this.#giveStamp(cluster, row, stamp);
    return stamp;
  }

  /** Stamps that machines or drains brought since the last cycle: rows that had none may be theirs. */
  linkNewStamps(): void {
    const { stamps, newStamps, clusters } = this.#fleet;
    for (const stamp of newStamps) {
      const cluster = clusters[stamps.cluster[stamp]!];
      if (cluster === undefined || cluster.wasRead) continue;
      if (stamps.references[stamp] === 0 || stamps.rowCount[stamp]! > 0) continue;
      this.#linkStamp(cluster, stamp);
    }
    newStamps.length = 0;
  }

  #linkStamp(cluster: ClusterState, stamp: number): void {
    const { stamps } = this.#fleet;
    const table = this.#needTable;
    const start = table.sliceStart(cluster.ref);
    for (const group of cluster.groups) {
      for (const row of group.rows) {
        if (cluster.rowStamp[row] !== 0 || table.group[start + row] !== stamps.group[stamp]) continue;
        const { fingerprintRef } = table.profiles.get(table.profile[start + row]!);
        if (fingerprintRef !== stamps.fingerprint[stamp]) continue;
        stamps.retain(stamp);
        this.#giveStamp(cluster, row, stamp);
        cluster.touchedGroups.push(group.index);
        return;
      }
    }
  }

  #giveStamp(cluster: ClusterState, row: number, stamp: number): void {
    cluster.rowStamp[row] = stamp;
    this.#fleet.stamps.rowCount[stamp]!++;
    if (cluster.rowGroup[row] !== 0) this.#fleet.stamps.fold[stamp] = cluster.rowGroup[row]!;
  }

  /** Lets go of all that the cluster's rows and needs hold; no claim is left. */
  forget(cluster: ClusterState): void {
    this.#drop(cluster);
    this.#releaseRows(cluster.rowStamp, cluster.groups);
    cluster.rowCount = 0;
    cluster.rowStamp = cluster.rowNeed = cluster.rowGroup = NO_ROWS;
    cluster.groups = [];
    this.#askingFree.delete(cluster);
  }

  /** Asks A1 again where something that it looks at changed; marks clusters whose answer did. */
  refold(touched: Iterable<ClusterState>): void {
    for (const cluster of touched) {
      if (cluster.foldsTouched) {
        for (const group of cluster.groups) this.#refoldGroup(cluster, group);
      } else {
        for (const index of cluster.touchedGroups) this.#refoldGroup(cluster, cluster.groups[index]!);
      }
      cluster.foldsTouched = false;
      cluster.touchedGroups.length = 0;
      if (cluster.askingCount > 0) this.#askingFree.add(cluster);
      else this.#askingFree.delete(cluster);
    }
  }

  /** The same for groups that depend on the free machines; the clusters whose answer changed. */
  refoldFree(changed: ClusterState[]): void {
    if (this.#freeAsked === this.#families.freeVersion) return;
    this.#freeAsked = this.#families.freeVersion;
    for (const cluster of this.#askingFree) {
      const wasStale = cluster.stale;
      for (const group of cluster.groups) {
        if (group.asksFree && this.#freeAnswerOf(group) !== group.freeAnswer) this.#refoldGroup(cluster, group);
      }
      if (cluster.askingCount === 0) this.#askingFree.delete(cluster);
      if (cluster.stale === wasStale) continue;
      cluster.touched = true;
      changed.push(cluster);
    }
  }

  /** How many of the gangs that its own machines do not hold the free ones would; -1 if rows ask differently. */
  #freeAnswerOf(group: FoldGroup): number {
    if (group.freeFit === null) return -1;
    return Math.min(group.freeWanted, this.#gangsOnFree(group.freeFit, group.aggregate));
  }

  #refoldGroup(cluster: ClusterState, group: FoldGroup): void {
    const didAsk = group.asksFree;
    if (this.#foldGroup(cluster, group)) cluster.stale = true;
    if (group.asksFree !== didAsk) cluster.askingCount += didAsk ? -1 : 1;
  }

  /** Makes the cluster's normalised needs anew; every one is marked for credit. Claims are released already. */
  build(cluster: ClusterState): void {
    const needs = this.#needs;
    this.#drop(cluster);
    const { rowCount } = cluster;
    const foldOf = this.#foldMembership(cluster);
    let count = 0;
    for (let row = 0; row < rowCount; row++) {
      if (foldOf[row] === undefined || foldOf[row]!.firstFolded === row) count++;
    }
    const start = needs.takeSlice(count);
    cluster.needStart = start;
    cluster.needCount = count;
    this.#writeInOrder(cluster, foldOf);
    for (let need = start; need < start + count; need++) this.#linkRows(cluster, need, foldOf);
    this.#lastFilter = null;
    cluster.stale = cluster.wasRead = false;
    cluster.touched = true;
    cluster.fresh.length = 0;
  }

  #releaseRows(rowStamp: Uint32Array, groups: readonly FoldGroup[]): void {
    const { stamps } = this.#fleet;
    for (const stamp of rowStamp) {
      if (stamp === 0) continue;
      if (--stamps.rowCount[stamp]! === 0) {
        stamps.forgetCounts(stamp);
        stamps.gang[stamp] = 0;
      }
      stamps.release(stamp);
    }
    for (const group of groups) {
      for (const fit of group.fits) this.#filters.release(fit);
      this.#foldNames.release(group.aggregate);
      for (const stamp of [group.stamp, group.plainStamp]) {
        stamps.folds[stamp]!--;
        stamps.release(stamp);
      }
    }
  }

  #changeLive(stamp: number, by: 1 | -1): void {
    const { live } = this.#fleet.stamps;
    live[stamp]! += by;
    if (live[stamp] === (by === 1 ? 1 : 0)) this.#fleet.liveChanged(stamp);
  }

  #joinGroup(
    cluster: ClusterState,
    row: number,
    tableRow: number,
    groupOf: Map<number, FoldGroup>,
  ): FoldGroup {
    const table = this.#needTable;
    const aggregate = table.aggregate[tableRow]!;
    const minUnit = table.minUnit[tableRow]!;
    const profile = table.profile[tableRow]!;
    const remaining = table.profiles.withoutSame(profile);
    // Rows of one profile follow each other (N4), so the group is mostly that of the row before.
    let group = cluster.groups[cluster.groups.length - 1];
    if (group === undefined || group.profile !== remaining || group.aggregate !== aggregate) {
      const key = remaining * GROUP_KEY_SPAN + aggregate;
      group = groupOf.get(key);
      if (group === undefined) {
        group = this.#makeGroup(cluster, remaining, aggregate);
        groupOf.set(key, group);
        cluster.groups.push(group);
      }
    }
    const before = group.rows.length - 1;
    if (before >= 0 && group.lastProfile === profile && group.lastMinUnit === minUnit) {
      group.fits.push(this.#filters.retain(group.fits[before]!));
    } else {
      group.fits.push(this.#fitOf(profile, aggregate, minUnit));
      group.lastProfile = profile;
      group.lastMinUnit = minUnit;
    }
    group.rows.push(row);
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

  #makeGroup(cluster: ClusterState, profile: number, aggregate: number): FoldGroup {
    const { stamps } = this.#fleet;
    const { fingerprintRef } = this.#needTable.profiles.get(profile);
    const stamp = stamps.intern(cluster.ref, fingerprintRef, this.#foldNames.use(aggregate));
    const plainStamp = stamps.intern(cluster.ref, fingerprintRef, 0);
    stamps.folds[stamp]!++;
    stamps.folds[plainStamp]!++;
    stamps.fold[stamp] = cluster.groups.length + 1;
    return {
      index: cluster.groups.length,
      profile,
      aggregate,
      stamp,
      plainStamp,
      rows: [],
      fits: [],
      lastProfile: 0,
      lastMinUnit: 0,
      folded: [],
      firstFolded: -1,
      arrivalMs: 0,
      asksFree: false,
      freeFit: null,
      freeWanted: 0,
      freeAnswer: 0,
    };
  }

  /** Decides which rows of the group fold; true if that is another answer than before. */
  #foldGroup(cluster: ClusterState, group: FoldGroup): boolean {
    const { held } = this.#fleet.stamps;
    const { rows, fits, folded } = group;
    let differs = false;
    let foldedCount = 0;
    let fitOfOwn: Filter | undefined;
    let own = 0;
    group.asksFree = false;
    group.freeFit = null;
    group.freeWanted = 0;
    group.firstFolded = -1;
    let fitsDiffer = false;
    for (let position = 0; position < rows.length; position++) {
      let folds = false;
      if (held[cluster.rowStamp[rows[position]!]!] === 0) {
        // It has no machines of its own (nor a stamp, mostly), which would make it a gang.
        const fit = fits[position]!;
        if (fit !== fitOfOwn) {
          if (fitOfOwn !== undefined) fitsDiffer = true;
          own = this.#gangsOnOwn(group, fit);
          fitOfOwn = fit;
        }
        folds = foldedCount < own;
        if (!folds) {
          group.asksFree = true;
          group.freeFit = fit;
          group.freeWanted++;
          folds = foldedCount < own + this.#gangsOnFree(fit, group.aggregate);
        }
      }
      if (folds && foldedCount++ === 0) group.firstFolded = rows[position]!;
      if (folded[position] !== folds) differs = true;
      folded[position] = folds;
    }
    if (fitsDiffer) group.freeFit = null;
    group.freeAnswer = group.asksFree ? this.#freeAnswerOf(group) : 0;
    if (group.freeFit === null) group.freeAnswer = NaN; // is equal to no answer: always asked again
    return differs;
  }

  #gangsOnOwn(group: FoldGroup, fit: Filter): number {
    const { stamps, stamped, shape } = this.#fleet;
    let gangs = 0;
    for (const list of [stamps.list[group.stamp]!, stamps.list[group.plainStamp]!]) {
      if (list === 0) continue;
      for (let at = stamped.first(list); at !== 0; at = stamped.next(at)) {
        const slot = stamped.slotAt(at);
        const family = this.#families.familyOf[shape[slot]!]!;
        if (fit.eligible[family] !== 1) continue;
        if (fit.look !== Look.Family && !this.#filters.admitsSlot(fit, slot)) continue;
        gangs += this.#families.gangsPerMachine(family, group.aggregate);
      }
    }
    return gangs;
  }

  /** Whole gangs that fit into all free machines; asked by many clusters, so kept while those stay. */
  #gangsOnFree(fit: Filter, aggregate: number): number {
    if (fit.gangsAt === this.#families.freeVersion && fit.gangsOf === aggregate) return fit.gangs;
    let gangs = 0;
    for (const family of fit.families) {
      const idle = fit.look === Look.Family ? this.#families.free[family]! : this.#countFree(fit, family);
      const machines = idle + this.#countOrphans(fit, family);
      if (machines > 0) gangs += machines * this.#families.gangsPerMachine(family, aggregate);
    }
    fit.gangsAt = this.#families.freeVersion;
    fit.gangsOf = aggregate;
    fit.gangs = gangs;
    return gangs;
  }

  #countFree(fit: Filter, family: number): number {
    let machines = 0;
    for (const shape of this.#families.shapesOf(family)) {
      if (this.#families.freeIn[shape] === 0 || !this.#filters.admitsShape(fit, shape)) continue;
      if (fit.look === Look.Shape) machines += this.#families.freeIn[shape]!;
      else this.#fleet.forEachFree(shape, (slot) => this.#filters.admitsSlot(fit, slot) && machines++);
    }
    return machines;
  }

  #countOrphans(fit: Filter, family: number): number {
    const { byId, orphanList } = this.#fleet;
    const list = orphanList[family] ?? 0;
    let machines = 0;
    if (list === 0) return 0;
    for (let at = byId.first(list); at !== 0; at = byId.next(at)) {
      const slot = byId.slotAt(at);
      if (!this.#fleet.isSurelyOrphan(slot)) continue;
      if (fit.look === Look.Family || this.#filters.admitsSlot(fit, slot)) machines++;
    }
    return machines;
  }

  #foldMembership(cluster: ClusterState): (FoldGroup | undefined)[] {
    const membership = new Array<FoldGroup | undefined>(cluster.rowCount);
    for (const group of cluster.groups) {
      for (let position = 0; position < group.rows.length; position++) {
        if (group.folded[position]) membership[group.rows[position]!] = group;
      }
    }
    return membership;
  }

  #writeRow(cluster: ClusterState, need: number, row: number): void {
    const table = this.#needTable;
    const tableRow = table.sliceStart(cluster.ref) + row;
    const profileRef = table.profile[tableRow]!;
    const profile = table.profiles.get(profileRef);
    const minUnit = table.minUnit[tableRow]!;
    const before = this.#lastFilter;
    const filter =
      before !== null && before.profile === profileRef && before.minUnit === minUnit
        ? this.#filters.retain(before)
        : this.#filters.intern(profileRef, minUnit);
    this.#lastFilter = filter;
    const kind = profile.sameKeys.length > 0 ? NeedKind.Gang : NeedKind.Plain;
    const stamp = this.stampOfRow(cluster, row);
    this.#write(cluster, need, kind, profileRef, filter, table.aggregate[tableRow]!, 1, row, stamp, 0);
    this.#needs.arrivalMs[need] = table.arrivalMs[tableRow]!;
  }

  /** The fold's min_unit is the greatest of one gang and its members' min_units; its arrival the earliest. */
  #writeFold(cluster: ClusterState, need: number, group: FoldGroup): void {
    const table = this.#needTable;
    const start = table.sliceStart(cluster.ref);
    let minUnit = group.aggregate;
    this.#vectors.retain(minUnit);
    let members = 0;
    for (let position = 0; position < group.rows.length; position++) {
      if (!group.folded[position]) continue;
      const row = start + group.rows[position]!;
      members++;
      if (this.#vectors.covers(minUnit, table.minUnit[row]!)) continue;
      const greater = this.#vectors.max(minUnit, table.minUnit[row]!);
      this.#vectors.release(minUnit);
      minUnit = greater;
    }
    const filter = this.#filters.intern(group.profile, minUnit);
    this.#vectors.release(minUnit);
    const { profile, aggregate, stamp, plainStamp } = group;
    this.#write(
      cluster,
      need,
      NeedKind.Fold,
      profile,
      filter,
      aggregate,
      members,
      group.firstFolded,
      stamp,
      plainStamp,
    );
    this.#needs.arrivalMs[need] = group.arrivalMs;
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
    stamp: number,
    plainStamp: number,
  ): void {
    const needs = this.#needs;
    needs.fitWidth(this.#vectors.length[aggregate]!);
    needs.cluster[need] = cluster.ref;
    needs.kind[need] = kind;
    needs.marks[need] = Mark.Dirty;
    needs.profile[need] = profile;
    needs.filter[need] = filter.id;
    needs.aggregate[need] = aggregate;
    needs.multiplier[need] = multiplier;
    needs.firstRow[need] = firstRow;
    needs.stamp[need] = stamp;
    needs.plainStamp[need] = plainStamp;
    const known = this.#needTable.profiles.get(profile);
    needs.priority[need] = known.priority;
    needs.interruptionPenalty[need] = known.interruptionPenalty;
    needs.reclamationPenalty[need] = known.reclamationPenalty;
    needs.firstClaim[need] = 0;
    needs.claimCount[need] = 0;
    needs.creditCount[need] = 0;
    needs.gangsHeld[need] = 0;
    needs.lastTaken[need] = 0;
    needs.lastPart[need] = 0;
    needs.domain[need] = 0;
    this.#vectors.retain(aggregate);
    this.#needTable.profiles.retain(profile);
    this.#fleet.stamps.retain(stamp);
    this.#fleet.stamps.carriers[stamp]!++;
    this.#changeLive(stamp, 1);
    if (plainStamp === 0) return;
    this.#fleet.stamps.retain(plainStamp);
    this.#changeLive(plainStamp, 1);
  }

  /** Rows come in order N4; folds have another fingerprint and group, and are merged in at their places. */
  #writeInOrder(cluster: ClusterState, foldOf: readonly (FoldGroup | undefined)[]): void {
    const folds = cluster.groups.filter(({ firstFolded }) => firstFolded >= 0);
    for (const fold of folds) fold.arrivalMs = this.#earliestArrival(cluster, fold);
    folds.sort((a, b) => this.#order.compareKeys(this.#foldKey(a, FOLD_KEY_A), this.#foldKey(b, FOLD_KEY_B)));
    const { profile, arrivalMs } = this.#needTable;
    const start = this.#needTable.sliceStart(cluster.ref);
    let next = cluster.needStart;
    let fold = 0;
    let settledProfile = 0; // rows of this profile and arrival come before the next fold, whatever their group
    let settledMs = 0;
    for (let row = 0; row < cluster.rowCount; row++) {
      if (foldOf[row] !== undefined) continue;
      const isSettled = profile[start + row] === settledProfile && arrivalMs[start + row] === settledMs;
      if (fold < folds.length && !isSettled) {
        this.#rowKey(cluster, row, ROW_KEY);
        while (fold < folds.length && this.#order.compareKeys(this.#foldKey(folds[fold]!, FOLD_KEY_A), ROW_KEY) < 0) {
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

  #foldKey(group: FoldGroup, key: NeedKey): NeedKey {
    key.priority = this.#needTable.profiles.get(group.profile).priority;
    key.arrivalMs = group.arrivalMs;
    key.profile = group.profile;
    key.group = this.#fleet.stamps.group[group.stamp]!;
    return key;
  }

  #rowKey(cluster: ClusterState, row: number, key: NeedKey): NeedKey {
    const table = this.#needTable;
    const tableRow = table.sliceStart(cluster.ref) + row;
    key.profile = table.profile[tableRow]!;
    key.priority = table.profiles.get(key.profile).priority;
    key.arrivalMs = table.arrivalMs[tableRow]!;
    key.group = table.group[tableRow]!;
    return key;
  }

  #earliestArrival(cluster: ClusterState, group: FoldGroup): number {
    const start = this.#needTable.sliceStart(cluster.ref);
    let earliest = Number.POSITIVE_INFINITY;
    for (let position = 0; position < group.rows.length; position++) {
      if (!group.folded[position]) continue;
      earliest = Math.min(earliest, this.#needTable.arrivalMs[start + group.rows[position]!]!);
    }
    return earliest;
  }

  #linkRows(cluster: ClusterState, need: number, foldOf: readonly (FoldGroup | undefined)[]): void {
    const needs = this.#needs;
    const { stamps } = this.#fleet;
    const row = needs.firstRow[need]!;
    if (needs.kind[need] === NeedKind.Gang) stamps.gang[needs.stamp[need]!] = need - cluster.needStart + 1;
    if (needs.kind[need] !== NeedKind.Fold) {
      cluster.rowNeed[row] = need;
      return;
    }
    const group = foldOf[row]!;
    for (let position = 0; position < group.rows.length; position++) {
      if (group.folded[position]) cluster.rowNeed[group.rows[position]!] = need;
    }
  }

  /** Lets go of what the old needs held. */
  #drop(cluster: ClusterState): void {
    const needs = this.#needs;
    for (let need = cluster.needStart; need < cluster.needStart + cluster.needCount; need++) {
      this.#filters.release(this.#filters.get(needs.filter[need]!));
      this.#vectors.release(needs.aggregate[need]!);
      this.#needTable.profiles.release(needs.profile[need]!);
      this.#fleet.stamps.carriers[needs.stamp[need]!]!--;
      for (const stamp of [needs.stamp[need]!, needs.plainStamp[need]!]) {
        if (stamp === 0) continue;
        this.#changeLive(stamp, -1);
        this.#fleet.stamps.release(stamp);
      }
    }
    for (const stamp of cluster.rowStamp) this.#fleet.stamps.gang[stamp] = 0;
    needs.giveSlice(cluster.needStart, cluster.needCount);
    cluster.needCount = 0;
  }
}

/** Profile and vector refs are far below this, so a pair is one exact number. */
const GROUP_KEY_SPAN = 2 ** 24;
const NO_ROWS = new Uint32Array(0);
/** Reused: comparing two needs makes no objects. */
const ROW_KEY = noKey();
const FOLD_KEY_A = noKey();
const FOLD_KEY_B = noKey();
