/** F7: what a replica knows of the other shards of its fleet, and how it takes part: routes, adoption, relays to other shards. */
import { systemClock, systemScheduler } from '../base/clock.ts';
import type { ShardConfig } from '../config/shard-config.ts';
import type { FleetKeys } from '../directory/keys.ts';
import type { Comparison, Directory } from '../directory/port.ts';
import { Adoption } from '../fleet/adoption.ts';
import { FleetCopy } from '../fleet/copy.ts';
import { Placement } from '../fleet/placement.ts';
import { ALL_STATES } from '../machine/state.ts';
import type { RootLogger } from '../observe/log.ts';
import { logEvent } from '../observe/observers.ts';
import type { RelayEnd } from '../relay/counters.ts';
import { HOLD_BEYOND_LEASE_MS } from '../relay/limits.ts';
import type { ActiveReplicaSource } from '../relay/ports.ts';
import { Relay } from '../relay/relay.ts';
import { Router } from '../relay/router.ts';
import type { FleetReader } from '../shard/ports/fleet.ts';
import type { ShardTables } from '../shard/tables.ts';

export interface FleetMemberOptions {
  readonly config: ShardConfig;
  readonly directory: Directory;
  readonly keys: FleetKeys;
  readonly log: RootLogger;
  /** Of the active shard once its providers are listed; null before, and on a standby. */
  readonly tables: () => ShardTables | null;
  readonly guard: () => Comparison | null;
}

export class FleetMember {
  readonly copy: FleetCopy;
  readonly router: Router;
  readonly #options: FleetMemberOptions;
  readonly #placement: Placement;
  readonly #adoption: Adoption;
  /** By shard. */
  readonly #relays = new Map<string, Relay>();

  constructor(options: FleetMemberOptions) {
    const { config, directory, keys, log } = options;
    this.#options = options;
    const { leaseMs } = config;
    const shared = { directory, keys, scheduler: systemScheduler, retryMs: leaseMs / 4 };
    this.copy = new FleetCopy({ ...shared, leaseMs });
    const ofShard = { ...shared, copy: this.copy, shard: config.id };
    this.#placement = new Placement(ofShard);
    this.#adoption = new Adoption({
      ...ofShard,
      providers: config.providers,
      clusters: () => clustersIn(options.tables()),
      guard: options.guard,
      onAdopted: (clusters) => log.info('clusters_adopted', { clusters }),
    });
    const { copy } = this;
    const placement = this.#placement;
    this.router = new Router({
      shard: config.id,
      routes: {
        shardOf: (cluster) => copy.shardOf(cluster),
        place: (cluster, whenPlaced) => placement.place(cluster, whenPlaced),
        get why() {
          return placement.why;
        },
      },
      relayTo: (shard) => this.#relayTo(shard),
      hasTls: config.tls !== null,
      holdMs: config.leaseMs + HOLD_BEYOND_LEASE_MS,
    });
  }

  /** The shard's clusters may have changed, or its providers may be listed now. */
  look(): void {
    this.#adoption.look();
  }

  gauges() {
    const { router } = this;
    const relays = [...this.#relays.values()];
    const ended: Partial<Record<RelayEnd, number>> = {
      unplaced: router.counters.unplaced,
      relayed_twice: router.counters.misrouted,
    };
    for (const { counters } of relays)
      for (const [end, count] of Object.entries(counters.ended) as [RelayEnd, number][])
        ended[end] = (ended[end] ?? 0) + count;
    return {
      relayed: relays.reduce((sum, { relayedCount }) => sum + relayedCount, 0),
      held: relays.reduce((sum, { heldCount }) => sum + heldCount, router.waitingCount),
      ended,
      shardsNotAdopted: this.copy.notAdopted.length,
    };
  }

  reader(): FleetReader {
    const { config } = this.#options;
    return {
      fleet: config.fleet,
      isCurrent: () => this.copy.isWhole,
      shards: () => this.copy.shards(),
      routes: () => this.copy.routes(),
    };
  }

  close(): void {
    this.router.close();
    for (const relay of this.#relays.values()) relay.close();
    this.#placement.close();
    this.#adoption.close();
    this.copy.close();
  }

  #relayTo(shard: string): Relay {
    const known = this.#relays.get(shard);
    if (known !== undefined) return known;
    const { config, log } = this.#options;
    const relay = new Relay({
      shard,
      active: this.#activeOf(shard),
      holdMs: config.leaseMs + HOLD_BEYOND_LEASE_MS,
      tls: config.tls ?? undefined,
      deadPeerMs: config.keepaliveTimeoutMs,
      clock: systemClock,
      onEvent: (event) => {
        const facts = { ...event, ofShard: shard };
        logEvent(log, event.kind === 'relay_holds' ? 'warn' : 'info', facts);
      },
    });
    relay.resume();
    this.#relays.set(shard, relay);
    return relay;
  }

  #activeOf(shard: string): ActiveReplicaSource {
    return {
      current: () => {
        const active = this.copy.activeOf(shard);
        return active === null ? null : { ...active, isSelf: false };
      },
      onChange: (listener) => this.copy.onChange(listener),
    };
  }
}

/** Clusters that have machines or demand. */
function clustersIn(tables: ShardTables | null): string[] | null {
  if (tables === null) return null;
  const { inventory, needs } = tables;
  const { clusters } = inventory.tables;
  const refs = new Set(needs.clusterRefs());
  for (let ref = 1; ref < clusters.refLimit; ref++)
    if (ALL_STATES.some((state) => inventory.indexes.countOfCluster(ref, state) > 0)) refs.add(ref);
  return [...refs].map((ref) => clusters.get(ref));
}
