/** What goes into a planner and what comes out of it, in names and quantities as text: no refs, no slots. */
import { parseSupply } from '../base/quantity.ts';
import type { Assignment, Machine, ResourceAmounts } from '../machine/machine.ts';
import type { Quantities } from '../needs/need.ts';

export type { Need, Quantities } from '../needs/need.ts';

// Spelled out, so that a user's compiler reads no declaration of the engine.
export type ActionName = 'Bootstrap' | 'Provision' | 'Reclaim' | 'Preempt' | 'Delete';
export type UnmetReasonName =
  | 'None'
  | 'PriorityStarved'
  | 'NoMatchingSupply'
  | 'TopologyUnsatisfiable'
  | 'PreemptionExhausted';

/** One observation of a machine. For a known machine, a field that is left out keeps its value. */
export type MachineRecord = Pick<
  Machine,
  'id' | 'state' | 'instanceType' | 'zone' | 'capacityType' | 'pricePerHourUsd' | 'capacity'
> &
  Partial<Machine>;

export interface PlannedAction {
  /** Bootstrap binds an Idle machine; Provision creates a machine and binds it; Reclaim and Preempt drain; Delete releases. */
  readonly kind: ActionName;
  readonly reason: string;
  readonly machineId: string;
  /** The cluster of the machine, now or after the action; '' for Delete. */
  readonly cluster: string;
  /** The cluster whose need the action serves, for Preempt the preemptor's; '' for Reclaim and Delete. */
  readonly forCluster: string;
  /** Identifies that need; put it on the machine when it binds. A long fingerprint or group is a digest here (T4). */
  readonly assignment: Assignment | null;
  readonly graceSeconds: number;
}

export interface NeedVerdict {
  readonly cluster: string;
  readonly group: string;
  readonly fingerprint: string;
  readonly satisfied: boolean;
  /** Amounts still missing after this decision. */
  readonly deficit: Quantities;
  /** Machines that count for the need, including the ones that this decision adds. */
  readonly claimed: number;
  readonly bootstraps: number;
  readonly provisions: number;
  /** The domain chosen for a gang: its values, joined by commas. */
  readonly domain: string;
  readonly cyclesUnmet: number;
  readonly reason: UnmetReasonName;
  /** The limit that keeps machines from the need, such as `max-machines`; '' if none does. */
  readonly limitedBy: string;
}

/** Limits on the clusters that an id or pattern names. What is left out is not limited. */
export interface ClusterLimit {
  /** A cluster id; `*` stands for any characters. The first entry that matches a cluster counts. */
  readonly cluster: string;
  readonly maxPriority?: number;
  readonly maxMachines?: number;
  readonly maxResources?: Quantities;
  readonly maxDollarsPerHour?: number;
  /** Of the machines of a provider, instance type, zone and capacity type; 0 to 1. */
  readonly maxOfferingShare?: number;
  /** Of the cluster's machines, the share that is not spot; 0 to 1. */
  readonly minNonSpotShare?: number;
}

export interface PlannerOptions {
  /** What clusters may have, as `tenants` in the shard's settings. No limits if left out. */
  readonly tenants?: readonly ClusterLimit[];
  /** 65,536 if left out. The planner reserves address space for all of them and uses memory for those it holds. */
  readonly machinesMax?: number;
  /** Whether the cluster's operator is connected. The engine binds no machine to a cluster without one. True if left out. */
  readonly hasSession?: (clusterId: string) => boolean;
  /** How long the engine keeps an Idle machine before it deletes it: 600,000 and 60,000 if left out. */
  readonly idleHoldOnDemandMs?: number;
  readonly idleHoldSpotMs?: number;
}

/** Quantities in the units of `Machine.capacity`: thousandths, or KiB for memory and storage. Rounds down. */
export function amountsOf(quantities: Quantities): ResourceAmounts {
  return Object.fromEntries(
    Object.entries(quantities).map(([name, text]) => [name, parseSupply(name, text)]),
  );
}
