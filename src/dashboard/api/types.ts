/**
 * The answers of /api/v1 as types, for the server that writes them and for the pages and commands that read them. Within
 * v1, fields are added but never renamed, removed or given another meaning (docs/api.md).
 *
 * Times are milliseconds since 1970 (`…AtMs`, `…UntilMs`) or durations (`…Ms`); money is dollars (`…Usd`); quantities are
 * Kubernetes quantities in canonical form. Empty texts mean "none".
 */

export type StateName =
  | 'Speculative'
  | 'Creating'
  | 'Idle'
  | 'Configuring'
  | 'Configured'
  | 'Draining'
  | 'Deleting'
  | 'Failed';
export type CapacityTypeName = 'unspecified' | 'bare-metal' | 'reserved' | 'on-demand' | 'spot';
export type OperatorName = 'Unspecified' | 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Same';
export type UnmetReasonName =
  | 'PRIORITY_STARVED'
  | 'NO_MATCHING_SUPPLY'
  | 'TOPOLOGY_UNSATISFIABLE'
  | 'PREEMPTION_EXHAUSTED';
export type ActionName = 'Bootstrap' | 'Provision' | 'Reclaim' | 'Preempt' | 'Delete';

export type ApiCounts = Readonly<Record<StateName, number>>;
export type ApiQuantities = Readonly<Record<string, string>>;
export type ApiKindCounts = Readonly<Record<ActionName, number>>;

export interface ApiError {
  readonly error: {
    readonly code: string;
    readonly what: string;
    readonly why: string;
    /** What to do next, or what happens next. */
    readonly next: string;
  };
}

export interface ApiStatus {
  readonly shardId: string;
  readonly epoch: number;
  readonly version: string;
  readonly nowMs: number;
  readonly startedAtMs: number;
  readonly cycle: number;
  readonly lastCycleAtMs: number;
  readonly isReady: boolean;
  readonly notReadyReason: string;
  /** null: the shard has no other replicas. */
  readonly replica: ApiReplica | null;
  readonly machines: number;
  readonly needs: number;
  readonly unmetNeeds: number;
  readonly clusters: number;
  readonly rails: ApiRails;
  readonly queue: ApiQueue;
}

export interface ApiReplica {
  readonly name: string;
  readonly role: 'standby' | 'active' | 'adrift';
  /** What the role means now, in one line. */
  readonly text: string;
  /** '' if no replica is active. */
  readonly activeReplica: string;
  readonly activeAddress: string;
  /** The running replicas of the shard, this one included, by name, as far as it knows them. */
  readonly replicas: readonly ApiReplicaLine[];
}

export interface ApiReplicaLine {
  readonly name: string;
  readonly role: 'standby' | 'active';
  readonly address: string;
  readonly isReady: boolean;
  readonly version: string;
  /** How old its inventory was when it last said so. */
  readonly lagMs: number;
}

export interface ApiRails {
  readonly killSwitch: boolean;
  readonly dryRun: boolean;
  readonly fenced: boolean;
  readonly heldBack: string;
  readonly reclaimFraction: number;
  readonly preemptionFraction: number;
  readonly actionsPerCycleMax: number;
  readonly cycleIntervalMs: number;
  readonly holdOnDemandMs: number;
  readonly holdSpotMs: number;
  readonly stuckAfterMs: number;
}

export interface ApiQueue {
  readonly queued: number;
  /** Decided bindings that wait for room in the queue. */
  readonly waiting: number;
  readonly queueMax: number;
  readonly inFlight: number;
  readonly concurrency: number;
  readonly readsWaiting: number;
  readonly readsInFlight: number;
  readonly parkedRows: number;
  readonly stuckMachines: number;
  readonly machinesInBackoff: number;
  readonly offeringsInBackoff: number;
  readonly needsInBackoff: number;
  readonly sharedFaults: number;
  readonly burnedMachines: number;
  readonly clustersOverBurnBudget: number;
  readonly suspendedClusters: number;
  /** H2: controls in force, by what they pause. */
  readonly pauses: Readonly<Record<string, number>>;
  /** S6: providers whose last listing lacks so many machines that the shard removes none. */
  readonly heldListings: readonly ApiHeldListing[];
}

