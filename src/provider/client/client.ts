/**
 * Calls to one provider from one thread. Every call ends by its deadline, with an answer (bytes, for
 * src/listing/decode) or with a failure as plain data. No provider can make this module throw.
 *
 * Retries. The client retries a read while the provider is unavailable, within the read's deadline. It sends a
 * mutating call exactly once: after a timeout or a broken connection the provider may have executed it, and a second
 * call with a newer token could undo what happened since. The shard asks with Get and decides again.
 */
import type { ServiceError } from '@grpc/grpc-js';
import { type Clock, systemClock } from '../../base/clock.ts';
import { boundedDetail } from '../../base/outside-text.ts';
import { Random } from '../../base/random.ts';
import { rawCapacityProviderService as service } from '../../wire/services.ts';
import { type ConnectionKind, ProviderChannels } from './channel.ts';
import type { ProviderEndpoint } from './endpoint.ts';
import type { FencingTokens } from './fencing.ts';
import { CALL_LIMITS, type CallLimits } from './limits.ts';
import { type CallFailure, describeFailure, type RawOutcome } from './outcome.ts';

export interface CallTarget {
  readonly machineId: string;
  /** Default: now + callTimeoutMs. */
  readonly deadlineUnixMs?: number;
  /** X16: the stretch in which the call was decided (base/pulse.ts). */
  readonly stretch?: number;
}

export interface ConfigureTarget extends CallTarget {
  readonly clusterId: string;
  /** A secret: the client sends it and keeps no copy. */
  readonly bootstrapBlob: Uint8Array;
  readonly shardMetadata: Readonly<Record<string, string>>;
}

export interface DrainTarget extends CallTarget {
  readonly gracePeriodSeconds: number;
}

export interface ListTarget {
  /** Empty or absent: list everything. */
  readonly sinceRevision?: Uint8Array;
  readonly states?: readonly number[];
  /** Default: now + listTimeoutMs. */
  readonly deadlineUnixMs?: number;
}

export interface ProviderClientOptions {
  readonly limits?: Partial<CallLimits>;
  readonly clock?: Clock;
  /** Jitter, so that many threads do not retry at once. */
  readonly random?: Random;
}

interface UnaryMethod<Request> {
  readonly path: string;
  readonly requestSerialize: (request: Request) => Buffer;
}

interface Attempt<Request> {
  readonly connection: ConnectionKind;
  readonly method: UnaryMethod<Request>;
  readonly machineId: string;
  readonly deadlineUnixMs: number;
}

const NOT_CONNECTED = {
  kind: 'timeout',
  status: '',
  detail: 'no connection by the deadline of the call',
} as const;
/** F2: whether a call takes a machine from a cluster or deletes it. */
const REMOVES = true;
const KEEPS = false;

export class ProviderClient {
  readonly endpoint: ProviderEndpoint;
  readonly limits: CallLimits;
  readonly #tokens: FencingTokens;
  readonly #channels: ProviderChannels;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(endpoint: ProviderEndpoint, tokens: FencingTokens, options: ProviderClientOptions = {}) {
    this.endpoint = endpoint;
    this.#tokens = tokens;
    this.limits = { ...CALL_LIMITS, ...options.limits };
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? new Random(this.#clock.nowMs());
    this.#channels = new ProviderChannels(endpoint, this.limits, this.#clock);
  }

  create(target: CallTarget): Promise<RawOutcome> {
    return this.#mutate(service.Create, target, {}, KEEPS);
  }

  configure(target: ConfigureTarget): Promise<RawOutcome> {
    const { clusterId, bootstrapBlob, shardMetadata } = target;
    return this.#mutate(service.Configure, target, { clusterId, bootstrapBlob, shardMetadata }, KEEPS);
  }

  drain(target: DrainTarget): Promise<RawOutcome> {
    return this.#mutate(service.Drain, target, { gracePeriodSeconds: target.gracePeriodSeconds }, REMOVES);
  }

  delete(target: CallTarget): Promise<RawOutcome> {
    return this.#mutate(service.Delete, target, {}, REMOVES);
  }

