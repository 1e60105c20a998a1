/**
 * Folding (A1): a gang that fits one machine whole needs no co-location; equal ones fold into one plain need, as
 * long as machines exist that hold them. Which rows fold is asked again only when a machine that was stamped for
 * one of them changed, or, where the own machines do not suffice, when the free machines did.
 */

import type { Families } from '../supply/families.ts';
import { type Filter, type Filters, Look } from '../supply/filters.ts';
import type { Fleet } from '../supply/fleet.ts';
import type { ClusterState } from './cluster-state.ts';
import type { FoldGroups } from './fold-groups.ts';
import type { FreeAsks } from './fold-queries.ts';

export class Folding {
  readonly #fleet: Fleet;
  readonly #families: Families;
  readonly #filters: Filters;
  readonly #asks: FreeAsks;
  #freeAsked = -1;

  constructor(fleet: Fleet, filters: Filters, asks: FreeAsks) {
    this.#asks = asks;
    this.#fleet = fleet;
    this.#families = fleet.families;
    this.#filters = filters;
  }

  /** Asks A1 again where something that it looks at changed; marks clusters whose answer did. */
  refold(touched: Iterable<ClusterState>): void {
    for (const cluster of touched) {
      if (cluster.foldsTouched) {
        for (let group = 0; group < cluster.groups.count; group++) this.#refoldGroup(cluster, group);
      } else {
        for (const group of cluster.touchedGroups) this.#refoldGroup(cluster, group);
      }
      cluster.foldsTouched = false;
      cluster.touchedGroups.length = 0;
    }
  }

  /** The same for groups that depend on the free machines; the clusters whose answer changed. */
  refoldFree(changed: ClusterState[]): void {
    if (this.#freeAsked === this.#families.freeVersion) return;
    this.#freeAsked = this.#families.freeVersion;
    for (const question of this.#asks.questions()) {
      const { fit, aggregate } = question;
      const gangs = fit === null ? Number.NaN : this.#gangsOnFree(fit, aggregate);
      if (gangs === question.gangs) continue;
      question.gangs = gangs;
      for (const { cluster, group, wanted, answer } of [...question.askers]) {
        if (Math.min(wanted, gangs) === answer) continue;
        const wasStale = cluster.stale;
        this.#refoldGroup(cluster, group);
        if (cluster.stale === wasStale) continue;
        cluster.touched = true;
        changed.push(cluster);
      }
    }
  }

  /** Decides which rows of the group fold, and whether that depends on the free machines. */
  #refoldGroup(cluster: ClusterState, group: number): void {
    const { held, rowCount } = this.#fleet.stamps;
    const { groups, groupRows, rowFit, rowFolds, rowStamp } = cluster;
    const aggregate = groups.aggregate(group);
    const rowsEnd = groups.rowsEnd(group);
    // A row that has the fold's name itself: the two could not be told apart by their machines (docs/adr/0040).
    const isNameTaken = rowCount[groups.stamp(group)]! > 0;
    let differs = false;
    let foldedCount = 0;
    let firstFolded = -1;
    let fitOfOwn: Filter | undefined;
    let own = 0;
    let fitsDiffer = false;
    let freeFit: Filter | null = null;
    let freeWanted = 0;
    for (let position = groups.rowsStart(group); position < rowsEnd; position++) {
      const row = groupRows[position]!;
      let folds = false;
      if (!isNameTaken && held[rowStamp[row]!] === 0) {
        // It has no machines of its own (nor a stamp, mostly), which would make it a gang.
        const fit = this.#filters.get(rowFit[row]!);
        if (fit !== fitOfOwn) {
          if (fitOfOwn !== undefined) fitsDiffer = true;
          own = this.#gangsOnOwn(cluster, group, fit);
          fitOfOwn = fit;
        }
        folds = foldedCount < own;
        if (!folds) {
          freeFit = fit;
          freeWanted++;
          folds = foldedCount < own + this.#gangsOnFree(fit, aggregate);
        }
      }
      if (folds && foldedCount++ === 0) firstFolded = row;
      const flag = folds ? 1 : 0;
      if (rowFolds[row] !== flag) differs = true;
      rowFolds[row] = flag;
    }
    groups.setFirstFolded(group, firstFolded);
    if (differs) cluster.stale = true;
    if (freeFit === null) {
      if (cluster.asking.size > 0) this.#asks.end(cluster, group);
    } else {
      const gangs = fitsDiffer ? Number.NaN : this.#gangsOnFree(freeFit, aggregate);
      this.#asks.ask(cluster, group, fitsDiffer ? null : freeFit, aggregate, freeWanted, gangs);
    }
  }

  #gangsOnOwn({ groups }: ClusterState, group: number, fit: Filter): number {
    const { rowCount } = this.#fleet.stamps;
    const plainStamp = groups.plainStamp(group);
    const own = this.#gangsOnStamped(groups, group, groups.stamp(group), fit);
    // Where a row has the empty group itself, machines with that stamp are its own.
    return rowCount[plainStamp]! > 0 ? own : own + this.#gangsOnStamped(groups, group, plainStamp, fit);
  }

  #gangsOnStamped(groups: FoldGroups, group: number, stamp: number, fit: Filter): number {
    const { stamps, stamped, shape } = this.#fleet;
    const list = stamps.list[stamp]!;
    let gangs = 0;
    if (list === 0) return 0;
    for (let at = stamped.first(list); at !== 0; at = stamped.next(at)) {
      const slot = stamped.slotAt(at);
      if (!this.#admits(fit, slot) && !this.#admitsWithoutSame(groups, group, fit, slot)) continue;
      gangs += this.#families.gangsPerMachine(
        this.#families.familyOf[shape[slot]!]!,
        groups.aggregate(group),
      );
    }
    return gangs;
  }

  #admits(fit: Filter, slot: number): boolean {
    if (fit.eligible[this.#families.familyOf[this.#fleet.shape[slot]!]!] !== 1) return false;
    return fit.look === Look.Family || this.#filters.admitsSlot(fit, slot);
  }

  /** The fold took a machine without the Same key, as it may: it has it, whatever else is free (docs/adr/0040). */
  #admitsWithoutSame(groups: FoldGroups, group: number, fit: Filter, slot: number): boolean {
    const ofFold = this.#filters.intern(groups.profile(group), fit.minUnit);
    const admits = this.#admits(ofFold, slot);
    this.#filters.release(ofFold);
    return admits;
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
}
