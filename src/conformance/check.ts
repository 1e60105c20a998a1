/**
 * A check is data (a stable id and the rule of the contract that it tests) and one function that calls a
 * provider. A check ends in one of three ways: it returns (passed, perhaps with a note), it throws
 * CheckFailedError (the provider breaks the rule), or it throws CheckSkippedError (the provider does not
 * offer what the check needs, and the contract allows that).
 *
 * The reader of a failure wrote the provider and does not know this code. So a failure carries three texts:
 * what the contract expects, what the provider did, and what to change.
 */
import { ShardError } from '../base/errors.ts';
import type { Rig } from './rig.ts';

export interface Check {
  /** `area/what`. An id never changes, so that reports of two releases can be compared. */
  readonly id: string;
  /** The rule of the contract, as one sentence. */
  readonly contract: string;
  /** May return a note for the report: what the check examined, and how much of it. */
  run(rig: Rig): Promise<string | undefined>;
}

/** The field names are part of the JSON report. */
export interface Finding {
  readonly expected: string;
  /** What the provider did. */
  readonly came: string;
  /** How to fix the provider, as an instruction. */
  readonly change: string;
}

export class CheckFailedError extends ShardError {
  readonly code = 'conformance_check_failed';
  readonly next = 'reject-input';
  readonly finding: Finding;

  constructor(finding: Finding) {
    super(`Expected: ${finding.expected}. Actual: ${finding.came}. Fix: ${finding.change}.`);
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

/** Fails the check unless `holds` is true. */
export function must(holds: boolean, finding: Finding): asserts holds {
  if (!holds) throw new CheckFailedError(finding);
}

export function skip(reason: string): never {
  throw new CheckSkippedError(reason);
}

export function areaOf(check: Check): string {
  return check.id.slice(0, check.id.indexOf('/'));
}
