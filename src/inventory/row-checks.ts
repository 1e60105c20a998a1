/**
 * What must hold of a row before it is written (M1, M3, M5), from scalars alone: no object per machine, and the id is
 * decoded only for a message: callers ask with a placeholder, and once more with the id if the answer is an error.
 */
import { findInvalid, InvalidMachineError } from '../machine/machine.ts';
import { isPenaltyBucket } from '../machine/penalty.ts';
import { ALL_STATES, canMove, MachineState, STATE_COUNT } from '../machine/state.ts';
import { type Binding, endsBinding, hasAssignment } from './binding.ts';

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
 * Null if the row may be written. `mayBeStamped`: the cluster is a local assignment, which no provider's record shows and M3
 * does not look at.
 */
export function findInvalidRow(
  machineId: string,
  state: number,
  pricePerHourUsd: number,
  interruptionProbability: number,
  hasHost: boolean,
  binding: Binding,
  mayBeAssigned: boolean,
  lastError: number,
): InvalidMachineError | null {
  facts.state = state;
  facts.hasHost = hasHost;
  facts.hasCluster = binding.cluster !== 0 && !mayBeAssigned;
  facts.hasLastError = lastError !== 0;
  facts.pricePerHourUsd = pricePerHourUsd;
  facts.interruptionProbability = interruptionProbability;
  return findInvalid(machineId, facts) ?? findInvalidAssignment(machineId, binding);
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

/** Whether a move can be made without looking at more than the state. */
export const PlainMove = { No: 0, Always: 1, IfBound: 2 } as const;

/**
 * By from × STATE_COUNT + to: whether the move is legal and M3 holds after it for every row for which it held before, or
 * for every one with a cluster. These are the moves of a machine's ordinary life. Left out are those that take something
 * away besides the binding (a host), or that depend on something else (an error).
 */
export const PLAIN_MOVES: Uint8Array = new Uint8Array(STATE_COUNT * STATE_COUNT);
for (const from of ALL_STATES) {
  for (const to of ALL_STATES) PLAIN_MOVES[from * STATE_COUNT + to] = plainMove(from, to);
}

function plainMove(from: MachineState, to: MachineState): number {
  if (!canMove(from, to) || to === MachineState.Speculative || !staysValid(from, to, true))
    return PlainMove.No;
  return staysValid(from, to, false) ? PlainMove.Always : PlainMove.IfBound;
}

/** Whether M3 holds after the move for all rows of the first state that have, or lack, a cluster. */
function staysValid(from: MachineState, to: MachineState, hasCluster: boolean): boolean {
  // Before a machine is bound it may carry an assignment, which M3 does not count.
  const mayBeAssigned =
    from === MachineState.Speculative || from === MachineState.Creating || from === MachineState.Idle;
  for (const hasHost of [false, true]) {
    for (const hasLastError of [false, true]) {
      if (findInvalidMove(from, hasHost, hasCluster && !mayBeAssigned, hasLastError) !== null) continue;
      const staysBound = hasCluster && !endsBinding(from, to) && to !== MachineState.Creating;
      if (findInvalidMove(to, hasHost, staysBound, hasLastError) !== null) return false;
    }
  }
  return true;
}

function findInvalidMove(
  state: number,
  hasHost: boolean,
  hasCluster: boolean,
  hasLastError: boolean,
): InvalidMachineError | null {
  const [pricePerHourUsd, interruptionProbability] = [0, 0];
  const moved = { state, hasHost, hasCluster, hasLastError, pricePerHourUsd, interruptionProbability };
  return findInvalid('?', moved);
}
