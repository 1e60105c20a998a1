/**
 * What is enqueued for a machine (X1): one action at a time, which counts in every rule from the moment it is
 * enqueued. And the flags that other parts of the shard keep on a row.
 */
import { MachineState } from '../machine/state.ts';

export const Intent = {
  None: 0,
  Bootstrap: 1,
  Provision: 2,
  Reclaim: 3,
  Preempt: 4,
  Delete: 5,
} as const;
export type Intent = (typeof Intent)[keyof typeof Intent];

const S = MachineState;

/** X2: the state that a machine must be in for each action. */
export const INTENT_STATE: Readonly<Record<Exclude<Intent, 0>, MachineState>> = {
  [Intent.Bootstrap]: S.Idle,
  [Intent.Provision]: S.Speculative,
  [Intent.Reclaim]: S.Configured,
  [Intent.Preempt]: S.Configured,
  [Intent.Delete]: S.Idle,
};

/** Actions that bind: the machine carries its future cluster and assignment from the moment of enqueueing. */
export function isBinding(intent: number): boolean {
  return intent === Intent.Bootstrap || intent === Intent.Provision;
}

export const Flag = {
  /** X11: in a transitional state for too long; cleared when the state changes. */
  Stuck: 1,
  /** X12: not acted on again yet. */
  Backoff: 2,
  /** P6: the first listing after a start showed it Draining; cleared when the state changes. */
  FoundDraining: 4,
} as const;
export type Flag = (typeof Flag)[keyof typeof Flag];
