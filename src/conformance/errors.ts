/** Reasons why a run cannot begin. */
import { ShardError } from '../base/errors.ts';

export class TargetUnreachableError extends ShardError {
  readonly code = 'conformance_target_unreachable';
  readonly next = 'refuse-to-start';

  constructor(target: string, why: string) {
    super(
      `No provider answers at ${target}: ${why}. The suite ran no check. Correct --target and try again.`,
    );
  }
}
