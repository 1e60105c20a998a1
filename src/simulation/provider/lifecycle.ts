/** The four mutating calls: required state, transitional state, terminal state. */
import { MachineState } from '../../machine/state.ts';

const S = MachineState;

export const OPERATION_NAMES = ['create', 'configure', 'drain', 'delete'] as const;
export type OperationName = (typeof OPERATION_NAMES)[number];

export interface OperationSteps {
  /** Stored in a column, where 0 means that the machine has had no operation. */
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

/** The operation that is in progress in this transitional state; null for a stable state. */
export function operationThrough(state: MachineState): OperationName | null {
  for (const name of OPERATION_NAMES) if (OPERATIONS[name].through === state) return name;
  return null;
}

/** Whether the machine exists: it runs, is paid for, and counts against a quota. */
export function isMaterial(state: MachineState): boolean {
  return state !== S.Speculative;
}
