/** The operators' server: Shard.Session on a gRPC port, and the shard's way to speak to whoever connects. */
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { type Clock, systemClock } from '../base/clock.ts';
import type { ShardForOperators } from '../shard/ports/operators.ts';
import { asBuffer } from '../wire/codec.ts';
import { rawShardService } from '../wire/services.ts';
import { CannotListenError } from './errors.ts';
import { FRAME_BYTES_MAX, STREAMS_PER_CONNECTION_MAX } from './limits.ts';
import { type OperatorEvent, Operators } from './operators.ts';
import type { SessionStream } from './session.ts';

export interface OperatorServerOptions {
  /** `host:port`; port 0 takes a free one. */
  readonly listen: string;
  readonly shard: ShardForOperators;
  /** O6: a dead peer is noticed within this. */
  readonly deadPeerMs?: number;
  readonly helloTimeoutMs?: number;
  readonly clock?: Clock;
  readonly onEvent?: (event: OperatorEvent) => void;
}

const DEAD_PEER_MS = 30_000;
const CLOSE_GRACE_MS = 1_000;
/** Ours go out as bytes that the outbox has encoded. */
const SESSION_SERVICE = { Session: { ...rawShardService.Session, responseSerialize: asBuffer } };

export async function startOperatorServer(options: OperatorServerOptions): Promise<OperatorServer> {
  const server = new OperatorServer(options);
  await server.listen();
  return server;
}

export class OperatorServer extends Operators {
  readonly #listen: string;
  readonly #grpc: Server;
  #address = '';

  constructor(options: OperatorServerOptions) {
    const { clock = systemClock, deadPeerMs = DEAD_PEER_MS } = options;
    super({ ...options, clock, deadPeerMs });
    this.#listen = options.listen;
    this.#grpc = new Server({
      'grpc.max_receive_message_length': FRAME_BYTES_MAX,
      'grpc.max_concurrent_streams': STREAMS_PER_CONNECTION_MAX,
      // A ping after half of the time, an answer within a third: what is left is for timers that come late.
      'grpc.keepalive_time_ms': Math.ceil(deadPeerMs / 2),
      'grpc.keepalive_timeout_ms': Math.ceil(deadPeerMs / 3),
      'grpc.enable_channelz': 0,
    });
    this.#grpc.addService(SESSION_SERVICE, { Session: (stream: SessionStream) => this.open(stream) });
  }

  /** `host:port` with the port that was really bound. */
  get address(): string {
    return this.#address;
  }

  async listen(): Promise<void> {
    const port = await bind(this.#grpc, this.#listen, ServerCredentials.createInsecure());
    this.#address = `${this.#listen.slice(0, this.#listen.lastIndexOf(':'))}:${port}`;
  }

  /** Ends every session with UNAVAILABLE and gives the port back. */
  async close(): Promise<void> {
    this.endForGood();
    await shutDown(this.#grpc);
  }
}

function bind(server: Server, address: string, credentials: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, port) => {
      if (error === null) resolve(port);
      else reject(new CannotListenError(address, error.message));
    });
  });
}

/** Ends although a connection never spoke HTTP/2: the library counts such a one as open for ever. */
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
