/**
 * A check is data (a stable id and the sentence of the contract that it tests) and one function that
 * talks to a provider. It ends in one of three ways: it returns (passed, with a note if there is
 * something to say), it throws CheckFailedError (the provider breaks the sentence), or it throws
 * CheckSkippedError (the provider may lawfully not offer what the check needs).
 *
 * A failure carries three texts, because the reader is the author of somebody else's provider: what the
 * contract expects, what came instead, and what to change.
 */
import { ShardError } from '../base/errors.ts';
import type { Rig } from './rig.ts';

export interface Check {
  /** `area/what`: never renamed, so that reports of two releases can be compared. */
  readonly id: string;
  /** The sentence of the contract, in our words. */
  readonly contract: string;
  /** May return a note for the report: what was looked at, how much of it. */
  run(rig: Rig): Promise<string | undefined>;
}

export interface Finding {
  readonly expected: string;
  readonly came: string;
  readonly change: string;
}

export class CheckFailedError extends ShardError {
  readonly code = 'conformance_check_failed';
  readonly next = 'reject-input';
  readonly finding: Finding;

  constructor(finding: Finding) {
    super(`Expected ${finding.expected}. Came: ${finding.came}. To change: ${finding.change}.`);
    this.finding = finding;
  }
}

export class CheckSkippedError extends ShardError {
  readonly code = 'conformance_check_skipped';
  readonly next = 'reject-input';
  readonly reason: string;

  constructor(reason: string) {
    super(`Skipped: ${reason}.`);
    this.reason = reason;
  }
}

/** Fails the check unless it holds. */
export function must(holds: boolean, finding: Finding): asserts holds {
  if (!holds) throw new CheckFailedError(finding);
}

export function skip(reason: string): never {
  throw new CheckSkippedError(reason);
}

export function areaOf(check: Check): string {
  return check.id.slice(0, check.id.indexOf('/'));
}
