/**
 * Needs whose bootstraps failed. X5: after a late answer or an error the shard does not ask the operator again for the same
 * need for 10 s, doubling to 5 min while it repeats. A9: such a need gets credit only, and an explanation shows the
 * operator's text. There are few at a time, so a map is enough; it holds the refs, so that they keep their meaning. Of needs that
 * are withdrawn only the last ones of a cluster are kept.
 */
import type { InventoryTables } from '../../inventory/tables.ts';

const BACKOFF_MS_MIN = 10_000;
const BACKOFF_MS_MAX = 300_000;
/** A need that has not failed for this long after its back-off starts from 10 s again. */
const FORGOTTEN_AFTER_MS = 600_000;
/** Needs of one cluster, the withdrawn ones included: its usual 388, twice. Needs that exist are bounded by T1. */
const KEPT_OF_CLUSTER_MAX = 1_024;

interface NeedBackoff {
  readonly cluster: number;
  readonly fingerprint: number;
  readonly group: number;
  failuresInARow: number;
  untilMs: number;
  text: string;
}

export interface NeedBackoffView {
  readonly failuresInARow: number;
  readonly untilMs: number;
  /** The operator's error, or that it did not answer. */
  readonly text: string;
}

type IsLive = (cluster: number, fingerprint: number, group: number) => boolean;

export class NeedBackoffs {
  readonly #tables: InventoryTables;
  readonly #isLive: IsLive;
  /** In the order of their last failure. */
  readonly #needs = new Map<string, NeedBackoff>();
  /** By cluster: how many of them. */
  readonly #countOf = new Map<number, number>();
  #nowMs = 0;

  /** `isLive`: whether the need exists. */
  constructor(tables: InventoryTables, isLive: IsLive) {
    this.#tables = tables;
    this.#isLive = isLive;
  }

  get count(): number {
    return this.#needs.size;
  }

  failed(cluster: number, fingerprint: number, group: number, text: string, nowMs: number): void {
    const key = keyOf(cluster, fingerprint, group);
    let need = this.#needs.get(key);
    if (need === undefined) {
      need = { cluster, fingerprint, group, failuresInARow: 0, untilMs: 0, text };
      const { clusters, fingerprints, groups } = this.#tables;
      clusters.retain(cluster);
      fingerprints.retain(fingerprint);
      groups.retain(group);
      this.#countOf.set(cluster, (this.#countOf.get(cluster) ?? 0) + 1);
    }
    this.#needs.delete(key);
    this.#needs.set(key, need);
    // Bootstraps under way at the same time fail together: they count as one failure, from the last of them.
    if (need.untilMs > nowMs) {
      need.untilMs = Math.max(need.untilMs, nowMs + BACKOFF_MS_MIN);
      return;
    }
    need.failuresInARow++;
    need.text = text;
    need.untilMs =
      nowMs + Math.min(BACKOFF_MS_MIN * 2 ** Math.min(need.failuresInARow - 1, 16), BACKOFF_MS_MAX);
  }

  succeeded(cluster: number, fingerprint: number, group: number): void {
    if (this.#needs.size > 0) this.#drop(keyOf(cluster, fingerprint, group));
  }

  /** Whether the need is in back-off at the time of the last `expire`. */
  isBarred(cluster: number, fingerprint: number, group: number): boolean {
    if (this.#needs.size === 0) return false;
    const need = this.#needs.get(keyOf(cluster, fingerprint, group));
    return need !== undefined && need.untilMs > this.#nowMs;
  }

  /** All needs in back-off: cluster, fingerprint, group, one after the other. */
  barredRefs(): number[] {
    const refs: number[] = [];
    for (const { cluster, fingerprint, group, untilMs } of this.#needs.values()) {
      if (untilMs > this.#nowMs) refs.push(cluster, fingerprint, group);
    }
    return refs;
  }

  viewOf(cluster: number, fingerprint: number, group: number): NeedBackoffView | null {
    return this.#needs.get(keyOf(cluster, fingerprint, group)) ?? null;
  }

  /** Before each cycle. */
  expire(nowMs: number): void {
    this.#nowMs = nowMs;
    for (const [key, { cluster, fingerprint, group, untilMs }] of this.#needs) {
      const isSurplus =
        this.#countOf.get(cluster)! > KEPT_OF_CLUSTER_MAX && !this.#isLive(cluster, fingerprint, group);
      if (isSurplus || untilMs + FORGOTTEN_AFTER_MS < nowMs) this.#drop(key);
    }
  }

  #drop(key: string): void {
    const need = this.#needs.get(key);
    if (need === undefined) return;
    this.#needs.delete(key);
    const left = this.#countOf.get(need.cluster)! - 1;
    if (left > 0) this.#countOf.set(need.cluster, left);
    else this.#countOf.delete(need.cluster);
    this.#tables.releaseRefs(need.cluster, need.fingerprint, need.group);
  }
}

function keyOf(cluster: number, fingerprint: number, group: number): string {
  return `${cluster}|${fingerprint}|${group}`;
}
