/**
 * Whether a record may become a row. The rules are those of machine/machine.ts, asked once for every
 * combination of state and parts when this module loads, so that a row is checked by one load; the sentence
 * that explains a refusal is made only for records that are refused.
 */
import {
  findInvalid,
  InvalidMachineError,
  type InvalidReason,
  type MachineFacts,
} from '../../machine/machine.ts';
import { isMachineState, STATE_COUNT } from '../../machine/state.ts';
import { ENTRIES_PER_MACHINE_MAX } from './entry-list.ts';
import { RowFault } from './machine-reader.ts';

/** By state × 4 + host × 2 + cluster: 1 = allowed. last_error is no part: a Failed record gets one. */
const ALLOWED = new Uint8Array(4 * STATE_COUNT);
for (let state = 0; state < STATE_COUNT; state++) {
  for (let parts = 0; parts < 4; parts++) {
    const facts = {
      state,
      hasHost: (parts & 2) !== 0,
      hasCluster: (parts & 1) !== 0,
      hasLastError: true,
      pricePerHourUsd: 0,
      interruptionProbability: 0,
    };
    if (findInvalid('any', facts) === null) ALLOWED[4 * state + parts] = 1;
  }
}

export function isAllowed(
  state: number,
  hasHost: boolean,
  hasCluster: boolean,
  pricePerHourUsd: number,
  interruptionProbability: number,
): boolean {
  return (
    state < STATE_COUNT &&
    ALLOWED[4 * state + (hasHost ? 2 : 0) + (hasCluster ? 1 : 0)] === 1 &&
    pricePerHourUsd >= 0 &&
    pricePerHourUsd < Number.POSITIVE_INFINITY &&
    interruptionProbability >= 0 &&
    interruptionProbability <= 1
  );
}

/** What a refused record with an id is counted under: the same as `refusalOf` says, without making an error. */
export function reasonOf(
  state: number,
  pricePerHourUsd: number,
  interruptionProbability: number,
): InvalidReason {
  if (!isMachineState(state)) return 'structural';
  if (!(pricePerHourUsd >= 0 && pricePerHourUsd < Number.POSITIVE_INFINITY)) return 'price';
  return interruptionProbability >= 0 && interruptionProbability <= 1
    ? 'structural'
    : 'interruption_probability';
}

const FAULT_TEXTS: Readonly<Record<RowFault, string>> = {
  [RowFault.None]: '',
  [RowFault.NotText]: 'a string is not UTF-8',
  [RowFault.Quantity]: 'a resource is not a quantity ≥ 0',
  [RowFault.TooManyEntries]: `it has more than ${ENTRIES_PER_MACHINE_MAX} labels and resources`,
};

/** Why a record is refused that `isAllowed`, its fault or the id asked for speaks against. */
export function refusalOf(
  id: string,
  facts: Omit<MachineFacts, 'hasLastError'>,
  fault: RowFault,
  askedId: string | null,
): InvalidMachineError {
  const invalid = findInvalid(id, { ...facts, hasLastError: true });
  if (invalid !== null) return invalid;
  if (fault !== RowFault.None) return new InvalidMachineError(id, 'structural', FAULT_TEXTS[fault]);
  return new InvalidMachineError(id, 'structural', `the shard asked for ${JSON.stringify(askedId)}`);
}
