/**
 * Whether a record may become a row. The rules are those of machine/machine.ts. This module evaluates them once for every
 * combination of state and parts when it loads, so that checking a row is one table lookup; it makes the explanation
 * only for rejected records.
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

/** A fault, with what its explanation needs. */
export type FaultDetail =
  | { readonly fault: Exclude<RowFault, typeof RowFault.TooLong | typeof RowFault.Malformed> }
  | {
      readonly fault: typeof RowFault.TooLong;
      readonly what: string;
      /** Its first bytes. */
      readonly begins: string;
      readonly byteCount: number;
      readonly bytesMax: number;
    }
  | {
      readonly fault: typeof RowFault.Malformed;
      readonly what: string;
      /** In the listing, from 1. */
      readonly position: number;
    };

/** By state × 4 + host × 2 + cluster: 1 = allowed. Without last_error: a Failed record always gets one. */
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

/** The reason under which a rejected record with an id is counted: that of `refusalOf`, without making an error. */
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

const FAULT_TEXTS = {
  [RowFault.None]: '',
  [RowFault.NotText]: 'a string is not UTF-8',
  [RowFault.Quantity]: 'a resource is not a quantity ≥ 0',
  [RowFault.TooManyEntries]: `it has more than ${ENTRIES_PER_MACHINE_MAX} labels and resources`,
} as const;

function faultText(of: FaultDetail): string {
  switch (of.fault) {
    case RowFault.TooLong: {
      const begins = JSON.stringify(of.begins);
      return `${of.what} that begins with ${begins} has ${of.byteCount} bytes, and the limit is ${of.bytesMax}`;
    }
    case RowFault.Malformed:
      return `record ${of.position} of the listing is not a valid message, with ${of.what}`;
    default:
      return FAULT_TEXTS[of.fault];
  }
}

/** Explains why `isAllowed`, a fault or a wrong id rejects a record. */
export function refusalOf(
  id: string,
  facts: Omit<MachineFacts, 'hasLastError'>,
  detail: FaultDetail,
  askedId: string | null,
): InvalidMachineError {
  // Facts after the fault were not read, and a text that is too long says more than what follows from it.
  if (detail.fault === RowFault.Malformed || detail.fault === RowFault.TooLong) {
    return new InvalidMachineError(id, 'structural', faultText(detail));
  }
  const invalid = findInvalid(id, { ...facts, hasLastError: true });
  if (invalid !== null) return invalid;
  if (detail.fault !== RowFault.None) return new InvalidMachineError(id, 'structural', faultText(detail));
  return new InvalidMachineError(id, 'structural', `the shard asked for ${JSON.stringify(askedId)}`);
}
