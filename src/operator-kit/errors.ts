/** What can go wrong for an operator: each message says what happened, what the operator does about it, and the next step. */
import { status as Status } from '@grpc/grpc-js';
import { ShardError } from '../base/errors.ts';

export class InvalidOperatorOptionError extends ShardError {
  readonly code = 'invalid_operator_option';
  readonly next = 'refuse-to-start';

  constructor(option: string, value: unknown, expected: string) {
    super(
      `The option ${option} of the operator is ${JSON.stringify(value)}; it must be ${expected}. ` +
        'The operator was not created. Correct the option.',
    );
  }
}

/** A session ended. The kit opens the next one by itself if `retryInMs` is a number. */
export class SessionEndedError extends ShardError {
  readonly code = 'session_ended';
  readonly next = 'retry-later';
  /** The gRPC status. */
  readonly status: number;
  readonly retryInMs: number | null;

  constructor(clusterId: string, status: number, details: string, retryInMs: number | null) {
    const followUp =
      retryInMs === null
        ? 'The operator does not reconnect by itself.'
        : `The operator connects again in ${Math.round(retryInMs)} ms.`;
    super(
      `The session of cluster ${clusterId} ended with ${statusName(status)}: ${sentence(details)} ` +
        `The shard keeps the cluster's demand and machines. ${followUp}`,
    );
    this.status = status;
    this.retryInMs = retryInMs;
  }
}

/** The shard refuses this operator: another attempt alone will not change that. */
export class SessionRefusedError extends ShardError {
  readonly code = 'session_refused';
  readonly next = 'refuse-to-start';
  readonly status: number;
  /** Null if the operator has given up: the shard refused its first session. */
  readonly retryInMs: number | null;

  constructor(clusterId: string, status: number, details: string, retryInMs: number | null) {
    const followUp =
      retryInMs === null
        ? 'The operator has closed.'
        : `The operator tries again in ${Math.round(retryInMs)} ms, with the TLS files that are there then.`;
    super(
      `The shard refused the session of cluster ${clusterId} with ${statusName(status)}: ${sentence(details)} ` +
        `${followUp} ${remedyOf(status)}`,
    );
    this.status = status;
    this.retryInMs = retryInMs;
  }
}

/** V2: the shard does not ack a roll-up that it rejects, and the protocol has no frame that would say why. */
export class RollupUnacknowledgedError extends ShardError {
  readonly code = 'rollup_unacknowledged';
  readonly next = 'retry-later';

  constructor(clusterId: string, rowCount: number, waitedMs: number) {
    super(
      `The shard did not ack a roll-up of cluster ${clusterId} with ${rowCount} rows within ${waitedMs} ms. ` +
        'It rejected the roll-up, or it is too busy to read it; the demand that it accepted before stays. ' +
        'The operator sends the newest needs again. If this repeats, `flotilla tenants` and the log of the shard say why.',
    );
  }
}

/** A handler of the operator's author threw, or its promise was rejected. `cause` is what it threw. */
export class HandlerFailedError extends ShardError {
  readonly code = 'handler_failed';
  readonly next = 'retry-later';
  /** The name of the option, such as `onNode`. */
  readonly handler: string;

  constructor(handler: string, what: string, cause: unknown, followUp: string) {
    super(`The handler ${handler} failed for ${what}: ${sentence(textOf(cause))} ${followUp}`);
    this.handler = handler;
    this.cause = cause;
  }
}

export class MalformedShardFrameError extends ShardError {
  readonly code = 'malformed_shard_frame';
  readonly next = 'reject-input';

  constructor(clusterId: string) {
    super(
      `The shard sent cluster ${clusterId} a frame that is no ShardMessage. The operator ignored it. ` +
        'If this repeats, check that the address is that of a shard and not of a proxy.',
    );
  }
}

export class OperatorClosedError extends ShardError {
  readonly code = 'operator_closed';
  readonly next = 'stop';

  constructor(clusterId: string, what: string) {
    super(`The operator of cluster ${clusterId} was closed: ${what}. Create another operator to go on.`);
  }
}

/** The text of what a handler threw. */
export function textOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

function statusName(status: number): string {
  return Status[status] ?? `status ${status}`;
}

function sentence(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '') return 'no reason was given.';
  return /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}

function remedyOf(status: number): string {
  if (status === Status.PERMISSION_DENIED)
    return 'Use a certificate whose only bigfleet:// URI is bigfleet://cluster/ and the id of this cluster.';
  if (status === Status.UNAUTHENTICATED)
    return 'Use a certificate that has not expired, that the CA of the shard signed and that the shard does not deny.';
  if (status === Status.UNIMPLEMENTED) return 'Check that the address is that of a shard.';
  return 'Correct the options of the operator.';
}
