/**
 * Connections to a shard. Each real cluster has its own, with a certificate that names the cluster. For load
 * tests, a few connections can carry the streams of many clusters.
 */
import { type ChannelOptions, Client, type ClientDuplexStream } from '@grpc/grpc-js';
import { systemClock } from '../../base/clock.ts';
import { ClientCredentials } from '../../tls/client-credentials.ts';
import type { TlsFiles } from '../../tls/files.ts';
import { shardService } from '../../wire/services.ts';

/** Bytes in both directions: frames.ts encodes the rows, node-reader.ts reads the updates. */
export type SessionStream = ClientDuplexStream<Buffer, Buffer>;

export interface ChannelSettings {
  /** `host:port`. */
  readonly address: string;
  /** `{cluster}` in a path is replaced with the cluster's id. Undefined: plaintext. */
  readonly tls: TlsFiles | undefined;
  /** Number of connections that the clusters share; 0: one for each cluster. */
  readonly connectionCount: number;
}

/** Detects a dead shard within 50 s. Not sooner: two thousand sessions and a shard may share one busy host. */
const KEEPALIVE_TIME_MS = 30_000;
const KEEPALIVE_TIMEOUT_MS = 20_000;
/** session.ts pauses between attempts; the library's own pauses only must not be longer. */
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

interface Connection {
  readonly credentials: ClientCredentials;
  /** The credentials of the present client. */
  used: ReturnType<ClientCredentials['current']>;
  client: Client;
}

export class ShardChannels {
  readonly #settings: ChannelSettings;
  readonly #connections = new Map<string, Connection>();

  constructor(settings: ChannelSettings) {
    this.#settings = settings;
  }

  /**
   * Opens a stream of a cluster on its connection, without sending anything. Throws UnusableTlsFileError
   * if no certificate has been usable so far.
   */
  open(clusterId: string, clusterNumber: number): SessionStream {
    const { path } = shardService.Session;
    return this.#clientOf(clusterId, clusterNumber).makeBidiStreamRequest(path, asIs, asIs);
  }

  close(): void {
    for (const { client } of this.#connections.values()) client.close();
    this.#connections.clear();
  }

  #clientOf(clusterId: string, clusterNumber: number): Client {
    const { address, connectionCount } = this.#settings;
    const name = connectionCount === 0 ? clusterId : String(clusterNumber % connectionCount);
    const known = this.#connections.get(name);
    const credentials = known?.credentials ?? new ClientCredentials(this.#filesOf(clusterId), systemClock);
    const used = credentials.current();
    if (known?.used === used) return known.client;
    known?.client.close(); // its open streams continue
    const client = new Client(address, used, OPTIONS);
    this.#connections.set(name, { credentials, used, client });
    return client;
  }

  #filesOf(clusterId: string): TlsFiles | undefined {
    const { tls } = this.#settings;
    const named = (path: string) => path.replaceAll('{cluster}', clusterId);
    return tls === undefined
      ? undefined
      : {
          certificatePath: named(tls.certificatePath),
          privateKeyPath: named(tls.privateKeyPath),
          caPath: named(tls.caPath),
        };
  }
}
