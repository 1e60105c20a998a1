/**
 * X14: how many machines a cluster may break. A machine is burned when a bootstrap or a drain leaves it Failed or gone. Only
 * its provider can repair it, so a cluster that goes on trying would take the machines that others need. The budget is a share of
 * the machines that the cluster could try, and counts over one hour.
 */
import type { StringTable } from '../../base/string-table.ts';

const WINDOW_MS = 3_600_000;
/** A small fleet has 10 % of nothing: three tries show that the fault is not one machine's. */
const BURNS_MIN = 3;
/** Times kept for a cluster: far beyond the budget of any fleet that still has machines. 8 bytes each. */
const TIMES_MAX = 65_536;
/** 0.29 × 100 is 28.999…, and must give 29. */
const ROUNDING = 1e-9;

export class BurnBudget {
  readonly #clusters: StringTable;
  readonly #fraction: () => number;
  /** By cluster ref, which is held: when machines were burned, the oldest first. */
  readonly #burns = new Map<number, number[]>();
  #count = 0;

  constructor(clusters: StringTable, fraction: () => number) {
    this.#clusters = clusters;
    this.#fraction = fraction;
  }

  /** Machines of all clusters that were burned in the last hour. */
  get count(): number {
    return this.#count;
  }

  burned(cluster: number, nowMs: number): void {
    let times = this.#burns.get(cluster);
    if (times === undefined) {
      times = [];
      this.#burns.set(cluster, times);
      this.#clusters.retain(cluster);
    }
    if (times.length >= TIMES_MAX) return;
    times.push(nowMs);
    this.#count++;
  }

  countOf(cluster: number): number {
    return this.#burns.get(cluster)?.length ?? 0;
  }

  /** How many the cluster may burn in an hour of `candidates` machines, the burned ones included; Infinity: no limit. */
  limitOf(candidates: number): number {
    const fraction = this.#fraction();
    if (fraction === 0) return Number.POSITIVE_INFINITY;
    return Math.max(BURNS_MIN, Math.floor(fraction * candidates + ROUNDING));
  }

  isSpent(cluster: number, candidates: number): boolean {
    return this.countOf(cluster) >= this.limitOf(candidates);
  }

  /** When the oldest burn of the cluster is an hour old; 0 if it has none. */
  nextMs(cluster: number): number {
    const times = this.#burns.get(cluster);
    return times === undefined ? 0 : times[0]! + WINDOW_MS;
  }

  /** Forgets what is an hour old, or lies in the future of a clock that was set back. */
  expire(nowMs: number): void {
    for (const [cluster, times] of this.#burns) {
      const kept = times.filter((atMs) => Math.abs(nowMs - atMs) < WINDOW_MS);
      if (kept.length === times.length) continue;
      this.#count -= times.length - kept.length;
      if (kept.length > 0) this.#burns.set(cluster, kept);
      else {
        this.#burns.delete(cluster);
        this.#clusters.release(cluster);
      }
    }
  }
}
