/** The averages of an hour over its samples. A row that a sample lacks counts as zero in it. */
import type { SpendingRow, SpendingSample } from '../shard/ports/spending.ts';

type Sums = { -readonly [field in keyof SpendingRow]: SpendingRow[field] };

export class Hour {
  readonly startMs: number;
  readonly #sums = new Map<string, Sums>();
  #samples = 0;

  constructor(startMs: number) {
    this.startMs = startMs;
  }

  add({ rows }: SpendingSample): void {
    this.#samples++;
    for (const row of rows) {
      const key = `${row.capacityType} ${row.instanceType.length} ${row.instanceType} ${row.clusterId}`;
      const sums = this.#sums.get(key);
      if (sums === undefined) this.#sums.set(key, { ...row });
      else {
        sums.machines += row.machines;
        sums.configured += row.configured;
        sums.usdPerHour += row.usdPerHour;
      }
    }
  }

  /** Null: it has no sample. */
  average(): SpendingSample | null {
    if (this.#samples === 0) return null;
    const rows = [...this.#sums.values()].map((sums) => ({
      ...sums,
      machines: rounded(sums.machines / this.#samples),
      configured: rounded(sums.configured / this.#samples),
      usdPerHour: rounded(sums.usdPerHour / this.#samples),
    }));
    return { atMs: this.startMs, rows };
  }
}

/** To millionths: what a file stores of an average need not have sixteen digits. */
function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
