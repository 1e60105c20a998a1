/**
 * The relay's connections to the active replica: HTTP/2 with the certificate of this replica. Streams of many clients share a
 * connection; Node returns a connection's window as soon as it has read the data, so a client that does not read holds up its own
 * stream only. A ping finds a replica that is gone without a word.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type OutgoingHttpHeaders,
} from 'node:http2';
import type { ClientCredentials } from '../tls/client-credentials.ts';
import { REDIAL_MS, STREAMS_PER_CONNECTION_MAX } from './limits.ts';

export interface ConnectionsOptions {
  readonly addresses: readonly string[];
  readonly credentials: ClientCredentials;
  /** A ping after half of this time; the answer comes within a third of it. */
  readonly deadPeerMs: number;
  /** A connection is up. */
  readonly onUp: () => void;
}

interface Connection {
  readonly session: ClientHttp2Session;
  streamCount: number;
  isUp: boolean;
  isSilent: boolean;
}

/** A stream to the active replica. `isSilent` tells, once it has ended, whether keepalive ended it. */
export interface UpstreamStream {
  readonly stream: ClientHttp2Stream;
  isSilent(): boolean;
}

export class ActiveConnections {
  readonly #options: ConnectionsOptions;
  readonly #connections = new Set<Connection>();
  #addressAt = 0;
  #redial: NodeJS.Timeout | null = null;
  #failure = '';
  #isClosed = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#dial();
  }

  /** Why no connection is up; '' if one is. */
  get failure(): string {
    for (const { isUp } of this.#connections) if (isUp) return '';
    return this.#failure === '' ? `connecting to ${this.#options.addresses.join(', ')}` : this.#failure;
  }

  /** Null while no connection can be had; `onUp` says when to ask again. */
  open(headers: OutgoingHttpHeaders): UpstreamStream | null {
    const connection = this.#roomiest() ?? this.#dial();
    if (connection === null) return null;
    const stream = connection.session.request(headers, { endStream: false });
    connection.streamCount++;
    stream.once('close', () => {
      connection.streamCount--;
    });
    return { stream, isSilent: () => connection.isSilent };
  }

  close(): void {
    this.#isClosed = true;
    if (this.#redial !== null) clearTimeout(this.#redial);
    for (const { session } of this.#connections) session.destroy();
  }

  /** The first with room: the others become empty and close. */
  #roomiest(): Connection | null {
    for (const connection of this.#connections) {
      const { session, streamCount } = connection;
      const max = Math.min(
        session.remoteSettings?.maxConcurrentStreams ?? Infinity,
        STREAMS_PER_CONNECTION_MAX,
      );
      if (!session.closed && !session.destroyed && streamCount < max) return connection;
    }
    return null;
  }

  /** Null while it waits to dial again after a failure. */
  #dial(): Connection | null {
    if (this.#redial !== null || this.#isClosed) return null;
    const { addresses, credentials, deadPeerMs, onUp } = this.#options;
    const address = addresses[this.#addressAt % addresses.length];
    if (address === undefined) return null;
    const { host, port } = splitAddress(address);
    let socket: ReturnType<ClientCredentials['dialReplica']>;
    try {
      socket = credentials.dialReplica(host, port);
    } catch (error) {
      this.#failed(address, error as Error);
      return null;
    }
    const session = connect(`http://${address}`, { createConnection: () => socket });
    const connection: Connection = { session, streamCount: 0, isUp: false, isSilent: false };
    this.#connections.add(connection);
    const pings = setInterval(() => ping(connection, deadPeerMs / 3), deadPeerMs / 2);
    pings.unref();
    session.once('remoteSettings', () => {
      connection.isUp = true;
      this.#failure = '';
      onUp();
    });
    session.on('error', (error) => this.#failed(address, error));
    session.once('close', () => {
      clearInterval(pings);
      const { isUp } = connection;
      this.#connections.delete(connection);
      if (this.#isClosed) return;
      if (!isUp) this.#failed(address, new Error('the connection closed'));
      else if (this.#connections.size === 0) this.#dial(); // to know whether the replica can be reached
    });
    return connection;
  }

  #failed(address: string, { message }: Error): void {
    if (this.#isClosed || this.#redial !== null) return; // the first reason counts
    this.#failure = `the active replica at ${address} cannot be reached: ${message}`;
    this.#addressAt++;
    this.#redial = setTimeout(() => {
      this.#redial = null;
      if (this.#roomiest() === null) this.#dial();
    }, REDIAL_MS);
  }
}

function ping(connection: Connection, timeoutMs: number): void {
  const { session } = connection;
  if (session.destroyed || session.connecting) return;
  const timer = setTimeout(() => {
    connection.isSilent = true;
    session.destroy();
  }, timeoutMs);
  timer.unref();
  session.ping(() => clearTimeout(timer));
}

/** `host:port`, or `[address]:port`. */
function splitAddress(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(address.slice(colon + 1)) };
}
