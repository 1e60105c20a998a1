/** Errors of the operators' edge, each with what happens next. */
import { ShardError } from '../base/errors.ts';

/** Bytes that are not protobuf, or not the expected message. */
export class MalformedFrameError extends ShardError {
  readonly code = 'malformed_frame';
  readonly next = 'reject-input';

  constructor(offset: number, what: string) {
    super(
      `A frame cannot be read: at byte ${offset} there is ${what}. ` +
        'The shard refuses the frame and keeps the demand it accepted before.',
    );
  }
}

export class CannotListenError extends ShardError {
  readonly code = 'cannot_listen';
  readonly next = 'refuse-to-start';

  constructor(address: string, why: string) {
    super(
      `The shard cannot listen for operators on ${address}: ${why}. Choose another address with --listen.`,
    );
  }
}
