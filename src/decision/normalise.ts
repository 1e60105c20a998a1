/**
 * Normalisation (A1): from the rows of a roll-up to the needs that phase 1 walks. A gang that fits one
 * machine whole needs no co-location; equal ones fold into one plain need, as long as machines exist that
 * hold them. Which rows fold is looked at again only when a machine stamped for one of them changes, or,
 * where the own machines do not suffice, when the free machines do.
 */
import { formatAmounts } from '../base/quantity.ts';
import type { StringTable } from '../base/string-table.ts';
import type { VectorTable } from '../base/vectors.ts';
import type { NeedTable } from '../needs/need-table.ts';
import type { ClusterState, FoldGroup } from './clusters.ts';
import type { Families } from './families.ts';
import { type Filter, type Filters, Look } from './filters.ts';
import type { Fleet } from './fleet.ts';
import { Mark, type NeedColumns, NeedKind } from './need-columns.ts';
import type { NeedOrder } from './order.ts';

export class Normaliser {
  readonly #needTable: NeedTable;
  readonly #groups: StringTable;
  readonly #vectors: VectorTable;
  readonly #fleet: Fleet;
  readonly #families: Families;
  readonly #filters: Filters;
  readonly #needs: NeedColumns;
  readonly #order: NeedOrder;
  /** Clusters with a group that asks the free machines. */
  readonly #askingFree = new Set<ClusterState>();
  #freeAsked = -1;

  constructor(
    needTable: NeedTable,
    groups: StringTable,
    fleet: Fleet,
    filters: Filters,
    needs: NeedColumns,
    order: NeedOrder,
  ) {
    this.#needTable = needTable;
    this.#groups = groups;
    this.#vectors = fleet.inventory.shapes.vectors;
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
    cluster.rowCount = count;
    cluster.rowStamp = new Uint32Array(count);
    cluster.rowNeed = new Uint32Array(count);
    cluster.groups = [];
    const groupOf = new Map<number, FoldGroup>();
    for (let row = 0; row < count; row++) {
      const profile = table.profiles.get(table.profile[start + row]!);
      const stamp = stamps.intern(cluster.ref, profile.fingerprintRef, table.group[start + row]!);
      cluster.rowStamp[row] = stamp;
      stamps.rowCount[stamp]!++;
      this.#addOwner(stamp);
      if (profile.sameKeys.length > 0) this.#joinGroup(cluster, row, start + row, groupOf);
    }
    this.#releaseRows(oldStamps, oldGroups);
    cluster.stale = true;
    cluster.foldsTouched = true;
    cluster.touched = true;
  }

  /** Lets go of all that the cluster's rows and needs hold; no claim is left. */
  forget(cluster: ClusterState): void {
    this.#drop(cluster);
    this.#releaseRows(cluster.rowStamp, cluster.groups);
    cluster.rowCount = 0;
    cluster.rowStamp = cluster.rowNeed = NO_ROWS;
    cluster.groups = [];
    this.#askingFree.delete(cluster);
  }

