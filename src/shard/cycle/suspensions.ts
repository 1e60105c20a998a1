/**
 * T2: clusters for which a decision threw. A suspended cluster keeps its demand and its machines, gets no others, and loses
 * none. The suspension ends when its demand changes, five seconds later at the earliest, or after ten minutes: then the shard
 * tries again. There are few.
 */
import type { StringTable } from '../../base/string-table.ts';
import type { NeedTable } from '../../needs/need-table.ts';

/** Long enough that a fault that stays costs one throw in sixty cycles of ten seconds. */
const SUSPENDED_MS = 600_000;
/** Each throw costs a new engine, whose columns stay until they are collected: a cluster whose demand changes all the time costs two in five seconds. */
const SUSPENDED_MS_MIN = 5_000;

export interface Suspension {
  readonly clusterId: string;
  /** What the decision threw, and for which need. */
  readonly reason: string;
  readonly sinceMs: number;
  readonly untilMs: number;
  /** The demand that threw. */
  readonly version: number;
}

export class Suspensions {
  readonly #clusters: StringTable;
  readonly #needs: NeedTable;
  /** By cluster ref. */
  readonly #suspended = new Map<number, Suspension>();
  /** By cluster ref: when a decision for it threw last, if that was within the last five seconds. */
  readonly #threwMs = new Map<number, number>();

  constructor(clusters: StringTable, needs: NeedTable) {
    this.#clusters = clusters;
    this.#needs = needs;
  }

  get count(): number {
    return this.#suspended.size;
  }

  has(cluster: number): boolean {
    return this.#suspended.size > 0 && this.#suspended.has(cluster);
  }

  /** For explanations; null if the cluster is not suspended. */
  of(cluster: number): Suspension | null {
    return this.#suspended.get(cluster) ?? null;
  }

  /** A decision for the cluster threw. Returns whether one did so a moment ago, too: another try would cost another engine. */
  threw(cluster: number, nowMs: number): boolean {
    const isRepeated = Math.abs(nowMs - (this.#threwMs.get(cluster) ?? Number.NaN)) < SUSPENDED_MS_MIN;
    this.#threwMs.set(cluster, nowMs);
    return isRepeated;
  }

  suspend(cluster: number, reason: string, nowMs: number): Suspension {
    const suspension = {
      clusterId: this.#clusters.get(cluster),
      reason,
      sinceMs: nowMs,
      untilMs: nowMs + SUSPENDED_MS,
      version: this.#needs.versionOf(cluster),
    };
    this.#suspended.set(cluster, suspension);
    return suspension;
  }

  /** Ends what is due. A clock that was set back ends it, too. Returns the ids of the clusters. */
  expire(nowMs: number): string[] {
    const ended: string[] = [];
    for (const [cluster, threwMs] of this.#threwMs) {
      if (Math.abs(nowMs - threwMs) >= SUSPENDED_MS_MIN) this.#threwMs.delete(cluster);
    }
    for (const [cluster, { clusterId, sinceMs, untilMs, version }] of this.#suspended) {
      const isKnown = this.#clusters.get(cluster) === clusterId;
      const isSame = this.#needs.versionOf(cluster) === version || nowMs < sinceMs + SUSPENDED_MS_MIN;
      if (isKnown && isSame && nowMs >= sinceMs && nowMs < untilMs) continue;
      this.#suspended.delete(cluster);
      ended.push(clusterId);
    }
    return ended;
  }
}
