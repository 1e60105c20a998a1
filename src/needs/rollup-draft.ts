/**
 * A roll-up before it is written: its rows merged to needs, each with its own references, in scratch columns that
 * the next roll-up reuses. Until the draft is written it can be dropped without a trace, so a roll-up that fails
 * half-way, is quarantined or repeats the known demand leaves the table unchanged.
 */
import { UNITS_MAX } from '../base/quantity.ts';
import type { StringTable } from '../base/string-table.ts';
import type { VectorTable } from '../base/vectors.ts';
import type { FoldNames } from './fold-names.ts';
import { NeedColumns, type NeedRefs, releaseRow, retainRow } from './need-columns.ts';
import { PairIndex } from './pair-index.ts';
import type { ProfileTable } from './profiles.ts';
import { internDemand, RollupRejectedError, type RollupRow } from './rollup.ts';
import type { AcceptanceLimits } from './tenant-limits.ts';

export interface DraftTables extends NeedRefs {
  readonly profiles: ProfileTable;
  readonly groups: StringTable;
  readonly vectors: VectorTable;
  readonly foldNames: FoldNames;
  readonly fingerprints: StringTable;
  /** T1: what one cluster may have. */
  readonly limits: AcceptanceLimits;
}

const ROWS_AT_START = 512;
/** Needs matched in one step: two look-ups each, about a millisecond. */
const MATCHES_PER_STEP = 4_096;

export class RollupDraft {
  readonly columns = new NeedColumns(ROWS_AT_START);
  readonly #tables: DraftTables;
  readonly #rowByNeed = new PairIndex(); // (fingerprint, group) → row
  /** By position in the old slice: the draft's row of the same need, plus 1; 0 = withdrawn. */
  #successor = new Uint32Array(ROWS_AT_START);
  /** By row: 1 if the need was in the old slice. */
  #isKnown = new Uint8Array(ROWS_AT_START);
  #clusterId = '';
  #count = 0;

  constructor(tables: DraftTables) {
    this.#tables = tables;
  }

  /** Needs after merging. */
  get count(): number {
    return this.#count;
  }

  /** Memory grows with the needs, not with the rows: half a million bytes may be 131,072 empty rows, which are one need. */
  begin(clusterId: string): void {
    this.#clusterId = clusterId;
    this.#count = 0;
    this.#rowByNeed.clear();
  }

  /** Adds a new row, which the caller has checked. Call `mergeLast` next. */
  add(row: RollupRow, digestLow: number, digestHigh: number): void {
    const { profiles, groups, vectors } = this.#tables;
    const { columns } = this;
    const at = this.#next();
    // Zero first: if a table is full half-way, `drop` releases exactly the references taken.
    columns.profile[at] =
      columns.group[at] =
      columns.aggregate[at] =
      columns.minUnit[at] =
      columns.fold[at] =
        0;
    columns.digestLow[at] = digestLow;
    columns.digestHigh[at] = digestHigh;
    columns.profile[at] = profiles.intern({
      requirements: row.requirements,
      spread: row.spread,
      priority: row.priority,
      interruptionPenalty: row.interruptionBucket,
      reclamationPenalty: row.reclamationBucket,
    });
    columns.group[at] = groups.internWhole(row.group);
    columns.aggregate[at] = internDemand(vectors, row.aggregate);
    columns.minUnit[at] = internDemand(vectors, row.minUnit);
    this.#holdFoldName(at);
  }

