/** The four lifecycle calls: required state, transitional state, terminal state. */
import { MachineState } from '../machine/state.ts';
import type { MutatingMethod } from './client.ts';

const S = MachineState;

export interface Steps {
  readonly from: MachineState;
  readonly through: MachineState;
  readonly to: MachineState;
}

export const STEPS: Readonly<Record<MutatingMethod, Steps>> = {
  Create: { from: S.Speculative, through: S.Creating, to: S.Idle },
  Configure: { from: S.Idle, through: S.Configuring, to: S.Configured },
  Drain: { from: S.Configured, through: S.Draining, to: S.Idle },
  Delete: { from: S.Idle, through: S.Deleting, to: S.Speculative },
};

export const MUTATING_METHODS: readonly MutatingMethod[] = ['Create', 'Configure', 'Drain', 'Delete'];
