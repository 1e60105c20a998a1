/** The averages of an hour over its samples. A row that a sample lacks counts as zero in it. */
import type { InterruptionRow, SpendingRow, SpendingSample } from '../shard/ports/spending.ts';

type Sums = { -readonly [field in keyof SpendingRow]: SpendingRow[field] };
type Interruptions = { -readonly [field in keyof InterruptionRow]: InterruptionRow[field] };

export class Hour {
  readonly startMs: number;
  readonly #sums = new Map<string, Sums>();
  readonly #interruptions = new Map<string, Interruptions>();
  #samples = 0;

  constructor(startMs: number) {
    this.startMs = startMs;
  }

  add({ rows, interruptions = [] }: SpendingSample): void {
    this.#samples++;
    for (const row of interruptions) this.#addInterruptions(row);
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

  #addInterruptions(row: InterruptionRow): void {
    const key = `${row.provider.length} ${row.provider} ${row.offering}`;
    const sums = this.#interruptions.get(key);
    if (sums === undefined) this.#interruptions.set(key, { ...row });
    else {
      sums.configured += row.configured;
      sums.declaredPerHour += row.declaredPerHour;
      sums.observed += row.observed;
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
    const interruptions = [...this.#interruptions.values()].map((sums) => ({
      ...sums,
      configured: rounded(sums.configured / this.#samples),
      declaredPerHour: rounded(sums.declaredPerHour / this.#samples),
    }));
    return { atMs: this.startMs, rows, interruptions };
  }
}

/** To millionths: what a file stores of an average need not have sixteen digits. */
function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
