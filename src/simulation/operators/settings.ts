/** Behaviour of a simulated operator. The defaults describe a perfect one, so that a test names only its trouble. */
import { ShardError } from '../../base/errors.ts';
import {
  DEFAULT_RECONNECT as OPERATOR_RECONNECT,
  type ReconnectSettings,
} from '../../operator-kit/session-link.ts';
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

/** A session that broke at once is opened again after the first pause: a test need not wait for a steady one. */
export const DEFAULT_RECONNECT: ReconnectSettings = { ...OPERATOR_RECONNECT, steadyMs: 0 };

export class WaitedTooLongError extends ShardError {
  readonly code = 'waited_too_long';
  readonly next = 'reject-input';

  constructor(clusterId: string, what: string, waitedMs: number, seen: string) {
    super(
      `Cluster ${clusterId} waited ${waitedMs} ms for ${what} without success. Last seen: ${seen}. The session stays open.`,
    );
  }
}
