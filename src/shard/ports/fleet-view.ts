/**
 * Machines and clusters as they may be looked at: sums over the fleet, pages of machines, one machine in full. Made when
 * somebody asks; a fleet of half a million is never copied for it.
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
  /** Machines that carry a cluster, the dearest cluster first. */
  readonly byCluster: readonly ClusterCost[];
}

export interface ClusterCost {
  readonly clusterId: string;
  readonly machines: number;
  readonly usd: number;
}

export interface MachinesQuery {
  readonly state?: MachineState;
  /** These are '' or left out for all. */
  readonly clusterId?: string;
  readonly instanceType?: string;
  readonly zone?: string;
  readonly provider?: string;
  readonly idPrefix?: string;
  readonly capacityType?: CapacityType;
  /** X11, X12: only those that are. */
  readonly stuckOnly?: boolean;
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
  /** What is enqueued or running for it; '' if nothing is. */
  readonly action: ActionName | '';
  readonly isStuck: boolean;
  readonly isInBackoff: boolean;
  readonly lastError: string;
}

export interface MachinesPage {
  readonly atMs: number;
  /** By id, bytewise. */
  readonly machines: readonly MachineLine[];
  /** All that the query fits, on every page. */
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

/** X12: a whole offering that is left alone, because creates in it failed one after the other. */
export interface OfferingBackoffView {
  readonly provider: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
  readonly sinceMs: number;
  readonly untilMs: number;
  /** Creates that failed in a row. */
  readonly failures: number;
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
  readonly backoff: BackoffView | null;
  readonly offeringBackoff: BackoffView | null;
  readonly action: ActionView | null;
}

/** A cluster with a live stream, and what is known of its demand. */
export interface SessionView {
  readonly clusterId: string;
  readonly isConnected: boolean;
  /** Of this session, or since when there is none; 0 if it never connected. */
  readonly sinceMs: number;
  readonly peer: string;
  readonly outboxFrames: number;
  readonly lastRollupAtMs: number;
}

export interface ClusterView {
  readonly clusterId: string;
  readonly session: SessionView | null;
  /** N6. */
  readonly hasReported: boolean;
  readonly needs: number;
  readonly unmetNeeds: number;
  /** N7, in a row. */
  readonly heldRollups: number;
  readonly rejectedRollups: number;
  readonly machines: StateCounts;
}

export interface ClustersPage {
  readonly atMs: number;
  readonly clusters: readonly ClusterView[];
  readonly matching: number;
  readonly total: number;
  readonly next: string;
}

/** What is set and what it does now, for people who ask why nothing happens. */
export interface RailsView {
  readonly isPaused: boolean;
  readonly isDryRun: boolean;
  readonly isFenced: boolean;
  /** C2: why no action is emitted; ''. */
  readonly heldBack: string;
  /** R2; 0 is off. */
  readonly reclaimFraction: number;
  /** C3; 0 is none. */
  readonly actionsPerCycleMax: number;
  readonly cycleIntervalMs: number;
  readonly holdOnDemandMs: number;
  readonly holdSpotMs: number;
  readonly stuckAfterMs: number;
  readonly concurrency: number;
  readonly queueMax: number;
}
