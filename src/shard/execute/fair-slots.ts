/**
 * Execute slots. X3: calls in flight never exceed the number of slots, and one cluster has at most a quarter of them while
 * others wait. Waiting clusters take turns. If there are several providers, calls to one hold at most three quarters, whether
 * others wait or not: a provider that hangs keeps its slots for the whole timeout, and others may come meanwhile.
 */
import { assert } from '../../base/assert.ts';

export const SHARE_OF_ONE = 1 / 4;
const SHARE_OF_PROVIDER = 3 / 4;
/** The index of a provider is a byte in the columns. */
export const PROVIDERS_MAX = 256;

/** Calls to one provider, of so many at a time. X3, X13: a quarter stays for the others. */
export function providerShareOf(callsMax: number, providerCount: number): number {
  return providerCount < 2 ? callsMax : Math.max(1, Math.floor(callsMax * SHARE_OF_PROVIDER));
}

interface Caller {
  readonly provider: number;
  readonly granted: (isGranted: boolean) => void;
}

export class FairSlots {
  readonly slotsMax: number;
  readonly #shareMax: number;
  readonly #providerMax: number;
  readonly #inUseBy = new Map<string, number>();
  readonly #inUseAt = new Uint32Array(PROVIDERS_MAX);
  /** In order of turns; a cluster that got a slot goes to the end. */
  readonly #waiting = new Map<string, Caller[]>();
  #inUse = 0;
  #isStopped = false;

  constructor(slotsMax: number, providerCount = 1) {
    this.slotsMax = slotsMax;
    this.#shareMax = Math.max(1, Math.floor(slotsMax * SHARE_OF_ONE));
    this.#providerMax = providerShareOf(slotsMax, providerCount);
  }

  get inUse(): number {
    return this.#inUse;
  }

  /** Calls to one provider. */
  inUseAt(provider: number): number {
    return this.#inUseAt[provider]!;
  }

  /** No more slots are granted. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Resolves with true when the caller has a slot, which it returns with `give`; with false if no more are granted. */
  take(cluster: string, provider = 0): Promise<boolean> {
    return new Promise((resolve) => {
      if (this.#isStopped) {
        resolve(false);
        return;
      }
      const waiting = this.#waiting.get(cluster);
      const caller = { provider, granted: resolve };
      if (waiting === undefined) this.#waiting.set(cluster, [caller]);
      else waiting.push(caller);
      this.#grant();
    });
  }

  give(cluster: string, provider = 0): void {
    const inUse = this.#inUseBy.get(cluster)! - 1;
    assert(inUse >= 0, 'a slot is returned once');
    if (inUse === 0) this.#inUseBy.delete(cluster);
    else this.#inUseBy.set(cluster, inUse);
    this.#inUseAt[provider]!--;
    this.#inUse--;
    this.#grant();
  }

  /** Waiting callers get none; slots in use are returned as usual. */
  stop(): void {
    this.#isStopped = true;
    const waiting = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    for (const { granted } of waiting) granted(false);
  }

  #grant(): void {
    while (this.#inUse < this.slotsMax && this.#waiting.size > 0) {
      const cluster = this.#nextCluster();
      if (cluster === null) return;
      const waiting = this.#waiting.get(cluster)!;
      const [caller] = waiting.splice(waiting.findIndex(this.#mayCall), 1);
      this.#waiting.delete(cluster);
      if (waiting.length > 0) this.#waiting.set(cluster, waiting);
      this.#inUseBy.set(cluster, (this.#inUseBy.get(cluster) ?? 0) + 1);
      this.#inUseAt[caller!.provider]!++;
      this.#inUse++;
      caller!.granted(true);
    }
  }

  readonly #mayCall = ({ provider }: Caller): boolean => this.#inUseAt[provider]! < this.#providerMax;

  /** The first cluster below its share; if none is, the first. Null if all wait for providers that have theirs. */
  #nextCluster(): string | null {
    let first: string | null = null;
    for (const [cluster, waiting] of this.#waiting) {
      if (!waiting.some(this.#mayCall)) continue;
      if ((this.#inUseBy.get(cluster) ?? 0) < this.#shareMax) return cluster;
      first ??= cluster;
    }
    return first;
  }
}
