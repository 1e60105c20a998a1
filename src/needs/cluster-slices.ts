/** The needs of each cluster as one slice of columns: where it is, how many rows it has, and what changes when they do. */
import type { ClusterLedger } from './cluster-ledger.ts';
import { NeedColumns } from './need-columns.ts';
import { roomFor, SliceAllocator } from './slice-allocator.ts';

const ROWS_AT_START = 4_096;

export interface Slice {
  readonly columns: NeedColumns;
  readonly start: number;
  readonly count: number;
}

export class ClusterSlices {
  readonly columns = new NeedColumns(ROWS_AT_START);
  readonly #ledger: ClusterLedger;
  readonly #allocator: SliceAllocator;
  /** Needs of all clusters. */
  count = 0;

  constructor(ledger: ClusterLedger, rowsMax: number) {
    this.#ledger = ledger;
    this.#allocator = new SliceAllocator(rowsMax);
  }

  /** Every row of every slice is below this. */
  get rowLimit(): number {
    return this.#allocator.rowLimit;
  }

  /** All rows below the limit are in use, by slices that the ledger knows. */
  restore(rowLimit: number, count: number): void {
    this.#allocator.restore(rowLimit);
    this.count = count;
  }

  of(cluster: number): Slice {
    const start = this.#ledger.sliceStart[cluster] ?? 0;
    return { columns: this.columns, start, count: this.#ledger.needCount[cluster] ?? 0 };
  }

  /** Gives the slice room for this many rows; its rows may move. Returns its start; -1, and no change, if there is no room. */
  resize(cluster: number, rowCount: number): number {
    const { start: before, count } = this.of(cluster);
    const start = this.#allocator.replace(before, this.#ledger.sliceRoom[cluster]!, rowCount);
    if (start < 0) return -1;
    this.columns.reserve(this.#allocator.rowLimit);
    if (start !== before) this.#move(start, before, count);
    this.#ledger.sliceStart[cluster] = start;
    this.#ledger.sliceRoom[cluster] = roomFor(rowCount);
    return start;
  }

  #move(start: number, before: number, count: number): void {
    this.columns.moveRows(start, before, count);
    for (let row = before; row < before + count; row++)
      if (row < start || row >= start + count) this.columns.profile[row] = 0; // a free row
  }

  /** The slice has other rows now, and so many. */
  changed(cluster: number, rowCount: number): void {
    this.count += rowCount - this.#ledger.needCount[cluster]!;
    this.#ledger.needCount[cluster] = rowCount;
    this.#ledger.version[cluster]!++;
  }
}