export interface ApiHeldListing {
  readonly provider: string;
  readonly knownCount: number;
  readonly missingCount: number;
  readonly forMs: number;
  readonly leftMs: number;
  /** Who confirmed it; ''. */
  readonly confirmedBy: string;
}

export interface ApiBudgets {
  readonly nowMs: number;
  readonly total: number;
  readonly matching: number;
  readonly budgets: readonly ApiBudget[];
  /** Always '': all are on one page. */
  readonly next: string;
}

/** H9: a disruption budget and what it has used. */
export interface ApiBudget {
  readonly name: string;
  readonly place: string;
  /** Bound machines of the place. */
  readonly machines: number;
  /** null: no limit over time. */
  readonly windowMs: number | null;
  readonly used: number;
  readonly max: number | null;
  /** When the first machine that counts stops to count; null: none counts. */
  readonly givenBackAtMs: number | null;
  readonly draining: number;
  readonly drainingMax: number | null;
  readonly preempted: number;
  readonly open: boolean;
  readonly closesAtMs: number | null;
  readonly opensAtMs: number | null;
  /** Why the shard reclaims no further machine of the place now; ''. */
  readonly holds: 'closed' | 'used_up' | 'draining' | 'unread' | '';
}

export interface ApiOverview extends ApiStatus {
  readonly byState: ApiCounts;
  readonly byCapacityType: Readonly<Record<CapacityTypeName, ApiCounts>>;
  /** Most machines first, up to a limit; `instanceTypes` counts all. */
  readonly byInstanceType: readonly ApiNamedCounts[];
  readonly instanceTypes: number;
  readonly byZone: readonly ApiNamedCounts[];
  readonly zones: number;
  readonly cost: ApiCost;
  readonly shortfalls: readonly ApiShortfall[];
  /** Disruption budgets, up to a limit. */
  readonly budgets: readonly ApiBudget[];
  /** Offerings in back-off, up to a limit. */
  readonly offerings: readonly ApiOffering[];
}

export interface ApiNamedCounts {
  readonly name: string;
  readonly machines: number;
  readonly byState: ApiCounts;
}

/** Dollars per hour of machines that have a host. */
export interface ApiCost {
  readonly totalUsd: number;
  readonly idleUsd: number;
  readonly byState: ApiCounts;
  readonly byCapacityType: Readonly<Record<CapacityTypeName, number>>;
  readonly idleByCapacityType: Readonly<Record<CapacityTypeName, number>>;
  readonly byCluster: readonly {
    readonly clusterId: string;
    readonly machines: number;
    readonly usd: number;
  }[];
  /** Number of clusters with machines; `byCluster` holds the most expensive of them. */
  readonly clusters: number;
}

export interface ApiShortfall {
  readonly fingerprint: string;
  readonly requirements: readonly ApiRequirement[];
  readonly missing: ApiQuantities;
  readonly priority: number;
  readonly ageCycles: number;
  /** The same as a time: ordinary cycles × their interval. */
  readonly forMs: number;
}

export interface ApiRequirement {
  readonly key: string;
  readonly operator: OperatorName;
  readonly values: readonly string[];
}

export interface ApiSpread {
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly mode: 'Unspecified' | 'DoNotSchedule' | 'ScheduleAnyway';
}

export interface ApiPenalty {
  readonly bucket: number;
  /** Null: infinite. */
  readonly usd: number | null;
}

