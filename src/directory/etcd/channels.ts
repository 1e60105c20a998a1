/**
 * The connections to the members of an etcd cluster. One member is in use at a time; a call that fails or meets its deadline
 * moves the client on to the next. grpc-js could balance by itself, but it judges a member only by its connection: one that
 * accepts connections and answers nothing, or has lost its leader, would stay in use.
 */
import { type ChannelCredentials, Client } from '@grpc/grpc-js';
import { assert } from '../../base/assert.ts';
import type { Clock } from '../../base/clock.ts';
import { ClientCredentials } from '../../tls/client-credentials.ts';
import type { TlsFiles } from '../../tls/files.ts';

export interface EtcdEndpoints {
  /** `HOST:PORT` of each member. */
  readonly addresses: readonly string[];
  readonly tls?: TlsFiles | undefined;
  /** At most a quarter of a lease: a replica that reconnects late loses its lease. */
  readonly reconnectMsMax: number;
}

/** One page of a range or one part of a watch. etcd's own limit of a request is 1.5 MiB, and a page may hold several values. */
export const ANSWER_BYTES_MAX = 4 * 1024 ** 2;

/** Keepalive finds a member whose host is gone while only a watch is open. */
const KEEPALIVE_MS = 10_000;
const KEEPALIVE_TIMEOUT_MS = 5_000;

export class EtcdChannels {
  readonly #endpoints: EtcdEndpoints;
  readonly #credentials: ClientCredentials;
  #dialledWith: ChannelCredentials | null = null;
  #member = 0;
  #client: Client | null = null;
  #isClosed = false;

  constructor(endpoints: EtcdEndpoints, clock: Clock) {
    assert(endpoints.addresses.length > 0, 'a directory has an address');
    this.#endpoints = endpoints;
    this.#credentials = new ClientCredentials(endpoints.tls, clock);
  }

  get memberCount(): number {
    return this.#endpoints.addresses.length;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Throws UnusableTlsFileError if no certificate can be read. */
  current(): Client {
    assert(!this.#isClosed, 'a closed directory is not called');
    const credentials = this.#credentials.current();
    if (this.#client !== null && credentials === this.#dialledWith) return this.#client;
    this.#client?.close(); // calls and watches that are open on it go on
    this.#dialledWith = credentials;
    const { addresses, reconnectMsMax } = this.#endpoints;
    this.#client = new Client(addresses[this.#member]!, credentials, {
      'grpc.max_receive_message_length': ANSWER_BYTES_MAX,
      'grpc.initial_reconnect_backoff_ms': Math.min(200, reconnectMsMax),
      'grpc.max_reconnect_backoff_ms': reconnectMsMax,
      'grpc.keepalive_time_ms': KEEPALIVE_MS,
      'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
      'grpc.enable_retries': 0, // a transaction is sent once
      'grpc.service_config_disable_resolution': 1,
      'grpc.enable_http_proxy': 0,
      'grpc.use_local_subchannel_pool': 1,
    });
    return this.#client;
  }

  /** The next call dials the next member, or the same one again if it is the only one. */
  abandon(client: Client): void {
    if (client !== this.#client) return; // another call has moved on already
    this.#client = null;
    this.#member = (this.#member + 1) % this.memberCount;
    client.close();
  }

  close(): void {
    this.#isClosed = true;
    this.#client?.close();
    this.#client = null;
  }
}
