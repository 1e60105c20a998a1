/**
 * The lifecycle of a machine: its states and the one table of legal moves. Every write of a state asks
 * `canMove` first; an illegal move is an error value, never a corrupt row. State numbers are the
 * protocol's, so a state needs no translation between the wire, the columns and this table.
 */
export const MachineState = {
  Speculative: 1, // an offer: no machine exists yet and nothing is paid
  Creating: 2,
  Idle: 3, // exists, bound to no cluster
  Configuring: 4,
  Configured: 5, // a node of a cluster
  Draining: 6,
  Deleting: 7,
  Failed: 8,
} as const;
export type MachineState = (typeof MachineState)[keyof typeof MachineState];

/** States are 1…8; 0 marks an empty slot. Tables indexed by state have this length. */
export const STATE_COUNT = 9;

const S = MachineState;

export const STATE_NAMES: Readonly<Record<MachineState, string>> = {
  [S.Speculative]: 'Speculative',
  [S.Creating]: 'Creating',
  [S.Idle]: 'Idle',
  [S.Configuring]: 'Configuring',
  [S.Configured]: 'Configured',
  [S.Draining]: 'Draining',
  [S.Deleting]: 'Deleting',
  [S.Failed]: 'Failed',
};

export const ALL_STATES: readonly MachineState[] = [
  S.Speculative,
  S.Creating,
  S.Idle,
  S.Configuring,
  S.Configured,
  S.Draining,
  S.Deleting,
  S.Failed,
];

const NEXT_STATES: Readonly<Record<MachineState, readonly MachineState[]>> = {
  [S.Speculative]: [S.Creating],
  [S.Creating]: [S.Idle, S.Failed],
  [S.Idle]: [S.Configuring, S.Deleting],
  [S.Configuring]: [S.Configured, S.Failed, S.Idle], // Idle: rolled back before the provider was called
  [S.Configured]: [S.Draining],
  [S.Draining]: [S.Idle, S.Failed],
  [S.Deleting]: [S.Speculative, S.Failed],
  [S.Failed]: [], // left only by a provider's observation, which overrides this table
};

/** One bit per target state, so that the check in the hot path is a load and a shift. */
const NEXT_MASK = new Uint16Array(STATE_COUNT);
for (const from of ALL_STATES) for (const to of NEXT_STATES[from]) NEXT_MASK[from]! |= 1 << to;

export function canMove(from: MachineState, to: MachineState): boolean {
  return ((NEXT_MASK[from]! >> to) & 1) === 1;
}

export function isMachineState(value: number): value is MachineState {
  return Number.isInteger(value) && value >= S.Speculative && value <= S.Failed;
}

/** The provider has not finished an operation on the machine. */
export function isTransitional(state: MachineState): boolean {
  return state === S.Creating || state === S.Configuring || state === S.Draining || state === S.Deleting;
}

/** States in which a machine may belong to a cluster, whose operator then learns of its changes. */
export function canBeBound(state: MachineState): boolean {
  return state === S.Configuring || state === S.Configured || state === S.Draining || state === S.Failed;
}
