/**
 * The oracle's world: everything that a decision may depend on, as plain objects. The decision engine keeps columns,
 * indexes and the claims of the last cycle; the oracle has none of these. So if both agree over thousands of random
 * histories, they agree on the rules and do not share an implementation error.
 *
 * Quantities are integers, in the units of the inventory (cpu: milli, memory and storage: KiB,
 * anything else: milli). A dimension that a record lacks is 0.
 */
import type { CapacityType } from '../../src/machine/capacity-type.ts';
import type { MachineState } from '../../src/machine/state.ts';

/** The numbers of the protocol. */
export const Operator = { Unspecified: 0, In: 1, NotIn: 2, Exists: 3, DoesNotExist: 4, Same: 5 } as const;
export type Operator = (typeof Operator)[keyof typeof Operator];

export const WhenUnsatisfiable = { Unspecified: 0, DoNotSchedule: 1, ScheduleAnyway: 2 } as const;
export type WhenUnsatisfiable = (typeof WhenUnsatisfiable)[keyof typeof WhenUnsatisfiable];

export const UnmetReason = {
  None: 0,
  PriorityStarved: 1,
  NoMatchingSupply: 2,
  TopologyUnsatisfiable: 3,
  PreemptionExhausted: 4,
} as const;
export type UnmetReason = (typeof UnmetReason)[keyof typeof UnmetReason];

export type Amounts = Record<string, number>;

export interface Requirement {
  key: string;
  operator: Operator;
  values: string[];
}

export interface Spread {
  key: string;
  maxSkew: number;
  whenUnsatisfiable: WhenUnsatisfiable;
}

export interface Assignment {
  cluster: string;
  /** '' = unknown. */
  fingerprint: string;
  group: string;
  priority: number;
  /** Penalty bucket. */
  interruptionPenalty: number;
  /** Penalty bucket. */
  reclamationPenalty: number;
}

export type Paused = 'acquire' | 'reclaim' | 'preempt' | 'release';

export type IntentKind = 'none' | 'bootstrap' | 'provision' | 'reclaim' | 'preempt' | 'delete';

export interface WorldMachine {
  id: string;
  state: MachineState;
  /** X1: an enqueued action counts as Creating (assigned), Draining or Deleting. */
  intent: IntentKind;
  instanceType: string;
  zone: string;
  capacityType: CapacityType;
  price: number;
  probability: number;
  capacity: Amounts;
  labels: Record<string, string>;
  /** Of Creating, Configuring, Configured, Draining and enqueued machines; a bound one always has `assignment.cluster`. */
  assignment: Assignment | null;
  /** X11: transitional for too long; credit and drains do not count it. */
  stuck: boolean;
  /** X12: the machine or its offering failed; the shard leaves it alone for a while. */
  backoff: boolean;
  /** H3: what a pause keeps the shard from doing with it; absent: nothing. */
  pauses?: readonly Paused[];
  /** H5: it is to go, once its need is covered without it, or now; counts while it is Configured. Absent: it stays. */
  leaving?: 'replaced' | 'now' | undefined;
  /** R3: a person gives it back now, if it is Idle; absent: no. */
  releasing?: boolean;
  /** H6; absent: false. */
  cordoned?: boolean;
  stateSinceMs: number;
  /** P6: the need that it was preempted for, and that counts it. */
  drainFor: { cluster: string; fingerprint: string; group: string } | null;
  /** X3: its Bootstrap or Provision waits for its turn. */
  waiting: boolean;
  /** P6: found Draining by the first listing after a start. */
  foundDraining: boolean;
}

export interface WorldNeed {
  requirements: Requirement[];
  spread: Spread[];
  priority: number;
  interruptionPenalty: number;
  reclamationPenalty: number;
  aggregate: Amounts;
  minUnit: Amounts;
  group: string;
  arrivalMs: number;
  /** X5: after a failed bootstrap the need gets no machine for a while. */
  backoff: boolean;
}

