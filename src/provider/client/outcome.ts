/**
 * The outcome of a call, as plain data: a worker makes the call, the main thread reads the outcome, and an error's
 * class does not survive the message between them. Callers switch on `kind`; `status` and `detail` are for people
 * and logs.
 */
import { status } from '@grpc/grpc-js';
import { boundedDetail } from '../../base/outside-text.ts';

export type FailureKind =
  | 'not_found'
  | 'unsupported' // UNIMPLEMENTED: the provider never does this
  | 'fenced' // FAILED_PRECONDITION: another process owns this shard id; never retried
  | 'timeout' // deadline or cancelled: the provider may have executed the call
  | 'unavailable' // no connection, or it broke: the provider may have executed the call
  | 'invalid' // INVALID_ARGUMENT: the provider rejects our request
  | 'malformed' // answered, but not with what the protocol allows
  | 'held' // F2, F4, X16: not sent, because this process may not make the call now
  | 'other'; // any other refusal: quota, wrong state, a bug on the other side

export interface CallFailure {
  readonly kind: FailureKind;
  /** '' for a List. */
  readonly machineId: string;
  /** The gRPC status in lower case, such as `resource_exhausted`; '' without one. */
  readonly status: string;
  /** One line of at most DETAIL_CHARS_MAX characters. */
  readonly detail: string;
  readonly attemptCount: number;
}

export interface Answered {
  readonly kind: 'answered';
  readonly machineId: string;
  /** The answer's message, undecoded: for src/listing/decode. */
  readonly bytes: Uint8Array;
  readonly attemptCount: number;
}

export type RawOutcome = Answered | CallFailure;

const KIND_BY_STATUS: Readonly<Partial<Record<status, FailureKind>>> = {
  [status.NOT_FOUND]: 'not_found',
  [status.UNIMPLEMENTED]: 'unsupported',
  [status.FAILED_PRECONDITION]: 'fenced',
  [status.DEADLINE_EXCEEDED]: 'timeout',
  [status.CANCELLED]: 'timeout',
  [status.UNAVAILABLE]: 'unavailable',
  [status.INVALID_ARGUMENT]: 'invalid',
};

/**
 * Errors that the gRPC library makes up itself, with a misleading status: an empty answer becomes UNIMPLEMENTED, which
 * would stop every further Delete, and a broken stream becomes INTERNAL, although the provider may have executed the
 * call. Only the text tells them apart; the tests provoke each one with a real server.
 */
const SAID_BY_LIBRARY: readonly (readonly [start: string, kind: FailureKind])[] = [
  ['No message received', 'malformed'],
  ['Received message larger than max', 'malformed'],
  ['Received message that decompresses to', 'malformed'],
  ['Failed to decompress', 'malformed'],
  ['Received RST_STREAM', 'unavailable'],
  ['Bandwidth exhausted or memory limit exceeded', 'unavailable'],
  ['Received HTTP status code 404', 'other'], // a web server at the provider's address
];

/** The parts of the library's error that this module reads; on some paths the library throws one without either. */
export interface RawFailure {
  readonly code?: number;
  readonly details?: string;
}

export function describeFailure({
  code,
  details = '',
}: RawFailure): Pick<CallFailure, 'kind' | 'status' | 'detail'> {
  if (code === undefined) {
    return { kind: 'malformed', status: '', detail: 'the answer could not be decompressed' };
  }
  const said = SAID_BY_LIBRARY.find(([start]) => details.startsWith(start));
  return {
    kind: said?.[1] ?? KIND_BY_STATUS[code as status] ?? 'other',
    status: (status[code] ?? `code_${code}`).toLowerCase(),
    detail: boundedDetail(details),
  };
}

/** Whether the provider may have executed the call without confirming it. */
export function isUndecided(kind: FailureKind): boolean {
  return kind === 'timeout' || kind === 'unavailable';
}
