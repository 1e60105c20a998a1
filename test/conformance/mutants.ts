/** Providers that break the contract in one way each, and the check that must fail. */
import type { Mutant } from './mutants/bend.ts';
import { ECHO_MUTANTS } from './mutants/echo.ts';
import { ERROR_MUTANTS } from './mutants/errors.ts';
import { CONCURRENCY_MUTANTS, FENCING_MUTANTS } from './mutants/fencing.ts';
import { IDEMPOTENCY_MUTANTS, LIFECYCLE_MUTANTS } from './mutants/lifecycle.ts';
import { CURSOR_MUTANTS, LISTING_MUTANTS, POPULATION_MUTANTS } from './mutants/listing.ts';
import { SHAPE_MUTANTS } from './mutants/shape.ts';

export const MUTANTS: readonly Mutant[] = [
  ...LISTING_MUTANTS,
  ...LIFECYCLE_MUTANTS,
  ...IDEMPOTENCY_MUTANTS,
  ...FENCING_MUTANTS,
  ...ECHO_MUTANTS,
  ...ERROR_MUTANTS,
  ...CURSOR_MUTANTS,
  ...CONCURRENCY_MUTANTS,
  ...SHAPE_MUTANTS,
  ...POPULATION_MUTANTS,
];