  get({ machineId, deadlineUnixMs }: CallTarget): Promise<RawOutcome> {
    return this.#read(
      { id: machineId },
      {
        connection: 'calls',
        method: service.Get,
        machineId,
        deadlineUnixMs: deadlineUnixMs ?? this.#clock.nowMs() + this.limits.callTimeoutMs,
      },
    );
  }

  list({ sinceRevision, states, deadlineUnixMs }: ListTarget = {}): Promise<RawOutcome> {
    return this.#read(
      { sinceRevision, states },
      {
        connection: 'list',
        method: service.List,
        machineId: '',
        deadlineUnixMs: deadlineUnixMs ?? this.#clock.nowMs() + this.limits.listTimeoutMs,
      },
    );
  }

  /** S1: the connection for listings was lost, so the provider may have forgotten the cursor. */
  get hasLostConnection(): boolean {
    return this.#channels.loss.isLost;
  }

  /** A full listing arrived, and its cursor is of the provider as it is now. */
  forgetLostConnection(): void {
    this.#channels.loss.settle();
  }

  /** Starts no more calls; those in flight still finish. */
  close(): void {
    this.#channels.close();
  }

  async #mutate<Request extends object>(
    method: UnaryMethod<Request>,
    { machineId, deadlineUnixMs, stretch = 0 }: CallTarget,
    fields: Omit<Request, 'machineId' | 'shardId' | 'shardEpoch' | 'sequenceNumber'>,
    removes: boolean,
  ): Promise<RawOutcome> {
    const attempt: Attempt<Request> = {
      connection: 'calls',
      method,
      machineId,
      deadlineUnixMs: deadlineUnixMs ?? this.#clock.nowMs() + this.limits.callTimeoutMs,
    };
    // The library keeps a call without a connection and sends it later, unchecked: so the wait comes first.
    if (!(await this.#channels.connected('calls', attempt.deadlineUnixMs)))
      return { ...NOT_CONNECTED, machineId, attemptCount: 0 };
    // F2, X16: here and not only where the action was decided; a process may have stood still since.
    const held = this.#tokens.whyHeld(removes, stretch);
    if (held !== '') return { kind: 'held', status: '', detail: held, machineId, attemptCount: 0 };
    // Take the token last: nothing may wait between it and the send.
    const request = { machineId, ...fields, ...this.#tokens.take() } as unknown as Request;
    return this.#send(attempt, request, 1);
  }

  async #read<Request>(request: Request, attempt: Attempt<Request>): Promise<RawOutcome> {
    for (let attemptCount = 1; ; attemptCount++) {
      const outcome = await this.#send(attempt, request, attemptCount);
      if (outcome.kind !== 'unavailable' || attemptCount >= this.limits.readAttemptsMax) return outcome;
      const waitMs = this.limits.readBackoffMs * 2 ** (attemptCount - 1) * (1 - this.#random.unit() / 2);
      if (this.#clock.nowMs() + waitMs >= attempt.deadlineUnixMs) return outcome;
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }

  #send<Request>(attempt: Attempt<Request>, request: Request, attemptCount: number): Promise<RawOutcome> {
    const { connection, method, machineId, deadlineUnixMs } = attempt;
    return new Promise((resolve) => {
      const fail = (failure: Pick<CallFailure, 'kind' | 'status' | 'detail'>) =>
        resolve({ ...failure, machineId, attemptCount });
      try {
        const client = this.#channels.connection(connection);
        if (client === null) {
          fail({ kind: 'unavailable', status: '', detail: `the client of ${this.endpoint.name} is closed` });
          return;
        }
        client.makeUnaryRequest(
          method.path,
          method.requestSerialize,
          (bytes: Buffer) => bytes,
          request,
          { deadline: deadlineUnixMs },
          (error: ServiceError | null, bytes?: Buffer) => {
            if (error !== null) {
              fail(describeFailure(error));
              return;
            }
            if (connection === 'list') this.#channels.loss.answered(client);
            resolve({ kind: 'answered', machineId, bytes: bytes!, attemptCount });
          },
        );
      } catch (error) {
        // An unreadable certificate or a request that cannot be encoded: nothing was sent.
        fail({ kind: 'other', status: '', detail: boundedDetail((error as Error).message) });
      }
    });
  }
}
