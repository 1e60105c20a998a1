/**
 * Needs whose bootstraps failed. X5: after a failed bootstrap the shard tries no machine for the same need for 10 s, doubling to
 * 5 min while it repeats. Then the need is on probation: one machine at a time, its probe, until one succeeds. X14: a need whose
 * cluster has spent its burn budget gets none. A9: a need that may not try gets credit only. There are few at a time, so a map is
 * enough; it holds the refs, so that they keep their meaning. Of needs that are withdrawn only the last ones of a cluster are kept.
 *
 * A second object holds the same for drains. Their key is the cluster that gives the machines up, with 0 for fingerprint and group.
 */
import type { InventoryTables } from '../../inventory/tables.ts';
import type { BurnBudget } from './burn-budget.ts';

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
  /** 0: it has not failed, but its cluster has spent its budget. */
  failuresInARow: number;
  untilMs: number;
  text: string;
  /** The slot of the one machine that is tried; 0 = none. */
  probe: number;
  /** X14: machines that it could have tried when it burned one, the burned ones included; 0: it burned none. */
  candidates: number;
}

export interface NeedBackoffView {
  readonly failuresInARow: number;
  readonly untilMs: number;
  /** The error of the operator or the provider. */
  readonly text: string;
  /** The machine that is tried now. */
  readonly probe: number;
  /** X14: the cluster has spent its budget: what it burned in the last hour, and what it may. */
  readonly spent: { readonly burned: number; readonly limit: number; readonly untilMs: number } | null;
}

export interface FailedAttempt {
  readonly text: string;
  /** Its machine. */
  readonly slot?: number;
  /** X14: machines that the need could have tried, the burned ones included; left out if none was burned. */
  readonly candidates?: () => number;
}

export interface NeedBackoffsOptions {
  readonly tables: InventoryTables;
  readonly budget: BurnBudget;
  /** Whether the need exists. */
  readonly isLive: (cluster: number, fingerprint: number, group: number) => boolean;
  /** Whether the machine is still being tried for the need. */
  readonly isTried: (slot: number, cluster: number, fingerprint: number, group: number) => boolean;
}

export class NeedBackoffs {
  readonly #options: NeedBackoffsOptions;
  /** In the order of their last failure. */
  readonly #needs = new Map<string, NeedBackoff>();
  /** By cluster: how many of them. */
  readonly #countOf = new Map<number, number>();
  /** By cluster that has spent its budget: when the next of its needs without a failure may be tried. */
  readonly #spent = new Map<number, number>();
  #nowMs = 0;

  constructor(options: NeedBackoffsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#needs.size;
  }

