/**
 * A copy of everything that the fleet has in the directory: which shard a cluster belongs to, which replica of a shard is active, and
 * which shards there are. It may be a moment old, and it stays while the directory is away, so that a cluster with a route is served
 * whatever happens to etcd. What must be exact is decided by a transaction (placement.ts).
 */
import type { Scheduler, Timer } from '../base/clock.ts';
import { type ActiveRecord, readActive } from '../directory/election/records.ts';
import { type FleetKeys, idIn } from '../directory/keys.ts';
import { Mirror } from '../directory/mirror.ts';
import type { Directory, DirectoryEntry } from '../directory/port.ts';
import {
  type CoordinatorRecord,
  type RegistrationRecord,
  type ReplicaRecord,
  readCoordinator,
  readRegistration,
  readReplica,
  readShardOf,
} from '../replica/records.ts';

export interface FleetCopyOptions {
  readonly directory: Directory;
  readonly keys: FleetKeys;
  readonly scheduler: Scheduler;
  readonly leaseMs: number;
}

/**
 * A shard that vanishes from the directory is remembered for this long: a directory that was begun again empty has forgotten it, and the
 * shard runs on. A shard that was retired is gone after it.
 */
const DEPARTED_MS = 600_000;

export interface FleetProvider {
  readonly name: string;
  readonly shard: string;
}

/** A shard as the directory shows it. */
export interface FleetShard {
  readonly shard: string;
  /** null: no replica is active. */
  readonly active: ActiveRecord | null;
  readonly replicas: readonly ReplicaRecord[];
  readonly providers: readonly string[];
  readonly clusterCount: number;
  /** F7: its clusters have their routes. */
  readonly hasAdopted: boolean;
}

/** F8: a topology domain that people assigned to a shard. */
export interface FleetDomain {
  readonly topologyKey: string;
  readonly topologyValue: string;
  readonly shard: string;
  /** Of the directory: another assignment of the same domain has another one. */
  readonly revision: number;
}

export interface FleetRoute {
  readonly cluster: string;
  readonly shard: string;
}

export class FleetCopy {
  readonly #keys: FleetKeys;
  readonly #mirror: Mirror;
  readonly #listeners = new Set<() => void>();
  readonly #options: FleetCopyOptions;
  /** Shards with providers, as of the last change. */
  #present: ReadonlySet<string> = new Set();
  readonly #departed = new Map<string, Timer>();
  #wasRead = false;
  #settling: Timer | null = null;

