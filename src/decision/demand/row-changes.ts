/**
 * The usual roll-up changes amounts only. Rows of the need table carry the version in which they changed, so the engine
 * reads those alone and changes their needs in place, instead of reading all rows and comparing each with its need.
 *
 * Exact if the number of rows is the same and each changed row is a plain need at the same place, with the same profile
 * and arrival: then all other rows, which are in order and unchanged, are at their places too.
 */
import type { NeedTable } from '../../needs/need-table.ts';
import type { ClusterState } from '../cluster-state.ts';
import type { EngineTables } from '../engine-tables.ts';
import type { AssignmentTable } from '../supply/assignments.ts';
import type { EngineNeeds } from './engine-needs.ts';
import type { Normaliser } from './normalise.ts';

export class RowChanges {
  readonly #needTable: NeedTable;
  readonly #assignments: AssignmentTable;
  readonly #needs: EngineNeeds;
  readonly #normaliser: Normaliser;
  readonly #changed: number[] = [];

  constructor({ needTable, assignments, needs }: EngineTables, normaliser: Normaliser) {
    this.#needTable = needTable;
    this.#assignments = assignments;
    this.#needs = needs;
    this.#normaliser = normaliser;
  }

  /** Applies the changes in place if possible; false: nothing was changed, and all rows must be read. */
  apply(cluster: ClusterState): boolean {
    const table = this.#needTable;
    // Needs that are about to be rebuilt cannot be changed in place.
    if (cluster.stale || cluster.readVersion < 0) return false;
    if (table.sliceCount(cluster.ref) !== cluster.rowCount) return false;
    const start = table.sliceStart(cluster.ref);
    const { changedAt } = table;
    const changed = this.#changed;
    changed.length = 0;
    for (let row = 0; row < cluster.rowCount; row++) {
      if (changedAt[start + row]! <= cluster.readVersion) continue;
      if (!this.#isSamePlainNeed(cluster, row, start + row)) return false;
      changed.push(row);
    }
    for (const row of changed) this.#normaliser.changeRow(cluster, row);
    cluster.readVersion = table.versionOf(cluster.ref);
    cluster.touched = true;
    return true;
  }

  #isSamePlainNeed(cluster: ClusterState, row: number, tableRow: number): boolean {
    const { profile, group, arrivalMs, profiles } = this.#needTable;
    const needs = this.#needs;
    const ref = profile[tableRow]!;
    const assignment = cluster.rowAssignment[row]!;
    const need = cluster.rowNeed[row]!;
    return (
      profiles.columns.hasSame[ref] === 0 &&
      this.#assignments.fingerprint[assignment] === profiles.columns.fingerprint[ref] &&
      this.#assignments.group[assignment] === group[tableRow] &&
      needs.assignment[need] === assignment &&
      needs.profile[need] === ref &&
      needs.arrivalMs[need] === arrivalMs[tableRow]
    );
  }
}
