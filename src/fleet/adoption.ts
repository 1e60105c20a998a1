/**
 * F7: gives the clusters of the active shard their routes, and then says so; its providers are in the directory before. A cluster that the shard has machines or demand of belongs
 * to it unless it has a route already. Otherwise a new, empty shard would be given the clusters of a full one, which would then buy
 * every machine a second time.
 *
 * It looks again whenever the directory changes, because the directory may be begun again empty, or be restored from a backup that
 * lacks routes: then the shards that run put them back.
 */
import type { Scheduler, Timer } from '../base/clock.ts';
import { ShardError } from '../base/errors.ts';
import type { FleetKeys } from '../directory/keys.ts';
import type { Comparison, Directory, Operation } from '../directory/port.ts';
import { claimPartitions, type PartitionProvider } from '../replica/partitions.ts';
import { writeRecord } from '../replica/records.ts';
import type { FleetCopy } from './copy.ts';

/** A transaction has 100 comparisons at most, and one of them is the guard. */
export const ROUTES_PER_TRANSACTION = 99;
/** A directory that begins again empty changes many times a second. */
const SETTLE_MS = 200;

export interface AdoptionOptions {
  readonly directory: Directory;
  readonly keys: FleetKeys;
  readonly copy: FleetCopy;
  readonly shard: string;
  readonly scheduler: Scheduler;
  readonly retryMs: number;
  readonly providers: readonly PartitionProvider[];
  /** Clusters with machines or demand; null while the providers are not listed, or while this replica is not the active one. */
  readonly clusters: () => readonly string[] | null;
  /** What holds while this replica is the active one; null if it is not. */
  readonly guard: () => Comparison | null;
  readonly onAdopted: (clusterCount: number) => void;
}

export class Adoption {
  readonly #options: AdoptionOptions;
  readonly #stopFollowing: () => void;
  #timer: Timer | null = null;
  #isRunning = false;
  #isClosed = false;

  constructor(options: AdoptionOptions) {
    this.#options = options;
    this.#stopFollowing = options.copy.onChange(() => this.look());
  }

  /** Something changed: the directory, or the clusters of the shard. */
  look(): void {
    if (this.#timer === null) this.#lookAfter(SETTLE_MS);
  }

  close(): void {
    this.#isClosed = true;
    this.#stopFollowing();
    this.#timer?.cancel();
  }

  #lookAfter(ms: number): void {
    if (this.#isClosed) return;
    this.#timer = this.#options.scheduler.after(ms, () => {
      this.#timer = null;
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    const { retryMs } = this.#options;
    this.#isRunning = true;
    try {
      if (!(await this.#adopt())) this.#lookAfter(retryMs);
    } catch (error) {
      if (!(error instanceof ShardError)) throw error;
      this.#lookAfter(retryMs); // a transaction whose answer was lost is harmless twice: it puts what is absent
    } finally {
      this.#isRunning = false;
    }
  }

  /** false: another replica of the fleet was faster with a route; what the copy shows by then is looked at again. */
  async #adopt(): Promise<boolean> {
    const { copy, shard, providers, clusters, keys, directory, guard, onAdopted } = this.#options;
    const own = copy.isWhole ? clusters() : null;
    const held = guard();
    if (own === null || held === null) return true;
    // A directory that was begun again empty does not know that this shard is there.
    const unknown = providers.filter(({ name }) => !copy.hasProvider(name));
    await claimPartitions(directory, keys, shard, unknown);
    const missing = own.filter((cluster) => copy.shardOf(cluster) === '');
    const value = writeRecord({ shard });
    for (let at = 0; at < missing.length; at += ROUTES_PER_TRANSACTION) {
      const part = missing.slice(at, at + ROUTES_PER_TRANSACTION).map((cluster) => keys.cluster(cluster));
      const absent = part.map((key): Comparison => ({ kind: 'absent', key }));
      const change = part.map((key): Operation => ({ kind: 'put', key, value }));
      const { succeeded } = await directory.transact({ when: [held, ...absent], change });
      if (!succeeded) return false;
    }
    if (copy.hasAdopted(shard)) return true;
    const key = keys.adopted(shard);
    const { succeeded } = await directory.transact({
      when: [held],
      change: [{ kind: 'put', key, value: writeRecord({ shard }) }],
    });
    if (succeeded) onAdopted(own.length);
    return succeeded;
  }
}
