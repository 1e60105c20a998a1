/**
 * T9: how many claimed machines a cluster loses to needs of higher priority. Each cluster has a bucket of tokens that
 * refills over one cycle interval, and each claimed victim costs its cluster one token. Without the cap, one tenant with
 * the highest priority empties a cluster in one cycle.
 *
 * A gang is served whole or not at all, so its victims go all or none. A gang of more machines than a bucket holds waits
 * for a full bucket and overdraws it. While a gang waits, needs after it take no token of its victims' clusters: each
 * token that they took would let the gang wait longer, and they have a lower priority.
 */
import type { StringTable } from '../../base/string-table.ts';
import { ActionKind, type ActionList, Victim } from '../../decision/actions.ts';

/** 0.29 × 100 is 28.999…, and must give 29. */
const ROUNDING = 1e-9;

interface Bucket {
  clusterId: string;
  /** Negative: a gang overdrew it. */
  tokens: number;
  /** When `tokens` was right. */
  atMs: number;
  /** The pass in which the bucket was refilled last, and the one in which a gang waits for it. */
  filledIn: number;
  reservedIn: number;
  size: number;
}

export interface PreemptionCapOptions {
  readonly clusters: StringTable;
  readonly intervalMs: number;
  /** A cluster's Configured machines without an enqueued action. */
  readonly configuredOf: (cluster: number) => number;
}

export class PreemptionCap {
  readonly #options: PreemptionCapOptions;
  /** By cluster ref; a cluster without a bucket has a full one. At most one per cluster that ever lost a machine. */
  readonly #buckets = new Map<number, Bucket>();
  /** Tokens that the group asks for, by cluster. */
  readonly #asked = new Map<number, number>();
  #pass = 0;
  #nowMs = 0;
  #fraction = 0;
  #end = 0;
  #isAdmitted = false;

  constructor(options: PreemptionCapOptions) {
    this.#options = options;
  }

  /** Begins a pass over the actions of a cycle. */
  begin(nowMs: number, fraction: number): void {
    this.#pass++;
    this.#nowMs = nowMs;
    this.#fraction = fraction;
    this.#end = 0;
  }

  /** Whether the preemption may go; takes its token. Asked once for each preemption of the list, in order. */
  admits(actions: ActionList, index: number): boolean {
    if (this.#fraction === 0) return true;
    if (index >= this.#end) {
      this.#end = endOfGang(actions, index);
      this.#isAdmitted = this.#admitsAll(actions, index, this.#end);
    }
    return this.#isAdmitted;
  }

  /** Gives back the token of an admitted preemption that was not enqueued. */
  giveBack(actions: ActionList, index: number): void {
    if (this.#fraction === 0 || (actions.victim[index]! & Victim.Claimed) === 0) return;
    this.#bucketOf(actions.cluster[index]!).tokens++;
  }

  #admitsAll(actions: ActionList, first: number, end: number): boolean {
    const asked = this.#asked;
    asked.clear();
    for (let index = first; index < end; index++) {
      if ((actions.victim[index]! & Victim.Claimed) === 0) continue;
      const cluster = actions.cluster[index]!;
      asked.set(cluster, (asked.get(cluster) ?? 0) + 1);
    }
    const mayOverdraw = (actions.victim[first]! & Victim.OfGang) !== 0;
    let isAdmitted = true;
    for (const [cluster, count] of asked) {
      const { tokens, size, reservedIn } = this.#bucketOf(cluster);
      const isEnough = tokens + ROUNDING >= count || (mayOverdraw && tokens + ROUNDING >= size);
      if (!isEnough || reservedIn === this.#pass) isAdmitted = false;
    }
    for (const [cluster, count] of asked) {
      const bucket = this.#bucketOf(cluster);
      if (isAdmitted) bucket.tokens -= count;
      else if (mayOverdraw) bucket.reservedIn = this.#pass;
    }
    return isAdmitted;
  }

  /** The cluster's bucket, refilled until now. */
  #bucketOf(cluster: number): Bucket {
    let bucket = this.#buckets.get(cluster);
    if (bucket?.filledIn === this.#pass) return bucket;
    const { clusters, configuredOf, intervalMs } = this.#options;
    const size = capOf(configuredOf(cluster), this.#fraction);
    const clusterId = clusters.get(cluster);
    if (bucket === undefined || bucket.clusterId !== clusterId) {
      bucket = { clusterId, tokens: size, atMs: this.#nowMs, filledIn: 0, reservedIn: 0, size };
      this.#buckets.set(cluster, bucket);
    }
    const elapsedMs = Math.max(0, this.#nowMs - bucket.atMs); // the clock may be set back
    bucket.tokens = Math.min(size, bucket.tokens + (elapsedMs / intervalMs) * size);
    bucket.size = size;
    bucket.atMs = this.#nowMs;
    bucket.filledIn = this.#pass;
    return bucket;
  }
}

/** At least one, so that a small cluster gives way too. Shared by R2 and T9. */
export function capOf(configuredCount: number, fraction: number): number {
  return Math.max(1, Math.floor(fraction * configuredCount + ROUNDING));
}

/** The victims of one need follow each other; those of other needs than gangs go one by one. */
function endOfGang(actions: ActionList, first: number): number {
  const { kind, victim, forCluster, fingerprint, group } = actions;
  let end = first + 1;
  if ((victim[first]! & Victim.OfGang) === 0) return end;
  while (
    end < actions.count &&
    kind[end] === ActionKind.Preempt &&
    forCluster[end] === forCluster[first] &&
    fingerprint[end] === fingerprint[first] &&
    group[end] === group[first]
  )
    end++;
  return end;
}
