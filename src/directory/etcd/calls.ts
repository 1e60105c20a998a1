/**
 * Calls to etcd, each with a deadline. Calls that change nothing when they come twice are tried at every member in turn; a
 * transaction is sent once. All of them ask for a leader: a member that is cut off from the others refuses at once instead of
 * waiting.
 */
import { type Client, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { Clock } from '../../base/clock.ts';
import type { EtcdMethod } from '../../wire/etcd.ts';
import { DirectoryRefusedError, DirectoryUnavailableError } from '../errors.ts';
import type { EtcdChannels } from './channels.ts';

/** etcd's statuses that say that the request was read and not executed. */
const REFUSALS: ReadonlySet<number> = new Set([
  status.INVALID_ARGUMENT,
  status.NOT_FOUND,
  status.ALREADY_EXISTS,
  status.PERMISSION_DENIED,
  status.FAILED_PRECONDITION,
  status.OUT_OF_RANGE,
  status.UNAUTHENTICATED,
  status.UNIMPLEMENTED,
]);

/** A refusal with its status, for callers that know what it means for their call. */
export class EtcdStatusError extends DirectoryRefusedError {
  readonly status: number;

  constructor(call: string, error: ServiceError) {
    super(call, `${statusName(error)}: ${error.details}`);
    this.status = error.code;
  }
}

export interface CallOptions {
  readonly name: string;
  readonly isRepeatable: boolean;
}

/** A new one for each call: grpc-js adds to it. */
export function leaderMetadata(): Metadata {
  const metadata = new Metadata();
  metadata.set('hasleader', 'true');
  return metadata;
}

export function statusName(error: Partial<ServiceError>): string {
  return (status[error.code ?? status.UNKNOWN] ?? 'no status').toLowerCase();
}

export class EtcdCalls {
  readonly #channels: EtcdChannels;
  readonly #clock: Clock;
  readonly #timeoutMs: number;

  constructor(channels: EtcdChannels, clock: Clock, timeoutMs: number) {
    this.#channels = channels;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  unary<Request, Response>(
    method: EtcdMethod<Request, Response>,
    request: Request,
    options: CallOptions,
  ): Promise<Response> {
    return this.#attempts(options, (client, deadline, settle) => {
      const { path, requestSerialize, responseDeserialize } = method;
      client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        leaderMetadata(),
        { deadline },
        (error: ServiceError | null, response?: Response) =>
          error === null ? settle(null, response!) : settle(error),
      );
    });
  }

  /** One request and one answer over a call that is a stream in the protocol. */
  single<Request, Response>(
    method: EtcdMethod<Request, Response>,
    request: Request,
    options: CallOptions,
  ): Promise<Response> {
    return this.#attempts(options, (client, deadline, settle) => {
      const { path, requestSerialize, responseDeserialize } = method;
      const stream = client.makeBidiStreamRequest(
        path,
        requestSerialize,
        responseDeserialize,
        leaderMetadata(),
        {
          deadline,
        },
      );
      stream.on('error', (error: ServiceError) => settle(error));
      stream.once('data', (response: Response) => {
        settle(null, response);
        stream.cancel();
      });
      stream.once('end', () => settle(noAnswer('the stream ended without an answer')));
      stream.write(request);
    });
  }

  async #attempts<Response>(
    { name, isRepeatable }: CallOptions,
    attempt: (client: Client, deadline: number, settle: Settle<Response>) => void,
  ): Promise<Response> {
    const attemptsMax = isRepeatable ? this.#channels.memberCount : 1;
    // Together all attempts end by the deadline, even if every member hangs.
    const attemptMs = Math.ceil(this.#timeoutMs / attemptsMax);
    for (let attemptCount = 1; ; attemptCount++) {
      if (this.#channels.isClosed) {
        throw new DirectoryUnavailableError(name, 'the connection is closed', attemptCount > 1);
      }
      const client = this.#channels.current();
      const outcome = await new Promise<ServiceError | { readonly response: Response }>((resolve) => {
        attempt(client, this.#clock.nowMs() + attemptMs, (error, response) =>
          resolve(error ?? { response: response! }),
        );
      });
      if ('response' in outcome) return outcome.response;
      // An answer that is too large for us changes nothing if the call can be repeated; else the call has perhaps happened.
      const isTooLarge = outcome.code === status.RESOURCE_EXHAUSTED;
      if (REFUSALS.has(outcome.code) || (isTooLarge && isRepeatable))
        throw new EtcdStatusError(name, outcome);
      if (!isTooLarge) this.#channels.abandon(client);
      if (attemptCount < attemptsMax) continue;
      throw new DirectoryUnavailableError(name, `${statusName(outcome)}: ${outcome.details}`, true);
    }
  }
}

type Settle<Response> = (error: ServiceError | null, response?: Response) => void;

function noAnswer(details: string): ServiceError {
  return Object.assign(new Error(details), { code: status.UNAVAILABLE, details, metadata: new Metadata() });
}