export interface ApiNeed {
  readonly clusterId: string;
  readonly group: string;
  readonly fingerprint: string;
  readonly priority: number;
  readonly interruptionPenalty: ApiPenalty;
  readonly reclamationPenalty: ApiPenalty;
  readonly requirements: readonly ApiRequirement[];
  readonly spread: readonly ApiSpread[];
  readonly aggregate: ApiQuantities;
  readonly minUnit: ApiQuantities;
  readonly arrivalAtMs: number;
  readonly satisfied: boolean;
  readonly missing: ApiQuantities;
  readonly claimed: number;
  /** Machines of the fold that serves it together with similar needs; 0 without a fold. */
  readonly shared: number;
  readonly bootstraps: number;
  readonly provisions: number;
  readonly domain: string;
  readonly satisfiable: boolean;
  readonly parked: boolean;
  readonly parkedCycles: number;
  readonly cyclesUnmet: number;
  /** The same as a time: ordinary cycles × their interval. */
  readonly unmetForMs: number;
  /** Null if the need is satisfied. */
  readonly reason: UnmetReasonName | null;
  /** The limit of its cluster that keeps machines from it; null if none does. */
  readonly limitedBy: string | null;
}

export interface ApiNeeds {
  readonly cycle: number;
  readonly computedAtMs: number;
  /** Needs of the cluster, or of all clusters, before other filters. */
  readonly total: number;
  readonly unmet: number;
  readonly needs: readonly ApiNeed[];
  /** The `after` of the next page; '' on the last page. */
  readonly next: string;
}

