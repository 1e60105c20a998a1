/** The four mutating calls: the state that they need, the one that they pass through, the one in which they end. */
import { MachineState } from '../machine/state.ts';

const S = MachineState;

export const OPERATION_NAMES = ['create', 'configure', 'drain', 'delete'] as const;
export type OperationName = (typeof OPERATION_NAMES)[number];

export interface Steps {
  readonly from: MachineState;
  readonly through: MachineState;
  readonly to: MachineState;
}

export const STEPS: Readonly<Record<OperationName, Steps>> = {
  create: { from: S.Speculative, through: S.Creating, to: S.Idle },
  configure: { from: S.Idle, through: S.Configuring, to: S.Configured },
  drain: { from: S.Configured, through: S.Draining, to: S.Idle },
  delete: { from: S.Idle, through: S.Deleting, to: S.Speculative },
};
