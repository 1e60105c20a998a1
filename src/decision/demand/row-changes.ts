/**
 * A roll-up that asks for other amounts of the same: the usual one. Rows of the need table say in which version they
 * changed, so the engine looks at those only and changes their needs in place, instead of reading all rows, writing all
 * needs anew and handing every machine over.
 *
 * Exact if there are as many rows as before and each changed one is a plain need that stood in the same place, with the same
 * profile and arrival: then all the others, which are in order and did not change, are where they were.
 */
import type { VectorTable } from '../../base/vectors.ts';
import type { NeedTable } from '../../needs/need-table.ts';
import type { EngineTables } from '../engine-tables.ts';
import type { AssignmentTable } from '../supply/assignments.ts';
import type { Filters } from '../supply/filters.ts';
import type { ClusterState } from './cluster-state.ts';
import { type EngineNeeds, Mark } from './engine-needs.ts';

export class RowChanges {
  readonly #needTable: NeedTable;
  readonly #vectors: VectorTable;
  readonly #filters: Filters;
  readonly #assignments: AssignmentTable;
  readonly #needs: EngineNeeds;
  readonly #changed: number[] = [];

  constructor({ needTable, vectors, filters, assignments, needs }: EngineTables) {
    this.#needTable = needTable;
    this.#vectors = vectors;
    this.#filters = filters;
    this.#assignments = assignments;
    this.#needs = needs;
  }

  /** Whether the cluster's rows could be taken over this way; if not, nothing happened, and they must be read. */
  apply(cluster: ClusterState): boolean {
    const table = this.#needTable;
    // Needs that are about to be made anew are not there to be changed.
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
    for (const row of changed) this.#change(cluster.rowNeed[row]!, start + row);
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

  #change(need: number, tableRow: number): void {
    const needs = this.#needs;
    const { aggregate, minUnit } = this.#needTable;
    const filter = this.#filters.get(needs.filter[need]!);
    needs.filter[need] = this.#filters.intern(needs.profile[need]!, minUnit[tableRow]!).id;
    this.#filters.release(filter);
    this.#vectors.retain(aggregate[tableRow]!);
    this.#vectors.release(needs.aggregate[need]!);
    needs.aggregate[need] = aggregate[tableRow]!;
    needs.fitWidth(this.#vectors.length[aggregate[tableRow]!]!);
    needs.setMarks(need, Mark.Dirty);
  }
}
