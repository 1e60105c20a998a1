/**
 * F6: a standby takes every stream of the operators' port and relays it to the active replica, so operators need not know which
 * replica is active. While no replica is active, streams are held unread. When this replica becomes active, its own server gets
 * the held ones, and the relayed ones end: their operators connect again.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { status } from '@grpc/grpc-js';
import { type Clock, systemClock } from '../base/clock.ts';
import { ClientCredentials } from '../tls/client-credentials.ts';
import type { TlsFiles } from '../tls/files.ts';
import { onlyUriOf, RELAYED_FOR } from '../tls/identity.ts';
import { respondWithStatus } from '../wire/http2-status.ts';
import { ActiveConnections } from './connections.ts';
import { newRelayCounters, type RelayCounters, type RelayEnd } from './counters.ts';
import { REFUSED_RETRY_MS } from './limits.ts';
import type { ActiveReplica, ActiveReplicaSource, AdmittedStream, RelayedCall } from './ports.ts';
import { RelayedStream, type StreamOwner } from './relayed-stream.ts';

export interface RelayOptions {
  /** What is missing while `active` shows nothing, for people. Default: a replica of this shard. */
  readonly absence?: string;
  readonly active: ActiveReplicaSource;
  /** A stream is held for this long: a lease, and HOLD_BEYOND_LEASE_MS. */
  readonly holdMs: number;
  /** The certificate of this replica; absent: plaintext. */
  readonly tls?: TlsFiles | undefined;
  /** Keepalive detects within this time that the active replica is gone. */
  readonly deadPeerMs: number;
  readonly clock?: Clock;
  readonly onEvent?: (event: RelayEvent) => void;
}

/** For the log. */
export type RelayEvent =
  | {
      readonly kind: 'relay_connected';
      readonly replica: string;
      readonly epoch: number;
      readonly addresses: readonly string[];
    }
  | { readonly kind: 'relay_holds'; readonly reason: string };

/** The library answers health checks: whether a standby can relay is its own affair. */
const HEALTH_PATH = '/grpc.health.v1.Health/';
const RELAYED_TWICE =
  'Another replica relayed the call, and this one is not active either. Look up the active replica and connect again.';
/** How often the relay looks for streams that it held for too long. */
const SWEEP_MS = 500;
/** How often it looks whether streams still wait. */
const SETTLING_MS = 10;

