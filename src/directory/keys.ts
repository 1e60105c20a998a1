/** The keys of a fleet in the directory, all below `/flotilla/<fleet>/`. */
import { assert } from '../base/assert.ts';

export class FleetKeys {
  readonly #root: string;

  constructor(fleet: string) {
    this.#root = `/flotilla/${part(fleet)}/`;
  }

  /** All keys of the fleet. */
  get fleet(): string {
    return this.#root;
  }

  /** All keys of all shards. */
  get shards(): string {
    return `${this.#root}shards/`;
  }

  /** All routes of clusters. */
  get clusters(): string {
    return `${this.#root}clusters/`;
  }

  /** The shard that a cluster belongs to. Without a lease. */
  cluster(cluster: string): string {
    return `${this.clusters}${part(cluster)}`;
  }

  /** The clusters of a shard have their routes. Without a lease. */
  adopted(shard: string): string {
    return `${this.#root}adopted/${part(shard)}`;
  }

  /** F8: the replica that is the coordinator. Its lease is the coordinator's own. */
  get coordinator(): string {
    return `${this.#root}coordinator`;
  }

  /** F8: the highest term of a coordinator. Without a lease. */
  get term(): string {
    return `${this.#root}term`;
  }

  /** F8: shards that have reported. */
  get registered(): string {
    return `${this.#root}registered/`;
  }

  /** F8: where a shard that has reported is. Without a lease. */
  registration(shard: string): string {
    return `${this.registered}${part(shard)}`;
  }

  /** F8: all topology domains that are assigned. */
  get domains(): string {
    return `${this.#root}domains/`;
  }

  /** F8: the shard of a topology domain. Without a lease. */
  domain(topologyKey: string, topologyValue: string): string {
    return `${this.domains}${part(topologyKey)}/${part(topologyValue)}`;
  }

  /** All shards of all providers. */
  get partitions(): string {
    return `${this.#root}partitions/`;
  }

  /** All keys of a shard. */
  shard(shard: string): string {
    return `${this.shards}${part(shard)}/`;
  }

  /** The active replica of a shard. Its lease is the replica's. */
  active(shard: string): string {
    return `${this.shard(shard)}active`;
  }

  /** The highest epoch that was given to a replica of a shard. Without a lease. */
  epoch(shard: string): string {
    return `${this.shard(shard)}epoch`;
  }

  /** A running replica of a shard, active or not. Its lease is the replica's own. */
  replica(shard: string, replica: string): string {
    return `${this.shard(shard)}replicas/${part(replica)}`;
  }

  /** Kill switch and dry run of a shard. Without a lease. */
  controls(shard: string): string {
    return `${this.shard(shard)}controls`;
  }

  /** What the disruption budgets of a shard used. Without a lease. */
  usage(shard: string): string {
    return `${this.shard(shard)}usage`;
  }

  /** Which shard uses a provider. Without a lease. */
  partition(provider: string): string {
    return `${this.partitions}${part(provider)}`;
  }
}

/** What stands behind a prefix, up to the next `/`. */
export function idIn(key: string, prefix: string): string {
  const text = key.slice(prefix.length).split('/', 1)[0]!;
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // no replica wrote it
  }
}

/** Ids contain `/`: unescaped, one shard could have a key of another. */
function part(text: string): string {
  assert(text !== '', 'a part of a key is not empty');
  return encodeURIComponent(text);
}
