/**
 * F7, F8: what a replica knows of the other shards of its fleet, and how it takes part: routes, adoption, relays to other shards, and the
 * coordinator, if this replica is elected.
 */
import { systemClock, systemScheduler } from '../base/clock.ts';
import type { ShardConfig } from '../config/shard-config.ts';
import { Coordinator } from '../coordination/coordinator.ts';
import { coordinatorServiceOf } from '../coordination/service.ts';
import type { FleetKeys } from '../directory/keys.ts';
import type { Comparison, Directory } from '../directory/port.ts';
import { Adoption } from '../fleet/adoption.ts';
import { FleetCopy } from '../fleet/copy.ts';
import { Placement } from '../fleet/placement.ts';
import { FleetRegistry } from '../fleet/registry.ts';
import { CoordinatorSeat } from '../fleet/seat.ts';
import { ALL_STATES } from '../machine/state.ts';
import type { RootLogger } from '../observe/log.ts';
import { logEvent } from '../observe/observers.ts';
import type { RelayEnd } from '../relay/counters.ts';
import { HOLD_BEYOND_LEASE_MS } from '../relay/limits.ts';
import type { ActiveReplicaSource, ClusterRoutes } from '../relay/ports.ts';
import { Relay } from '../relay/relay.ts';
import { Router } from '../relay/router.ts';
import type { FurtherService } from '../session/server.ts';
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
  readonly replica: string;
  readonly instance: string;
  /** Where others reach the operators' port of this replica; empty before it listens. */
  readonly addresses: () => readonly string[];
}

export class FleetMember {
  readonly copy: FleetCopy;
  readonly router: Router;
  readonly #options: FleetMemberOptions;
  readonly #placement: Placement;
  readonly #adoption: Adoption;
  readonly #seat: CoordinatorSeat;
  readonly #coordinator: Coordinator;
  readonly #toCoordinator: Relay;
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
    this.#seat = new CoordinatorSeat({
      ...{ directory, keys, copy, leaseMs },
      scheduler: systemScheduler,
      wall: systemClock,
      self: () => ({
        shard: config.id,
        replica: options.replica,
        instance: options.instance,
        addresses: options.addresses(),
      }),
      isCandidate: () => options.guard() !== null && options.addresses().length > 0,
      onEvent: (event) => {
        logEvent(log, 'info', event);
        if (event.kind === 'coordinator_elected') this.#serveHeldCalls();
      },
    });
    this.#coordinator = new Coordinator(
      new FleetRegistry({ directory, keys, copy, seat: this.#seat }),
      systemClock,
    );
    this.#toCoordinator = this.#relay('no replica of the fleet is the coordinator', {
      current: () => {
        const coordinator = copy.coordinator();
        if (coordinator === null) return null;
        const { term: epoch, ...record } = coordinator;
        return { ...record, epoch, isSelf: record.instance === options.instance };
      },
      onChange: (listener) => copy.onChange(listener),
    });
    this.router = new Router({
      shard: config.id,
      routes: this.#routes(),
      relayTo: (shard) => this.#relayTo(shard),
      coordinator: { isHere: () => this.#seat.term !== null, relay: this.#toCoordinator },
      hasTls: config.tls !== null,
      holdMs: leaseMs + HOLD_BEYOND_LEASE_MS,
    });
  }

  /** F8: for the operators' port. */
  service(onRefused: (peer: string, why: string) => void): FurtherService {
    const hasTls = this.#options.config.tls !== null;
    return coordinatorServiceOf({ coordinator: this.#coordinator, hasTls, onRefused });
  }

  /** The shard's clusters may have changed, or its providers may be listed now. */
  look(): void {
    this.#adoption.look();
  }

  gauges() {
    const { router } = this;
    const relays = [...this.#relays.values(), this.#toCoordinator];
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
      coordinatorTerm: this.#seat.term ?? 0,
    };
  }

  reader(): FleetReader {
    const { config } = this.#options;
    return {
      fleet: config.fleet,
      isCurrent: () => this.copy.isWhole,
      shards: () => this.copy.shards(),
      routes: () => this.copy.routes(),
      domains: () => this.copy.domains(),
      coordinator: () => this.copy.coordinator(),
    };
  }

  async close(): Promise<void> {
    this.router.close();
    for (const relay of [...this.#relays.values(), this.#toCoordinator]) relay.close();
    this.#placement.close();
    this.#adoption.close();
    await this.#seat.close();
    this.copy.close();
  }

  #routes(): ClusterRoutes {
    const { copy } = this;
    const placement = this.#placement;
    return {
      shardOf: (cluster) => copy.shardOf(cluster),
      place: (cluster, whenPlaced) => placement.place(cluster, whenPlaced),
      get why() {
        return placement.why;
      },
    };
  }

  /** Calls that waited for a coordinator: it is this replica now. */
  #serveHeldCalls(): void {
    this.#toCoordinator.handOver();
    this.#toCoordinator.resume();
  }

  #relayTo(shard: string): Relay {
    const known = this.#relays.get(shard);
    if (known !== undefined) return known;
    const relay = this.#relay(
      `no replica of shard ${JSON.stringify(shard)} is active`,
      this.#activeOf(shard),
    );
    this.#relays.set(shard, relay);
    return relay;
  }

  #relay(absence: string, active: ActiveReplicaSource): Relay {
    const { config, log } = this.#options;
    const relay = new Relay({
      absence,
      active,
      holdMs: config.leaseMs + HOLD_BEYOND_LEASE_MS,
      tls: config.tls ?? undefined,
      deadPeerMs: config.keepaliveTimeoutMs,
      clock: systemClock,
      onEvent: (event) => logEvent(log, event.kind === 'relay_holds' ? 'warn' : 'info', event),
    });
    relay.resume();
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
