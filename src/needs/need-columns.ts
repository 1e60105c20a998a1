/**
 * Needs as rows of columns. The largest shard has 776,000; as objects they would be hundreds of megabytes
 * that every full garbage collection traces, as columns they are 40 bytes each and untraced.
 *
 *   column       bytes   unit, meaning
 *   arrivalMs    8       f64, ms since the epoch: the roll-up that first contained the need
 *   profile      4       u32, ref in the profile table; 0 = free row
 *   group        4       u32, ref in the table of groups, 0 = the empty group; the row keeps a long one's whole text (T4)
 *   aggregate    4       u32, vector ref: all the resources that the need asks for
 *   minUnit      4       u32, vector ref: the least that each machine must have
 *   fold         4       u32, 1 + the vector ref whose fold name (fold-names.ts) a gang keeps in use; 0 = not a gang
 *   changedAt    4       u32, version of its cluster's demand in which the need was added or changed
 *   digestLow    4       u32, digest of the wire row that the need came from;
 *   digestHigh   4       u32  both 0 = unknown, or made of several rows
 *
 * The arrays are replaced when they grow: read them again after anything that may add rows.
 */
import { grown } from '../base/vectors.ts';

export class NeedColumns {
  arrivalMs: Float64Array;
  profile: Uint32Array;
  group: Uint32Array;
  aggregate: Uint32Array;
  minUnit: Uint32Array;
  fold: Uint32Array;
  changedAt: Uint32Array;
  digestLow: Uint32Array;
  digestHigh: Uint32Array;

  constructor(rowCapacity: number) {
    this.arrivalMs = new Float64Array(rowCapacity);
    this.profile = new Uint32Array(rowCapacity);
    this.group = new Uint32Array(rowCapacity);
    this.aggregate = new Uint32Array(rowCapacity);
    this.minUnit = new Uint32Array(rowCapacity);
    this.fold = new Uint32Array(rowCapacity);
    this.changedAt = new Uint32Array(rowCapacity);
    this.digestLow = new Uint32Array(rowCapacity);
    this.digestHigh = new Uint32Array(rowCapacity);
  }

  /** Doubles until the rows fit. */
  reserve(rowCount: number): void {
    let rowCapacity = this.profile.length;
    if (rowCount <= rowCapacity) return;
    while (rowCapacity < rowCount) rowCapacity *= 2;
    this.arrivalMs = grown(this.arrivalMs, new Float64Array(rowCapacity));
    this.profile = grown(this.profile, new Uint32Array(rowCapacity));
    this.group = grown(this.group, new Uint32Array(rowCapacity));
    this.aggregate = grown(this.aggregate, new Uint32Array(rowCapacity));
    this.minUnit = grown(this.minUnit, new Uint32Array(rowCapacity));
    this.fold = grown(this.fold, new Uint32Array(rowCapacity));
    this.changedAt = grown(this.changedAt, new Uint32Array(rowCapacity));
    this.digestLow = grown(this.digestLow, new Uint32Array(rowCapacity));
    this.digestHigh = grown(this.digestHigh, new Uint32Array(rowCapacity));
  }

  /** Overwrites a row with one of another table. The caller moves the references. */
  copyRow(row: number, from: NeedColumns, fromRow: number): void {
    this.arrivalMs[row] = from.arrivalMs[fromRow]!;
    this.profile[row] = from.profile[fromRow]!;
    this.group[row] = from.group[fromRow]!;
    this.aggregate[row] = from.aggregate[fromRow]!;
    this.minUnit[row] = from.minUnit[fromRow]!;
    this.fold[row] = from.fold[fromRow]!;
    this.changedAt[row] = from.changedAt[fromRow]!;
    this.digestLow[row] = from.digestLow[fromRow]!;
    this.digestHigh[row] = from.digestHigh[fromRow]!;
  }

  /** Moves rows within the columns; the ranges may overlap. */
  moveRows(to: number, from: number, count: number): void {
    for (const column of this.#all()) column.copyWithin(to, from, from + count);
  }

  #all(): readonly (Float64Array | Uint32Array)[] {
    return [
      ...[this.arrivalMs, this.profile, this.group, this.aggregate, this.minUnit],
      ...[this.fold, this.changedAt, this.digestLow, this.digestHigh],
    ];
  }

  /** Whether two rows are equal in all but arrival, change and digest. */
  asksTheSame(row: number, other: NeedColumns, otherRow: number): boolean {
    return (
      this.profile[row] === other.profile[otherRow] &&
      this.group[row] === other.group[otherRow] &&
      this.aggregate[row] === other.aggregate[otherRow] &&
      this.minUnit[row] === other.minUnit[otherRow]
    );
  }
}

/** The tables that a need's refs point into. */
export interface NeedRefs {
  readonly profiles: RefCounts;
  readonly groups: { retainWhole(ref: number): void; releaseWhole(ref: number): void };
  readonly vectors: RefCounts;
  readonly foldNames: { use(aggregate: number): void; release(aggregate: number): void };
}

interface RefCounts {
  retain(ref: number): void;
  release(ref: number): void;
}

export function retainRow(columns: NeedColumns, row: number, refs: NeedRefs): void {
  refs.profiles.retain(columns.profile[row]!);
  refs.groups.retainWhole(columns.group[row]!);
  refs.vectors.retain(columns.aggregate[row]!);
  refs.vectors.retain(columns.minUnit[row]!);
  if (columns.fold[row] !== 0) refs.foldNames.use(columns.fold[row]! - 1);
}

export function releaseRow(columns: NeedColumns, row: number, refs: NeedRefs): void {
  refs.profiles.release(columns.profile[row]!);
  refs.groups.releaseWhole(columns.group[row]!);
  refs.vectors.release(columns.aggregate[row]!);
  refs.vectors.release(columns.minUnit[row]!);
  if (columns.fold[row] !== 0) refs.foldNames.release(columns.fold[row]! - 1);
  columns.fold[row] = 0;
  columns.profile[row] = 0;
}
