/**
 * Folding (A1): a gang that fits one machine whole needs no co-location; equal ones fold into one plain need, as long as
 * machines exist that hold them. The engine decides again which rows fold only when a machine assigned to one of them
 * changed or, where their own machines do not suffice, when the unassigned machines changed.
 */

import type { ClusterState } from '../cluster-state.ts';
import type { EngineTables } from '../engine-tables.ts';
import type { Families } from '../supply/families.ts';
import { type Filter, type Filters, MatchLevel } from '../supply/filters.ts';
import type { Fleet } from '../supply/fleet.ts';
import type { FoldGroups } from './fold-groups.ts';
import type { FoldQueries } from './fold-queries.ts';

export class Folding {
  readonly #fleet: Fleet;
  readonly #families: Families;
  readonly #filters: Filters;
  readonly #foldQueries: FoldQueries;
  #unassignedAsked = -1;

  constructor({ fleet, filters, foldQueries }: EngineTables) {
    this.#foldQueries = foldQueries;
    this.#fleet = fleet;
    this.#families = fleet.families;
    this.#filters = filters;
  }

  /** Decides the touched groups again, and notes those whose answer changed. */
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

  /** The same for groups that depend on unassigned machines; appends the clusters whose answer changed. */
  refoldByUnassigned(changed: ClusterState[]): void {
    if (this.#unassignedAsked === this.#families.unassignedVersion) return;
    this.#unassignedAsked = this.#families.unassignedVersion;
    for (const query of this.#foldQueries.queries()) {
      const { fit, aggregate } = query;
      const gangs = fit === null ? Number.NaN : this.#gangsOnUnassigned(fit, aggregate);
      if (gangs === query.gangs) continue;
      query.gangs = gangs;
      for (const { cluster, group, wanted, answer } of [...query.queriers]) {
        if (Math.min(wanted, gangs) === answer) continue;
        const flippedCount = cluster.flippedGroups.length;
        this.#refoldGroup(cluster, group);
        if (cluster.flippedGroups.length === flippedCount) continue;
        cluster.touched = true;
        changed.push(cluster);
      }
    }
  }

  /** Decides which rows of the group fold, and whether that depends on unassigned machines. */
  #refoldGroup(cluster: ClusterState, group: number): void {
    const { held, rowCount } = this.#fleet.assignments;
    const { groups, groupRows, rowFit, rowFolds, rowAssignment } = cluster;
    const aggregate = groups.aggregate(group);
    const rowsEnd = groups.rowsEnd(group);
    // A row has the fold's own name, so their machines would be indistinguishable: nothing folds (docs/adr/0040).
    const isNameTaken = rowCount[groups.assignment(group)]! > 0;
    let differs = false;
    let foldedCount = 0;
    let firstFolded = -1;
    let fitOfOwn: Filter | undefined;
    let own = 0;
    let fitsDiffer = false;
    let unassignedFit: Filter | null = null;
    let unassignedWanted = 0;
    for (let position = groups.rowsStart(group); position < rowsEnd; position++) {
      const row = groupRows[position]!;
      let folds = false;
      if (!isNameTaken && held[rowAssignment[row]!] === 0) {
        // With machines of its own it would stay a gang.
        const fit = this.#filters.get(rowFit[row]!);
        if (fit !== fitOfOwn) {
          if (fitOfOwn !== undefined) fitsDiffer = true;
          own = this.#gangsOnOwn(cluster, group, fit);
          fitOfOwn = fit;
        }
        folds = foldedCount < own;
        if (!folds) {
          unassignedFit = fit;
          unassignedWanted++;
          folds = foldedCount < own + this.#gangsOnUnassigned(fit, aggregate);
        }
      }
      if (folds && foldedCount++ === 0) firstFolded = row;
      const flag = folds ? 1 : 0;
      if (rowFolds[row] !== flag) differs = true;
      rowFolds[row] = flag;
    }
    groups.setFirstFolded(group, firstFolded);
    if (differs) cluster.flippedGroups.push(group);
    if (unassignedFit === null) {
      if (cluster.openQueries.size > 0) this.#foldQueries.end(cluster, group);
    } else {
      const gangs = fitsDiffer ? Number.NaN : this.#gangsOnUnassigned(unassignedFit, aggregate);
      this.#foldQueries.ask(
        cluster,
        group,
        fitsDiffer ? null : unassignedFit,
        aggregate,
        unassignedWanted,
        gangs,
      );
    }
  }

  #gangsOnOwn({ groups }: ClusterState, group: number, fit: Filter): number {
    const { rowCount } = this.#fleet.assignments;
    const plainAssignment = groups.plainAssignment(group);
    const own = this.#gangsOnAssigned(groups, group, groups.assignment(group), fit);
    // If a row itself has the empty group, machines with that assignment are the row's.
    return rowCount[plainAssignment]! > 0
      ? own
      : own + this.#gangsOnAssigned(groups, group, plainAssignment, fit);
  }

  #gangsOnAssigned(groups: FoldGroups, group: number, assignment: number, fit: Filter): number {
    const { assignments, assigned, shape } = this.#fleet;
    const list = assignments.list[assignment]!;
    let gangs = 0;
    if (list === 0) return 0;
    for (let at = assigned.first(list); at !== 0; at = assigned.next(at)) {
      const slot = assigned.slotAt(at);
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
    return fit.matchLevel === MatchLevel.Family || this.#filters.admitsSlot(fit, slot);
  }

  /** A fold may take a machine that lacks the Same key; the machine then keeps its gangs folded (docs/adr/0040). */
  #admitsWithoutSame(groups: FoldGroups, group: number, fit: Filter, slot: number): boolean {
    const ofFold = this.#filters.intern(groups.profile(group), fit.minUnit);
    const admits = this.#admits(ofFold, slot);
    this.#filters.release(ofFold);
    return admits;
  }

  /** Whole gangs that the unassigned machines hold; many clusters ask, so the filter caches the answer. */
  #gangsOnUnassigned(fit: Filter, aggregate: number): number {
    if (fit.gangsAt === this.#families.unassignedVersion && fit.gangsOf === aggregate) return fit.gangs;
    let gangs = 0;
    for (const family of fit.families) {
      const idle =
        fit.matchLevel === MatchLevel.Family
          ? this.#families.unassigned[family]!
          : this.#countUnassigned(fit, family);
      const machines = idle + this.#countOrphans(fit, family);
      if (machines > 0) gangs += machines * this.#families.gangsPerMachine(family, aggregate);
    }
    fit.gangsAt = this.#families.unassignedVersion;
    fit.gangsOf = aggregate;
    fit.gangs = gangs;
    return gangs;
  }

  #countUnassigned(fit: Filter, family: number): number {
    let machines = 0;
    for (const shape of this.#families.shapesOf(family)) {
      if (this.#families.unassignedIn[shape] === 0 || !this.#filters.admitsShape(fit, shape)) continue;
      if (fit.matchLevel === MatchLevel.Shape) machines += this.#families.unassignedIn[shape]!;
      else this.#fleet.forEachUnassigned(shape, (slot) => this.#filters.admitsSlot(fit, slot) && machines++);
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
      if (fit.matchLevel === MatchLevel.Family || this.#filters.admitsSlot(fit, slot)) machines++;
    }
    return machines;
  }
}
