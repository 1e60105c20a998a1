/** What a simulated operator is like. The defaults are the best operator there could be: a test names only its trouble. */
import { ShardError } from '../../base/errors.ts';
import type { BootstrapRequest } from '../../wire/protocol.generated.ts';

/** A span of time that is drawn evenly from. */
export interface DelayMs {
  readonly min: number;
  readonly max: number;
}

/** How one bootstrap request is answered. */
export interface BootstrapAnswer {
  readonly delayMs: number;
  /** How often the answer is sent: 0 is silence, 2 a repeated one. */
  readonly times: number;
  /** '' answers with a blob. */
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
  /** Between two roll-ups; 0: only when told to. */
  readonly rollupIntervalMs: number;
  /** Each interval is longer or shorter by up to this share, so that clusters do not march in step. */
  readonly rollupJitter: number;
}

export interface ReconnectSettings {
  readonly isEnabled: boolean;
  /** The first pause; each further one is twice as long until a session stands. */
  readonly initialMs: number;
  readonly maxMs: number;
  /** Each pause is shorter by up to this share, drawn at random. */
  readonly jitter: number;
  /** A shard that takes the stream and never answers Hello is given up after this long. */
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
      `The session of cluster ${clusterId} was ended with status ${status}: ${details}. ` +
        'It is not opened again unless asked to; the shard keeps the demand it had.',
    );
    this.status = status;
  }
}

export class WaitedTooLongError extends ShardError {
  readonly code = 'waited_too_long';
  readonly next = 'reject-input';

  constructor(clusterId: string, what: string, waitedMs: number, seen: string) {
    super(
      `Cluster ${clusterId} waited ${waitedMs} ms for ${what}, in vain. Last seen: ${seen}. The session goes on.`,
    );
  }
}
