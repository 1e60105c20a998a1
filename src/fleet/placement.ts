/**
 * F7: gives clusters that no shard knows to the shard that was asked. No cluster is placed before every shard has adopted its own ones:
 * one of them may have it already. A transaction decides, so two replicas that are asked at the same time agree.
 */
import type { Scheduler, Timer } from '../base/clock.ts';
import { ShardError } from '../base/errors.ts';
import type { FleetKeys } from '../directory/keys.ts';
import type { Comparison, Directory, Operation } from '../directory/port.ts';
import { readShardOf, writeRecord } from '../replica/records.ts';
import { ROUTES_PER_TRANSACTION } from './adoption.ts';
import type { FleetCopy } from './copy.ts';

/** Clusters that connect at the same time share a transaction. */
const GATHER_MS = 10;
/** Each waits in a stream, and a process has 16,384 streams at most. */
const WAITING_MAX = 16_384;

export interface PlacementOptions {
  readonly directory: Directory;
  readonly keys: FleetKeys;
  readonly copy: FleetCopy;
  readonly shard: string;
  readonly scheduler: Scheduler;
  readonly retryMs: number;
}

export class Placement {
  readonly #options: PlacementOptions;
  readonly #waiting = new Map<string, Set<(shard: string) => void>>();
  readonly #stopFollowing: () => void;
  #timer: Timer | null = null;
  #isRunning = false;
  #isClosed = false;
  #failure = '';

  constructor(options: PlacementOptions) {
    this.#options = options;
    this.#stopFollowing = options.copy.onChange(() => this.#soon(GATHER_MS));
  }

  /** Why clusters wait; '' if nothing is known that keeps them from a shard. */
  get why(): string {
    const { notAdopted, isWhole, isSettled } = this.#options.copy;
    if (!isWhole) return 'The directory does not answer, so the shard of the cluster cannot be looked up.';
    if (!isSettled) return 'The directory was away, and shards may have to put their routes back.';
    if (notAdopted.length === 0) return this.#failure;
    const shards = notAdopted.map((shard) => JSON.stringify(shard)).join(', ');
    return `No shard has the cluster yet, and ${shards} of the fleet may: it has not listed its providers.`;
  }

  /** Calls back once with the cluster's shard, unless the returned function is called before. false: too many wait. */
  place(cluster: string, whenPlaced: (shard: string) => void): (() => void) | null {
    const waiting = this.#waiting.get(cluster) ?? new Set();
    if (waiting.size === 0) {
      if (this.#waiting.size >= WAITING_MAX) return null;
      this.#waiting.set(cluster, waiting);
    }
    waiting.add(whenPlaced);
    this.#soon(GATHER_MS);
    return () => {
      waiting.delete(whenPlaced);
      if (waiting.size === 0 && this.#waiting.get(cluster) === waiting) this.#waiting.delete(cluster);
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#stopFollowing();
    this.#timer?.cancel();
    this.#waiting.clear();
  }

  #soon(ms: number): void {
    if (this.#isClosed || this.#timer !== null || this.#isRunning || this.#waiting.size === 0) return;
    this.#timer = this.#options.scheduler.after(ms, () => {
      this.#timer = null;
      void this.#run();
    });
  }

  async #run(): Promise<void> {
    const { copy, retryMs } = this.#options;
    for (const cluster of [...this.#waiting.keys()]) this.#settle(cluster, copy.shardOf(cluster));
    if (this.#waiting.size === 0) this.#failure = '';
    if (this.#waiting.size === 0 || !copy.isSettled || copy.notAdopted.length > 0) return;
    this.#isRunning = true;
    let nextMs = GATHER_MS;
    try {
      await this.#placeSome();
      this.#failure = '';
    } catch (error) {
      if (!(error instanceof ShardError)) throw error;
      // If the transaction happened, the next one finds the routes.
      this.#failure = error.message;
      nextMs = retryMs;
    } finally {
      this.#isRunning = false;
    }
    this.#soon(nextMs);
  }

  async #placeSome(): Promise<void> {
    const { directory, keys, shard } = this.#options;
    const clusters = [...this.#waiting.keys()].slice(0, ROUTES_PER_TRANSACTION);
    const paths = clusters.map((cluster) => keys.cluster(cluster));
    const { succeeded, read } = await directory.transact({
      when: paths.map((key): Comparison => ({ kind: 'absent', key })),
      change: paths.map((key): Operation => ({ kind: 'put', key, value: writeRecord({ shard }) })),
      elseRead: paths,
    });
    // The others of a refused transaction are absent, and the next one has them.
    for (const [at, cluster] of clusters.entries()) {
      const entry = read[at] ?? null;
      if (succeeded) this.#settle(cluster, shard);
      else if (entry !== null) this.#settle(cluster, readShardOf(entry.value));
    }
  }

  #settle(cluster: string, shard: string): void {
    const waiting = this.#waiting.get(cluster);
    if (shard === '' || waiting === undefined) return;
    this.#waiting.delete(cluster);
    for (const whenPlaced of waiting) whenPlaced(shard);
  }
}
