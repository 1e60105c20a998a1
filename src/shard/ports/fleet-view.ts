/**
 * Read models of machines and clusters: sums over the fleet, pages of machines, one machine in full. They are made on
 * request; a fleet of half a million is never copied for them.
 */
import type { CapacityType } from '../../machine/capacity-type.ts';
import type { Machine } from '../../machine/machine.ts';
import type { MachineState } from '../../machine/state.ts';
import type { ActionName } from './observer.ts';

/** Counts by state number, 1 … 8; index 0 is not used. */
export type StateCounts = readonly number[];

export interface CountedName {
  readonly name: string;
  readonly machines: StateCounts;
}

export interface FleetSummary {
  readonly atMs: number;
  readonly machines: StateCounts;
  /** By number of the capacity type. */
  readonly byCapacityType: readonly StateCounts[];
  /** Most machines first. */
  readonly byInstanceType: readonly CountedName[];
  readonly byZone: readonly CountedName[];
  /** In the order of their settings. */
  readonly byProvider: readonly (CountedName & { readonly usd: number })[];
  readonly cost: FleetCost;
}

/** Dollars per hour of machines that have a host: an offer costs nothing. */
export interface FleetCost {
  readonly totalUsd: number;
  /** By state number. */
  readonly byStateUsd: readonly number[];
  /** By number of the capacity type. */
  readonly byCapacityTypeUsd: readonly number[];
  /** By number of the capacity type, of Idle machines. */
  readonly idleByCapacityTypeUsd: readonly number[];
  /** Machines with a cluster, the most expensive cluster first. */
  readonly byCluster: readonly ClusterCost[];
}

export interface ClusterCost {
  readonly clusterId: string;
  readonly machines: number;
  readonly usd: number;
}

export interface MachinesQuery {
  readonly state?: MachineState;
  /** '' or left out: all. The same holds for the next four. */
  readonly clusterId?: string;
  readonly instanceType?: string;
  readonly zone?: string;
  readonly provider?: string;
  readonly idPrefix?: string;
  readonly capacityType?: CapacityType;
  /** X11: stuck in a transitional state. */
  readonly stuckOnly?: boolean;
  /** X12: in back-off after a failure. */
  readonly backoffOnly?: boolean;
  readonly limit?: number;
}

export interface MachineLine {
  readonly id: string;
  readonly state: MachineState;
  readonly forMs: number;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
  readonly provider: string;
  readonly pricePerHourUsd: number;
  readonly clusterId: string;
  readonly priority: number;
  /** The action enqueued or running for it; '' if there is none. */
  readonly action: ActionName | '';
  readonly isStuck: boolean;
  readonly isInBackoff: boolean;
  /** H5, H6. */
  readonly order: 'leaving' | 'cordoned' | 'releasing' | '';
  readonly lastError: string;
}

export interface MachinesPage {
  readonly atMs: number;
  /** By id, bytewise. */
  readonly machines: readonly MachineLine[];
  /** Machines that match the query, over all pages. */
  readonly matching: number;
  readonly total: number;
  /** Where the next page begins; '' after the last one. */
  readonly next: string;
}

export interface BackoffView {
  readonly untilMs: number;
  /** In a row, so far. */
  readonly failures: number;
  /** The last failure in one line. */
  readonly text: string;
}

/** X5, X14: a need whose bootstraps failed. */
export interface NeedBackoffView extends BackoffView {
  /** The one machine that is tried now; '' or left out: none. */
  readonly probe?: string;
  /** The cluster has spent its burn budget: what it burned in the last hour, what it may burn, and when the oldest is an hour old. */
  readonly spent?: { readonly burned: number; readonly limit: number; readonly untilMs: number } | null;
}

/** An offering in back-off, because creates in it failed one after the other. */
export interface OfferingBackoffView {
  readonly provider: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
  readonly sinceMs: number;
  readonly untilMs: number;
  /** Creates that failed in a row. */
  readonly failures: number;
  /** The last failure in one line; ''. */
  readonly text: string;
}

/** An action between enqueueing and settlement. */
export interface ActionView {
  readonly kind: ActionName;
  readonly machineId: string;
  readonly step: 'queued' | 'bootstrap_blob' | 'provider_call';
  readonly sinceMs: number;
}

export interface MachineView extends Machine {
  readonly provider: string;
  readonly stateSinceMs: number;
  readonly forMs: number;
  readonly isStuck: boolean;
  /** T10: other providers that claim it; empty if it is not in dispute. */
  readonly claimedBy: readonly string[];
  readonly backoff: BackoffView | null;
  readonly offeringBackoff: BackoffView | null;
  readonly action: ActionView | null;
}

/** The session of a cluster, present or past. */
export interface SessionView {
  readonly clusterId: string;
  readonly isConnected: boolean;
  /** When this session began, or when the last one ended; 0 if the cluster never connected. */
  readonly sinceMs: number;
  readonly peer: string;
  readonly outboxFrames: number;
  readonly lastRollupAtMs: number;
}

/** T2: a cluster for which a decision threw keeps its machines and gets no others. */
export interface SuspensionView {
  readonly reason: string;
  readonly sinceMs: number;
  readonly untilMs: number;
}

export interface ClusterView {
  readonly clusterId: string;
  readonly session: SessionView | null;
  /** N6: no machine of a cluster is reclaimed before its first roll-up. */
  readonly hasReported: boolean;
  readonly needs: number;
  /** T7: needs of the last roll-up that wait to be taken up. */
  readonly waitingNeeds: number;
  readonly unmetNeeds: number;
  /** N7: roll-ups that drop most rows are quarantined; how many in a row. */
  readonly heldRollups: number;
  readonly rejectedRollups: number;
  /** T2: null if it is not suspended. */
  readonly suspension: SuspensionView | null;
  readonly machines: StateCounts;
}

export interface ClustersPage {
  readonly atMs: number;
  readonly clusters: readonly ClusterView[];
  readonly matching: number;
  readonly total: number;
  readonly next: string;
}

/** Settings that limit execution and their present effect, for people who ask why nothing happens. */
export interface RailsView {
  readonly isPaused: boolean;
  readonly isDryRun: boolean;
  readonly isFenced: boolean;
  /** C2: why no action is emitted, such as a missing first listing; ''. */
  readonly heldBack: string;
  /** R2: largest share of a cluster reclaimed per cycle; 0 = no limit. */
  readonly reclaimFraction: number;
  /** T9: largest share of a cluster preempted per cycle interval; 0 = no limit. */
  readonly preemptionFraction: number;
  /** C3: actions per cycle; 0 = no limit. */
  readonly actionsPerCycleMax: number;
  readonly cycleIntervalMs: number;
  readonly holdOnDemandMs: number;
  readonly holdSpotMs: number;
  readonly stuckAfterMs: number;
  readonly concurrency: number;
  readonly queueMax: number;
}
