/**
 * Connections of many clusters to a shard. Each real cluster has its own, with a certificate that names the cluster. For load
 * tests, a few connections can carry the streams of many clusters.
 */
import { type SessionStream, ShardConnection } from '../../operator-kit/connection.ts';
import type { TlsFiles } from '../../tls/files.ts';

export interface ChannelSettings {
  /** `host:port`. */
  readonly address: string;
  /** `{cluster}` in a path is replaced with the cluster's id. Undefined: plaintext. */
  readonly tls: TlsFiles | undefined;
  /** Number of connections that the clusters share; 0: one for each cluster. */
  readonly connectionCount: number;
}

export class ShardChannels {
  readonly #settings: ChannelSettings;
  readonly #connections = new Map<string, ShardConnection>();

  constructor(settings: ChannelSettings) {
    this.#settings = settings;
  }

  /**
   * Opens a stream of a cluster on its connection, without sending anything. Throws UnusableTlsFileError
   * if no certificate has been usable so far.
   */
  open(clusterId: string, clusterNumber: number): SessionStream {
    const { address, connectionCount } = this.#settings;
    const name = connectionCount === 0 ? clusterId : String(clusterNumber % connectionCount);
    let connection = this.#connections.get(name);
    if (connection === undefined) {
      connection = new ShardConnection(address, this.#filesOf(clusterId));
      this.#connections.set(name, connection);
    }
    return connection.open();
  }

  close(): void {
    for (const connection of this.#connections.values()) connection.close();
    this.#connections.clear();
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
