/**
 * The action enqueued for a machine, and the flags that other parts of the shard keep on a row. X1: a machine has one
 * action at a time, and the action counts in every rule from the moment it is enqueued.
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

/** X2: an action needs the machine in this state. */
export const INTENT_STATE: Readonly<Record<Exclude<Intent, 0>, MachineState>> = {
  [Intent.Bootstrap]: S.Idle,
  [Intent.Provision]: S.Speculative,
  [Intent.Reclaim]: S.Configured,
  [Intent.Preempt]: S.Configured,
  [Intent.Delete]: S.Idle,
};

/** Actions that bind: the machine carries its future cluster and assignment from the moment it is enqueued. */
export function isBinding(intent: number): boolean {
  return intent === Intent.Bootstrap || intent === Intent.Provision;
}

export const Flag = {
  /** X11: transitional for too long, so it satisfies no need; cleared when the state changes. */
  Stuck: 1,
  /** X12: in back-off after a failure; the shard does not act on it. */
  Backoff: 2,
  /** P6: a draining machine counts as draining credit. The first listing after a start showed this one Draining. */
  FoundDraining: 4,
  /** T10: two providers claim the machine; the shard does not act on it. */
  Disputed: 8,
  /** T10: bound without an assignment of any shard, and the shard is told to ignore such bindings. */
  Ignored: 16,
  /** X3: its Bootstrap or Provision waits for its turn. Nothing was sent, so the shard may still withdraw it. */
  Waiting: 32,
  /** H3: a pause keeps needs from acquiring it … */
  NotAcquired: 64,
  /** … and the shard from reclaiming it … */
  NotReclaimed: 128,
  /** … from taking it as a victim … */
  NotPreempted: 256,
  /** … and from releasing it. */
  NotReleased: 512,
  /**
   * H5: the machine is to go: no need is credited it, and the shard reclaims it once Configured machines cover its need without
   * it. A change of the state clears it.
   */
  Leaving: 1024,
  /** H5, beside Leaving: it goes without waiting for a replacement. */
  LeavingNow: 2048,
  /** H6: only the need that it is assigned to is credited it, and the shard neither binds, preempts nor releases it. */
  Cordoned: 4096,
  /** R3: a person gives the Idle machine back now. It counts as cordoned, and a change of the state ends it. */
  Releasing: 8192,
} as const;
export type Flag = (typeof Flag)[keyof typeof Flag];

/** Machines with one of these flags are credited, but the shard does not act on them. */
export const BARRED = Flag.Backoff | Flag.Disputed;

/** H6: no need but its own has the machine. H3, H6: what keeps needs from acquiring it, and the shard from taking it as a victim or releasing it. */
export const CORDONED = Flag.Cordoned | Flag.Releasing;
export const NOT_ACQUIRED = Flag.NotAcquired | CORDONED;
export const NOT_PREEMPTED = Flag.NotPreempted | CORDONED;
export const NOT_RELEASED = Flag.NotReleased | Flag.Cordoned;
