/**
 * T7: how fast a cluster's demand may change. A new row costs the decision more than the reading: the cycle makes a need of
 * it, and a filter of each new profile. A cluster that replaces all rows of every roll-up would make every cycle as long as
 * the first one. So each cluster has a bucket of new rows. After a roll-up that emptied it, the cluster's next one waits until
 * there is room; a later one that arrives meanwhile replaces it.
 */
import { NEW_ROWS_BURST, NEW_ROWS_PER_SECOND } from './limits.ts';

const MS_PER_ROW = 1_000 / NEW_ROWS_PER_SECOND;
const BURST_MS = NEW_ROWS_BURST * MS_PER_ROW;
/** Buckets that are full again are dropped when there are this many: as many clusters as a shard has. */
const BUCKETS_SWEPT_AT = 4_096;

export class RollupPace {
  /** By cluster: when its bucket is full again. */
  readonly #fullAtMs = new Map<string, number>();

  get bucketCount(): number {
    return this.#fullAtMs.size;
  }

  /** The shard applied a roll-up with this many rows that the one before did not have. */
  spend(clusterId: string, newRows: number, nowMs: number): void {
    if (newRows === 0) return;
    if (this.#fullAtMs.size >= BUCKETS_SWEPT_AT) this.#sweep(nowMs);
    const fullAtMs = Math.max(nowMs, this.#fullAtMs.get(clusterId) ?? 0);
    this.#fullAtMs.set(clusterId, fullAtMs + newRows * MS_PER_ROW);
  }

  /** How long the cluster's next roll-up waits. */
  waitMs(clusterId: string, nowMs: number): number {
    const fullAtMs = this.#fullAtMs.get(clusterId) ?? 0;
    return Math.max(0, fullAtMs - BURST_MS - nowMs);
  }

  #sweep(nowMs: number): void {
    for (const [clusterId, fullAtMs] of this.#fullAtMs)
      if (fullAtMs <= nowMs) this.#fullAtMs.delete(clusterId);
  }
}
