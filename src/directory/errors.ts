/** Why a call to the directory failed. */
import { ShardError } from '../base/errors.ts';
import { boundedDetail } from '../base/outside-text.ts';

export class DirectoryUnavailableError extends ShardError {
  readonly code = 'directory_unavailable';
  readonly next = 'retry-next-cycle';
  /** The call was perhaps executed, now or later; only its answer is missing. */
  readonly mayHaveHappened: boolean;

  constructor(call: string, detail: string, mayHaveHappened: boolean) {
    super(
      `The directory did not answer ${call}: ${boundedDetail(detail)}. ` +
        `${mayHaveHappened ? 'It may have executed the call' : 'It did not execute the call'}; ` +
        'the shard reads before it decides, and tries again.',
    );
    this.mayHaveHappened = mayHaveHappened;
  }
}

/** The directory answered, and refused. */
export class DirectoryRefusedError extends ShardError {
  readonly code = 'directory_refused';
  readonly next = 'retry-next-cycle';

  constructor(call: string, detail: string) {
    super(
      `The directory refused ${call}: ${boundedDetail(detail)}. Nothing was changed. ` +
        'Check the rights of this client and the state of the directory.',
    );
  }
}

export class LeaseNotFoundError extends ShardError {
  readonly code = 'lease_not_found';
  readonly next = 'retry-next-cycle';

  constructor(leaseId: number) {
    super(
      `The directory has no lease ${leaseId}: it expired or was revoked, and its keys are gone. ` +
        'The replica begins a new session with a new lease.',
    );
  }
}

/** A limit of ours: what is asked for does not fit one request, or one answer does not fit the budget of memory. */
export class DirectoryLimitError extends ShardError {
  readonly code = 'directory_limit';
  readonly next = 'reject-input';

  constructor(what: string, size: number, sizeMax: number) {
    super(
      `${what} has ${size.toLocaleString('en-US')}, and the limit is ${sizeMax.toLocaleString('en-US')}. ` +
        'The shard did not use it. Divide it.',
    );
  }
}

export function isUnavailable(error: unknown): error is DirectoryUnavailableError {
  return error instanceof DirectoryUnavailableError;
}
