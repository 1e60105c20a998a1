/**
 * Demand as a number of machines, by interruption penalty. A need is an amount of resources: it counts as the number of
 * machines of its min unit that cover the amount, and as one machine if it has no min unit.
 *
 * Summing 776,000 needs takes some 10 ms, too long for one turn of the main thread, so a scrape after a change of demand
 * starts a sum in slices. The value of a large table is thus one scrape old.
 */
import type { VectorTable } from '../base/vectors.ts';
import { PENALTY_BUCKET_COUNT } from '../machine/penalty.ts';
import type { Sample } from './families.ts';
import { BUCKET_LABELS } from './label-values.ts';

/** The columns of needs that this module reads. The arrays are replaced when they grow. */
export interface DemandColumns {
  /** Exclusive. */
  readonly rowLimit: number;
  /** 0: no need. */
  readonly profile: Uint32Array;
  /** Refs in the table of vectors. */
  readonly aggregate: Uint32Array;
  readonly minUnit: Uint32Array;
  readonly profiles: { get(ref: number): { readonly interruptionPenalty: number } };
}

/** About 1 ms. */
const ROWS_PER_SLICE = 65_536;

export class DemandTally {
  readonly #columns: DemandColumns;
  readonly #vectors: VectorTable;
  readonly #defer: (work: () => void) => void;
  #done = new Float64Array(PENALTY_BUCKET_COUNT);
  #version = Number.NaN;
  #isRunning = false;

  /** `defer` runs work in a later turn of the event loop. */
  constructor(
    columns: DemandColumns,
    vectors: VectorTable,
    defer: (work: () => void) => void = (work) => setImmediate(work),
  ) {
    this.#columns = columns;
    this.#vectors = vectors;
    this.#defer = defer;
  }

  /** `version` changes with every change of demand. */
  *samples(version: number): Iterable<Sample> {
    if (version !== this.#version && !this.#isRunning) this.#run(version);
    for (let bucket = 0; bucket < PENALTY_BUCKET_COUNT; bucket++) {
      const value = this.#done[bucket]!;
      if (value > 0) yield { labels: { interruption_penalty_bucket: BUCKET_LABELS[bucket]! }, value };
    }
  }

  #run(version: number): void {
    const sums = new Float64Array(PENALTY_BUCKET_COUNT);
    let row = 0;
    this.#isRunning = true;
    const slice = () => {
      const end = Math.min(this.#columns.rowLimit, row + ROWS_PER_SLICE);
      this.#addRows(row, end, sums);
      row = end;
      if (row < this.#columns.rowLimit) {
        this.#defer(slice);
        return;
      }
      this.#done = sums;
      this.#version = version;
      this.#isRunning = false;
    };
    slice();
  }

  #addRows(from: number, to: number, sums: Float64Array): void {
    const { profile, aggregate, minUnit, profiles } = this.#columns;
    for (let row = from; row < to; row++) {
      if (profile[row] === 0) continue;
      const bucket = profiles.get(profile[row]!).interruptionPenalty;
      sums[bucket]! += machinesFor(this.#vectors, aggregate[row]!, minUnit[row]!);
    }
  }
}

/** Machines for the dimension that needs the most of them. */
export function machinesFor(vectors: VectorTable, aggregate: number, minUnit: number): number {
  if (vectors.isZero(aggregate)) return 0;
  let most = 1;
  const start = vectors.start[minUnit]!;
  const end = start + vectors.length[minUnit]!;
  for (let entry = start; entry < end; entry++) {
    const unit = vectors.units[entry]!;
    if (unit > 0) most = Math.max(most, Math.ceil(vectors.unitsOf(aggregate, vectors.dims[entry]!) / unit));
  }
  return most;
}
