/**
 * Latencies in buckets that grow by 2 %: any number of samples in 8 KB, percentiles exact to 2 %. Lists of
 * samples would grow for as long as a demo runs.
 */
const GROWTH = Math.log(1.02);
/** A day: ln(86,400,000) / ln(1.02). */
const BUCKET_COUNT = 924;

export interface LatencySummary {
  readonly count: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export class LatencyHistogram {
  readonly #counts = new Float64Array(BUCKET_COUNT);
  count = 0;
  #maxMs = 0;

  add(latencyMs: number): void {
    const bucket = latencyMs <= 1 ? 0 : Math.ceil(Math.log(latencyMs) / GROWTH);
    this.#counts[Math.min(bucket, BUCKET_COUNT - 1)]!++;
    this.count++;
    this.#maxMs = Math.max(this.#maxMs, latencyMs);
  }

  /** The smallest bucket bound that at least this share of the samples does not exceed; 0 without samples. */
  percentileMs(percent: number): number {
    const wanted = (this.count * percent) / 100;
    let seen = 0;
    for (let bucket = 0; bucket < BUCKET_COUNT && this.count > 0; bucket++) {
      seen += this.#counts[bucket]!;
      if (seen > 0 && seen >= wanted) return Math.min(Math.exp(bucket * GROWTH), this.#maxMs);
    }
    return this.#maxMs;
  }

  summary(): LatencySummary {
    return {
      count: this.count,
      p50Ms: Math.round(this.percentileMs(50)),
      p90Ms: Math.round(this.percentileMs(90)),
      p99Ms: Math.round(this.percentileMs(99)),
      maxMs: Math.round(this.#maxMs),
    };
  }

  clear(): void {
    this.#counts.fill(0);
    this.count = 0;
    this.#maxMs = 0;
  }
}
