/**
 * Execute slots. X3: calls in flight never exceed the number of slots, and one cluster has at most a quarter of them while
 * others wait. Waiting clusters take turns.
 */
import { assert } from '../../base/assert.ts';

export const SHARE_OF_ONE = 1 / 4;

type Granted = (isGranted: boolean) => void;

export class FairSlots {
  readonly slotsMax: number;
  readonly #shareMax: number;
  readonly #inUseBy = new Map<string, number>();
  /** In order of turns; a cluster that got a slot goes to the end. */
  readonly #waiting = new Map<string, Granted[]>();
  #inUse = 0;
  #isStopped = false;

  constructor(slotsMax: number) {
    this.slotsMax = slotsMax;
    this.#shareMax = Math.max(1, Math.floor(slotsMax * SHARE_OF_ONE));
  }

  get inUse(): number {
    return this.#inUse;
  }

  /** No more slots are granted. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Resolves with true when the caller has a slot, which it returns with `give`; with false if no more are granted. */
  take(cluster: string): Promise<boolean> {
    return new Promise((resolve) => {
      if (this.#isStopped) {
        resolve(false);
        return;
      }
      const waiting = this.#waiting.get(cluster);
      if (waiting === undefined) this.#waiting.set(cluster, [resolve]);
      else waiting.push(resolve);
      this.#grant();
    });
  }

  give(cluster: string): void {
    const inUse = this.#inUseBy.get(cluster)! - 1;
    assert(inUse >= 0, 'a slot is returned once');
    if (inUse === 0) this.#inUseBy.delete(cluster);
    else this.#inUseBy.set(cluster, inUse);
    this.#inUse--;
    this.#grant();
  }

  /** Waiting callers get none; slots in use are returned as usual. */
  stop(): void {
    this.#isStopped = true;
    const waiting = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    for (const granted of waiting) granted(false);
  }

  #grant(): void {
    while (this.#inUse < this.slotsMax && this.#waiting.size > 0) {
      const cluster = this.#nextCluster();
      const waiting = this.#waiting.get(cluster)!;
      const granted = waiting.shift()!;
      this.#waiting.delete(cluster);
      if (waiting.length > 0) this.#waiting.set(cluster, waiting);
      this.#inUseBy.set(cluster, (this.#inUseBy.get(cluster) ?? 0) + 1);
      this.#inUse++;
      granted(true);
    }
  }

  /** The first cluster below its share; if none is, the first. */
  #nextCluster(): string {
    for (const cluster of this.#waiting.keys()) {
      if ((this.#inUseBy.get(cluster) ?? 0) < this.#shareMax) return cluster;
    }
    for (const cluster of this.#waiting.keys()) return cluster;
    return '';
  }
}