/** T8; an amount that is not limited is infinite. */
export interface WorldLimits {
  maxPriority: number;
  maxMachines: number;
  maxResources: Amounts;
  maxDollarsPerHour: number;
  maxOfferingShare: number;
  /** E8; 0: any. */
  minNonSpotShare: number;
}

/** '' = none. */
export type LimitName =
  | ''
  | 'max-machines'
  | 'max-resources'
  | 'max-dollars-per-hour'
  | 'max-offering-share'
  | 'min-non-spot-share'
  | CeilingName;
export type CeilingName = `ceilings.${'' | 'bare-metal-' | 'reserved-' | 'on-demand-' | 'spot-'}usd-per-hour`;

/** E7; what is not limited is infinite. */
export interface WorldCeilings {
  maxDollarsPerHour: number;
  /** By capacity type. */
  maxByCapacityType: number[];
}

export interface WorldCluster {
  id: string;
  /** A9: without a session the cluster gets credit only. */
  hasSession: boolean;
  /** N6: until it has reported, the shard reclaims nothing from it. */
  reported: boolean;
  /** T8; absent: none. */
  limits?: WorldLimits;
  /** H3: a pause of create or bind. */
  paused?: boolean;
  /** In any order. N3 merged equal rows already: (fingerprint, group) is unique. */
  needs: WorldNeed[];
}

export interface World {
  nowMs: number;
  cycle: number;
  /** C1: a woken cycle advances no count and emits no Reclaim. */
  ordinary: boolean;
  /** H4: a pause hides machines, so no count advances. */
  countsHeld?: boolean;
  machines: WorldMachine[];
  clusters: WorldCluster[];
  /** A7: parking counts by `needKey` before this cycle; only counts above 0. */
  parking: Map<string, number>;
  /** A8: cycles unmet by `needKey` before this cycle; only counts above 0. */
  unmet: Map<string, number>;
  holdOnDemandMs: number;
  holdSpotMs: number;
  /** E7; absent: none. */
  ceilings?: WorldCeilings;
  /** E1; absent: needs acquire by A3. */
  value?: { offerMargin: number };
}

export interface OracleAction {
  kind: 'Bootstrap' | 'Provision' | 'Preempt' | 'Reclaim' | 'Delete' | 'Withdraw';
  machine: string;
  /** Of the need; the machine's own for Reclaim and Preempt; '' for Delete. */
  cluster: string;
  /** Preempt: the preemptor's cluster; else ''. */
  forCluster: string;
  /** Of the need served or preempting; else ''. */
  fingerprint: string;
  group: string;
  reason: string;
  graceSeconds: number;
  /** P1: whether a need claims the victim (second tier); else false. */
  isClaimedVictim: boolean;
  /** T9: whether the victim is one of a gang's; else false. */
  isGangVictim: boolean;
}

export interface OracleVerdict {
  cluster: string;
  fingerprint: string;
  group: string;
  satisfied: boolean;
  /** Zeros are left out. */
  deficit: Amounts;
  claimed: number;
  bootstraps: number;
  provisions: number;
  domain: string;
  satisfiable: boolean;
  parked: boolean;
  cyclesUnmet: number;
  reason: UnmetReason;
  /** T8, E7: the limit that bars what it lacks. */
  limitedBy: LimitName;
}

export interface OracleResult {
  /** By phase (R4). */
  actions: OracleAction[];
  /** Machine id → key of the need that claims it after phase 1. */
  claims: Map<string, string>;
  /** One for each original need, in order N4. */
  verdicts: OracleVerdict[];
  parking: Map<string, number>;
  unmet: Map<string, number>;
  /** Demand still missing after phase 2, summed by fingerprint; priority desc, then fingerprint. */
  shortfalls: { fingerprint: string; deficit: Amounts; priority: number }[];
}

export function needKey(cluster: string, group: string, fingerprint: string): string {
  return `${cluster}\n${group}\n${fingerprint}`;
}
