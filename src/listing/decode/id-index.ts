/**
 * Maps the ids of one answer to rows, to find an id that is listed twice. Linear probing, at most half full; the ids
 * themselves stay in the answer. A bucket holds 1 + row in its low 23 bits and nine bits of the hash above them: nearly
 * every id is new, and the hash bits show it without reading another row.
 */
import type { MachineBatch } from './batch.ts';
import { equalRanges } from './ranges.ts';

const BUCKETS_MIN = 64;
const ROW_BITS = 23;
const ROW_MASK = (1 << ROW_BITS) - 1;

/** Every row is below this. */
export const INDEXED_ROWS_MAX = ROW_MASK;

export class IdIndex {
  readonly #batch: MachineBatch;
  #buckets = new Uint32Array(BUCKETS_MIN);

  constructor(batch: MachineBatch) {
    this.#batch = batch;
  }

  reset(): void {
    this.#buckets.fill(0);
  }

  /** The row that already has this id; otherwise the next row, which the id then takes. */
  rowFor(view: DataView, hash: number, start: number, end: number): number {
    const { rowCount } = this.#batch;
    if (2 * rowCount >= this.#buckets.length) this.#grow();
    const buckets = this.#buckets;
    const mask = buckets.length - 1;
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const bucket = buckets[at]!;
      if (bucket === 0) {
        buckets[at] = bucketOf(hash, rowCount);
        return rowCount;
      }
      if ((bucket ^ hash) >>> ROW_BITS !== 0) continue;
      const row = (bucket & ROW_MASK) - 1;
      if (this.#hasId(row, view, start, end)) return row;
    }
  }

  #hasId(row: number, view: DataView, start: number, end: number): boolean {
    const known = this.#batch.idStart[row]!;
    const length = end - start;
    return this.#batch.idEnd[row]! - known === length && equalRanges(view, known, view, start, length);
  }

  #grow(): void {
    const { idHash, rowCount } = this.#batch;
    const buckets = new Uint32Array(2 * this.#buckets.length);
    const mask = buckets.length - 1;
    for (let row = 0; row < rowCount; row++) {
      const hash = idHash[row]!;
      let at = hash & mask;
      while (buckets[at] !== 0) at = (at + 1) & mask;
      buckets[at] = bucketOf(hash, row);
    }
    this.#buckets = buckets;
  }
}

function bucketOf(hash: number, row: number): number {
  return ((hash & ~ROW_MASK) | (row + 1)) >>> 0;
}
