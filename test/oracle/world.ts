/**
 * The oracle's world: everything a decision may depend on, as plain objects. The decision engine keeps
 * columns, indexes and yesterday's claims; the oracle has none of that, so that when both agree over
 * thousands of random histories it is the rules that agree and not two copies of one idea.
 *
 * Quantities are integers already, in the units of the inventory (cpu: milli, memory and storage: KiB,
 * anything else: milli). A dimension that a record lacks is 0.
 */
import type { CapacityType } from '../../src/machine/capacity-type.ts';
import type { MachineState } from '../../src/machine/state.ts';

/** Numbers are the protocol's. */
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

export type IntentKind = 'none' | 'bootstrap' | 'provision' | 'reclaim' | 'preempt' | 'delete';

export interface WorldMachine {
  id: string;
  state: MachineState;
  /** X1: an enqueued action. Counts as Creating (assigned), Draining or Deleting. */
  intent: IntentKind;
  instanceType: string;
  zone: string;
  capacityType: CapacityType;
  price: number;
  probability: number;
  capacity: Amounts;
  labels: Record<string, string>;
  /** For Creating, Configuring, Configured, Draining and enqueued ones; a bound machine always has `assignment.cluster`. */
  assignment: Assignment | null;
  /** X11. */
  stuck: boolean;
  /** X12: the machine or its offering. */
  backoff: boolean;
  stateSinceMs: number;
  /** P6: preempted for this need. */
  drainFor: { cluster: string; fingerprint: string; group: string } | null;
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
  /** X5. */
  backoff: boolean;
}

export interface WorldCluster {
  id: string;
  /** A9. */
  hasSession: boolean;
  /** N6. */
  reported: boolean;
  /** Merged by N3 already: (fingerprint, group) is unique. In any order. */
  needs: WorldNeed[];
}

export interface World {
  nowMs: number;
  cycle: number;
  /** C1: a woken cycle advances no count and emits no Reclaim. */
  ordinary: boolean;
  machines: WorldMachine[];
  clusters: WorldCluster[];
  /** A7: counts by `needKey`, as before this cycle; only counts above 0. */
  parking: Map<string, number>;
  /** A8: cycles unmet by `needKey`, as before this cycle; only counts above 0. */
  unmet: Map<string, number>;
  holdOnDemandMs: number;
  holdSpotMs: number;
}

export interface OracleAction {
  kind: 'Bootstrap' | 'Provision' | 'Preempt' | 'Reclaim' | 'Delete';
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
}

export interface OracleResult {
  /** In R4's order. */
  actions: OracleAction[];
  /** Machine id → key of the need that claims it after phase 1. */
  claims: Map<string, string>;
  /** One for each original need, in order N4. */
  verdicts: OracleVerdict[];
  parking: Map<string, number>;
  unmet: Map<string, number>;
  /** What is missing after phase 2, summed by fingerprint; priority desc, then fingerprint. */
  shortfalls: { fingerprint: string; deficit: Amounts; priority: number }[];
}

export function needKey(cluster: string, group: string, fingerprint: string): string {
  return `${cluster}\n${group}\n${fingerprint}`;
}