  /** Asks A1 again where something that it looks at changed; marks clusters whose answer did. */
  refold(touched: Iterable<ClusterState>): void {
    for (const cluster of touched) {
      if (!cluster.foldsTouched) continue;
      cluster.foldsTouched = false;
      let asksFree = false;
      for (const group of cluster.groups) {
        if (this.#foldGroup(cluster, group)) cluster.stale = true;
        if (group.asksFree) asksFree = true;
      }
      if (asksFree) this.#askingFree.add(cluster);
      else this.#askingFree.delete(cluster);
    }
  }

  /** The same for groups that depend on the free machines; the clusters whose answer changed. */
  refoldFree(changed: ClusterState[]): void {
    if (this.#freeAsked === this.#families.freeVersion) return;
    this.#freeAsked = this.#families.freeVersion;
    for (const cluster of this.#askingFree) {
      let differs = false;
      let asksFree = false;
      for (const group of cluster.groups) {
        if (group.asksFree && this.#foldGroup(cluster, group)) differs = true;
        if (group.asksFree) asksFree = true;
      }
      if (!asksFree) this.#askingFree.delete(cluster);
      if (!differs) continue;
      cluster.stale = true;
      cluster.touched = true;
      changed.push(cluster);
    }
  }

  /** Makes the cluster's normalised needs anew; every one is marked for credit. Claims are released already. */
  build(cluster: ClusterState): void {
    const needs = this.#needs;
    this.#drop(cluster);
    const rowCount = cluster.rowCount;
    const foldGroupOf = this.#foldMembership(cluster);
    let count = 0;
    for (let row = 0; row < rowCount; row++) {
      const group = foldGroupOf[row];
      if (group === undefined || group.rows[group.folded.indexOf(1)] === row) count++;
    }
    const start = needs.takeSlice(count);
    cluster.needStart = start;
    cluster.needCount = count;
    let next = start;
    for (let row = 0; row < rowCount; row++) {
      const group = foldGroupOf[row];
      if (group === undefined) this.#writeRow(cluster, next++, row);
      else if (group.rows[group.folded.indexOf(1)] === row) this.#writeFold(cluster, next++, group);
    }
    this.#sortFolds(cluster);
    for (let need = start; need < start + count; need++) this.#linkRows(cluster, need, foldGroupOf);
    cluster.stale = false;
    cluster.touched = true;
    cluster.fresh.length = 0;
  }

  #releaseRows(rowStamp: Uint32Array, groups: readonly FoldGroup[]): void {
    const { stamps } = this.#fleet;
    for (const stamp of rowStamp) {
      if (--stamps.rowCount[stamp]! === 0) {
        stamps.forgetCounts(stamp);
        stamps.gang[stamp] = 0;
      }
      this.#removeOwner(stamp);
      stamps.release(stamp);
    }
    for (const group of groups) {
      for (const fit of group.fits) this.#filters.release(fit);
      for (const stamp of [group.stamp, group.plainStamp]) {
        this.#removeOwner(stamp);
        stamps.release(stamp);
      }
    }
  }

  /** Owners decide which Creating machines A1 counts as free. */
  #addOwner(stamp: number): void {
    this.#fleet.stamps.owners[stamp]!++;
    if (this.#fleet.stamps.list[stamp] !== 0) this.#families.freeVersion++;
  }

  #removeOwner(stamp: number): void {
    this.#fleet.stamps.owners[stamp]!--;
    if (this.#fleet.stamps.list[stamp] !== 0) this.#families.freeVersion++;
  }

  #changeLive(stamp: number, by: 1 | -1): void {
    const { live } = this.#fleet.stamps;
    live[stamp]! += by;
    if (live[stamp] === (by === 1 ? 1 : 0)) this.#fleet.liveChanged(stamp);
  }

  #joinGroup(cluster: ClusterState, row: number, tableRow: number, groupOf: Map<number, FoldGroup>): void {
    const table = this.#needTable;
    const aggregate = table.aggregate[tableRow]!;
    const minUnit = table.minUnit[tableRow]!;
    const profile = table.profile[tableRow]!;
    const remaining = table.profiles.withoutSame(profile);
    const key = remaining * 2 ** 24 + aggregate;
    let group = groupOf.get(key);
    if (group === undefined) {
      group = this.#makeGroup(cluster, remaining, aggregate);
      groupOf.set(key, group);
      cluster.groups.push(group);
    }
    // The machine must hold aggregate and min_unit; mostly the gang is the larger of the two already.
    if (this.#vectors.covers(aggregate, minUnit)) {
      group.fits.push(this.#filters.intern(profile, aggregate));
    } else {
      const both = this.#vectors.max(aggregate, minUnit);
      group.fits.push(this.#filters.intern(profile, both));
      this.#vectors.release(both);
    }
    group.rows.push(row);
  }

  #makeGroup(cluster: ClusterState, profile: number, aggregate: number): FoldGroup {
    const { stamps } = this.#fleet;
    const { fingerprintRef } = this.#needTable.profiles.get(profile);
    const name = this.#groups.intern(`fold:${formatAmounts(this.#vectors.amountsOf(aggregate))}`);
    const stamp = stamps.intern(cluster.ref, fingerprintRef, name);
    const plainStamp = stamps.intern(cluster.ref, fingerprintRef, 0);
    this.#groups.release(name); // the stamp holds it
    this.#addOwner(stamp);
    this.#addOwner(plainStamp);
    return { profile, aggregate, stamp, plainStamp, rows: [], fits: [], folded: NONE_FOLDED, asksFree: false };
  }

  /** Decides which rows of the group fold; true if that is another answer than before. */
  #foldGroup(cluster: ClusterState, group: FoldGroup): boolean {
    const { held } = this.#fleet.stamps;
    const folded = new Uint8Array(group.rows.length);
    group.asksFree = false;
    let foldedCount = 0;
    let fitOfOwn: Filter | undefined;
    let own = 0;
    for (let position = 0; position < group.rows.length; position++) {
      if (held[cluster.rowStamp[group.rows[position]!]!]! > 0) continue; // it has machines of its own: a gang
      const fit = group.fits[position]!;
      if (fit !== fitOfOwn) {
        own = this.#gangsOnOwn(group, fit);
        fitOfOwn = fit;
      }
      if (foldedCount >= own) {
        group.asksFree = true;
        if (foldedCount >= own + this.#gangsOnFree(fit, group.aggregate)) continue;
      }
      folded[position] = 1;
      foldedCount++;
    }
    const before = group.folded;
    group.folded = folded;
    return before.length !== folded.length || folded.some((value, position) => value !== before[position]);
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
        if (group.folded[position] === 1) membership[group.rows[position]!] = group;
      }
    }
    return membership;
  }

  #writeRow(cluster: ClusterState, need: number, row: number): void {
    const table = this.#needTable;
    const tableRow = table.sliceStart(cluster.ref) + row;
    const profileRef = table.profile[tableRow]!;
    const profile = table.profiles.get(profileRef);
    const filter = this.#filters.intern(profileRef, table.minUnit[tableRow]!);
    const kind = profile.sameKeys.length > 0 ? NeedKind.Gang : NeedKind.Plain;
    const stamp = cluster.rowStamp[row]!;
    this.#write(cluster, need, kind, profileRef, filter, table.aggregate[tableRow]!, 1, row, stamp, 0);
    this.#needs.arrivalMs[need] = table.arrivalMs[tableRow]!;
  }

  /** The fold's min_unit is the greatest of one gang and its members' min_units; its arrival the earliest. */
  #writeFold(cluster: ClusterState, need: number, group: FoldGroup): void {
    const table = this.#needTable;
    const start = table.sliceStart(cluster.ref);
    let minUnit = group.aggregate;
    this.#vectors.retain(minUnit);
    let arrivalMs = Number.POSITIVE_INFINITY;
    let members = 0;
    for (let position = 0; position < group.rows.length; position++) {
      if (group.folded[position] === 0) continue;
      const row = start + group.rows[position]!;
      members++;
      arrivalMs = Math.min(arrivalMs, table.arrivalMs[row]!);
      if (this.#vectors.covers(minUnit, table.minUnit[row]!)) continue;
      const greater = this.#vectors.max(minUnit, table.minUnit[row]!);
      this.#vectors.release(minUnit);
      minUnit = greater;
    }
    const filter = this.#filters.intern(group.profile, minUnit);
    this.#vectors.release(minUnit);
    const first = group.rows[group.folded.indexOf(1)]!;
    const { profile, aggregate, stamp, plainStamp } = group;
    this.#write(cluster, need, NeedKind.Fold, profile, filter, aggregate, members, first, stamp, plainStamp);
    this.#needs.arrivalMs[need] = arrivalMs;
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

  /** Rows come in order N4; folds have another fingerprint and group, and are moved to their place. */
  #sortFolds(cluster: ClusterState): void {
    const needs = this.#needs;
    const start = cluster.needStart;
    const order = Array.from({ length: cluster.needCount }, (_, index) => start + index);
    order.sort(this.#order.compare);
    needs.permute(start, order);
  }

  #linkRows(cluster: ClusterState, need: number, foldGroupOf: readonly (FoldGroup | undefined)[]): void {
    const needs = this.#needs;
    const { stamps } = this.#fleet;
    const row = needs.firstRow[need]!;
    if (needs.kind[need] === NeedKind.Gang) stamps.gang[needs.stamp[need]!] = need - cluster.needStart + 1;
    if (needs.kind[need] !== NeedKind.Fold) {
      cluster.rowNeed[row] = need;
      return;
    }
    const group = foldGroupOf[row]!;
    for (let position = 0; position < group.rows.length; position++) {
      if (group.folded[position] === 1) cluster.rowNeed[group.rows[position]!] = need;
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

const NONE_FOLDED = new Uint8Array(0);
const NO_ROWS = new Uint32Array(0);
