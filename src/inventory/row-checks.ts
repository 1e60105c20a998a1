/**
 * Checks a row before it is written: the state exists (M1), it allows the host and the cluster (M3), and the assignment is
 * valid and has a cluster (M5). The checks take scalars, so they need no object per machine. Callers pass a placeholder for
 * the id and repeat the check with the decoded id only if the answer is an error.
 */
import { findInvalid, InvalidMachineError } from '../machine/machine.ts';
import { isPenaltyBucket } from '../machine/penalty.ts';
import { ALL_STATES, canMove, MachineState, STATE_COUNT } from '../machine/state.ts';
import { type Binding, endsBinding, hasAssignment } from './binding.ts';

const INT32_MIN = -(2 ** 31);
const INT32_MAX = 2 ** 31 - 1;

/** Shared by all checks: they are synchronous. */
const facts = {
  state: 0,
  hasHost: false,
  hasCluster: false,
  hasLastError: false,
  pricePerHourUsd: 0,
  interruptionProbability: 0,
};

/**
 * Null if the row may be written. `mayBeAssigned`: the cluster is a local assignment, which no provider's record shows and
 * which M3 does not cover.
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

/** Whether a move is valid by the states alone. */
export const PlainMove = { No: 0, Always: 1, IfBound: 2 } as const;

/**
 * By from × STATE_COUNT + to: whether the move is legal and keeps every valid row valid, or every valid row with a cluster.
 * Nearly all moves are of this kind. Left out are moves that remove more than the binding (a host), or that depend on
 * another field (an error).
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

/** Whether M3 holds after the move for every row in `from` that has, or lacks, a cluster. */
function staysValid(from: MachineState, to: MachineState, hasCluster: boolean): boolean {
  // Before a machine is bound it may have a local assignment, which M3 does not cover.
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
