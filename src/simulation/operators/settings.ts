/** Behaviour of a simulated operator. The defaults describe a perfect one, so that a test names only its trouble. */
import { ShardError } from '../../base/errors.ts';
import type { BootstrapRequest } from '../../wire/protocol.generated.ts';

/** A delay drawn uniformly between the two. */
export interface DelayMs {
  readonly min: number;
  readonly max: number;
}

/** How one bootstrap request is answered. */
export interface BootstrapAnswer {
  readonly delayMs: number;
  /** How often the operator sends the answer: 0 never, 2 twice. */
  readonly times: number;
  /** '' means a blob. */
  readonly error: string;
}

export interface OperatorBehaviour {
  readonly bootstrapDelayMs: DelayMs;
  readonly bootstrapErrorProbability: number;
  readonly bootstrapSilenceProbability: number;
  /** Overrides the three above, request by request. */
  readonly answerBootstrap: ((request: BootstrapRequest) => BootstrapAnswer) | null;
  readonly blobTtlSeconds: number;
  readonly blobBytes: number;
  readonly acknowledgesReclaims: boolean;
  /** Time between two roll-ups; 0: only on request. */
  readonly rollupIntervalMs: number;
  /** Each interval is longer or shorter by up to this share, so that clusters do not synchronise. */
  readonly rollupJitter: number;
}

export interface ReconnectSettings {
  readonly isEnabled: boolean;
  /** The first pause; each further one is twice as long until a session is open. */
  readonly initialMs: number;
  readonly maxMs: number;
  /** Each pause is shorter by a random share up to this. */
  readonly jitter: number;
  /** The operator cancels a stream on which the shard has not acked Hello after this long. */
  readonly helloTimeoutMs: number;
}

export const DEFAULT_BEHAVIOUR: OperatorBehaviour = {
  bootstrapDelayMs: { min: 0, max: 0 },
  bootstrapErrorProbability: 0,
  bootstrapSilenceProbability: 0,
  answerBootstrap: null,
  blobTtlSeconds: 3_600,
  blobBytes: 512,
  acknowledgesReclaims: true,
  rollupIntervalMs: 10_000,
  rollupJitter: 0.1,
};

export const DEFAULT_RECONNECT: ReconnectSettings = {
  isEnabled: true,
  initialMs: 250,
  maxMs: 10_000,
  jitter: 0.5,
  helloTimeoutMs: 30_000,
};

export class SessionEndedError extends ShardError {
  readonly code = 'session_ended';
  readonly next = 'retry-next-cycle';
  readonly status: number;

  constructor(clusterId: string, status: number, details: string) {
    super(
      `The session of cluster ${clusterId} ended with status ${status}: ${details}. ` +
        'The operator does not reconnect by itself; the shard keeps the last demand.',
    );
    this.status = status;
  }
}

export class WaitedTooLongError extends ShardError {
  readonly code = 'waited_too_long';
  readonly next = 'reject-input';

  constructor(clusterId: string, what: string, waitedMs: number, seen: string) {
    super(
      `Cluster ${clusterId} waited ${waitedMs} ms for ${what} without success. Last seen: ${seen}. The session stays open.`,
    );
  }
}
