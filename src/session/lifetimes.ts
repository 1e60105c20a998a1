/**
 * T14: how long a connection lives. A certificate is checked in the handshake, and a session lasts for months; so the shard
 * judges open connections again when a certificate expires and when the CA or the denied identities change. And it ends
 * each connection after about an hour, so that whatever else a handshake checks is checked again.
 *
 *   certificate no longer valid   all streams end with UNAUTHENTICATED at once
 *   too old                       GOAWAY, then each stream ends with UNAVAILABLE as soon as it may be cut
 */
import type { X509Certificate } from 'node:crypto';
import type { Http2Session, ServerHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { status } from '@grpc/grpc-js';
import type { Clock } from '../base/clock.ts';
import { Random } from '../base/random.ts';
import { chainOf } from '../tls/chain.ts';
import { jittered } from '../tls/connection-age.ts';
import type { PeerEnd, PeerVerdict } from '../tls/server-credentials.ts';
import { ENDED_STREAM_MS, EXPIRY_MARGIN_MS, LIFETIME_SWEEP_MS, PEERS_JUDGED_PER_TURN } from './limits.ts';

/** Labels of a metric. */
export const CONNECTION_ENDS = ['age', 'expired', 'untrusted', 'denied'] as const satisfies readonly (
  | 'age'
  | PeerEnd
)[];
export type ConnectionEnd = (typeof CONNECTION_ENDS)[number];

/** Judges peers by the certificates in use. */
export interface PeerJudge {
  /** Changes when all peers must be judged again. */
  readonly trustVersion: number;
  judge(chain: readonly X509Certificate[]): PeerVerdict;
}

/** A call that is being served, and that the end of its connection ends. */
export interface ServedCall {
  /** The connection is too old: the call begins nothing new. Returns whether it may be cut now. */
  retire(): boolean;
  end(code: status, details: string): void;
}

export interface LifetimeOptions {
  readonly connectionAgeMs: number;
  /** For ages. */
  readonly clock: Clock;
  /** For certificates. */
  readonly wall: Clock;
  /** Null without TLS. */
  readonly peers: PeerJudge | null;
  readonly sweepMs?: number;
  readonly ended: (reason: ConnectionEnd, peer: string, detail: string) => void;
}

interface Ending {
  readonly code: status;
  readonly detail: string;
  /** Since then no call holds the connection, and what is left of it is closed soon. */
  quietMs: number | null;
}

interface Living {
  readonly session: Http2Session;
  readonly peer: string;
  /** The peer's certificates; none without TLS. */
  readonly chain: readonly X509Certificate[];
  readonly calls: Map<ServerHttp2Stream, ServedCall>;
  dueMs: number;
  trustVersion: number;
  untilMs: number;
  ending: Ending | null;
}

export class Lifetimes {
  readonly #options: LifetimeOptions;
  readonly #random: Random;
  readonly #bySession = new Map<Http2Session, Living>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: LifetimeOptions) {
    this.#options = options;
    this.#random = new Random(options.wall.nowMs());
    this.#timer = setInterval(() => this.sweep(), options.sweepMs ?? LIFETIME_SWEEP_MS);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Sends GOAWAY on every connection: its streams go on, and the peer opens its next one on another connection. */
  goAway(): void {
    for (const { session } of this.#bySession.values()) if (!session.closed) session.close();
  }

  begin(session: Http2Session): void {
    const { clock, wall, peers, connectionAgeMs } = this.#options;
    const socket = session.socket as TLSSocket;
    const living: Living = {
      session,
      peer: `${socket.remoteAddress}:${socket.remotePort}`,
      chain: peers === null ? [] : chainOf(socket),
      calls: new Map(),
      dueMs: 0,
      trustVersion: peers?.trustVersion ?? 0,
      untilMs: Number.POSITIVE_INFINITY,
      ending: null,
    };
    this.#bySession.set(session, living);
    session.once('close', () => this.#bySession.delete(session));
    this.#judge(living);
    let lifeMs = jittered(connectionAgeMs, this.#random);
    // An operator that has a new certificate by then does not lose a blob to the old one's expiry.
    const leftMs = living.untilMs - wall.nowMs();
    if (leftMs > 2 * EXPIRY_MARGIN_MS) lifeMs = Math.min(lifeMs, leftMs - EXPIRY_MARGIN_MS);
    living.dueMs = clock.nowMs() + lifeMs;
    // Its first streams get the reason as their status, so the connection stays open for a moment.
    if (living.ending !== null) living.ending.quietMs = clock.nowMs();
  }

  /** Why the connection of a new stream has ended; null if it has not. */
  endingOf(session: Http2Session): { readonly code: status; readonly detail: string } | null {
    return this.#bySession.get(session)?.ending ?? null;
  }

  /** The call is served on this stream from now on. */
  serve(stream: ServerHttp2Stream, call: ServedCall): void {
    const living = stream.session === undefined ? undefined : this.#bySession.get(stream.session);
    if (living === undefined) return;
    living.calls.set(stream, call);
    stream.once('close', () => living.calls.delete(stream));
    if (living.ending === null) return;
    this.#cut(living, living.ending);
    if (living.calls.size > 0) living.ending.quietMs = null;
  }

  /** Ends what must end. Judges a few peers in one turn: signatures cost time. */
  sweep(): void {
    const { clock, wall, peers } = this.#options;
    const nowMs = clock.nowMs();
    const wallMs = wall.nowMs();
    let judged = 0;
    for (const living of this.#bySession.values()) {
      const isDoubtful = living.untilMs <= wallMs || living.trustVersion !== (peers?.trustVersion ?? 0);
      if (isDoubtful && living.ending?.code !== status.UNAUTHENTICATED) {
        if (judged === PEERS_JUDGED_PER_TURN) {
          setImmediate(() => this.sweep());
          return;
        }
        judged++;
        this.#judge(living);
      }
      if (living.ending === null && nowMs >= living.dueMs) this.#retire(living);
      if (living.ending !== null) this.#goOn(living, living.ending, nowMs);
    }
  }

  #judge(living: Living): void {
    const { peers } = this.#options;
    if (peers === null) return;
    living.trustVersion = peers.trustVersion;
    const { untilMs, end } = peers.judge(living.chain);
    living.untilMs = untilMs;
    if (end === null) return;
    const detail = `${end.detail} The shard ended the connection.`;
    living.ending = { code: status.UNAUTHENTICATED, detail, quietMs: null };
    this.#options.ended(end.reason, living.peer, detail);
  }

  #retire(living: Living): void {
    const detail = 'The connection reached its maximum age and its streams end in order. Connect again.';
    living.ending = { code: status.UNAVAILABLE, detail, quietMs: null };
    this.#options.ended('age', living.peer, detail);
  }

  #goOn(living: Living, ending: Ending, nowMs: number): void {
    const { session, calls } = living;
    if (ending.quietMs === null) {
      // GOAWAY comes first: the peer then opens its next stream on another connection.
      if (!session.closed) session.close();
      this.#cut(living, ending);
      if (calls.size === 0) ending.quietMs = nowMs;
    } else if (nowMs - ending.quietMs >= ENDED_STREAM_MS) session.destroy();
  }

  #cut({ calls }: Living, { code, detail }: Ending): void {
    for (const [stream, call] of [...calls]) {
      if (code === status.UNAVAILABLE && !call.retire()) continue;
      calls.delete(stream);
      call.end(code, detail);
    }
  }
}
