/** The keys of a fleet in the directory, all below `/flotilla/<fleet>/`. */
import { assert } from '../base/assert.ts';

export class FleetKeys {
  readonly #root: string;

  constructor(fleet: string) {
    this.#root = `/flotilla/${part(fleet)}/`;
  }

  /** All keys of a shard. */
  shard(shard: string): string {
    return `${this.#root}shards/${part(shard)}/`;
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

  /** Which shard uses a provider. Without a lease. */
  partition(provider: string): string {
    return `${this.#root}partitions/${part(provider)}`;
  }
}

/** Ids contain `/`: unescaped, one shard could have a key of another. */
function part(text: string): string {
  assert(text !== '', 'a part of a key is not empty');
  return encodeURIComponent(text);
}
