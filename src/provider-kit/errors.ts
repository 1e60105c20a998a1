/** Failures of a kit provider: those that a caller sees as a status code, and those that keep it from starting. */
import { ShardError } from '../base/errors.ts';
import type { RefusedCode } from './cloud.ts';

export type RefusalCode =
  | RefusedCode
  | 'invalid_argument'
  | 'not_found'
  | 'unimplemented'
  | 'failed_precondition'; // only the fence

/** The answer to a call that is not carried out. */
export class Refusal extends Error {
  readonly code: RefusalCode;

  constructor(code: RefusalCode, detail: string) {
    super(detail);
    this.code = code;
  }
}

export class InvalidOfferError extends ShardError {
  readonly code = 'invalid_offer';
  readonly next = 'reject-input';

  constructor(id: string, why: string) {
    super(
      `Offer ${JSON.stringify(id)} is not valid: ${why}. A shard would refuse the machine, so the provider took none of ` +
        'the offers. Correct this one.',
    );
  }
}

export class UnusableStateError extends ShardError {
  readonly code = 'unusable_state';
  readonly next = 'refuse-to-start';

  constructor(path: string, why: string) {
    super(
      `The provider cannot use its state in ${path}: ${why}. Without it a replaced shard could move machines again, so the ` +
        'provider did not start. Correct the cause, or choose another directory.',
    );
  }
}

export class CannotServeError extends ShardError {
  readonly code = 'cannot_listen';
  readonly next = 'refuse-to-start';

  constructor(address: string, why: string) {
    super(`The provider cannot listen on ${address}: ${why}. It did not start. Choose another address.`);
  }
}

export class OperationTimedOutError extends ShardError {
  readonly code = 'operation_timed_out';
  readonly next = 'reject-input';

  constructor(limitMs: number) {
    super(`it did not end within ${Math.round(limitMs / 1_000)} s`);
  }
}