  constructor(options: FleetCopyOptions) {
    const { directory, keys, scheduler, leaseMs } = options;
    this.#options = options;
    this.#keys = keys;
    this.#mirror = new Mirror({
      directory,
      prefix: keys.fleet,
      scheduler,
      retryMs: leaseMs / 4,
      listener: { onChange: () => this.#changed(), onRead: () => this.#read() },
    });
  }

  /** Whether the copy was read and follows the directory without a gap. */
  get isWhole(): boolean {
    return this.#mirror.isWhole;
  }

  /**
   * Whether the copy has followed the directory for a lease. After a gap it may be another directory: one that was restored lacks routes, and
   * every shard needs a moment to put its own ones back.
   */
  get isSettled(): boolean {
    return this.isWhole && this.#settling === null;
  }

  /** Calls the listener after every change. Returns a function that ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The shard of a cluster; '' if it has none. */
  shardOf(cluster: string): string {
    const entry = this.#mirror.get(this.#keys.cluster(cluster));
    return entry === null ? '' : readShardOf(entry.value);
  }

  /** The active replica of a shard; null if there is none. */
  activeOf(shard: string): ActiveRecord | null {
    const entry = this.#mirror.get(this.#keys.active(shard));
    return entry === null ? null : readActive(entry.value);
  }

  /** F8: null if no replica is the coordinator. */
  coordinator(): CoordinatorRecord | null {
    const entry = this.#mirror.get(this.#keys.coordinator);
    return entry === null ? null : readCoordinator(entry.value);
  }

  /** F8: shards that have reported to a coordinator. */
  registrations(): (RegistrationRecord & { readonly shard: string })[] {
    const { registered } = this.#keys;
    return this.#below(registered).map(({ key, value }) => ({
      shard: idIn(key, registered),
      ...readRegistration(value),
    }));
  }

  /** F8: topology domains and their shards. */
  domains(): FleetDomain[] {
    const { domains } = this.#keys;
    return this.#below(domains).map(({ key, value, modRevision }) => {
      const topologyKey = idIn(key, domains);
      const rest = key.slice(domains.length);
      return {
        topologyKey,
        topologyValue: idIn(rest, rest.slice(0, rest.indexOf('/') + 1)),
        shard: readShardOf(value),
        revision: modRevision,
      };
    });
  }

  /** Whether a shard uses this provider. */
  hasProvider(name: string): boolean {
    return this.#mirror.get(this.#keys.partition(name)) !== null;
  }

  hasAdopted(shard: string): boolean {
    return this.#mirror.get(this.#keys.adopted(shard)) !== null;
  }

  /** F7: the shards with providers that have not given their clusters routes yet. */
  get notAdopted(): readonly string[] {
    const shards = new Set([...this.#present, ...this.#departed.keys()]);
    return [...shards].filter((shard) => !this.hasAdopted(shard)).sort();
  }

  routes(): FleetRoute[] {
    const { clusters } = this.#keys;
    return this.#below(clusters).map(({ key, value }) => ({
      cluster: idIn(key, clusters),
      shard: readShardOf(value),
    }));
  }

  /** By id. */
  shards(): FleetShard[] {
    const providers = this.#providers();
    const replicas = this.#replicas();
    const clusterCounts = new Map<string, number>();
    for (const { shard } of this.routes()) clusterCounts.set(shard, (clusterCounts.get(shard) ?? 0) + 1);
    const ids = new Set([
      ...providers.map(({ shard }) => shard),
      ...replicas.keys(),
      ...clusterCounts.keys(),
    ]);
    ids.delete('');
    return [...ids].sort().map((shard) => ({
      shard,
      active: this.activeOf(shard),
      replicas: replicas.get(shard) ?? [],
      providers: providers.filter((provider) => provider.shard === shard).map(({ name }) => name),
      clusterCount: clusterCounts.get(shard) ?? 0,
      hasAdopted: this.hasAdopted(shard),
    }));
  }

  close(): void {
    this.#mirror.close();
    this.#settling?.cancel();
    for (const timer of this.#departed.values()) timer.cancel();
  }

  #below(prefix: string): DirectoryEntry[] {
    return this.#mirror.entries.filter(({ key }) => key.startsWith(prefix));
  }

  #providers(): FleetProvider[] {
    const { partitions } = this.#keys;
    return this.#below(partitions).map(({ key, value }) => ({
      name: idIn(key, partitions),
      shard: readShardOf(value),
    }));
  }

  #replicas(): Map<string, ReplicaRecord[]> {
    const { shards } = this.#keys;
    const found = new Map<string, ReplicaRecord[]>();
    for (const { key, value } of this.#mirror.entries) {
      if (!key.startsWith(shards)) continue;
      const shard = idIn(key, shards);
      const replica = key.startsWith(`${this.#keys.shard(shard)}replicas/`) ? readReplica(value) : null;
      if (replica !== null) found.set(shard, [...(found.get(shard) ?? []), replica]);
    }
    return found;
  }

  #changed(): void {
    const present = new Set(this.#providers().map(({ shard }) => shard));
    present.delete('');
    for (const shard of this.#present) if (!present.has(shard)) this.#remember(shard);
    for (const shard of present) this.#forget(shard);
    this.#present = present;
    for (const listener of [...this.#listeners]) listener();
  }

  #remember(shard: string): void {
    const forget = () => {
      this.#forget(shard);
      this.#changed();
    };
    if (!this.#departed.has(shard))
      this.#departed.set(shard, this.#options.scheduler.after(DEPARTED_MS, forget));
  }

  #forget(shard: string): void {
    this.#departed.get(shard)?.cancel();
    this.#departed.delete(shard);
  }

  #read(): void {
    const { scheduler, leaseMs } = this.#options;
    if (this.#wasRead) {
      this.#settling?.cancel();
      this.#settling = scheduler.after(leaseMs, () => {
        this.#settling = null;
        this.#changed();
      });
    }
    this.#wasRead = true;
  }
}
