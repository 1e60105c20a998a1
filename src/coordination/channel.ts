/** The connection to the coordinator: one small call per interval, with a deadline and without retries. */
import {
  type ChannelCredentials,
  Client,
  type ClientUnaryCall,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import type { Clock } from '../base/clock.ts';
import { boundedDetail } from '../base/outside-text.ts';
import { ClientCredentials } from '../tls/client-credentials.ts';
import type { TlsFiles } from '../tls/files.ts';
import type { ReportAck, ShardReportInit } from '../wire/protocol.generated.ts';
import { coordinatorService } from '../wire/services.ts';
import { REPLY_BYTES_MAX } from './limits.ts';
import { readReply } from './reply.ts';

export type ReportOutcome =
  | { readonly kind: 'answered'; readonly reply: ReportAck }
  | { readonly kind: 'failed'; readonly detail: string };

/** The shard finds a recovered coordinator at most this much later: one report. */
const RECONNECT_BACKOFF_MS_MAX = 10_000;

const { path, requestSerialize } = coordinatorService.ReportShard;

export class CoordinatorChannel {
  readonly #address: string;
  readonly #credentials: ClientCredentials;
  readonly #clock: Clock;
  #dialledWith: ChannelCredentials | null = null;
  #client: Client | null = null;
  #call: ClientUnaryCall | null = null;
  #isClosed = false;

  constructor(address: string, tls: TlsFiles | undefined, clock: Clock, connectionAgeMs?: number) {
    this.#address = address;
    this.#credentials = new ClientCredentials(tls, clock, connectionAgeMs);
    this.#clock = clock;
  }

  /** Resolves by the deadline and never rejects. One call at a time. */
  report(report: ShardReportInit, timeoutMs: number): Promise<ReportOutcome> {
    return new Promise((resolve) => {
      const fail = (detail: string) => resolve({ kind: 'failed', detail: boundedDetail(detail) });
      if (this.#isClosed) {
        fail('the connection is closed');
        return;
      }
      try {
        this.#call = this.#dial().makeUnaryRequest(
          path,
          requestSerialize,
          readReply,
          report,
          { deadline: this.#clock.nowMs() + timeoutMs },
          (error: ServiceError | null, reply?: ReportAck) => {
            this.#call = null;
            if (error?.code === status.DEADLINE_EXCEEDED) this.#hangUp();
            if (error === null) resolve({ kind: 'answered', reply: reply! });
            else fail(`${(status[error.code] ?? 'no status').toLowerCase()}: ${error.details ?? ''}`);
          },
        );
      } catch (error) {
        // For example unreadable certificates: nothing was sent.
        fail((error as Error).message);
      }
    });
  }

  /** Cancels the call in flight. */
  close(): void {
    this.#isClosed = true;
    this.#call?.cancel();
    this.#hangUp();
  }

  /** TCP keeps the connection to a dead host open for a quarter of an hour, so the next report must dial again. */
  #hangUp(): void {
    this.#client?.close();
    this.#client = null;
  }

  #dial(): Client {
    const credentials = this.#credentials.current();
    if (this.#client !== null && credentials === this.#dialledWith) return this.#client;
    this.#client?.close();
    this.#dialledWith = credentials;
    this.#client = new Client(this.#address, credentials, {
      'grpc.max_receive_message_length': REPLY_BYTES_MAX,
      'grpc.max_reconnect_backoff_ms': RECONNECT_BACKOFF_MS_MAX,
      'grpc.enable_retries': 0, // the next report is newer
      'grpc.service_config_disable_resolution': 1,
      'grpc.enable_http_proxy': 0,
      'grpc.use_local_subchannel_pool': 1,
    });
    return this.#client;
  }
}
