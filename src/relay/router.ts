/**
 * F7: every replica of every shard accepts every session. The router looks up the shard of the session's cluster. A cluster of this
 * shard is served here, or by this shard's active replica (relay.ts); one of another shard is relayed to that shard's active replica. A
 * cluster without a shard waits until it is placed.
 *
 * With TLS the certificate names the cluster. Without, the session's first message does, and is put back.
 */
import { status } from '@grpc/grpc-js';
import { certifiedCluster, RELAYED_FOR } from '../tls/identity.ts';
import { decode } from '../wire/codec.ts';
import { respondWithStatus } from '../wire/http2-status.ts';
import { rawShardService } from '../wire/services.ts';
import { type FirstMessage, lookAtFirstMessage } from './first-message.ts';
import { FIRST_MESSAGE_BYTES_MAX, FIRST_MESSAGE_MS_MAX } from './limits.ts';
import type { AdmittedStream, ClusterRoutes, RelayedCall, TakeStream } from './ports.ts';
import { namesOf, type Relay } from './relay.ts';
import { UnroutedStream } from './unrouted-stream.ts';

/** All calls of the service. */
const COORDINATOR_PATH = '/bigfleet.v1alpha1.Coordinator/';

export interface RouterOptions {
  /** The shard of this replica. */
  readonly shard: string;
  readonly routes: ClusterRoutes;
  /** To the active replica of another shard. */
  readonly relayTo: (shard: string) => Relay;
  readonly hasTls: boolean;
  readonly coordinator: CoordinatorCalls;
  /** A session waits for a shard for this long: a lease, and HOLD_BEYOND_LEASE_MS. */
  readonly holdMs: number;
}

/** F8: calls of the coordinator's service. */
export interface CoordinatorCalls {
  /** This replica is the coordinator: its server answers. */
  isHere(): boolean;
  readonly relay: Pick<Relay, 'take'>;
}

export interface RouterCounters {
  /** Sessions of clusters of other shards. */
  routed: number;
  /** Sessions that ended because their cluster had no shard in time. */
  unplaced: number;
  /** Relayed here, although another replica serves them. */
  misrouted: number;
}

export class Router {
  readonly counters: RouterCounters = { routed: 0, unplaced: 0, misrouted: 0 };
  readonly #options: RouterOptions;
  readonly #waiting = new Set<UnroutedStream>();

  constructor(options: RouterOptions) {
    this.#options = options;
  }

  /** Sessions whose shard is not known yet. */
  get waitingCount(): number {
    return this.#waiting.size;
  }

  /** `local`: how this replica takes streams of its own shard. Null: the server takes this one itself. */
  take(admitted: AdmittedStream, local: TakeStream): RelayedCall | null {
    const path = String(admitted.headers[':path']);
    if (path.startsWith(COORDINATOR_PATH)) return this.#takeForCoordinator(admitted);
    if (path !== rawShardService.Session.path) return local(admitted);
    if (!this.#options.hasTls) return this.#takeByHello(admitted, local);
    const cluster = certifiedCluster(namesOf(admitted.stream), relayedFor(admitted));
    return cluster === '' ? local(admitted) : this.#takeOf(cluster, admitted, local);
  }

  /** The process ends. */
  close(): void {
    for (const waiting of [...this.#waiting])
      waiting.refuse(status.UNAVAILABLE, 'The replica is shutting down. Connect again.');
  }

  #takeForCoordinator(admitted: AdmittedStream): RelayedCall | null {
    const { isHere, relay } = this.#options.coordinator;
    if (isHere()) return null;
    if (relayedFor(admitted) === undefined) return relay.take(admitted);
    return this.#refuseRelayed(admitted, 'This replica is not the coordinator.');
  }

  #takeByHello(admitted: AdmittedStream, local: TakeStream): RelayedCall {
    const limits = { bytesMax: FIRST_MESSAGE_BYTES_MAX, timeoutMs: FIRST_MESSAGE_MS_MAX };
    const unrouted = this.#wait(admitted);
    unrouted.waitFor(
      lookAtFirstMessage(admitted.stream, limits, (first) => {
        unrouted.waitFor(() => {});
        if (first.kind === 'late')
          unrouted.refuse(status.DEADLINE_EXCEEDED, `No Hello came within ${FIRST_MESSAGE_MS_MAX} ms.`);
        else this.#route(unrouted, clusterIn(first), local);
      }),
    );
    return unrouted;
  }

  #takeOf(cluster: string, admitted: AdmittedStream, local: TakeStream): RelayedCall | null {
    const shard = this.#options.routes.shardOf(cluster);
    if (shard !== '') return this.#takerOf(shard, local)(admitted);
    const unrouted = this.#wait(admitted);
    this.#route(unrouted, cluster, local);
    return unrouted;
  }

  #route(unrouted: UnroutedStream, cluster: string, local: TakeStream): void {
    const { routes, holdMs } = this.#options;
    const shard = cluster === '' ? this.#options.shard : routes.shardOf(cluster);
    if (shard !== '') {
      unrouted.giveTo(this.#takerOf(shard, local));
      return;
    }
    const give = (placed: string) => unrouted.giveTo(this.#takerOf(placed, local));
    const giveUp = routes.place(cluster, give);
    if (giveUp === null) {
      unrouted.refuse(status.RESOURCE_EXHAUSTED, 'Too many new clusters wait for a shard. Connect again.');
      return;
    }
    const timer = setTimeout(() => {
      this.counters.unplaced++;
      const why = routes.why || 'The cluster has no shard.';
      unrouted.refuse(
        status.UNAVAILABLE,
        `${why} The replica held the call for ${holdMs} ms. Connect again.`,
      );
    }, holdMs);
    unrouted.waitFor(() => {
      clearTimeout(timer);
      giveUp();
    });
  }

  #takerOf(shard: string, local: TakeStream): TakeStream {
    if (shard === this.#options.shard) return local;
    return (admitted) => {
      if (relayedFor(admitted) !== undefined)
        return this.#refuseRelayed(
          admitted,
          `The cluster belongs to shard ${JSON.stringify(shard)}, not to this one.`,
        );
      this.counters.routed++;
      return this.#options.relayTo(shard).take(admitted);
    };
  }

  /** A relayed stream is never relayed again: two replicas with different copies would send it in a circle. */
  #refuseRelayed({ stream }: AdmittedStream, why: string): RelayedCall {
    this.counters.misrouted++;
    respondWithStatus(stream, status.UNAVAILABLE, `${why} Look it up again and connect again.`);
    return { retire: () => true, end: () => {} };
  }

  #wait(admitted: AdmittedStream): UnroutedStream {
    const unrouted = new UnroutedStream(admitted, () => this.#waiting.delete(unrouted));
    this.#waiting.add(unrouted);
    return unrouted;
  }
}

/** The cluster of a Hello; '' for anything else, which the server of this shard refuses with its reason. */
function clusterIn(first: FirstMessage): string {
  if (first.kind !== 'message') return '';
  try {
    return decode('OperatorMessage', first.bytes).hello?.clusterId ?? '';
  } catch {
    return '';
  }
}

function relayedFor({ headers }: AdmittedStream): string | undefined {
  const header = headers[RELAYED_FOR];
  return header === undefined ? undefined : String(header);
}
