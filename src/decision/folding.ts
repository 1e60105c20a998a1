/**
 * Folding (A1): a gang that fits one machine whole needs no co-location; equal ones fold into one plain need, as
 * long as machines exist that hold them. Which rows fold is asked again only when a machine that was stamped for
 * one of them changed, or, where the own machines do not suffice, when the free machines did.
 */
import type { ClusterState, FoldGroup } from './clusters.ts';
import type { Families } from './families.ts';
import { type Filter, type Filters, Look } from './filters.ts';
import type { Fleet } from './fleet.ts';

export class Folding {
  readonly #fleet: Fleet;
  readonly #families: Families;
  readonly #filters: Filters;
  /** Clusters with a group that asks the free machines. */
  readonly #askingFree = new Set<ClusterState>();
  #freeAsked = -1;

  constructor(fleet: Fleet, filters: Filters) {
    this.#fleet = fleet;
    this.#families = fleet.families;
    this.#filters = filters;
  }

  forget(cluster: ClusterState): void {
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
      if (cluster.asking.size > 0) this.#askingFree.add(cluster);
      else this.#askingFree.delete(cluster);
    }
  }

  /** The same for groups that depend on the free machines; the clusters whose answer changed. */
  refoldFree(changed: ClusterState[]): void {
    if (this.#freeAsked === this.#families.freeVersion) return;
    this.#freeAsked = this.#families.freeVersion;
    for (const cluster of this.#askingFree) {
      const wasStale = cluster.stale;
      for (const group of cluster.asking) {
        if (this.#freeAnswerOf(group) !== group.freeAnswer) this.#refoldGroup(cluster, group);
      }
      if (cluster.asking.size === 0) this.#askingFree.delete(cluster);
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
    if (group.asksFree === didAsk) return;
    if (didAsk) cluster.asking.delete(group);
    else cluster.asking.add(group);
  }

  /** Decides which rows of the group fold; true if that is another answer than before. */
  #foldGroup(cluster: ClusterState, group: FoldGroup): boolean {
    const { held } = this.#fleet.stamps;
    const { groupRows, rowFit, rowFolds, rowStamp } = cluster;
    let differs = false;
    let foldedCount = 0;
    let fitOfOwn: Filter | undefined;
    let own = 0;
    group.asksFree = false;
    group.freeFit = null;
    group.freeWanted = 0;
    group.firstFolded = -1;
    let fitsDiffer = false;
    for (let position = group.rowsStart; position < group.rowsEnd; position++) {
      const row = groupRows[position]!;
      let folds = false;
      if (held[rowStamp[row]!] === 0) {
        // It has no machines of its own (nor a stamp, mostly), which would make it a gang.
        const fit = this.#filters.get(rowFit[row]!);
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
      if (folds && foldedCount++ === 0) group.firstFolded = row;
      const flag = folds ? 1 : 0;
      if (rowFolds[row] !== flag) differs = true;
      rowFolds[row] = flag;
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
}
