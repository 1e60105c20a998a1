/**
 * All checks, in the order in which they run: reads, then checks on SPECULATIVE machines, on IDLE machines,
 * on bound machines, and deletions last. The order only saves transitions. Each check borrows its own
 * machines, so it can also run alone.
 */
import type { Check } from './check.ts';
import { CLOSING_CHECKS } from './checks/closing.ts';
import { CONCURRENCY_CHECKS } from './checks/concurrency.ts';
import { CURSOR_CHECKS } from './checks/cursor.ts';
import { ECHO_CHECKS } from './checks/echo.ts';
import {
  BOUND_MISFIT_CHECKS,
  DELETING_MISFIT_CHECKS,
  FAILED_CHECKS,
  IDLE_MISFIT_CHECKS,
  SPECULATIVE_MISFIT_CHECKS,
  UNKNOWN_AND_EMPTY_CHECKS,
} from './checks/errors.ts';
import { FENCING_CHECKS } from './checks/fencing.ts';
import {
  FENCED_CONFIGURE_CHECK,
  FENCED_CREATE_CHECK,
  FENCED_DELETE_CHECK,
  FENCED_DRAIN_CHECK,
  FENCING_BYPASS_CHECKS,
  FENCING_UNKNOWN_CHECKS,
} from './checks/fencing-effects.ts';
import {
  ALL_TARGETS_DIFFER_CHECK,
  CONFIGURE_REPEAT_CHECK,
  CREATE_REPEAT_CHECK,
  DELETE_REPEAT_CHECK,
  DRAIN_REPEAT_CHECK,
  IDEMPOTENCY_CHECKS,
  TARGETS_DIFFER_CHECK,
} from './checks/idempotency.ts';
import {
  CONFIGURE_CHECK,
  CREATE_CHECK,
  DELETE_CHECK,
  DRAIN_CHECK,
  STABLE_END_CHECK,
} from './checks/lifecycle.ts';
import { LISTING_CHECKS } from './checks/listing.ts';

export const CHECKS: readonly Check[] = [
  ...LISTING_CHECKS,
  ...UNKNOWN_AND_EMPTY_CHECKS,
  ...FENCING_UNKNOWN_CHECKS,
  ...FAILED_CHECKS,
  ...SPECULATIVE_MISFIT_CHECKS,
  FENCED_CREATE_CHECK,
  CREATE_REPEAT_CHECK,
  CREATE_CHECK,
  ...IDLE_MISFIT_CHECKS,
  FENCED_CONFIGURE_CHECK,
  FENCED_DELETE_CHECK,
  CONFIGURE_REPEAT_CHECK,
  CONFIGURE_CHECK,
  ...FENCING_CHECKS,
  ...FENCING_BYPASS_CHECKS,
  FENCED_DRAIN_CHECK,
  STABLE_END_CHECK,
  DRAIN_REPEAT_CHECK,
  DRAIN_CHECK,
  ...ECHO_CHECKS,
  TARGETS_DIFFER_CHECK,
  ...IDEMPOTENCY_CHECKS,
  ...BOUND_MISFIT_CHECKS,
  ...CURSOR_CHECKS,
  ...CONCURRENCY_CHECKS,
  ...DELETING_MISFIT_CHECKS,
  DELETE_REPEAT_CHECK,
  DELETE_CHECK,
  ALL_TARGETS_DIFFER_CHECK,
];

/** These run after the machines were put back. */
export { CLOSING_CHECKS };
