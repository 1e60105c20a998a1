/** A connection to a shard, in plaintext or with mutual TLS. A certificate names one cluster, so a connection serves one. */
import { type ChannelOptions, Client, type ClientDuplexStream } from '@grpc/grpc-js';
import { systemClock } from '../base/clock.ts';
import { ClientCredentials } from '../tls/client-credentials.ts';
import type { TlsFiles, UnusableTlsFileError } from '../tls/files.ts';
import { shardService } from '../wire/services.ts';

/** Bytes in both directions: frames.ts encodes what is sent, shard-frame.ts routes what arrives. */
export type SessionStream = ClientDuplexStream<Buffer, Buffer>;

/** Detects a dead shard within 50 s. Not sooner: two thousand sessions and a shard may share one busy host. */
const KEEPALIVE_TIME_MS = 30_000;
const KEEPALIVE_TIMEOUT_MS = 20_000;
/** session-link.ts pauses between attempts; the library's own pauses only must not be longer. */
const RECONNECT_BACKOFF_MS = 100;
const RECONNECT_BACKOFF_MS_MAX = 1_000;

const OPTIONS: ChannelOptions = {
  'grpc.keepalive_time_ms': KEEPALIVE_TIME_MS,
  'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
  'grpc.initial_reconnect_backoff_ms': RECONNECT_BACKOFF_MS,
  'grpc.min_reconnect_backoff_ms': RECONNECT_BACKOFF_MS,
  'grpc.max_reconnect_backoff_ms': RECONNECT_BACKOFF_MS_MAX,
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.enable_http_proxy': 0,
  'grpc.use_local_subchannel_pool': 1, // each client has its own connection and closes it
};

const asIs = (bytes: Buffer): Buffer => bytes;

export class ShardConnection {
  readonly #address: string;
  readonly #credentials: ClientCredentials;
  /** The credentials of the present client. */
  #used: ReturnType<ClientCredentials['current']> | null = null;
  #client: Client | null = null;

  /** `address` is `host:port`. `onTlsFailed`: replaced TLS files cannot be used; the last good ones stay in use. */
  constructor(
    address: string,
    tls: TlsFiles | undefined,
    onTlsFailed: (error: UnusableTlsFileError) => void = () => {},
  ) {
    this.#address = address;
    this.#credentials = new ClientCredentials(tls, systemClock, undefined, onTlsFailed);
  }

  /** Opens a stream without sending anything. Throws UnusableTlsFileError if no certificate has been usable so far. */
  open(): SessionStream {
    return this.#currentClient().makeBidiStreamRequest(shardService.Session.path, asIs, asIs);
  }

  /** The next stream dials again. */
  close(): void {
    this.#client?.close();
    this.#client = null;
    this.#used = null;
  }

  #currentClient(): Client {
    const used = this.#credentials.current();
    if (this.#client !== null && this.#used === used) return this.#client;
    this.#client?.close(); // its open streams continue
    this.#client = new Client(this.#address, used, OPTIONS);
    this.#used = used;
    return this.#client;
  }
}
