/**
 * Channels to one provider, in one thread: opened on first use, then kept, because a TLS handshake per call
 * would cost more than the call. Two lanes, each a connection of its own with limits of its own:
 *
 *   calls   Get and the lifecycle calls. Small answers; a provider that promises gigabytes is refused.
 *   list    List. 250 MB on the calls lane would hold up every ack behind it for as long as it takes.
 *
 * A thread that only lists, or never does, opens one of them.
 */
import { ChannelCredentials, type ChannelOptions, Client } from '@grpc/grpc-js';
import type { Clock } from '../../base/clock.ts';
import type { ProviderEndpoint } from './endpoint.ts';
import type { CallLimits } from './limits.ts';
import { loadCredentials, versionOf } from './tls.ts';

export type Lane = 'calls' | 'list';

/**
 * At most one window is under way per round trip: with the default of 64 KiB and a round trip of 10 ms a
 * List of 400 MB takes a minute, with this one the network's own time (docs/adr/0006).
 */
const RECEIVE_WINDOW_BYTES = 16 * 1024 ** 2;

/**
 * A dead peer is noticed within 30 s of the first call to it. Pings go out only while a call is open: many
 * servers answer pings on an idle connection by closing it.
 */
const KEEPALIVE_TIME_MS = 20_000;
const KEEPALIVE_TIMEOUT_MS = 10_000;

/** A provider that comes back is found at most this much later: one cycle. */
const RECONNECT_BACKOFF_MS_MAX = 10_000;
const RECONNECT_BACKOFF_MS = 500;

/** Three `stat`s; certificates live for hours. */
const TLS_CHECK_INTERVAL_MS = 10_000;

export class ProviderChannels {
  readonly #endpoint: ProviderEndpoint;
  readonly #limits: CallLimits;
  readonly #clock: Clock;
  readonly #open = new Map<Lane, Client>();
  #credentials: ChannelCredentials | null = null;
  #tlsVersion = '';
  #tlsCheckedMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(endpoint: ProviderEndpoint, limits: CallLimits, clock: Clock) {
    this.#endpoint = endpoint;
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Throws UnusableCertificateError if there never was a certificate that could be used. */
  lane(lane: Lane): Client | null {
    if (this.#isClosed) return null;
    this.#refreshCredentials();
    const known = this.#open.get(lane);
    if (known !== undefined) return known;
    const client = new Client(this.#endpoint.address, this.#credentials!, this.#options(lane));
    this.#open.set(lane, client);
    return client;
  }

  /** Calls under way still end by themselves. */
  close(): void {
    this.#isClosed = true;
    this.#closeOpen();
  }

  #refreshCredentials(): void {
    const { tls } = this.#endpoint;
    if (tls === undefined) {
      this.#credentials ??= ChannelCredentials.createInsecure();
      return;
    }
    const nowMs = this.#clock.nowMs();
    if (this.#credentials !== null && nowMs - this.#tlsCheckedMs < TLS_CHECK_INTERVAL_MS) return;
    this.#tlsCheckedMs = nowMs;
    const version = versionOf(tls);
    if (this.#credentials !== null && version === this.#tlsVersion) return;
    try {
      this.#credentials = loadCredentials(tls);
    } catch (error) {
      // Certificate and key are replaced one after the other: until both are there the old pair serves.
      if (this.#credentials === null) throw error;
      return;
    }
    this.#tlsVersion = version;
    this.#closeOpen();
  }

  #closeOpen(): void {
    for (const client of this.#open.values()) client.close();
    this.#open.clear();
  }

  #options(lane: Lane): ChannelOptions {
    return {
      'grpc.max_receive_message_length':
        lane === 'list' ? this.#limits.listBytesMax : this.#limits.answerBytesMax,
      'grpc.max_send_message_length': -1, // a bootstrap blob is the provider's to refuse
      'grpc-node.flow_control_window': RECEIVE_WINDOW_BYTES,
      'grpc.keepalive_time_ms': KEEPALIVE_TIME_MS,
      'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
      'grpc.keepalive_permit_without_calls': 0,
      'grpc.initial_reconnect_backoff_ms': RECONNECT_BACKOFF_MS,
      'grpc.max_reconnect_backoff_ms': RECONNECT_BACKOFF_MS_MAX,
      // Retries are ours (client.ts): a library that sends a call again would send an old token again.
      'grpc.enable_retries': 0,
      'grpc.service_config_disable_resolution': 1,
      'grpc.enable_http_proxy': 0, // a proxy from the environment must not see bootstrap blobs
      'grpc.use_local_subchannel_pool': 1, // closing closes
    };
  }
}