  /** Adds a row of the roll-up before, without decoding it. Call `mergeLast` next. */
  keep(known: NeedColumns, knownRow: number): void {
    const at = this.#next();
    this.columns.copyRow(at, known, knownRow);
    retainRow(this.columns, at, this.#tables);
  }

  #next(): number {
    this.columns.reserve(this.#count + 1);
    return this.#count++;
  }

  /**
   * Merges the row that was added last into an earlier one of the same fingerprint and group, if there is one: adds
   * aggregates, takes the greater min_unit.
   */
  mergeLast(index: number): void {
    const { profiles, vectors } = this.#tables;
    const { columns } = this;
    const at = this.#count - 1;
    const { fingerprintRef } = profiles.get(columns.profile[at]!);
    const into = this.#rowByNeed.get(fingerprintRef, columns.group[at]!);
    if (into < 0) {
      this.#rowByNeed.set(fingerprintRef, columns.group[at]!, at);
      return;
    }
    this.#refuseOverflow(columns.aggregate[into]!, columns.aggregate[at]!, index);
    this.#replaceVector(
      columns.aggregate,
      into,
      vectors.add(columns.aggregate[into]!, columns.aggregate[at]!),
    );
    this.#replaceVector(columns.minUnit, into, vectors.max(columns.minUnit[into]!, columns.minUnit[at]!));
    if (profiles.compareStructure(columns.profile[at]!, columns.profile[into]!) < 0) {
      const profile = columns.profile[into]!;
      columns.profile[into] = columns.profile[at]!;
      columns.profile[at] = profile;
    }
    this.#holdFoldName(into);
    columns.digestLow[into] = columns.digestHigh[into] = 0; // merged from several rows: no single digest stands for it
    this.#count--;
    releaseRow(columns, at, this.#tables);
  }

  /** Releases every reference. */
  drop(): void {
    this.dropSome(this.#count);
  }

  /** Releases the references of at most this many rows. Returns whether none are left. */
  dropSome(rowsMax: number): boolean {
    const left = Math.max(0, this.#count - rowsMax);
    while (this.#count > left) releaseRow(this.columns, --this.#count, this.#tables);
    return left === 0;
  }

  /** Takes over the references of replaced rows; `drop` releases them with its own. */
  takeOver(from: NeedColumns, start: number, count: number): void {
    this.columns.reserve(this.#count + count);
    for (let row = start; row < start + count; row++) {
      this.columns.copyRow(this.#count++, from, row);
      from.profile[row] = 0;
    }
  }

  /** The rows were copied, and their references belong to the copy now. */
  handOver(): void {
    this.#count = 0;
  }

  /**
   * Finds the needs that the old slice had: they keep their arrival, all others arrive now. Returns whether a need was
   * added, withdrawn or changed; added and changed rows are marked with `version`.
   */
  *matchWith(
    old: NeedColumns,
    oldStart: number,
    oldCount: number,
    nowMs: number,
    version: number,
  ): Generator<void, boolean> {
    const { columns } = this;
    if (oldCount > this.#successor.length) this.#successor = new Uint32Array(2 * oldCount);
    if (this.#count > this.#isKnown.length) this.#isKnown = new Uint8Array(2 * this.#count);
    this.#isKnown.fill(0, 0, this.#count);
    columns.arrivalMs.fill(nowMs, 0, this.#count);
    columns.changedAt.fill(version, 0, this.#count);
    let hasChanged = oldCount !== this.#count;
    for (let position = 0; position < oldCount; position++) {
      if (position % MATCHES_PER_STEP === MATCHES_PER_STEP - 1) yield;
      const oldRow = oldStart + position;
      const { fingerprintRef } = this.#tables.profiles.get(old.profile[oldRow]!);
      const row = this.#rowByNeed.get(fingerprintRef, old.group[oldRow]!);
      this.#successor[position] = row + 1;
      if (row < 0) {
        hasChanged = true;
        continue;
      }
      this.#isKnown[row] = 1;
      columns.arrivalMs[row] = old.arrivalMs[oldRow]!;
      if (columns.asksTheSame(row, old, oldRow)) columns.changedAt[row] = old.changedAt[oldRow]!;
      else hasChanged = true;
    }
    return hasChanged;
  }

  /** The draft's row of the need at this position of the old slice, -1 if it was withdrawn. */
  successorOf(position: number): number {
    return this.#successor[position]! - 1;
  }

  /** The draft's row of the need with this name, -1 if it has none. */
  rowOf(fingerprintRef: number, group: number): number {
    return this.#rowByNeed.get(fingerprintRef, group);
  }

  isKnown(row: number): boolean {
    return this.#isKnown[row] === 1;
  }

  /** A gang keeps the name of its fold in use, so that a decision finds it. */
  #holdFoldName(row: number): void {
    const { profiles, foldNames } = this.#tables;
    const { profile, aggregate, fold } = this.columns;
    const held = fold[row]!;
    const wanted = profiles.columns.hasSame[profile[row]!] === 1 ? aggregate[row]! + 1 : 0;
    if (held === wanted) return;
    if (wanted !== 0) foldNames.use(wanted - 1);
    fold[row] = wanted;
    if (held !== 0) foldNames.release(held - 1);
  }

  #replaceVector(column: Uint32Array, row: number, vectorRef: number): void {
    this.#tables.vectors.release(column[row]!);
    column[row] = vectorRef;
  }

  #refuseOverflow(a: number, b: number, index: number): void {
    const { vectors } = this.#tables;
    const end = vectors.start[b]! + vectors.length[b]!;
    for (let entry = vectors.start[b]!; entry < end; entry++) {
      const dim = vectors.dims[entry]!;
      if (vectors.unitsOf(a, dim) + vectors.units[entry]! <= UNITS_MAX) continue;
      const name = JSON.stringify(vectors.dimensions.nameOf(dim));
      const why = 'adds up to more than 2^53 − 1 units with the rows of the same need';
      throw new RollupRejectedError(this.#clusterId, `needs[${index}].aggregate_resources[${name}]`, why);
    }
  }
}