  /** Needs that may not try another machine now. */
  get barredCount(): number {
    let count = 0;
    for (const need of this.#needs.values()) if (this.#isBarred(need)) count++;
    return count;
  }

  /** Clusters that have spent their budget, as of the last `expire`. */
  get spentCount(): number {
    return this.#spent.size;
  }

  failed(cluster: number, fingerprint: number, group: number, attempt: FailedAttempt, nowMs: number): void {
    const key = keyOf(cluster, fingerprint, group);
    const need = this.#needs.get(key) ?? this.#create(cluster, fingerprint, group);
    const { text, slot = 0, candidates } = attempt;
    this.#needs.delete(key);
    this.#needs.set(key, need);
    need.text = text;
    if (candidates !== undefined && (need.candidates === 0 || need.untilMs <= nowMs))
      need.candidates = candidates();
    const isProbe = slot === need.probe;
    if (isProbe) need.probe = 0;
    // X14: the next need without a failure waits.
    if (isProbe && need.failuresInARow === 0 && this.#spent.has(cluster))
      this.#spent.set(cluster, nowMs + BACKOFF_MS_MAX);
    // Bootstraps under way at the same time fail together: they count as one failure, from the last of them.
    if (need.untilMs > nowMs || (need.failuresInARow > 0 && !isProbe)) {
      need.untilMs = Math.max(need.untilMs, nowMs + BACKOFF_MS_MIN);
      return;
    }
    need.failuresInARow++;
    need.untilMs =
      nowMs + Math.min(BACKOFF_MS_MIN * 2 ** Math.min(need.failuresInARow - 1, 16), BACKOFF_MS_MAX);
  }

  succeeded(cluster: number, fingerprint: number, group: number): void {
    if (this.#needs.size === 0) return;
    const key = keyOf(cluster, fingerprint, group);
    const need = this.#needs.get(key);
    if (need === undefined) return;
    if (!this.#isSpent(need)) {
      this.#drop(key);
      return;
    }
    // It works now, but its cluster may burn no more machines: one at a time.
    need.failuresInARow = need.untilMs = need.probe = 0;
  }

  /** X15: its failure counts against an offering or a provider. It may try another machine at once, but one at a time. */
  absolve(cluster: number, fingerprint: number, group: number): void {
    const need = this.#needs.get(keyOf(cluster, fingerprint, group));
    if (need !== undefined) need.untilMs = 0;
  }

  /** Whether the need gets credit only, as of the last `expire`. */
  isBarred(cluster: number, fingerprint: number, group: number): boolean {
    if (this.#needs.size === 0) return false;
    const need = this.#needs.get(keyOf(cluster, fingerprint, group));
    return need !== undefined && this.#isBarred(need);
  }

  /** Whether failures limit the need to one machine at a time. */
  isOnProbation(cluster: number, fingerprint: number, group: number): boolean {
    return this.#needs.has(keyOf(cluster, fingerprint, group)) || this.#spent.has(cluster);
  }

  /** Whether the need may try this machine now; then it is its probe, if the need is on probation. */
  admit(cluster: number, fingerprint: number, group: number, slot: number): boolean {
    if (this.#needs.size === 0) return true; // of 50,000 actions in a burst, none makes a key
    const need = this.#needs.get(keyOf(cluster, fingerprint, group));
    if (need === undefined && !this.#spent.has(cluster)) return true;
    if (need?.probe === slot) return true;
    if (need !== undefined && this.#isBarred(need)) return false;
    if (this.#spent.has(cluster) && !this.#mayTryNext(cluster)) return false;
    (need ?? this.#create(cluster, fingerprint, group)).probe = slot;
    return true;
  }

  /** All needs that get credit only: cluster, fingerprint, group, one after the other. */
  barredRefs(): number[] {
    const refs: number[] = [];
    for (const need of this.#needs.values()) {
      if (this.#isBarred(need)) refs.push(need.cluster, need.fingerprint, need.group);
    }
    return refs;
  }

  viewOf(cluster: number, fingerprint: number, group: number): NeedBackoffView | null {
    const need = this.#needs.get(keyOf(cluster, fingerprint, group));
    if (need === undefined) return null;
    const { failuresInARow, untilMs, text, probe, candidates } = need;
    const { budget } = this.#options;
    const spent = {
      burned: budget.countOf(cluster),
      limit: budget.limitOf(candidates),
      untilMs: budget.nextMs(cluster),
    };
    return { failuresInARow, untilMs, text, probe, spent: this.#isSpent(need) ? spent : null };
  }

  /** Before each cycle. */
  expire(nowMs: number): void {
    const { budget, isLive, isTried } = this.#options;
    this.#nowMs = nowMs;
    budget.expire(nowMs);
    this.#renewSpent();
    for (const [key, need] of this.#needs) {
      const { cluster, fingerprint, group, probe, untilMs, failuresInARow } = need;
      if (probe !== 0 && !isTried(probe, cluster, fingerprint, group)) need.probe = 0;
      const isSurplus =
        this.#countOf.get(cluster)! > KEPT_OF_CLUSTER_MAX && !isLive(cluster, fingerprint, group);
      const isOver =
        failuresInARow === 0
          ? !this.#spent.has(cluster)
          : untilMs + FORGOTTEN_AFTER_MS < nowMs && !this.#isSpent(need);
      if (isSurplus || (isOver && need.probe === 0)) this.#drop(key);
    }
  }

  #renewSpent(): void {
    const spent = new Set<number>();
    for (const need of this.#needs.values()) {
      if (this.#isSpent(need)) spent.add(need.cluster);
    }
    for (const cluster of this.#spent.keys()) if (!spent.has(cluster)) this.#spent.delete(cluster);
    for (const cluster of spent) if (!this.#spent.has(cluster)) this.#spent.set(cluster, 0);
  }

  #isSpent({ cluster, candidates }: NeedBackoff): boolean {
    return candidates > 0 && this.#options.budget.isSpent(cluster, candidates);
  }

  #isBarred(need: NeedBackoff): boolean {
    if (need.untilMs > this.#nowMs || need.probe !== 0) return true;
    if (need.failuresInARow === 0) return false;
    // A need whose failure left its machine whole has no candidates of its own: the budget of its cluster decides.
    return need.candidates === 0 ? this.#spent.has(need.cluster) : this.#isSpent(need);
  }

  /** X14: a cluster without a budget tries one machine at a time, and waits after each failure. */
  #mayTryNext(cluster: number): boolean {
    if (this.#spent.get(cluster)! > this.#nowMs) return false;
    for (const need of this.#needs.values()) if (need.cluster === cluster && need.probe !== 0) return false;
    return true;
  }

  #create(cluster: number, fingerprint: number, group: number): NeedBackoff {
    const { clusters, fingerprints, groups } = this.#options.tables;
    clusters.retain(cluster);
    fingerprints.retain(fingerprint);
    groups.retain(group);
    this.#countOf.set(cluster, (this.#countOf.get(cluster) ?? 0) + 1);
    const none = { failuresInARow: 0, untilMs: 0, text: '', probe: 0, candidates: 0 };
    const need = { cluster, fingerprint, group, ...none };
    this.#needs.set(keyOf(cluster, fingerprint, group), need);
    return need;
  }

  #drop(key: string): void {
    const need = this.#needs.get(key)!;
    this.#needs.delete(key);
    const left = this.#countOf.get(need.cluster)! - 1;
    if (left > 0) this.#countOf.set(need.cluster, left);
    else this.#countOf.delete(need.cluster);
    this.#options.tables.releaseRefs(need.cluster, need.fingerprint, need.group);
  }
}

function keyOf(cluster: number, fingerprint: number, group: number): string {
  return `${cluster}|${fingerprint}|${group}`;
}
