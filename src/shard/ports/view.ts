/**
 * Read models of the shard: plain data, made on request from the live tables and the last cycle's verdicts.
 */
import type { ResourceAmounts } from '../../machine/machine.ts';
import type { Requirement, Spread } from '../../needs/requirements.ts';
import type { ReplicaView } from './replica.ts';

export interface ShardStatus {
  readonly shardId: string;
  readonly epoch: number;
  readonly startedAtMs: number;
  readonly cycle: number;
  readonly lastCycleAtMs: number;
  readonly isReady: boolean;
  /** Why it is not ready; ''. */
  readonly notReadyReason: string;
  readonly isFenced: boolean;
  /** F3: the replica that it runs in; null if the shard has no other replicas. */
  readonly replica: ReplicaView | null;
  readonly machines: number;
  readonly needs: number;
  readonly clusters: number;
}

export interface NeedView {
  readonly clusterId: string;
  readonly fingerprint: string;
  readonly group: string;
  readonly priority: number;
  readonly interruptionPenalty: number;
  readonly reclamationPenalty: number;
  readonly requirements: readonly Requirement[];
  readonly spread: readonly Spread[];
  readonly aggregate: ResourceAmounts;
  readonly minUnit: ResourceAmounts;
  readonly arrivalMs: number;
  readonly satisfied: boolean;
  readonly deficit: ResourceAmounts;
  /** Of a fold, the first member has all of its machines. */
  readonly claimed: number;
  /** A1: machines of the fold that serves it together with similar needs; 0 without a fold. */
  readonly shared?: number;
  readonly bootstraps: number;
  readonly provisions: number;
  readonly domain: string;
  readonly satisfiable: boolean;
  readonly parked: boolean;
  readonly parkedCycles: number;
  readonly cyclesUnmet: number;
  /** The protocol's UnmetReason. */
  readonly reason: number;
  /** T8, E7: the limit of its cluster or the ceiling of the fleet that keeps machines from it; '' if none does. */
  readonly limitedBy: string;
  /** What an unmet need found; only `inspectNeeds` gives it. */
  readonly context?: NeedContext;
}

export interface NeedContext {
  /** Null: the reader asked for too many different needs. */
  readonly supply: MatchingSupply | null;
  /** Machines that drain for the need, and their capacity. */
  readonly victims: number;
  readonly freed: ResourceAmounts;
  /** Of a gang: the domains that cover most of it, best first, as a share of the dimension that is covered least. */
  readonly domains: readonly { readonly domain: string; readonly covered: number }[];
}

/** Machines that match the requirements and the min unit, in whichever cluster they are. */
export interface MatchingSupply {
  readonly idle: number;
  readonly configured: number;
  readonly speculative: number;
  /** Counting stopped early. */
  readonly isCapped: boolean;
}

export interface NeedsQuery {
  /** '' or left out: all. */
  readonly clusterId?: string;
  /** '' or left out: every group, and every profile. */
  readonly group?: string;
  readonly fingerprint?: string;
  readonly unmetOnly?: boolean;
  /** Only gangs; `spanning`: only those that no single machine can hold, so that no fold serves them (A1). */
  readonly gangs?: 'all' | 'spanning';
  /** Only needs whose name, `CLUSTER/GROUP`, begins with this text; '' or left out: all. */
  readonly namePrefix?: string;
  /** 0 or left out: no limit. */
  readonly limit?: number;
}

export interface GangCounts {
  readonly total: number;
  readonly unmet: number;
  /** Those that no single machine can hold. */
  readonly spanning: number;
}

export interface NeedsHeader {
  readonly cycle: number;
  readonly computedAtMs: number;
  /** Needs of the given cluster, or of all; before any other filter and before the limit. */
  readonly totalNeeds: number;
  /** Those that are not satisfied. */
  readonly unmetNeeds: number;
}

export interface NeedsPage extends NeedsHeader {
  readonly needs: readonly NeedView[];
  /** Where the next page begins; '' after the last one. */
  readonly next: string;
}

/** Needs with verdicts, by priority desc, arrival asc, cluster asc; made page by page. */
export interface NeedsReader {
  /** Settles when a cycle has read all demand accepted so far, so rows and verdicts always match. */
  inspectNeeds(query: NeedsQuery): Promise<{
    readonly header: NeedsHeader;
    readonly pages: AsyncIterable<readonly NeedView[]>;
  }>;
  /** One page after the cursor of the page before; '' is the first. Rejects with a ShardError if the cursor is invalid. */
  needsPage(query: NeedsQuery, after: string): Promise<NeedsPage>;
}

/** P5: what is still missing after preemption, summed by fingerprint; for the coordinator and metrics. */
export interface ShortfallView {
  readonly fingerprint: string;
  readonly requirements: readonly Requirement[];
  readonly deficit: ResourceAmounts;
  readonly priority: number;
  readonly ageCycles: number;
  readonly interruptionPenalty: number;
}

/** The contents of a report to the coordinator. */
export interface ReportFacts {
  readonly shardId: string;
  readonly epoch: number;
  readonly cycle: number;
  readonly totalMachines: number;
  /** Idle and Speculative. */
  readonly freeMachines: number;
  readonly perInstanceType: Readonly<Record<string, number>>;
  readonly perZone: Readonly<Record<string, number>>;
  /** The 100 with the highest priority. */
  readonly shortfalls: readonly ShortfallView[];
}