export class Relay implements StreamOwner {
  readonly counters: RelayCounters = newRelayCounters();
  readonly #options: RelayOptions;
  readonly #credentials: ClientCredentials;
  /** Not answered by the active replica yet, or held. */
  readonly #waiting = new Set<RelayedStream>();
  readonly #relayed = new Set<RelayedStream>();
  readonly #stopFollowing: () => void;
  #active: ActiveReplica | null = null;
  #connections: ActiveConnections | null = null;
  /** No replica is active since then; null while one is. */
  #absentSinceMs: number | null = null;
  /** Null while this replica serves streams itself. */
  #sweep: NodeJS.Timeout | null = null;
  #isHoldingLogged = false;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#credentials = new ClientCredentials(options.tls, options.clock ?? systemClock);
    this.#stopFollowing = options.active.onChange(() => this.#follow());
  }

  /** Streams that the active replica serves through this one. */
  get relayedCount(): number {
    return this.#relayed.size;
  }

  /** Streams that wait for an active replica, or for its first answer. */
  get heldCount(): number {
    return this.#waiting.size;
  }

  /** Why streams cannot be relayed; '' if they can, or if a replica may still become active in time for them. */
  notReady(): string {
    if (this.#sweep === null) return '';
    if (this.#absentSinceMs === null) return this.#connections?.failure ?? '';
    const absentMs = performance.now() - this.#absentSinceMs;
    return absentMs < this.#options.holdMs ? '' : this.#absence;
  }

  /** Null: the server answers this one itself. */
  take(admitted: AdmittedStream): RelayedCall | null {
    const { stream, headers } = admitted;
    if (String(headers[':path']).startsWith(HEALTH_PATH)) return null;
    if (headers[RELAYED_FOR] !== undefined) {
      return this.#refuse(admitted, status.UNAVAILABLE, 'relayed_twice', RELAYED_TWICE);
    }
    const { tls } = this.#options;
    const caller = tls === undefined ? { uri: '' } : onlyUriOf(namesOf(stream));
    if ('why' in caller) return this.#refuse(admitted, status.PERMISSION_DENIED, 'identity', caller.why);
    const relayed = new RelayedStream(admitted, forwardedHeaders(headers, caller.uri), this);
    this.#waiting.add(relayed);
    this.#forward(relayed);
    return {
      retire: () => relayed.retire(),
      end: (code, details) => relayed.end(code, details, 'client_connection'),
    };
  }

  /** Takes streams from now on. */
  resume(): void {
    this.#absentSinceMs = performance.now();
    this.#sweep ??= setInterval(() => this.#endLongHeld(), SWEEP_MS);
    this.#follow();
  }

  /** This replica is active, and its server serves: it gets the held streams. */
  handOver(): void {
    this.#stop();
    for (const stream of [...this.#waiting]) {
      if (!stream.handOver()) continue;
      this.#waiting.delete(stream);
      this.counters.served++;
    }
    this.#endAll('This replica became active. Connect again.', 'takeover');
  }

  /** Resolves when no stream waits for an active replica any more, or after this time. */
  async settled(withinMs: number): Promise<void> {
    const untilMs = performance.now() + withinMs;
    while (this.#waiting.size > 0 && performance.now() < untilMs) await sleep(SETTLING_MS);
  }

  close(): void {
    this.#stopFollowing();
    this.#stop();
    this.#endAll('The replica is shutting down. Connect again.', 'shutdown');
  }

  // StreamOwner

  answered(stream: RelayedStream): void {
    this.#waiting.delete(stream);
    this.#relayed.add(stream);
    this.counters.relayed++;
  }

  unanswered(stream: RelayedStream, isRefusal: boolean): void {
    if (!this.#isHoldingLogged) this.#options.onEvent?.({ kind: 'relay_holds', reason: stream.why });
    this.#isHoldingLogged = true;
    if (!isRefusal) return; // the next connection that is up sends it on
    const timer = setTimeout(() => this.#forward(stream), REFUSED_RETRY_MS);
    timer.unref();
  }

  ended(stream: RelayedStream, end: RelayEnd): void {
    this.counters.ended[end]++;
    this.#waiting.delete(stream);
    this.#relayed.delete(stream);
  }

  #refuse({ stream }: AdmittedStream, code: status, end: RelayEnd, details: string): RelayedCall {
    this.counters.ended[end]++;
    respondWithStatus(stream, code, details);
    return { retire: () => true, end: () => {} };
  }

  /** A directory that shows no active replica for a moment ends no stream: the same replica may come back, or another one. */
  #follow(): void {
    if (this.#sweep === null) return;
    const active = this.#options.active.current();
    if (active === null || active.isSelf) {
      this.#absentSinceMs ??= performance.now();
      return;
    }
    this.#absentSinceMs = null;
    const { instance, epoch } = active;
    if (instance !== this.#active?.instance || epoch !== this.#active.epoch) this.#turnTo(active);
    this.#forwardAll();
  }

  #turnTo(active: ActiveReplica): void {
    for (const stream of this.#waiting) stream.disconnect();
    this.#connections?.close();
    const why = `Replica ${JSON.stringify(active.replica)} became active. Connect again.`;
    for (const stream of [...this.#relayed]) stream.end(status.UNAVAILABLE, why, 'active_changed');
    this.#active = active;
    this.#connections = new ActiveConnections({
      addresses: active.addresses,
      credentials: this.#credentials,
      deadPeerMs: this.#options.deadPeerMs,
      onUp: () => this.#connected(active),
    });
  }

  #connected({ replica, epoch, addresses }: ActiveReplica): void {
    if (this.#isHoldingLogged || this.#relayed.size === 0)
      this.#options.onEvent?.({ kind: 'relay_connected', replica, epoch, addresses });
    this.#isHoldingLogged = false;
    this.#forwardAll();
  }

  #forwardAll(): void {
    for (const stream of [...this.#waiting]) this.#forward(stream);
  }

  #forward(stream: RelayedStream): void {
    if (!stream.isHeld || this.#absentSinceMs !== null) return;
    const upstream = this.#connections?.open(stream.headers) ?? null;
    if (upstream !== null) stream.connect(upstream);
  }

  #endLongHeld(): void {
    const beforeMs = performance.now() - this.#options.holdMs;
    for (const stream of [...this.#waiting]) {
      if (stream.sinceMs > beforeMs) continue;
      const why =
        stream.why ||
        this.#connections?.failure ||
        `${this.#absence[0]!.toUpperCase()}${this.#absence.slice(1)}.`;
      const details = `${why} The ${this.#options.absence === undefined ? 'standby' : 'replica'} held the call for ${this.#options.holdMs} ms. Connect again.`;
      stream.end(status.UNAVAILABLE, details, 'held_too_long');
    }
  }

  get #absence(): string {
    return this.#options.absence ?? 'no replica of this shard is active';
  }

  #stop(): void {
    if (this.#sweep !== null) clearInterval(this.#sweep);
    this.#sweep = null;
  }

  #endAll(details: string, end: RelayEnd): void {
    for (const stream of [...this.#waiting, ...this.#relayed]) stream.end(status.UNAVAILABLE, details, end);
    this.#connections?.close();
    this.#connections = null;
    this.#active = null;
  }
}

/** The names in the client's certificate. */
export function namesOf(stream: ServerHttp2Stream): string {
  return (stream.session?.socket as TLSSocket | undefined)?.getPeerCertificate().subjectaltname ?? '';
}

/** All of the client's headers, but for the host, and the client's identity. */
function forwardedHeaders(headers: IncomingHttpHeaders, clientUri: string): OutgoingHttpHeaders {
  const forwarded: OutgoingHttpHeaders = { ...headers, [RELAYED_FOR]: encodeURIComponent(clientUri) };
  delete forwarded[':authority'];
  delete forwarded.host;
  return forwarded;
}
