/** The four mutating calls as a table: where a machine must be, what it passes through, where it ends. */
import { MachineState } from '../../machine/state.ts';

const S = MachineState;

export const OPERATION_NAMES = ['create', 'configure', 'drain', 'delete'] as const;
export type OperationName = (typeof OPERATION_NAMES)[number];

export interface OperationSteps {
  /** Kept in a column; 0 there means that no operation was ever asked of the machine. */
  readonly number: number;
  readonly from: MachineState;
  readonly through: MachineState;
  readonly to: MachineState;
}

export const OPERATIONS: Readonly<Record<OperationName, OperationSteps>> = {
  create: { number: 1, from: S.Speculative, through: S.Creating, to: S.Idle },
  configure: { number: 2, from: S.Idle, through: S.Configuring, to: S.Configured },
  drain: { number: 3, from: S.Configured, through: S.Draining, to: S.Idle },
  delete: { number: 4, from: S.Idle, through: S.Deleting, to: S.Speculative },
};

/** The operation that holds a machine in a transitional state; null for a stable one. */
export function operationThrough(state: MachineState): OperationName | null {
  for (const name of OPERATION_NAMES) if (OPERATIONS[name].through === state) return name;
  return null;
}

/** Whether something stands behind the machine: it runs, is paid for, and counts against a quota. */
export function isMaterial(state: MachineState): boolean {
  return state !== S.Speculative;
}
