/** Limits of every call to a provider, with the sums they come from. */
import { CONNECTION_AGE_MS } from '../../tls/connection-age.ts';

export interface CallLimits {
  /** Get and the four lifecycle calls. */
  readonly callTimeoutMs: number;
  readonly listTimeoutMs: number;
  /** Largest List answer: 500,000 machines are 250 MB; 1 GiB leaves room for two million. */
  readonly listBytesMax: number;
  /** Largest other answer: one machine is about 500 bytes; with every label filled, some tens of KiB. */
  readonly answerBytesMax: number;
  /** Attempts of a read, the first included. A mutating call has exactly one. */
  readonly readAttemptsMax: number;
  /** Wait before the second attempt of a read. It doubles with each attempt; jitter subtracts up to half. */
  readonly readBackoffMs: number;
  /** T14: with TLS, the client dials again after about this time: the provider's certificate is checked again. */
  readonly connectionAgeMs: number;
}

export const CALL_LIMITS: CallLimits = {
  callTimeoutMs: 30_000,
  listTimeoutMs: 120_000,
  listBytesMax: 1024 ** 3,
  answerBytesMax: 4 * 1024 ** 2,
  readAttemptsMax: 3,
  readBackoffMs: 100,
  connectionAgeMs: CONNECTION_AGE_MS,
};