export interface ApiNeedExplanation {
  readonly need: ApiNeed;
  readonly sentences: readonly string[];
  /** The machines that serve it, by id, at most 64; of a folded gang those of its fold. */
  readonly machines: readonly ApiServingMachine[];
  /** The group of the fold that serves it; ''. */
  readonly foldedAs: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

export interface ApiServingMachine {
  readonly id: string;
  readonly state: StateName;
  /** Of a gang that several machines serve: the domain that they share; ''. */
  readonly domain: string;
}

export interface ApiNeedExplanations {
  readonly cycle: number;
  readonly explanations: readonly ApiNeedExplanation[];
}

export interface ApiMachine {
  readonly id: string;
  readonly state: StateName;
  readonly forMs: number;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityTypeName;
  readonly provider: string;
  readonly pricePerHourUsd: number;
  readonly clusterId: string;
  readonly priority: number;
  readonly action: ActionName | '';
  readonly stuck: boolean;
  readonly backoff: boolean;
  readonly order: 'leaving' | 'cordoned' | 'releasing' | '';
  readonly lastError: string;
}

export interface ApiMachines {
  readonly nowMs: number;
  readonly total: number;
  readonly matching: number;
  readonly machines: readonly ApiMachine[];
  readonly next: string;
}

/** An offering in back-off: the shard creates no machine of it for a while. */
export interface ApiOffering {
  readonly provider: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityTypeName;
  readonly sinceAtMs: number;
  readonly untilMs: number;
  readonly failures: number;
}

/** Any offering; `sinceAtMs`, `untilMs` and `failures` are 0 if it is not in back-off. */
export interface ApiOfferingLine extends ApiOffering {
  /** `PROVIDER/TYPE/ZONE/CAPACITY` */
  readonly name: string;
  readonly machines: number;
  readonly byState: ApiCounts;
  /** The lowest and the highest of its machines. */
  readonly pricePerHourUsd: number;
  readonly pricePerHourMaxUsd: number;
  /** The highest of its machines. */
  readonly interruptionProbability: number;
  /** Of its machines that have a host, now. */
  readonly usdPerHour: number;
  /** Why it is in back-off; ''. */
  readonly why: string;
}

export interface ApiOfferings {
  readonly nowMs: number;
  readonly total: number;
  readonly matching: number;
  /** In the order of their names. */
  readonly offerings: readonly ApiOfferingLine[];
  readonly next: string;
}

export interface ApiOfferingInFull {
  readonly nowMs: number;
  readonly offering: ApiOfferingLine;
  /** The same in words, the answer first. */
  readonly sentences: readonly string[];
}

export interface ApiProvider {
  readonly name: string;
  /** The shard acts before its first listing. */
  readonly optional: boolean;
  readonly machines: number;
  readonly byState: ApiCounts;
  readonly usdPerHour: number;
  readonly offerings: number;
  readonly offeringsInBackoff: number;
  /** A listing is under way. */
  readonly listing: boolean;
  /** When the last complete listing ended; 0 before the first. */
  readonly listedAtMs: number;
  readonly listedMachines: number;
  /** '' if the last listing succeeded. */
  readonly listingFailure: string;
  /** The last full listing lacked many known machines, and the shard removed none; null if it did not. */
  readonly heldListing: {
    readonly inARow: number;
    readonly known: number;
    readonly missing: number;
  } | null;
  readonly callsInFlight: number;
  readonly readsInFlight: number;
  readonly readsWaiting: number;
  /** Of the whole provider; null if there is none. */
  readonly backoff: {
    readonly sinceAtMs: number;
    readonly untilMs: number;
    readonly failures: number;
    readonly why: string;
  } | null;
  /** Rows that the shard refused since it started, and the last reason. */
  readonly refused: number;
  readonly lastReason: string;
  readonly lastRefusedAtMs: number;
  /** The first error if the shard refused every row of the last full listing; ''. */
  readonly refusedWholly: string;
  readonly foreignIds: number;
}

export interface ApiProviders {
  readonly nowMs: number;
  readonly total: number;
  readonly matching: number;
  readonly providers: readonly ApiProvider[];
  readonly next: string;
}

export interface ApiProviderInFull {
  readonly nowMs: number;
  readonly provider: ApiProvider;
  /** The same in words, the answer first. */
  readonly sentences: readonly string[];
}

export interface ApiBackoff {
  readonly untilMs: number;
  readonly failures: number;
  readonly text: string;
}

export interface ApiMachineInFull {
  readonly cycle: number;
  readonly machine: {
    readonly id: string;
    readonly state: StateName;
    readonly stateSinceAtMs: number;
    readonly forMs: number;
    readonly provider: string;
    readonly host: { readonly provider: string; readonly ref: string } | null;
    readonly instanceType: string;
    readonly zone: string;
    readonly capacityType: CapacityTypeName;
    readonly pricePerHourUsd: number;
    readonly interruptionProbability: number;
    readonly capacity: ApiQuantities;
    readonly labels: Readonly<Record<string, string>>;
    readonly clusterId: string;
    readonly assignment: {
      readonly fingerprint: string;
      readonly group: string;
      readonly priority: number;
      readonly interruptionPenalty: ApiPenalty;
      readonly reclamationPenalty: ApiPenalty;
    } | null;
    readonly lastError: string;
    readonly stuck: boolean;
    readonly backoff: ApiBackoff | null;
    readonly offeringBackoff: ApiBackoff | null;
    readonly action: { readonly kind: ActionName; readonly step: string; readonly sinceAtMs: number } | null;
  };
  readonly sentences: readonly string[];
  readonly facts: Readonly<Record<string, unknown>>;
}

export interface ApiAction {
  /** Grows by one with each action; starts at 1 when the process starts. */
  readonly sequence: number;
  readonly atMs: number;
  readonly cycle: number;
  readonly kind: ActionName;
  readonly machineId: string;
  readonly clusterId: string;
  readonly forClusterId: string;
  readonly fingerprint: string;
  readonly group: string;
  readonly reason: string;
  readonly graceSeconds: number;
  readonly outcome: string;
  readonly detail: string;
  readonly durationMs: number;
}

export interface ApiActions {
  /** When the process started; sequence numbers are comparable only if this is equal. */
  readonly startedAtMs: number;
  /** The newest sequence number; pass it as `since` to get later actions. */
  readonly last: number;
  /** The oldest sequence number that the shard still has. */
  readonly first: number;
  /** Oldest first. */
  readonly actions: readonly ApiAction[];
}

export interface ApiSession {
  readonly connected: boolean;
  readonly sinceAtMs: number;
  readonly peer: string;
  readonly outboxFrames: number;
  readonly lastRollupAtMs: number;
}

export interface ApiCluster {
  readonly clusterId: string;
  readonly session: ApiSession | null;
  readonly reported: boolean;
  readonly needs: number;
  /** Needs of the last roll-up that wait to be taken up. */
  readonly waitingNeeds: number;
  readonly unmetNeeds: number;
  readonly heldRollups: number;
  /** Why the shard suspended the cluster; '' if it did not. */
  readonly suspension: string;
  readonly rejectedRollups: number;
  readonly machines: number;
  readonly byState: ApiCounts;
  /** Of its machines, now. */
  readonly usdPerHour: number;
}

export type SpendingBy = 'offering' | 'cluster' | 'team' | 'type' | 'capacity';

export interface ApiSpendingPart {
  readonly name: string;
  /** Dollars in the span, and in the span before. */
  readonly usd: number;
  readonly usdBefore: number;
  readonly machineHours: number;
  readonly machineHoursBefore: number;
}

/** An offering's interruptions in the span: as many as it declares, and as many as clusters saw. */
export interface ApiInterruptions {
  readonly provider: string;
  readonly offering: string;
  /** Of its Configured machines, while it declared interruptions. */
  readonly machineHours: number;
  readonly declared: number;
  readonly observed: number;
}

export interface ApiSpending {
  readonly nowMs: number;
  readonly fromMs: number;
  readonly by: SpendingBy;
  /** '' = all. */
  readonly clusterId: string;
  readonly team: string;
  readonly days: number;
  /** Now. */
  readonly usdPerHour: number;
  readonly usd: number;
  readonly usdBefore: number;
  /** Over the hours of the span that have samples; null without any. */
  readonly usdPerDay: number | null;
  /** Of `usd`, for machines of no cluster. */
  readonly idleUsd: number;
  /** Hours of which there are samples. */
  readonly hours: number;
  readonly hoursBefore: number;
  /** Share of reserved and bare-metal machines that are Configured, and of all machines that are spot; null without any. */
  readonly commitmentUse: number | null;
  readonly spotShare: number | null;
  /** The largest change first. */
  readonly parts: readonly ApiSpendingPart[];
  /** Of the whole fleet, the largest difference first; null for a cluster or a team. */
  readonly interruptions: readonly ApiInterruptions[] | null;
  /** Oldest first. */
  readonly points: readonly { readonly atMs: number; readonly usdPerHour: number }[];
}

export interface ApiClusters {
  readonly nowMs: number;
  readonly total: number;
  readonly matching: number;
  readonly clusters: readonly ApiCluster[];
  readonly next: string;
}

/** One cluster: demand, machines, cost and session. */
export interface ApiClusterInFull {
  readonly nowMs: number;
  readonly cluster: ApiCluster;
  /** What it uses, and what the shard refused from it. */
  readonly tenant: ApiTenant | null;
  /** The same in words, the answer first. */
  readonly sentences: readonly string[];
}

/** A cluster or a provider. */
export interface ApiTenant {
  readonly kind: 'cluster' | 'provider';
  readonly name: string;
  /** Roll-ups of a cluster or rows of a provider that the shard refused since it started. */
  readonly refused: number;
  /** '' if the shard refused nothing. */
  readonly lastReason: string;
  readonly lastRefusedAtMs: number;
  readonly machines: number;
  readonly byState: ApiCounts;
  /** Per hour. */
  readonly costUsd: number;
  /** Null for a provider. */
  readonly cluster: {
    readonly connected: boolean;
    /** When this session began or the last one ended; 0 if there was none. */
    readonly sinceAtMs: number;
    readonly rollupRows: number;
    readonly needs: number;
    /** Needs of the last roll-up that wait to be taken up. */
    readonly waitingNeeds: number;
    readonly unmetNeeds: number;
    /** Distinct profiles of its needs. */
    readonly profiles: number;
    readonly heldRollups: number;
    /** Why the shard decides nothing for it; ''. */
    readonly suspended: string;
  } | null;
  /** Null for a cluster. */
  readonly provider: {
    /** When the last listing ended; 0 before the first. */
    readonly listedAtMs: number;
    readonly listedMachines: number;
    /** '' if it succeeded. */
    readonly listingFailure: string;
    /** Rows of the last full listing that claim the id of another provider's machine. */
    readonly foreignIds: number;
  } | null;
}

export interface ApiTenants {
  readonly nowMs: number;
  readonly total: number;
  readonly matching: number;
  readonly limits: { readonly rollupRowsMax: number; readonly rowBytesMax: number };
  /** The one that was refused most often first, then the one with the most machines. */
  readonly tenants: readonly ApiTenant[];
  readonly next: string;
}

/** Something that happened; the history keeps it over restarts. Texts are '' where they do not apply. */
export interface ApiEvent {
  readonly kind: string;
  readonly atMs: number;
  /** Of the process that recorded it: with it, the number of a cycle is unambiguous. */
  readonly epoch: number;
  readonly cycle: number;
  /** What happened and why, in words. */
  readonly sentence: string;
  readonly machineId: string;
  readonly clusterId: string;
  /** The cluster that a preemption served. */
  readonly forClusterId: string;
  /** The need; of a preemption the one that it served. */
  readonly fingerprint: string;
  readonly group: string;
  readonly priority: number;
  readonly provider: string;
  /** `general-16/zone-a/spot` */
  readonly offering: string;
  readonly from: StateName | '';
  readonly to: StateName | '';
  readonly detail: string;
}

export interface ApiEvents {
  readonly nowMs: number;
  /** Of the oldest event that is kept; 0 if there is none. */
  readonly beginsAtMs: number;
  /** From here on no event is missing. */
  readonly wholeSinceAtMs: number;
  /** Times in which events may be missing, the newest first. */
  readonly gaps: readonly { readonly fromAtMs: number; readonly toAtMs: number; readonly why: string }[];
  /** Size of the history on disk. */
  readonly bytes: number;
  /** The newest first. */
  readonly events: readonly ApiEvent[];
  readonly next: string;
}

/** One cycle, or several that ended within one second. */
export interface ApiCycleSample {
  readonly atMs: number;
  readonly cycle: number;
  readonly cycles: number;
  readonly ordinary: boolean;
  /** Duration of the longest of these cycles. */
  readonly durationMs: number;
  readonly phaseMs: Readonly<Record<string, number>>;
  readonly enqueued: ApiKindCounts;
  readonly changedMachines: number;
  readonly unmetNeeds: number;
  readonly capped: number;
  readonly dropped: number;
  readonly queued: number;
  readonly inFlight: number;
  readonly byState: ApiCounts;
}

export interface ApiHistory {
  readonly nowMs: number;
  readonly cycleIntervalMs: number;
  readonly samples: readonly ApiCycleSample[];
}

/** F7: a shard of the fleet, as the directory shows it. */
export interface ApiFleetShard {
  readonly shard: string;
  /** null: no replica is active. */
  readonly active: { readonly replica: string; readonly epoch: number; readonly address: string } | null;
  readonly replicas: readonly ApiFleetReplica[];
  readonly providers: readonly string[];
  readonly clusterCount: number;
  /** Its clusters have their routes. Until then no shard of the fleet takes an unknown cluster. */
  readonly hasAdopted: boolean;
}

export interface ApiFleetReplica {
  readonly replica: string;
  readonly address: string;
  readonly role: 'standby' | 'active';
  readonly isReady: boolean;
  readonly version: string;
  readonly lagSeconds: number;
}

interface ApiFleetPage {
  readonly nowMs: number;
  readonly fleet: string;
  /** false: the directory does not answer, and this is what it said last. */
  readonly isCurrent: boolean;
  readonly total: number;
  readonly matching: number;
  readonly next: string;
}

export interface ApiFleetShards extends ApiFleetPage {
  /** F8: null if no replica is the coordinator. */
  readonly coordinator: {
    readonly shard: string;
    readonly replica: string;
    readonly address: string;
    readonly term: number;
  } | null;
  readonly shards: readonly ApiFleetShard[];
}

export interface ApiFleetClusters extends ApiFleetPage {
  readonly clusters: readonly { readonly cluster: string; readonly shard: string }[];
}

export interface ApiFleetDomains extends ApiFleetPage {
  readonly domains: readonly {
    /** The key and the value. */
    readonly domain: string;
    readonly topologyKey: string;
    readonly topologyValue: string;
    readonly shard: string;
  }[];
}
