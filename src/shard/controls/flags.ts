/** Which flags a control puts on a machine in each state (H3, H5, H6): so the decision reads flags, and knows no controls. */
import { Flag } from '../../inventory/intent.ts';
import { ALL_STATES, MachineState } from '../../machine/state.ts';
import { type Control, type Pausable, STANDING_ORDERS, type Told } from '../ports/controls.ts';

const S = MachineState;

type ByState = Readonly<Partial<Record<MachineState, number>>>;

const CORDONED = inEveryState(Flag.Cordoned);

/** By what the control does and the machine's state: what the shard must not do with it, or must. */
const FLAGS_OF: Readonly<Record<Told, ByState>> = {
  create: { [S.Speculative]: Flag.NotAcquired },
  // A victim is drained to be bound; while that is paused, it would be drained for nothing.
  bind: {
    [S.Speculative]: Flag.NotAcquired,
    [S.Creating]: Flag.NotAcquired,
    [S.Idle]: Flag.NotAcquired,
    [S.Configured]: Flag.NotPreempted,
  },
  reclaim: { [S.Configured]: Flag.NotReclaimed },
  preempt: { [S.Configured]: Flag.NotPreempted },
  release: { [S.Idle]: Flag.NotReleased },
  cordon: CORDONED,
  // Cordoned besides: else a need binds the machine again as soon as it is Idle.
  drain: { ...CORDONED, [S.Configured]: Flag.Cordoned | Flag.Leaving },
  'drain-now': { ...CORDONED, [S.Configured]: Flag.Cordoned | Flag.Leaving | Flag.LeavingNow },
  retire: {},
};

/** All that `flagsOf` may set. */
export const CONTROLLED = [
  ...[Flag.NotAcquired, Flag.NotReclaimed, Flag.NotPreempted, Flag.NotReleased],
  ...[Flag.Cordoned, Flag.Leaving, Flag.LeavingNow],
] as const;

export const ACQUIRING: readonly Told[] = ['create', 'bind'];

/** Of a machine in this state that the control is about. */
export function flagsOf(control: Control, state: MachineState): number {
  let flags = 0;
  for (const one of control.pauses) if (isOfMachines(control, one)) flags |= FLAGS_OF[one][state] ?? 0;
  return flags;
}

/** Create and bind of a cluster are about the cluster, not about its machines. */
export function isOfMachines({ scope }: Control, told: Told): boolean {
  return scope.cluster === '' || !ACQUIRING.includes(told);
}

/** H6: no need but its own has the machine. */
export function cordons({ pauses }: Control): boolean {
  return pauses.some((one) => one === 'cordon' || one === 'drain' || one === 'drain-now');
}

export function isPause(told: Told): told is Pausable {
  return !STANDING_ORDERS.some((one) => one === told);
}

function inEveryState(flag: Flag): ByState {
  return Object.fromEntries(ALL_STATES.map((state) => [state, flag]));
}
