/** Errors of a whole answer. A single bad record is not an error: the decoder rejects that row. */
import { ShardError } from '../../base/errors.ts';

export class MalformedAnswerError extends ShardError {
  readonly code = 'malformed_answer';
  readonly next = 'reject-input';
  /** Bytes from the start of the answer. */
  readonly offset: number;
  /** Machines read before it; null outside of a listing. */
  readonly row: number | null;

  constructor(offset: number, row: number | null, what: string) {
    const where = row === null ? '' : ` in machine ${row} of the listing`;
    super(
      `The provider's answer is not a valid message: ${what} at byte ${offset}${where}. ` +
        'It was cut short or is not of this protocol. The shard discards the answer.',
    );
    this.offset = offset;
    this.row = row;
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
