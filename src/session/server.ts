/**
 * The operators' server: Shard.Session, ShardRead and the health check on one gRPC port. The port belongs to the process: while
 * this replica is a standby, a relay takes the streams (F6), and the port stays open when the replica becomes active.
 */
import type { Server as NetServer } from 'node:net';
import type { TLSSocket } from 'node:tls';
import {
  Server,
  ServerCredentials,
  type ServiceDefinition,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { type Clock, systemClock } from '../base/clock.ts';
import type { ShardForOperators } from '../shard/ports/operators.ts';
import type { NeedsReader } from '../shard/ports/view.ts';
import { CONNECTION_AGE_MS } from '../tls/connection-age.ts';
import type { TlsFiles } from '../tls/files.ts';
import { callerKey, identityKey, whyNotCluster, whyNotReader } from '../tls/identity.ts';
import { RotatingServerCredentials, type TlsStatus } from '../tls/server-credentials.ts';
import { asBuffer } from '../wire/codec.ts';
import { checkHealth, HEALTH_SERVICE } from '../wire/health.ts';
import { receiveMessagesInPlace } from '../wire/messages-in-place.ts';
import { rawShardService, shardReadService } from '../wire/services.ts';
import { type AdmissionOptions, addressKey, type Holder } from './admission.ts';
import { CannotListenError } from './errors.ts';
import { Gate, type StreamRelay, type StreamRouter } from './gate.ts';
import { type InspectStream, inspectNeeds, ReaderTooSlowError } from './inspect.ts';
import { Lifetimes, type ServedCall } from './lifetimes.ts';
import {
  ENDED_STREAM_MS,
  FRAME_BYTES_MAX,
  HANDSHAKE_TIMEOUT_MS,
  HELLO_TIMEOUT_MS,
  INSPECTION_WRITE_MS,
  RETIRED_READER_MS,
  STREAMS_PER_CONNECTION_MAX,
} from './limits.ts';
import { type OperatorEvent, Operators } from './operators.ts';
import { callsOf, cutOff, http2StreamOf } from './pipelined-call.ts';
import type { SessionStream } from './session.ts';

/** What streams are served from. */
export interface ServedShard {
  readonly shard: ShardForOperators;
  readonly needs: Pick<NeedsReader, 'inspectNeeds'>;
}

/** F6: what takes the streams of this port while the replica is a standby. */
export interface StandbyRelay extends StreamRelay {
  /** Why it cannot relay; '' if it can. */
  notReady(): string;
  /** Takes no more streams. Ends those that it relays, and gives those that it holds to the server. */
  handOver(): void;
  /** Takes streams again. */
  resume(): void;
}

export interface FurtherService {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

export interface OperatorServerOptions {
  /** `host:port`; port 0 picks an unused one. */
  readonly listen: string;
  /** Mutual TLS. Absent: plaintext and no authentication. */
  readonly tls?: TlsFiles | undefined;
  /** T14: a file of identities and certificates that are refused; '': none. */
  readonly tlsDeniedPath?: string;
  /** How often the server checks the TLS files for changes. */
  readonly tlsCheckIntervalMs?: number;
  /** T14: connections end after about this time. */
  readonly connectionAgeMs?: number;
  /** T14: how often the server looks for connections that must end. */
  readonly lifetimeSweepMs?: number;
  /** O6: keepalive detects a dead peer within this time. */
  readonly deadPeerMs?: number;
  /** T11: a stream that has not sent its Hello or request, and a connection without a handshake. */
  readonly helloTimeoutMs?: number;
  readonly handshakeTimeoutMs?: number;
  /** T15: a reader of needs that does not read. */
  readonly inspectionWriteMs?: number;
  /** T11: replaces the usual limits. */
  readonly limits?: AdmissionOptions;
  /** Further services on this port. Each checks its callers itself. */
  readonly services?: readonly FurtherService[];
  readonly clock?: Clock;
  /** Certificates are compared with the system's clock. */
  readonly wall?: Clock;
  readonly onEvent?: (event: OperatorEvent) => void;
}

const DEAD_PEER_MS = 30_000;
const CLOSE_GRACE_MS = 1_000;
const HEALTH_NAMES = ['bigfleet.v1alpha1.Shard', 'bigfleet.v1alpha1.ShardRead'] as const;
/** The outbox encodes the shard's messages itself. */
const SESSION_SERVICE = { Session: { ...rawShardService.Session, responseSerialize: asBuffer } };

/** Constructs and listens in one step, where the shard does not need the server to exist first. */
export async function startOperatorServer(
  options: OperatorServerOptions & ServedShard,
): Promise<OperatorServer> {
  const server = new OperatorServer(options);
  await server.listen(options);
  return server;
}

export class OperatorServer extends Operators {
  readonly #options: OperatorServerOptions;
  readonly #grpc: Server;
  readonly #tls: RotatingServerCredentials | null;
  #needs!: ServedShard['needs'];
  #relay: StandbyRelay | null = null;
  #address = '';
  readonly #lifetimes: Lifetimes;
  readonly #gate: Gate;

  constructor(options: OperatorServerOptions) {
    const { clock = systemClock, deadPeerMs = DEAD_PEER_MS } = options;
    super({ ...options, clock, deadPeerMs, ...(options.tls === undefined ? {} : { whyNotCluster }) });
    this.#options = options;
    this.#tls = credentialsOf(options);
    this.#lifetimes = new Lifetimes({
      connectionAgeMs: options.connectionAgeMs ?? CONNECTION_AGE_MS,
      clock,
      wall: options.wall ?? systemClock,
      peers: this.#tls,
      ...(options.lifetimeSweepMs === undefined ? {} : { sweepMs: options.lifetimeSweepMs }),
      ended: (reason, peer, detail) => {
        this.counters.connectionsEnded[reason]++;
        // Each connection reaches its age: that is no news.
        if (reason !== 'age') options.onEvent?.({ kind: 'connection_ended', reason, peer, detail });
      },
    });
    this.#gate = new Gate(this.admission, {
      handshakeTimeoutMs: options.handshakeTimeoutMs ?? HANDSHAKE_TIMEOUT_MS,
      identityOf: (socket) => this.#identityOf(socket),
      lifetimes: this.#lifetimes,
      arrivals: this.arrivals,
    });
    receiveMessagesInPlace();
    const calls = callsOf({
      requestTimeoutMs: options.helloTimeoutMs ?? HELLO_TIMEOUT_MS,
      opened: (stream) => this.#gate.opened(stream),
      refused: (reason, peer, detail) => this.admission.refused(reason, peer, detail),
    });
    this.#grpc = new Server({
      interceptors: [calls],
      'grpc.max_receive_message_length': FRAME_BYTES_MAX,
      'grpc.max_concurrent_streams': STREAMS_PER_CONNECTION_MAX,
      // Ping after half of the time, answer within a third; the rest is slack for late timers.
      'grpc.keepalive_time_ms': Math.ceil(deadPeerMs / 2),
      'grpc.keepalive_timeout_ms': Math.ceil(deadPeerMs / 3),
      'grpc.enable_channelz': 0,
    });
    this.#grpc.addService(SESSION_SERVICE, {
      Session: (stream: SessionStream) => this.#serve(stream, this.open(stream)),
    });
    this.#grpc.addService(shardReadService, {
      InspectNeeds: (stream: InspectStream) => this.#inspect(stream),
    });
    for (const { definition, implementation } of options.services ?? [])
      this.#grpc.addService(definition, implementation);
    this.#grpc.addService(HEALTH_SERVICE, { Check: checkHealth(HEALTH_NAMES, () => this.#isServing()) });
  }

  /** `host:port` with the port that the server has bound. */
  get address(): string {
    return this.#address;
  }

  /** Serves the shard from now on; before this, the server has no sessions and the shard may call it all the same. */
  async listen(served: ServedShard): Promise<void> {
    this.#setShard(served);
    const { listen } = this.#options;
    const port = await bind(this.#grpc, listen, this.#tls ?? ServerCredentials.createInsecure());
    for (const server of http2ServersOf(this.#grpc)) this.#gate.guard(server);
    this.#address = `${listen.slice(0, listen.lastIndexOf(':'))}:${port}`;
  }

  /** F6: the relay takes every stream that begins from now on. */
  standBy(relay: StandbyRelay): void {
    this.#relay = relay;
    this.#gate.relay = relay;
    relay.resume();
  }

  /** F7: the router sees every stream first, whether this replica is a standby or not. */
  route(router: StreamRouter): void {
    this.#gate.router = router;
  }

  /** F6: this replica is about to leave. Operators go on, and connect elsewhere when their session ends. */
  goAway(): void {
    this.#lifetimes.goAway();
  }

  /** F4: a standby became active, with a new shard. It serves the streams that the relay holds, and all that follow. */
  replaceShard(served: ServedShard): void {
    this.#setShard(served);
    this.#gate.relay = null;
    this.#relay?.handOver();
    this.#relay = null;
  }

  #setShard({ shard, needs }: ServedShard): void {
    this.serve(shard);
    this.#needs = needs;
  }

  /** T14: what the TLS files are, for metrics; null without TLS. */
  get tlsStatus(): TlsStatus | null {
    return this.#tls?.status ?? null;
  }

  /** Reads TLS files that have changed now, instead of at the next check. */
  refreshTls(): void {
    this.#tls?.refresh();
    this.#lifetimes.sweep();
  }

  /** Ends every session with UNAVAILABLE and releases the port. */
  async close(): Promise<void> {
    this.endForGood();
    this.#tls?.close();
    this.#lifetimes.close();
    this.#gate.close();
    await shutDown(this.#grpc);
  }

  #isServing(): boolean {
    return this.#relay === null ? this.refusal === null : this.#relay.notReady() === '';
  }

  #inspect(stream: InspectStream): void {
    this.counters.inspections++;
    const detail = this.#tls === null ? null : whyNotReader(stream);
    if (detail !== null) {
      this.rejectIdentity(stream.request.clusterId, stream.getPeer(), detail);
      refuse(stream, status.PERMISSION_DENIED, detail);
      return;
    }
    const holder = this.#readerOf(stream);
    const why = this.admission.take('reader', holder);
    if (why !== null) {
      refuse(stream, status.RESOURCE_EXHAUSTED, why);
      return;
    }
    this.#serve(stream, this.#readerCall(stream));
    inspectNeeds(stream, this.#needs, this.#options.inspectionWriteMs ?? INSPECTION_WRITE_MS)
      .catch((error: Error) => {
        const isLate = error instanceof ReaderTooSlowError;
        if (isLate) this.admission.refused('reader_timeout', holder.address, error.message);
        if (isLate) cutOff(stream, ENDED_STREAM_MS);
        refuse(stream, isLate ? status.DEADLINE_EXCEEDED : status.INTERNAL, error.message);
      })
      .finally(() => this.admission.giveBack('reader', holder));
  }

  /** T14: the call ends with its connection. */
  #serve(stream: object, call: ServedCall): void {
    const http2Stream = http2StreamOf(stream);
    if (http2Stream !== null) this.#lifetimes.serve(http2Stream, call);
  }

  /** A reader needs seconds; one that takes longer starts again. */
  #readerCall(stream: InspectStream): ServedCall {
    let retiredMs: number | null = null;
    return {
      retire: () => {
        retiredMs ??= this.nowMs();
        return this.nowMs() - retiredMs >= RETIRED_READER_MS;
      },
      end: (code, details) => refuse(stream, code, details),
    };
  }

  /** T15: without TLS, the address stands for the identity. */
  #readerOf(stream: InspectStream): Holder {
    const peer = stream.getPeer();
    const address = addressKey(peer.slice(0, peer.lastIndexOf(':')));
    const identity = callerKey(stream) || address;
    return { address, identity, connection: null };
  }

  #identityOf(socket: TLSSocket): string {
    return this.#tls === null ? '' : identityKey(socket.getPeerCertificate());
  }
}

