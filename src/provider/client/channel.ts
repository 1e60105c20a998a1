/**
 * Channels to one provider, in one thread. A channel opens on first use and stays open, because a TLS handshake per
 * call would cost more than the call. There are two connections with separate limits:
 *
 *   calls   Get and the lifecycle calls. Answers are small; the client refuses one that announces gigabytes.
 *   list    List. On the connection for calls, 250 MB would delay every ack behind it.
 *
 * A thread that only lists, or never lists, opens just one of them.
 */
import { type ChannelCredentials, type ChannelOptions, Client, connectivityState } from '@grpc/grpc-js';
import type { Clock } from '../../base/clock.ts';
import { ClientCredentials } from '../../tls/client-credentials.ts';
import { ConnectionLoss } from './connection-loss.ts';
import type { ProviderEndpoint } from './endpoint.ts';
import type { CallLimits } from './limits.ts';

export type ConnectionKind = 'calls' | 'list';

/**
 * A sender can have one window in flight per round trip. With the default of 64 KiB and a round trip of 10 ms, a
 * List of 400 MB takes a minute; with this window the network is the limit (docs/adr/0006).
 */
const RECEIVE_WINDOW_BYTES = 16 * 1024 ** 2;

/**
 * The client notices a dead peer within 30 s of the first call to it. It pings only while a call is open: many
 * servers close an idle connection that is pinged.
 */
const KEEPALIVE_TIME_MS = 20_000;
const KEEPALIVE_TIMEOUT_MS = 10_000;

/** The client finds a recovered provider at most this much later: one cycle. */
const RECONNECT_BACKOFF_MS_MAX = 10_000;
const RECONNECT_BACKOFF_MS = 500;
/** In these states the library keeps a call until they end. */
const WAITS: ReadonlySet<connectivityState> = new Set([connectivityState.IDLE, connectivityState.CONNECTING]);

export class ProviderChannels {
  /** Of the connection for listings. */
  readonly loss: ConnectionLoss;
  readonly #endpoint: ProviderEndpoint;
  readonly #limits: CallLimits;
  readonly #credentials: ClientCredentials;
  readonly #open = new Map<ConnectionKind, Client>();
  #dialledWith: ChannelCredentials | null = null;
  #isClosed = false;

  constructor(endpoint: ProviderEndpoint, limits: CallLimits, clock: Clock) {
    this.#endpoint = endpoint;
    this.#limits = limits;
    this.loss = new ConnectionLoss(clock);
    this.#credentials = new ClientCredentials(endpoint.tls, clock, limits.connectionAgeMs);
  }

  /** Null once closed. Throws UnusableTlsFileError if no usable certificate has been read yet. */
  connection(kind: ConnectionKind): Client | null {
    if (this.#isClosed) return null;
    const credentials = this.#credentials.current();
    if (credentials !== this.#dialledWith) this.#closeOpen();
    this.#dialledWith = credentials;
    const known = this.#open.get(kind);
    if (known !== undefined) return known;
    const client = new Client(this.#endpoint.address, credentials, this.#options(kind));
    this.#open.set(kind, client);
    return client;
  }

  /**
   * Resolves when a call would be sent or refused at once, and not kept by the library until there is a connection. False: that
   * took until the deadline. Errors are left to the call.
   */
  async connected(kind: ConnectionKind, deadlineUnixMs: number): Promise<boolean> {
    for (;;) {
      const channel = this.#tryConnection(kind)?.getChannel();
      const state = channel?.getConnectivityState(true);
      if (channel === undefined || state === undefined || !WAITS.has(state)) return true;
      const hasChanged = await new Promise<boolean>((resolve) =>
        channel.watchConnectivityState(state, deadlineUnixMs, (error) => resolve(error === undefined)),
      );
      if (!hasChanged) return false;
    }
  }

  /** Calls in flight still finish. */
  close(): void {
    this.#isClosed = true;
    this.#closeOpen();
  }

  #tryConnection(kind: ConnectionKind): Client | null {
    try {
      return this.connection(kind);
    } catch {
      return null; // the call itself fails with the reason
    }
  }

  #closeOpen(): void {
    this.loss.closing();
    for (const client of this.#open.values()) client.close();
    this.#open.clear();
  }

  #options(kind: ConnectionKind): ChannelOptions {
    return {
      'grpc.max_receive_message_length':
        kind === 'list' ? this.#limits.listBytesMax : this.#limits.answerBytesMax,
      'grpc.max_send_message_length': -1, // the provider decides how large a blob may be
      'grpc-node.flow_control_window': RECEIVE_WINDOW_BYTES,
      'grpc.keepalive_time_ms': KEEPALIVE_TIME_MS,
      'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
      'grpc.keepalive_permit_without_calls': 0,
      'grpc.initial_reconnect_backoff_ms': RECONNECT_BACKOFF_MS,
      'grpc.max_reconnect_backoff_ms': RECONNECT_BACKOFF_MS_MAX,
      // client.ts retries: the library would send the old fencing token again.
      'grpc.enable_retries': 0,
      'grpc.service_config_disable_resolution': 1,
      'grpc.enable_http_proxy': 0, // a proxy from the environment must not see bootstrap blobs
      'grpc.use_local_subchannel_pool': 1, // closing closes
    };
  }
}
