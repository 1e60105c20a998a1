/** What can go wrong between an operator and the shard, each with what happens next. */
import { ShardError } from '../base/errors.ts';

/** Bytes that are no protobuf, or not the message that they should be. */
export class MalformedFrameError extends ShardError {
  readonly code = 'malformed_frame';
  readonly next = 'reject-input';

  constructor(offset: number, what: string) {
    super(
      `A frame cannot be read: at byte ${offset} there is ${what}. It was refused; what was accepted before stays.`,
    );
  }
}

export class CannotListenError extends ShardError {
  readonly code = 'cannot_listen';
  readonly next = 'refuse-to-start';

  constructor(address: string, why: string) {
    super(`Operators cannot be served on ${address}: ${why}. Choose another address with --listen.`);
  }
}