function credentialsOf(options: OperatorServerOptions): RotatingServerCredentials | null {
  const { tls, tlsDeniedPath, tlsCheckIntervalMs, wall, onEvent } = options;
  if (tls === undefined) return null;
  return new RotatingServerCredentials({
    files: tls,
    ...(tlsDeniedPath === undefined ? {} : { deniedPath: tlsDeniedPath }),
    ...(tlsCheckIntervalMs === undefined ? {} : { checkIntervalMs: tlsCheckIntervalMs }),
    ...(wall === undefined ? {} : { wall }),
    ...(onEvent === undefined ? {} : { onEvent }),
  });
}

/** The servers that the library has bound: it keeps them to itself, and its version is pinned. */
function http2ServersOf(grpc: Server): Iterable<NetServer> {
  return (grpc as unknown as { readonly http2Servers: Map<NetServer, unknown> }).http2Servers.keys();
}

function refuse(stream: InspectStream, code: status, details: string): void {
  stream.emit('error', { code, details });
}

function bind(server: Server, address: string, credentials: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, port) => {
      if (error === null) resolve(port);
      else reject(new CannotListenError(address, error.message));
    });
  });
}

/** The timer is for connections that never spoke HTTP/2, which the library would wait for forever. */
function shutDown(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      server.forceShutdown();
      resolve();
    }, CLOSE_GRACE_MS);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
