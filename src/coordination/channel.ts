/** The connection to the coordinator: one small call now and then, with a deadline, and nothing tried twice. */
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

export type ReportOutcome =
  | { readonly kind: 'answered'; readonly reply: ReportAck }
  | { readonly kind: 'failed'; readonly detail: string };

/** A coordinator that comes back is found at most this much later: one report. */
const RECONNECT_BACKOFF_MS_MAX = 10_000;

const { path, requestSerialize, responseDeserialize } = coordinatorService.ReportShard;

export class CoordinatorChannel {
  readonly #address: string;
  readonly #credentials: ClientCredentials;
  readonly #clock: Clock;
  #dialledWith: ChannelCredentials | null = null;
  #client: Client | null = null;
  #call: ClientUnaryCall | null = null;
  #isClosed = false;

  constructor(address: string, tls: TlsFiles | undefined, clock: Clock) {
    this.#address = address;
    this.#credentials = new ClientCredentials(tls, clock);
    this.#clock = clock;
  }

  /** Always settles, by the deadline at the latest, and never rejects. One at a time. */
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
          responseDeserialize,
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
        // Certificates that cannot be read, for example: nothing was sent.
        fail((error as Error).message);
      }
    });
  }

  /** What is under way is given up. */
  close(): void {
    this.#isClosed = true;
    this.#call?.cancel();
    this.#hangUp();
  }

  /** A host that died without a word keeps its connection open for a quarter of an hour: whoever takes its place is dialled anew. */
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
