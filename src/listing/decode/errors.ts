/** Errors of a whole answer. A single bad record is not one: the decoder rejects that row, even if its bytes are malformed. */
import { ShardError } from '../../base/errors.ts';

export class MalformedAnswerError extends ShardError {
  readonly code = 'malformed_answer';
  readonly next = 'reject-input';
  /** Bytes from the start of the answer. */
  readonly offset: number;

  constructor(offset: number, what: string) {
    super(
      `The provider's answer is not a valid message: ${what} at byte ${offset}. ` +
        'It was cut short or is not of this protocol. The shard discards the answer.',
    );
    this.offset = offset;
  }
}

/**
 * Bytes of one machine of a listing that are not a message, although the listing around it is intact. T5: the decoder
 * rejects that row. A reader throws one object again and again: a stack trace for each of 500,000 rows would take seconds.
 */
export class MalformedRecordError extends ShardError {
  readonly code = 'malformed_record';
  readonly next = 'reject-input';
  /** Bytes from the start of the answer. */
  offset = 0;
  what = '';

  constructor() {
    super('A record of the listing is not a valid message. The shard rejects the record.');
  }
}

export class AnswerTooLargeError extends ShardError {
  readonly code = 'answer_too_large';
  readonly next = 'reject-input';

  constructor(what: 'bytes' | 'machines' | 'deleted ids' | 'distinct strings', countMax: number) {
    super(
      `The provider's answer has more than ${countMax} ${what}, the maximum that fits the shard's memory. ` +
        'The shard discards the answer.',
    );
  }
}
