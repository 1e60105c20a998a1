/**
 * What must hold of a row before it is written (M1, M3, M5), from scalars alone: no object per machine, and the id is
 * decoded only for a message: callers ask with a placeholder, and once more with the id if the answer is an error.
 */
import { findInvalid, InvalidMachineError } from '../machine/machine.ts';
import { isPenaltyBucket } from '../machine/penalty.ts';
import { type Binding, hasAssignment } from './binding.ts';

const INT32_MIN = -(2 ** 31);
const INT32_MAX = 2 ** 31 - 1;

/** One for all checks: they are synchronous. */
const facts = {
  state: 0,
  hasHost: false,
  hasCluster: false,
  hasLastError: false,
  pricePerHourUsd: 0,
  interruptionProbability: 0,
};

/**
 * Null if the row may be written. `mayBeStamped`: the cluster is a local stamp, which no provider's record shows and M3
 * does not look at.
 */
export function findInvalidRow(
  machineId: string,
  state: number,
  pricePerHourUsd: number,
  interruptionProbability: number,
  hasHost: boolean,
  binding: Binding,
  mayBeStamped: boolean,
  lastError: number,
): InvalidMachineError | null {
  facts.state = state;
  facts.hasHost = hasHost;
  facts.hasCluster = binding.cluster !== 0 && !mayBeStamped;
  facts.hasLastError = lastError !== 0;
  facts.pricePerHourUsd = pricePerHourUsd;
  facts.interruptionProbability = interruptionProbability;
  return findInvalid(machineId, facts) ?? findInvalidAssignment(machineId, binding);
}

/** The same for a move, where neither price nor assignment changes. */
export function findInvalidMove(
  machineId: string,
  state: number,
  hasHost: boolean,
  hasCluster: boolean,
  hasLastError: boolean,
): InvalidMachineError | null {
  facts.state = state;
  facts.hasHost = hasHost;
  facts.hasCluster = hasCluster;
  facts.hasLastError = hasLastError;
  facts.pricePerHourUsd = facts.interruptionProbability = 0;
  return findInvalid(machineId, facts);
}

export function findInvalidAssignment(machineId: string, binding: Binding): InvalidMachineError | null {
  const { priority, interruptionPenalty, reclamationPenalty } = binding;
  let what = '';
  if (binding.cluster === 0 && hasAssignment(binding)) what = 'an assignment without a cluster';
  else if (!(Number.isInteger(priority) && priority >= INT32_MIN && priority <= INT32_MAX)) {
    what = `priority ${priority} is not a 32-bit integer`;
  } else if (!isPenaltyBucket(interruptionPenalty)) what = `${interruptionPenalty} is not a penalty bucket`;
  else if (!isPenaltyBucket(reclamationPenalty)) what = `${reclamationPenalty} is not a penalty bucket`;
  return what === '' ? null : new InvalidMachineError(machineId, 'structural', what);
}
