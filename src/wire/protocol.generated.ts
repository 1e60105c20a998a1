// Generated from proto/ by src/wire/generate.ts. Do not edit: change the .proto files and generate again.

export const MachineState = {
  MACHINE_STATE_UNSPECIFIED: 0,
  MACHINE_STATE_SPECULATIVE: 1,
  MACHINE_STATE_CREATING: 2,
  MACHINE_STATE_IDLE: 3,
  MACHINE_STATE_CONFIGURING: 4,
  MACHINE_STATE_CONFIGURED: 5,
  MACHINE_STATE_DRAINING: 6,
  MACHINE_STATE_DELETING: 7,
  MACHINE_STATE_FAILED: 8,
} as const;

export const CapacityType = {
  CAPACITY_TYPE_UNSPECIFIED: 0,
  CAPACITY_TYPE_BARE_METAL: 1,
  CAPACITY_TYPE_RESERVED: 2,
  CAPACITY_TYPE_ON_DEMAND: 3,
  CAPACITY_TYPE_SPOT: 4,
} as const;

export const NodeSelectorRequirementOperator = {
  OPERATOR_UNSPECIFIED: 0,
  OPERATOR_IN: 1,
  OPERATOR_NOT_IN: 2,
  OPERATOR_EXISTS: 3,
  OPERATOR_DOES_NOT_EXIST: 4,
  OPERATOR_SAME: 5,
} as const;

export const TopologySpreadWhenUnsatisfiable = {
  WHEN_UNSATISFIABLE_UNSPECIFIED: 0,
  WHEN_UNSATISFIABLE_DO_NOT_SCHEDULE: 1,
  WHEN_UNSATISFIABLE_SCHEDULE_ANYWAY: 2,
} as const;

export const PenaltyBucket = {
  PENALTY_BUCKET_UNSPECIFIED: 0,
  PENALTY_BUCKET_ZERO: 1,
  PENALTY_BUCKET_HALF_DOLLAR: 2,
  PENALTY_BUCKET_1: 3,
  PENALTY_BUCKET_2: 4,
  PENALTY_BUCKET_4: 5,
  PENALTY_BUCKET_8: 6,
  PENALTY_BUCKET_16: 7,
  PENALTY_BUCKET_32: 8,
  PENALTY_BUCKET_64: 9,
  PENALTY_BUCKET_128: 10,
  PENALTY_BUCKET_256: 11,
  PENALTY_BUCKET_512: 12,
  PENALTY_BUCKET_1024: 13,
  PENALTY_BUCKET_2048: 14,
  PENALTY_BUCKET_4096: 15,
  PENALTY_BUCKET_8192: 16,
  PENALTY_BUCKET_16384: 17,
  PENALTY_BUCKET_32768: 18,
  PENALTY_BUCKET_65536: 19,
  PENALTY_BUCKET_131072: 20,
  PENALTY_BUCKET_262144: 21,
  PENALTY_BUCKET_524288: 22,
  PENALTY_BUCKET_1048576: 23,
  PENALTY_BUCKET_2097152: 24,
  PENALTY_BUCKET_4194304: 25,
  PENALTY_BUCKET_8388608: 26,
  PENALTY_BUCKET_PINNED: 27,
} as const;

export const AvailableCapacityUpdateConfidence = {
  CONFIDENCE_UNSPECIFIED: 0,
  CONFIDENCE_NONE: 1,
  CONFIDENCE_LOW: 2,
  CONFIDENCE_MEDIUM: 3,
  CONFIDENCE_HIGH: 4,
} as const;

export const UnmetReason = {
  UNMET_REASON_UNSPECIFIED: 0,
  UNMET_REASON_PRIORITY_STARVED: 1,
  UNMET_REASON_NO_MATCHING_SUPPLY: 2,
  UNMET_REASON_TOPOLOGY_UNSATISFIABLE: 3,
  UNMET_REASON_PREEMPTION_EXHAUSTED: 4,
} as const;

export const InstructAckOutcome = {
  OUTCOME_UNSPECIFIED: 0,
  OUTCOME_ACCEPTED: 1,
  OUTCOME_REJECTED_STALE: 2,
  OUTCOME_REJECTED_INVALID: 3,
  OUTCOME_FAILED: 4,
} as const;

export interface HostRef {
  readonly provider: string;
  readonly ref: string;
}

export interface HostRefInit {
  readonly provider?: string | undefined;
  readonly ref?: string | undefined;
}

export interface Resources {
  readonly resources: Readonly<Record<string, string>>;
}

export interface ResourcesInit {
  readonly resources?: Readonly<Record<string, string>> | undefined;
}

export interface Machine {
  readonly id: string;
  readonly state: number;
  readonly host: HostRef | null;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: number;
  readonly pricePerHour: number;
  readonly interruptionProbability: number;
  readonly resources: Resources | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly lastError: string;
  readonly allocatable: Resources | null;
  readonly cluster: string;
  readonly shardMetadata: Readonly<Record<string, string>>;
}

export interface MachineInit {
  readonly id?: string | undefined;
  readonly state?: number | undefined;
  readonly host?: HostRefInit | null | undefined;
  readonly instanceType?: string | undefined;
  readonly zone?: string | undefined;
  readonly capacityType?: number | undefined;
  readonly pricePerHour?: number | undefined;
  readonly interruptionProbability?: number | undefined;
  readonly resources?: ResourcesInit | null | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly lastError?: string | undefined;
  readonly allocatable?: ResourcesInit | null | undefined;
  readonly cluster?: string | undefined;
  readonly shardMetadata?: Readonly<Record<string, string>> | undefined;
}

export interface MachineRef {
  readonly id: string;
}

export interface MachineRefInit {
  readonly id?: string | undefined;
}

export interface MachineList {
  readonly machines: readonly Machine[];
  readonly revision: Uint8Array;
  readonly deletedIds: readonly string[];
}

export interface MachineListInit {
  readonly machines?: readonly MachineInit[] | undefined;
  readonly revision?: Uint8Array | undefined;
  readonly deletedIds?: readonly string[] | undefined;
}

export interface ListFilter {
  readonly states: readonly number[];
  readonly maxResults: number;
  readonly sinceRevision: Uint8Array;
}

export interface ListFilterInit {
  readonly states?: readonly number[] | undefined;
  readonly maxResults?: number | undefined;
  readonly sinceRevision?: Uint8Array | undefined;
}

export interface CreateRequest {
  readonly machineId: string;
  readonly shardId: string;
  readonly shardEpoch: number;
  readonly sequenceNumber: number;
}

export interface CreateRequestInit {
  readonly machineId?: string | undefined;
  readonly shardId?: string | undefined;
  readonly shardEpoch?: number | undefined;
  readonly sequenceNumber?: number | undefined;
}

export interface ConfigureRequest {
  readonly machineId: string;
  readonly clusterId: string;
  readonly bootstrapBlob: Uint8Array;
  readonly shardId: string;
  readonly shardEpoch: number;
  readonly sequenceNumber: number;
  readonly shardMetadata: Readonly<Record<string, string>>;
}

export interface ConfigureRequestInit {
  readonly machineId?: string | undefined;
  readonly clusterId?: string | undefined;
  readonly bootstrapBlob?: Uint8Array | undefined;
  readonly shardId?: string | undefined;
  readonly shardEpoch?: number | undefined;
  readonly sequenceNumber?: number | undefined;
  readonly shardMetadata?: Readonly<Record<string, string>> | undefined;
}

export interface DrainRequest {
  readonly machineId: string;
  readonly gracePeriodSeconds: number;
  readonly shardId: string;
  readonly shardEpoch: number;
  readonly sequenceNumber: number;
}

export interface DrainRequestInit {
  readonly machineId?: string | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  readonly shardId?: string | undefined;
  readonly shardEpoch?: number | undefined;
  readonly sequenceNumber?: number | undefined;
}

export interface DeleteRequest {
  readonly machineId: string;
  readonly shardId: string;
  readonly shardEpoch: number;
  readonly sequenceNumber: number;
}

export interface DeleteRequestInit {
  readonly machineId?: string | undefined;
  readonly shardId?: string | undefined;
  readonly shardEpoch?: number | undefined;
  readonly sequenceNumber?: number | undefined;
}

export interface TransitionAck {
  readonly operationId: string;
  readonly machine: Machine | null;
}

export interface TransitionAckInit {
  readonly operationId?: string | undefined;
  readonly machine?: MachineInit | null | undefined;
}

export interface ClusterCapacityNeeds {
  readonly clusterId: string;
  readonly timestampUnixNanos: number;
  readonly needs: readonly CapacityNeed[];
}

export interface ClusterCapacityNeedsInit {
  readonly clusterId?: string | undefined;
  readonly timestampUnixNanos?: number | undefined;
  readonly needs?: readonly CapacityNeedInit[] | undefined;
}

export interface CapacityNeed {
  readonly requirements: readonly NodeSelectorRequirement[];
  readonly aggregateResources: Readonly<Record<string, string>>;
  readonly priority: number;
  readonly spread: readonly TopologySpread[];
  readonly interruptionPenaltyBucket: number;
  readonly reclamationPenaltyBucket: number;
  readonly minUnit: Readonly<Record<string, string>>;
  readonly group: string;
}

export interface CapacityNeedInit {
  readonly requirements?: readonly NodeSelectorRequirementInit[] | undefined;
  readonly aggregateResources?: Readonly<Record<string, string>> | undefined;
  readonly priority?: number | undefined;
  readonly spread?: readonly TopologySpreadInit[] | undefined;
  readonly interruptionPenaltyBucket?: number | undefined;
  readonly reclamationPenaltyBucket?: number | undefined;
  readonly minUnit?: Readonly<Record<string, string>> | undefined;
  readonly group?: string | undefined;
}

export interface NodeSelectorRequirement {
  readonly key: string;
  readonly operator: number;
  readonly values: readonly string[];
}

export interface NodeSelectorRequirementInit {
  readonly key?: string | undefined;
  readonly operator?: number | undefined;
  readonly values?: readonly string[] | undefined;
}

export interface TopologySpread {
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly whenUnsatisfiable: number;
}

export interface TopologySpreadInit {
  readonly topologyKey?: string | undefined;
  readonly maxSkew?: number | undefined;
  readonly whenUnsatisfiable?: number | undefined;
}

export interface OperatorMessage {
  readonly hello: Hello | null;
  readonly rollup: ClusterCapacityNeeds | null;
  readonly bootstrapResponse: BootstrapBlobResponse | null;
  readonly reclaimAck: ReclaimAck | null;
  /** Which of these is set. */
  readonly payload: 'hello' | 'rollup' | 'bootstrapResponse' | 'reclaimAck' | undefined;
}

export interface OperatorMessageInit {
  readonly hello?: HelloInit | null | undefined;
  readonly rollup?: ClusterCapacityNeedsInit | null | undefined;
  readonly bootstrapResponse?: BootstrapBlobResponseInit | null | undefined;
  readonly reclaimAck?: ReclaimAckInit | null | undefined;
}

export interface ShardMessage {
  readonly ack: Acknowledgement | null;
  readonly bootstrapRequest: BootstrapRequest | null;
  readonly reclaimInstruction: ReclaimInstruction | null;
  readonly nodeStateUpdate: NodeStateUpdate | null;
  readonly availableCapacity: AvailableCapacityUpdate | null;
  /** Which of these is set. */
  readonly payload: 'ack' | 'bootstrapRequest' | 'reclaimInstruction' | 'nodeStateUpdate' | 'availableCapacity' | undefined;
}

export interface ShardMessageInit {
  readonly ack?: AcknowledgementInit | null | undefined;
  readonly bootstrapRequest?: BootstrapRequestInit | null | undefined;
  readonly reclaimInstruction?: ReclaimInstructionInit | null | undefined;
  readonly nodeStateUpdate?: NodeStateUpdateInit | null | undefined;
  readonly availableCapacity?: AvailableCapacityUpdateInit | null | undefined;
}

export interface Hello {
  readonly clusterId: string;
  readonly protocolVersion: string;
}

export interface HelloInit {
  readonly clusterId?: string | undefined;
  readonly protocolVersion?: string | undefined;
}

export interface Acknowledgement {
  readonly echo: string;
  readonly coordinatorTerm: number;
  readonly shardEpoch: number;
}

export interface AcknowledgementInit {
  readonly echo?: string | undefined;
  readonly coordinatorTerm?: number | undefined;
  readonly shardEpoch?: number | undefined;
}

export interface BootstrapRequest {
  readonly requestId: string;
  readonly requirements: readonly NodeSelectorRequirement[];
  readonly clusterId: string;
}

export interface BootstrapRequestInit {
  readonly requestId?: string | undefined;
  readonly requirements?: readonly NodeSelectorRequirementInit[] | undefined;
  readonly clusterId?: string | undefined;
}

export interface BootstrapBlobResponse {
  readonly requestId: string;
  readonly userData: Uint8Array;
  readonly ttlSeconds: number;
  readonly error: string;
}

export interface BootstrapBlobResponseInit {
  readonly requestId?: string | undefined;
  readonly userData?: Uint8Array | undefined;
  readonly ttlSeconds?: number | undefined;
  readonly error?: string | undefined;
}

export interface ReclaimInstruction {
  readonly instructionId: string;
  readonly nodes: readonly string[];
  readonly gracePeriodSeconds: number;
  readonly preemptorPriority: number;
}

export interface ReclaimInstructionInit {
  readonly instructionId?: string | undefined;
  readonly nodes?: readonly string[] | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  readonly preemptorPriority?: number | undefined;
}

export interface ReclaimAck {
  readonly instructionId: string;
  readonly nodesStarted: number;
}

export interface ReclaimAckInit {
  readonly instructionId?: string | undefined;
  readonly nodesStarted?: number | undefined;
}

export interface NodeStateUpdate {
  readonly supersedesKey: string;
  readonly machineId: string;
  readonly clusterId: string;
  readonly state: number;
  readonly nodeName: string;
  readonly providerId: string;
  readonly lastError: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly resources: Resources | null;
  readonly taints: readonly Taint[];
}

export interface NodeStateUpdateInit {
  readonly supersedesKey?: string | undefined;
  readonly machineId?: string | undefined;
  readonly clusterId?: string | undefined;
  readonly state?: number | undefined;
  readonly nodeName?: string | undefined;
  readonly providerId?: string | undefined;
  readonly lastError?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly resources?: ResourcesInit | null | undefined;
  readonly taints?: readonly TaintInit[] | undefined;
}

export interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: string;
}

export interface TaintInit {
  readonly key?: string | undefined;
  readonly value?: string | undefined;
  readonly effect?: string | undefined;
}

export interface AvailableCapacityUpdate {
  readonly supersedesKey: string;
  readonly requirements: readonly NodeSelectorRequirement[];
  readonly resources: Resources | null;
  readonly availableCount: number;
  readonly confidence: number;
  readonly costPerHour: number;
}

export interface AvailableCapacityUpdateInit {
  readonly supersedesKey?: string | undefined;
  readonly requirements?: readonly NodeSelectorRequirementInit[] | undefined;
  readonly resources?: ResourcesInit | null | undefined;
  readonly availableCount?: number | undefined;
  readonly confidence?: number | undefined;
  readonly costPerHour?: number | undefined;
}

export interface InspectNeedsRequest {
  readonly clusterId: string;
  readonly limit: number;
}

export interface InspectNeedsRequestInit {
  readonly clusterId?: string | undefined;
  readonly limit?: number | undefined;
}

export interface InspectNeedsResponse {
  readonly header: InspectNeedsHeader | null;
  readonly need: NeedView | null;
  /** Which of these is set. */
  readonly frame: 'header' | 'need' | undefined;
}

export interface InspectNeedsResponseInit {
  readonly header?: InspectNeedsHeaderInit | null | undefined;
  readonly need?: NeedViewInit | null | undefined;
}

export interface InspectNeedsHeader {
  readonly cycle: number;
  readonly computedAtUnixNanos: number;
  readonly totalNeeds: number;
}

export interface InspectNeedsHeaderInit {
  readonly cycle?: number | undefined;
  readonly computedAtUnixNanos?: number | undefined;
  readonly totalNeeds?: number | undefined;
}

export interface NeedView {
  readonly need: CapacityNeed | null;
  readonly clusterId: string;
  readonly arrivalUnixNanos: number;
  readonly profileFingerprint: string;
  readonly satisfied: boolean;
  readonly residualDeficit: Resources | null;
  readonly claimedMachineCount: number;
  readonly bootstrapCount: number;
  readonly provisionCount: number;
  readonly sameDomain: string;
  readonly sameSatisfiable: boolean;
  readonly acquisitionParked: boolean;
  readonly parkedAgeCycles: number;
  readonly ageCyclesUnmet: number;
  readonly unmetReason: number;
  readonly matchingSupply: MatchingSupply | null;
  readonly preemption: PreemptionSummary | null;
  readonly sameCandidates: readonly DomainCoverage[];
}

export interface NeedViewInit {
  readonly need?: CapacityNeedInit | null | undefined;
  readonly clusterId?: string | undefined;
  readonly arrivalUnixNanos?: number | undefined;
  readonly profileFingerprint?: string | undefined;
  readonly satisfied?: boolean | undefined;
  readonly residualDeficit?: ResourcesInit | null | undefined;
  readonly claimedMachineCount?: number | undefined;
  readonly bootstrapCount?: number | undefined;
  readonly provisionCount?: number | undefined;
  readonly sameDomain?: string | undefined;
  readonly sameSatisfiable?: boolean | undefined;
  readonly acquisitionParked?: boolean | undefined;
  readonly parkedAgeCycles?: number | undefined;
  readonly ageCyclesUnmet?: number | undefined;
  readonly unmetReason?: number | undefined;
  readonly matchingSupply?: MatchingSupplyInit | null | undefined;
  readonly preemption?: PreemptionSummaryInit | null | undefined;
  readonly sameCandidates?: readonly DomainCoverageInit[] | undefined;
}

export interface MatchingSupply {
  readonly idle: number;
  readonly configured: number;
  readonly speculative: number;
  readonly capped: boolean;
}

export interface MatchingSupplyInit {
  readonly idle?: number | undefined;
  readonly configured?: number | undefined;
  readonly speculative?: number | undefined;
  readonly capped?: boolean | undefined;
}

export interface PreemptionSummary {
  readonly victimsFound: number;
  readonly capacityFreed: Resources | null;
}

export interface PreemptionSummaryInit {
  readonly victimsFound?: number | undefined;
  readonly capacityFreed?: ResourcesInit | null | undefined;
}

export interface DomainCoverage {
  readonly domain: string;
  readonly coveragePerMille: number;
  readonly satisfiable: boolean;
}

export interface DomainCoverageInit {
  readonly domain?: string | undefined;
  readonly coveragePerMille?: number | undefined;
  readonly satisfiable?: boolean | undefined;
}

export interface ShardReport {
  readonly shardId: string;
  readonly cycle: number;
  readonly timestampUnixNanos: number;
  readonly shardEpoch: number;
  readonly summary: ShardSummary | null;
  readonly shortfalls: readonly Shortfall[];
  readonly instructionAcks: readonly InstructAck[];
  readonly shardAddress: string;
}

export interface ShardReportInit {
  readonly shardId?: string | undefined;
  readonly cycle?: number | undefined;
  readonly timestampUnixNanos?: number | undefined;
  readonly shardEpoch?: number | undefined;
  readonly summary?: ShardSummaryInit | null | undefined;
  readonly shortfalls?: readonly ShortfallInit[] | undefined;
  readonly instructionAcks?: readonly InstructAckInit[] | undefined;
  readonly shardAddress?: string | undefined;
}

export interface ShardSummary {
  readonly totalMachines: number;
  readonly freeMachines: number;
  readonly perInstanceTypeCounts: Readonly<Record<string, number>>;
  readonly perZoneCounts: Readonly<Record<string, number>>;
  readonly providerAddress: string;
}

export interface ShardSummaryInit {
  readonly totalMachines?: number | undefined;
  readonly freeMachines?: number | undefined;
  readonly perInstanceTypeCounts?: Readonly<Record<string, number>> | undefined;
  readonly perZoneCounts?: Readonly<Record<string, number>> | undefined;
  readonly providerAddress?: string | undefined;
}

export interface Shortfall {
  readonly requirements: readonly NodeSelectorRequirement[];
  readonly deficit: Resources | null;
  readonly priority: number;
  readonly ageCycles: number;
  readonly interruptionPenaltyBucket: number;
}

export interface ShortfallInit {
  readonly requirements?: readonly NodeSelectorRequirementInit[] | undefined;
  readonly deficit?: ResourcesInit | null | undefined;
  readonly priority?: number | undefined;
  readonly ageCycles?: number | undefined;
  readonly interruptionPenaltyBucket?: number | undefined;
}

export interface ReportAck {
  readonly coordinatorTerm: number;
  readonly acknowledged: boolean;
  readonly instructions: readonly CoordinatorInstruction[];
}

export interface ReportAckInit {
  readonly coordinatorTerm?: number | undefined;
  readonly acknowledged?: boolean | undefined;
  readonly instructions?: readonly CoordinatorInstructionInit[] | undefined;
}

export interface CoordinatorInstruction {
  readonly coordinatorTerm: number;
  readonly sequenceNumber: number;
  readonly instructionId: string;
  readonly assignDomain: AssignDomain | null;
  readonly unassignDomain: UnassignDomain | null;
  readonly reassignSpeculative: ReassignSpeculative | null;
  readonly crossShardDrain: CrossShardDrain | null;
  readonly transferOwnership: TransferOwnership | null;
  /** Which of these is set. */
  readonly payload: 'assignDomain' | 'unassignDomain' | 'reassignSpeculative' | 'crossShardDrain' | 'transferOwnership' | undefined;
}

export interface CoordinatorInstructionInit {
  readonly coordinatorTerm?: number | undefined;
  readonly sequenceNumber?: number | undefined;
  readonly instructionId?: string | undefined;
  readonly assignDomain?: AssignDomainInit | null | undefined;
  readonly unassignDomain?: UnassignDomainInit | null | undefined;
  readonly reassignSpeculative?: ReassignSpeculativeInit | null | undefined;
  readonly crossShardDrain?: CrossShardDrainInit | null | undefined;
  readonly transferOwnership?: TransferOwnershipInit | null | undefined;
}

export interface AssignDomain {
  readonly topologyKey: string;
  readonly topologyValue: string;
}

export interface AssignDomainInit {
  readonly topologyKey?: string | undefined;
  readonly topologyValue?: string | undefined;
}

export interface UnassignDomain {
  readonly topologyKey: string;
  readonly topologyValue: string;
}

export interface UnassignDomainInit {
  readonly topologyKey?: string | undefined;
  readonly topologyValue?: string | undefined;
}

export interface ReassignSpeculative {
  readonly machineIds: readonly string[];
}

export interface ReassignSpeculativeInit {
  readonly machineIds?: readonly string[] | undefined;
}

export interface CrossShardDrain {
  readonly machineIds: readonly string[];
  readonly preemptorPriority: number;
}

export interface CrossShardDrainInit {
  readonly machineIds?: readonly string[] | undefined;
  readonly preemptorPriority?: number | undefined;
}

export interface TransferOwnership {
  readonly machineIds: readonly string[];
  readonly fromShardId: string;
  readonly toShardId: string;
}

export interface TransferOwnershipInit {
  readonly machineIds?: readonly string[] | undefined;
  readonly fromShardId?: string | undefined;
  readonly toShardId?: string | undefined;
}

export interface InstructAck {
  readonly instructionId: string;
  readonly outcome: number;
  readonly reason: string;
}

export interface InstructAckInit {
  readonly instructionId?: string | undefined;
  readonly outcome?: number | undefined;
  readonly reason?: string | undefined;
}

export interface AssignDomainRequest {
  readonly topologyKey: string;
  readonly topologyValue: string;
  readonly shardId: string;
}

export interface AssignDomainRequestInit {
  readonly topologyKey?: string | undefined;
  readonly topologyValue?: string | undefined;
  readonly shardId?: string | undefined;
}

export interface AssignDomainResponse {

}

export interface AssignDomainResponseInit {

}

export interface UnassignDomainRequest {
  readonly topologyKey: string;
  readonly topologyValue: string;
}

export interface UnassignDomainRequestInit {
  readonly topologyKey?: string | undefined;
  readonly topologyValue?: string | undefined;
}

export interface UnassignDomainResponse {

}

export interface UnassignDomainResponseInit {

}

export interface RemoveShardRequest {
  readonly shardId: string;
}

export interface RemoveShardRequestInit {
  readonly shardId?: string | undefined;
}

export interface RemoveShardResponse {

}

export interface RemoveShardResponseInit {

}

export interface ListShardsRequest {

}

export interface ListShardsRequestInit {

}

export interface ListShardsResponse {
  readonly shards: readonly ShardRegistryEntry[];
}

export interface ListShardsResponseInit {
  readonly shards?: readonly ShardRegistryEntryInit[] | undefined;
}

export interface ShardRegistryEntry {
  readonly shardId: string;
  readonly address: string;
  readonly registeredAtUnixNs: number;
  readonly lastHeartbeatUnixNs: number;
}

export interface ShardRegistryEntryInit {
  readonly shardId?: string | undefined;
  readonly address?: string | undefined;
  readonly registeredAtUnixNs?: number | undefined;
  readonly lastHeartbeatUnixNs?: number | undefined;
}

export interface ListDomainAssignmentsRequest {

}

export interface ListDomainAssignmentsRequestInit {

}

export interface ListDomainAssignmentsResponse {
  readonly assignments: readonly DomainAssignment[];
}

export interface ListDomainAssignmentsResponseInit {
  readonly assignments?: readonly DomainAssignmentInit[] | undefined;
}

export interface DomainAssignment {
  readonly topologyKey: string;
  readonly topologyValue: string;
  readonly shardId: string;
}

export interface DomainAssignmentInit {
  readonly topologyKey?: string | undefined;
  readonly topologyValue?: string | undefined;
  readonly shardId?: string | undefined;
}

export interface ListShardReportsRequest {
  readonly shardId: string;
}

export interface ListShardReportsRequestInit {
  readonly shardId?: string | undefined;
}

export interface ListShardReportsResponse {
  readonly reports: readonly ShardReportSnapshot[];
}

export interface ListShardReportsResponseInit {
  readonly reports?: readonly ShardReportSnapshotInit[] | undefined;
}

export interface ShardReportSnapshot {
  readonly shardId: string;
  readonly cycle: number;
  readonly receivedAtUnixNs: number;
  readonly summary: ShardSummary | null;
  readonly shortfalls: readonly Shortfall[];
}

export interface ShardReportSnapshotInit {
  readonly shardId?: string | undefined;
  readonly cycle?: number | undefined;
  readonly receivedAtUnixNs?: number | undefined;
  readonly summary?: ShardSummaryInit | null | undefined;
  readonly shortfalls?: readonly ShortfallInit[] | undefined;
}

export interface ListQuotasRequest {

}

export interface ListQuotasRequestInit {

}

export interface ListQuotasResponse {
  readonly allocations: readonly QuotaAllocation[];
}

export interface ListQuotasResponseInit {
  readonly allocations?: readonly QuotaAllocationInit[] | undefined;
}

export interface QuotaAllocation {
  readonly provider: string;
  readonly region: string;
  readonly perShard: Readonly<Record<string, number>>;
}

export interface QuotaAllocationInit {
  readonly provider?: string | undefined;
  readonly region?: string | undefined;
  readonly perShard?: Readonly<Record<string, number>> | undefined;
}

export interface Messages {
  HostRef: HostRef;
  Resources: Resources;
  Machine: Machine;
  MachineRef: MachineRef;
  MachineList: MachineList;
  ListFilter: ListFilter;
  CreateRequest: CreateRequest;
  ConfigureRequest: ConfigureRequest;
  DrainRequest: DrainRequest;
  DeleteRequest: DeleteRequest;
  TransitionAck: TransitionAck;
  ClusterCapacityNeeds: ClusterCapacityNeeds;
  CapacityNeed: CapacityNeed;
  NodeSelectorRequirement: NodeSelectorRequirement;
  TopologySpread: TopologySpread;
  OperatorMessage: OperatorMessage;
  ShardMessage: ShardMessage;
  Hello: Hello;
  Acknowledgement: Acknowledgement;
  BootstrapRequest: BootstrapRequest;
  BootstrapBlobResponse: BootstrapBlobResponse;
  ReclaimInstruction: ReclaimInstruction;
  ReclaimAck: ReclaimAck;
  NodeStateUpdate: NodeStateUpdate;
  Taint: Taint;
  AvailableCapacityUpdate: AvailableCapacityUpdate;
  InspectNeedsRequest: InspectNeedsRequest;
  InspectNeedsResponse: InspectNeedsResponse;
  InspectNeedsHeader: InspectNeedsHeader;
  NeedView: NeedView;
  MatchingSupply: MatchingSupply;
  PreemptionSummary: PreemptionSummary;
  DomainCoverage: DomainCoverage;
  ShardReport: ShardReport;
  ShardSummary: ShardSummary;
  Shortfall: Shortfall;
  ReportAck: ReportAck;
  CoordinatorInstruction: CoordinatorInstruction;
  AssignDomain: AssignDomain;
  UnassignDomain: UnassignDomain;
  ReassignSpeculative: ReassignSpeculative;
  CrossShardDrain: CrossShardDrain;
  TransferOwnership: TransferOwnership;
  InstructAck: InstructAck;
  AssignDomainRequest: AssignDomainRequest;
  AssignDomainResponse: AssignDomainResponse;
  UnassignDomainRequest: UnassignDomainRequest;
  UnassignDomainResponse: UnassignDomainResponse;
  RemoveShardRequest: RemoveShardRequest;
  RemoveShardResponse: RemoveShardResponse;
  ListShardsRequest: ListShardsRequest;
  ListShardsResponse: ListShardsResponse;
  ShardRegistryEntry: ShardRegistryEntry;
  ListDomainAssignmentsRequest: ListDomainAssignmentsRequest;
  ListDomainAssignmentsResponse: ListDomainAssignmentsResponse;
  DomainAssignment: DomainAssignment;
  ListShardReportsRequest: ListShardReportsRequest;
  ListShardReportsResponse: ListShardReportsResponse;
  ShardReportSnapshot: ShardReportSnapshot;
  ListQuotasRequest: ListQuotasRequest;
  ListQuotasResponse: ListQuotasResponse;
  QuotaAllocation: QuotaAllocation;
}

export interface MessageInits {
  HostRef: HostRefInit;
  Resources: ResourcesInit;
  Machine: MachineInit;
  MachineRef: MachineRefInit;
  MachineList: MachineListInit;
  ListFilter: ListFilterInit;
  CreateRequest: CreateRequestInit;
  ConfigureRequest: ConfigureRequestInit;
  DrainRequest: DrainRequestInit;
  DeleteRequest: DeleteRequestInit;
  TransitionAck: TransitionAckInit;
  ClusterCapacityNeeds: ClusterCapacityNeedsInit;
  CapacityNeed: CapacityNeedInit;
  NodeSelectorRequirement: NodeSelectorRequirementInit;
  TopologySpread: TopologySpreadInit;
  OperatorMessage: OperatorMessageInit;
  ShardMessage: ShardMessageInit;
  Hello: HelloInit;
  Acknowledgement: AcknowledgementInit;
  BootstrapRequest: BootstrapRequestInit;
  BootstrapBlobResponse: BootstrapBlobResponseInit;
  ReclaimInstruction: ReclaimInstructionInit;
  ReclaimAck: ReclaimAckInit;
  NodeStateUpdate: NodeStateUpdateInit;
  Taint: TaintInit;
  AvailableCapacityUpdate: AvailableCapacityUpdateInit;
  InspectNeedsRequest: InspectNeedsRequestInit;
  InspectNeedsResponse: InspectNeedsResponseInit;
  InspectNeedsHeader: InspectNeedsHeaderInit;
  NeedView: NeedViewInit;
  MatchingSupply: MatchingSupplyInit;
  PreemptionSummary: PreemptionSummaryInit;
  DomainCoverage: DomainCoverageInit;
  ShardReport: ShardReportInit;
  ShardSummary: ShardSummaryInit;
  Shortfall: ShortfallInit;
  ReportAck: ReportAckInit;
  CoordinatorInstruction: CoordinatorInstructionInit;
  AssignDomain: AssignDomainInit;
  UnassignDomain: UnassignDomainInit;
  ReassignSpeculative: ReassignSpeculativeInit;
  CrossShardDrain: CrossShardDrainInit;
  TransferOwnership: TransferOwnershipInit;
  InstructAck: InstructAckInit;
  AssignDomainRequest: AssignDomainRequestInit;
  AssignDomainResponse: AssignDomainResponseInit;
  UnassignDomainRequest: UnassignDomainRequestInit;
  UnassignDomainResponse: UnassignDomainResponseInit;
  RemoveShardRequest: RemoveShardRequestInit;
  RemoveShardResponse: RemoveShardResponseInit;
  ListShardsRequest: ListShardsRequestInit;
  ListShardsResponse: ListShardsResponseInit;
  ShardRegistryEntry: ShardRegistryEntryInit;
  ListDomainAssignmentsRequest: ListDomainAssignmentsRequestInit;
  ListDomainAssignmentsResponse: ListDomainAssignmentsResponseInit;
  DomainAssignment: DomainAssignmentInit;
  ListShardReportsRequest: ListShardReportsRequestInit;
  ListShardReportsResponse: ListShardReportsResponseInit;
  ShardReportSnapshot: ShardReportSnapshotInit;
  ListQuotasRequest: ListQuotasRequestInit;
  ListQuotasResponse: ListQuotasResponseInit;
  QuotaAllocation: QuotaAllocationInit;
}

export const DESCRIPTOR = {
  CapacityProvider: {"methods":{"Create":{"requestType":"CreateRequest","responseType":"TransitionAck"},"Configure":{"requestType":"ConfigureRequest","responseType":"TransitionAck"},"Drain":{"requestType":"DrainRequest","responseType":"TransitionAck"},"Delete":{"requestType":"DeleteRequest","responseType":"TransitionAck"},"Get":{"requestType":"MachineRef","responseType":"Machine"},"List":{"requestType":"ListFilter","responseType":"MachineList"}}},
  MachineState: {"values":{"MACHINE_STATE_UNSPECIFIED":0,"MACHINE_STATE_SPECULATIVE":1,"MACHINE_STATE_CREATING":2,"MACHINE_STATE_IDLE":3,"MACHINE_STATE_CONFIGURING":4,"MACHINE_STATE_CONFIGURED":5,"MACHINE_STATE_DRAINING":6,"MACHINE_STATE_DELETING":7,"MACHINE_STATE_FAILED":8}},
  CapacityType: {"values":{"CAPACITY_TYPE_UNSPECIFIED":0,"CAPACITY_TYPE_BARE_METAL":1,"CAPACITY_TYPE_RESERVED":2,"CAPACITY_TYPE_ON_DEMAND":3,"CAPACITY_TYPE_SPOT":4}},
  HostRef: {"fields":{"provider":{"type":"string","id":1},"ref":{"type":"string","id":2}}},
  Resources: {"fields":{"resources":{"keyType":"string","type":"string","id":1}}},
  Machine: {"fields":{"id":{"type":"string","id":1},"state":{"type":"MachineState","id":2},"host":{"type":"HostRef","id":3},"instanceType":{"type":"string","id":4,"protoName":"instance_type"},"zone":{"type":"string","id":5},"capacityType":{"type":"CapacityType","id":6,"protoName":"capacity_type"},"pricePerHour":{"type":"double","id":7,"protoName":"price_per_hour"},"interruptionProbability":{"type":"double","id":8,"protoName":"interruption_probability"},"resources":{"type":"Resources","id":9},"labels":{"keyType":"string","type":"string","id":10},"lastError":{"type":"string","id":12,"protoName":"last_error"},"allocatable":{"type":"Resources","id":13},"cluster":{"type":"string","id":14},"shardMetadata":{"keyType":"string","type":"string","id":15,"protoName":"shard_metadata"}},"reserved":[[11,11]]},
  MachineRef: {"fields":{"id":{"type":"string","id":1}}},
  MachineList: {"fields":{"machines":{"rule":"repeated","type":"Machine","id":1},"revision":{"type":"bytes","id":2},"deletedIds":{"rule":"repeated","type":"string","id":3,"protoName":"deleted_ids"}}},
  ListFilter: {"fields":{"states":{"rule":"repeated","type":"MachineState","id":1},"maxResults":{"type":"int32","id":4,"protoName":"max_results"},"sinceRevision":{"type":"bytes","id":5,"protoName":"since_revision"}},"reserved":[[2,2],[3,3]]},
  CreateRequest: {"fields":{"machineId":{"type":"string","id":1,"protoName":"machine_id"},"shardId":{"type":"string","id":3,"protoName":"shard_id"},"shardEpoch":{"type":"int64","id":4,"protoName":"shard_epoch"},"sequenceNumber":{"type":"int64","id":5,"protoName":"sequence_number"}},"reserved":[[2,2]]},
  ConfigureRequest: {"fields":{"machineId":{"type":"string","id":1,"protoName":"machine_id"},"clusterId":{"type":"string","id":2,"protoName":"cluster_id"},"bootstrapBlob":{"type":"bytes","id":3,"protoName":"bootstrap_blob"},"shardId":{"type":"string","id":4,"protoName":"shard_id"},"shardEpoch":{"type":"int64","id":5,"protoName":"shard_epoch"},"sequenceNumber":{"type":"int64","id":6,"protoName":"sequence_number"},"shardMetadata":{"keyType":"string","type":"string","id":7,"protoName":"shard_metadata"}}},
  DrainRequest: {"fields":{"machineId":{"type":"string","id":1,"protoName":"machine_id"},"gracePeriodSeconds":{"type":"int64","id":2,"protoName":"grace_period_seconds"},"shardId":{"type":"string","id":3,"protoName":"shard_id"},"shardEpoch":{"type":"int64","id":4,"protoName":"shard_epoch"},"sequenceNumber":{"type":"int64","id":5,"protoName":"sequence_number"}}},
  DeleteRequest: {"fields":{"machineId":{"type":"string","id":1,"protoName":"machine_id"},"shardId":{"type":"string","id":2,"protoName":"shard_id"},"shardEpoch":{"type":"int64","id":3,"protoName":"shard_epoch"},"sequenceNumber":{"type":"int64","id":4,"protoName":"sequence_number"}}},
  TransitionAck: {"fields":{"operationId":{"type":"string","id":1,"protoName":"operation_id"},"machine":{"type":"Machine","id":2}}},
  ClusterCapacityNeeds: {"fields":{"clusterId":{"type":"string","id":1,"protoName":"cluster_id"},"timestampUnixNanos":{"type":"int64","id":2,"protoName":"timestamp_unix_nanos"},"needs":{"rule":"repeated","type":"CapacityNeed","id":3}}},
  CapacityNeed: {"fields":{"requirements":{"rule":"repeated","type":"NodeSelectorRequirement","id":1},"aggregateResources":{"keyType":"string","type":"string","id":2,"protoName":"aggregate_resources"},"priority":{"type":"int32","id":3},"spread":{"rule":"repeated","type":"TopologySpread","id":5},"interruptionPenaltyBucket":{"type":"PenaltyBucket","id":6,"protoName":"interruption_penalty_bucket"},"reclamationPenaltyBucket":{"type":"PenaltyBucket","id":7,"protoName":"reclamation_penalty_bucket"},"minUnit":{"keyType":"string","type":"string","id":8,"protoName":"min_unit"},"group":{"type":"string","id":9}},"reserved":[[4,4]]},
  NodeSelectorRequirement: {"fields":{"key":{"type":"string","id":1},"operator":{"type":"Operator","id":2},"values":{"rule":"repeated","type":"string","id":3}},"nested":{"Operator":{"values":{"OPERATOR_UNSPECIFIED":0,"OPERATOR_IN":1,"OPERATOR_NOT_IN":2,"OPERATOR_EXISTS":3,"OPERATOR_DOES_NOT_EXIST":4,"OPERATOR_SAME":5}}}},
  TopologySpread: {"fields":{"topologyKey":{"type":"string","id":1,"protoName":"topology_key"},"maxSkew":{"type":"int32","id":2,"protoName":"max_skew"},"whenUnsatisfiable":{"type":"WhenUnsatisfiable","id":3,"protoName":"when_unsatisfiable"}},"nested":{"WhenUnsatisfiable":{"values":{"WHEN_UNSATISFIABLE_UNSPECIFIED":0,"WHEN_UNSATISFIABLE_DO_NOT_SCHEDULE":1,"WHEN_UNSATISFIABLE_SCHEDULE_ANYWAY":2}}}},
  PenaltyBucket: {"values":{"PENALTY_BUCKET_UNSPECIFIED":0,"PENALTY_BUCKET_ZERO":1,"PENALTY_BUCKET_HALF_DOLLAR":2,"PENALTY_BUCKET_1":3,"PENALTY_BUCKET_2":4,"PENALTY_BUCKET_4":5,"PENALTY_BUCKET_8":6,"PENALTY_BUCKET_16":7,"PENALTY_BUCKET_32":8,"PENALTY_BUCKET_64":9,"PENALTY_BUCKET_128":10,"PENALTY_BUCKET_256":11,"PENALTY_BUCKET_512":12,"PENALTY_BUCKET_1024":13,"PENALTY_BUCKET_2048":14,"PENALTY_BUCKET_4096":15,"PENALTY_BUCKET_8192":16,"PENALTY_BUCKET_16384":17,"PENALTY_BUCKET_32768":18,"PENALTY_BUCKET_65536":19,"PENALTY_BUCKET_131072":20,"PENALTY_BUCKET_262144":21,"PENALTY_BUCKET_524288":22,"PENALTY_BUCKET_1048576":23,"PENALTY_BUCKET_2097152":24,"PENALTY_BUCKET_4194304":25,"PENALTY_BUCKET_8388608":26,"PENALTY_BUCKET_PINNED":27}},
  Shard: {"methods":{"Session":{"requestType":"OperatorMessage","requestStream":true,"responseType":"ShardMessage","responseStream":true}}},
  OperatorMessage: {"oneofs":{"payload":{"oneof":["hello","rollup","bootstrapResponse","reclaimAck"]}},"fields":{"hello":{"type":"Hello","id":1},"rollup":{"type":"ClusterCapacityNeeds","id":2},"bootstrapResponse":{"type":"BootstrapBlobResponse","id":3,"protoName":"bootstrap_response"},"reclaimAck":{"type":"ReclaimAck","id":4,"protoName":"reclaim_ack"}}},
  ShardMessage: {"oneofs":{"payload":{"oneof":["ack","bootstrapRequest","reclaimInstruction","nodeStateUpdate","availableCapacity"]}},"fields":{"ack":{"type":"Acknowledgement","id":1},"bootstrapRequest":{"type":"BootstrapRequest","id":2,"protoName":"bootstrap_request"},"reclaimInstruction":{"type":"ReclaimInstruction","id":3,"protoName":"reclaim_instruction"},"nodeStateUpdate":{"type":"NodeStateUpdate","id":4,"protoName":"node_state_update"},"availableCapacity":{"type":"AvailableCapacityUpdate","id":5,"protoName":"available_capacity"}}},
  Hello: {"fields":{"clusterId":{"type":"string","id":1,"protoName":"cluster_id"},"protocolVersion":{"type":"string","id":3,"protoName":"protocol_version"}},"reserved":[[2,2]]},
  Acknowledgement: {"fields":{"echo":{"type":"string","id":1},"coordinatorTerm":{"type":"int64","id":2,"protoName":"coordinator_term"},"shardEpoch":{"type":"int64","id":3,"protoName":"shard_epoch"}}},
  BootstrapRequest: {"fields":{"requestId":{"type":"string","id":1,"protoName":"request_id"},"requirements":{"rule":"repeated","type":"NodeSelectorRequirement","id":2},"clusterId":{"type":"string","id":3,"protoName":"cluster_id"}}},
  BootstrapBlobResponse: {"fields":{"requestId":{"type":"string","id":1,"protoName":"request_id"},"userData":{"type":"bytes","id":2,"protoName":"user_data"},"ttlSeconds":{"type":"int64","id":3,"protoName":"ttl_seconds"},"error":{"type":"string","id":4}}},
  ReclaimInstruction: {"fields":{"instructionId":{"type":"string","id":1,"protoName":"instruction_id"},"nodes":{"rule":"repeated","type":"string","id":2},"gracePeriodSeconds":{"type":"int64","id":3,"protoName":"grace_period_seconds"},"preemptorPriority":{"type":"int32","id":4,"protoName":"preemptor_priority"}}},
  ReclaimAck: {"fields":{"instructionId":{"type":"string","id":1,"protoName":"instruction_id"},"nodesStarted":{"type":"int32","id":2,"protoName":"nodes_started"}}},
  NodeStateUpdate: {"fields":{"supersedesKey":{"type":"string","id":1,"protoName":"supersedes_key"},"machineId":{"type":"string","id":2,"protoName":"machine_id"},"clusterId":{"type":"string","id":3,"protoName":"cluster_id"},"state":{"type":"MachineState","id":4},"nodeName":{"type":"string","id":5,"protoName":"node_name"},"providerId":{"type":"string","id":6,"protoName":"provider_id"},"lastError":{"type":"string","id":8,"protoName":"last_error"},"labels":{"keyType":"string","type":"string","id":9},"resources":{"type":"Resources","id":10},"taints":{"rule":"repeated","type":"Taint","id":11}},"reserved":[[7,7]]},
  Taint: {"fields":{"key":{"type":"string","id":1},"value":{"type":"string","id":2},"effect":{"type":"string","id":3}}},
  AvailableCapacityUpdate: {"fields":{"supersedesKey":{"type":"string","id":1,"protoName":"supersedes_key"},"requirements":{"rule":"repeated","type":"NodeSelectorRequirement","id":2},"resources":{"type":"Resources","id":3},"availableCount":{"type":"int32","id":4,"protoName":"available_count"},"confidence":{"type":"Confidence","id":5},"costPerHour":{"type":"double","id":6,"protoName":"cost_per_hour"}},"reserved":[[7,9]],"nested":{"Confidence":{"values":{"CONFIDENCE_UNSPECIFIED":0,"CONFIDENCE_NONE":1,"CONFIDENCE_LOW":2,"CONFIDENCE_MEDIUM":3,"CONFIDENCE_HIGH":4}}}},
  ShardRead: {"methods":{"InspectNeeds":{"requestType":"InspectNeedsRequest","responseType":"InspectNeedsResponse","responseStream":true}}},
  UnmetReason: {"values":{"UNMET_REASON_UNSPECIFIED":0,"UNMET_REASON_PRIORITY_STARVED":1,"UNMET_REASON_NO_MATCHING_SUPPLY":2,"UNMET_REASON_TOPOLOGY_UNSATISFIABLE":3,"UNMET_REASON_PREEMPTION_EXHAUSTED":4}},
  InspectNeedsRequest: {"fields":{"clusterId":{"type":"string","id":1,"protoName":"cluster_id"},"limit":{"type":"int32","id":2}}},
  InspectNeedsResponse: {"oneofs":{"frame":{"oneof":["header","need"]}},"fields":{"header":{"type":"InspectNeedsHeader","id":1},"need":{"type":"NeedView","id":2}}},
  InspectNeedsHeader: {"fields":{"cycle":{"type":"int64","id":1},"computedAtUnixNanos":{"type":"int64","id":2,"protoName":"computed_at_unix_nanos"},"totalNeeds":{"type":"int32","id":3,"protoName":"total_needs"}}},
  NeedView: {"fields":{"need":{"type":"CapacityNeed","id":1},"clusterId":{"type":"string","id":2,"protoName":"cluster_id"},"arrivalUnixNanos":{"type":"int64","id":3,"protoName":"arrival_unix_nanos"},"profileFingerprint":{"type":"string","id":4,"protoName":"profile_fingerprint"},"satisfied":{"type":"bool","id":5},"residualDeficit":{"type":"Resources","id":6,"protoName":"residual_deficit"},"claimedMachineCount":{"type":"int32","id":7,"protoName":"claimed_machine_count"},"bootstrapCount":{"type":"int32","id":8,"protoName":"bootstrap_count"},"provisionCount":{"type":"int32","id":9,"protoName":"provision_count"},"sameDomain":{"type":"string","id":10,"protoName":"same_domain"},"sameSatisfiable":{"type":"bool","id":11,"protoName":"same_satisfiable"},"acquisitionParked":{"type":"bool","id":12,"protoName":"acquisition_parked"},"parkedAgeCycles":{"type":"int32","id":13,"protoName":"parked_age_cycles"},"ageCyclesUnmet":{"type":"int32","id":14,"protoName":"age_cycles_unmet"},"unmetReason":{"type":"UnmetReason","id":15,"protoName":"unmet_reason"},"matchingSupply":{"type":"MatchingSupply","id":16,"protoName":"matching_supply"},"preemption":{"type":"PreemptionSummary","id":17},"sameCandidates":{"rule":"repeated","type":"DomainCoverage","id":18,"protoName":"same_candidates"}}},
  MatchingSupply: {"fields":{"idle":{"type":"int32","id":1},"configured":{"type":"int32","id":2},"speculative":{"type":"int32","id":3},"capped":{"type":"bool","id":4}}},
  PreemptionSummary: {"fields":{"victimsFound":{"type":"int32","id":1,"protoName":"victims_found"},"capacityFreed":{"type":"Resources","id":2,"protoName":"capacity_freed"}}},
  DomainCoverage: {"fields":{"domain":{"type":"string","id":1},"coveragePerMille":{"type":"int32","id":2,"protoName":"coverage_per_mille"},"satisfiable":{"type":"bool","id":3}}},
  Coordinator: {"methods":{"ReportShard":{"requestType":"ShardReport","responseType":"ReportAck"},"AssignDomain":{"requestType":"AssignDomainRequest","responseType":"AssignDomainResponse"},"UnassignDomain":{"requestType":"UnassignDomainRequest","responseType":"UnassignDomainResponse"},"RemoveShard":{"requestType":"RemoveShardRequest","responseType":"RemoveShardResponse"},"ListShards":{"requestType":"ListShardsRequest","responseType":"ListShardsResponse"},"ListDomainAssignments":{"requestType":"ListDomainAssignmentsRequest","responseType":"ListDomainAssignmentsResponse"},"ListShardReports":{"requestType":"ListShardReportsRequest","responseType":"ListShardReportsResponse"},"ListQuotas":{"requestType":"ListQuotasRequest","responseType":"ListQuotasResponse"}}},
  ShardReport: {"fields":{"shardId":{"type":"string","id":1,"protoName":"shard_id"},"cycle":{"type":"int64","id":2},"timestampUnixNanos":{"type":"int64","id":3,"protoName":"timestamp_unix_nanos"},"shardEpoch":{"type":"int64","id":4,"protoName":"shard_epoch"},"summary":{"type":"ShardSummary","id":5},"shortfalls":{"rule":"repeated","type":"Shortfall","id":6},"instructionAcks":{"rule":"repeated","type":"InstructAck","id":7,"protoName":"instruction_acks"},"shardAddress":{"type":"string","id":8,"protoName":"shard_address"}}},
  ShardSummary: {"fields":{"totalMachines":{"type":"int32","id":1,"protoName":"total_machines"},"freeMachines":{"type":"int32","id":2,"protoName":"free_machines"},"perInstanceTypeCounts":{"keyType":"string","type":"int32","id":3,"protoName":"per_instance_type_counts"},"perZoneCounts":{"keyType":"string","type":"int32","id":4,"protoName":"per_zone_counts"},"providerAddress":{"type":"string","id":7,"protoName":"provider_address"}},"reserved":[[5,6]]},
  Shortfall: {"fields":{"requirements":{"rule":"repeated","type":"NodeSelectorRequirement","id":1},"deficit":{"type":"Resources","id":2},"priority":{"type":"int32","id":3},"ageCycles":{"type":"int32","id":5,"protoName":"age_cycles"},"interruptionPenaltyBucket":{"type":"PenaltyBucket","id":6,"protoName":"interruption_penalty_bucket"}},"reserved":[[4,4]]},
  ReportAck: {"fields":{"coordinatorTerm":{"type":"int64","id":1,"protoName":"coordinator_term"},"acknowledged":{"type":"bool","id":2},"instructions":{"rule":"repeated","type":"CoordinatorInstruction","id":3}}},
  CoordinatorInstruction: {"oneofs":{"payload":{"oneof":["assignDomain","unassignDomain","reassignSpeculative","crossShardDrain","transferOwnership"]}},"fields":{"coordinatorTerm":{"type":"int64","id":1,"protoName":"coordinator_term"},"sequenceNumber":{"type":"int64","id":2,"protoName":"sequence_number"},"instructionId":{"type":"string","id":3,"protoName":"instruction_id"},"assignDomain":{"type":"AssignDomain","id":4,"protoName":"assign_domain"},"unassignDomain":{"type":"UnassignDomain","id":5,"protoName":"unassign_domain"},"reassignSpeculative":{"type":"ReassignSpeculative","id":6,"protoName":"reassign_speculative"},"crossShardDrain":{"type":"CrossShardDrain","id":7,"protoName":"cross_shard_drain"},"transferOwnership":{"type":"TransferOwnership","id":8,"protoName":"transfer_ownership"}}},
  AssignDomain: {"fields":{"topologyKey":{"type":"string","id":1,"protoName":"topology_key"},"topologyValue":{"type":"string","id":2,"protoName":"topology_value"}}},
  UnassignDomain: {"fields":{"topologyKey":{"type":"string","id":1,"protoName":"topology_key"},"topologyValue":{"type":"string","id":2,"protoName":"topology_value"}}},
  ReassignSpeculative: {"fields":{"machineIds":{"rule":"repeated","type":"string","id":1,"protoName":"machine_ids"}}},
  CrossShardDrain: {"fields":{"machineIds":{"rule":"repeated","type":"string","id":1,"protoName":"machine_ids"},"preemptorPriority":{"type":"int32","id":2,"protoName":"preemptor_priority"}}},
  TransferOwnership: {"fields":{"machineIds":{"rule":"repeated","type":"string","id":1,"protoName":"machine_ids"},"fromShardId":{"type":"string","id":2,"protoName":"from_shard_id"},"toShardId":{"type":"string","id":3,"protoName":"to_shard_id"}}},
  InstructAck: {"fields":{"instructionId":{"type":"string","id":1,"protoName":"instruction_id"},"outcome":{"type":"Outcome","id":2},"reason":{"type":"string","id":3}},"nested":{"Outcome":{"values":{"OUTCOME_UNSPECIFIED":0,"OUTCOME_ACCEPTED":1,"OUTCOME_REJECTED_STALE":2,"OUTCOME_REJECTED_INVALID":3,"OUTCOME_FAILED":4}}}},
  AssignDomainRequest: {"fields":{"topologyKey":{"type":"string","id":1,"protoName":"topology_key"},"topologyValue":{"type":"string","id":2,"protoName":"topology_value"},"shardId":{"type":"string","id":3,"protoName":"shard_id"}}},
  AssignDomainResponse: {"fields":{}},
  UnassignDomainRequest: {"fields":{"topologyKey":{"type":"string","id":1,"protoName":"topology_key"},"topologyValue":{"type":"string","id":2,"protoName":"topology_value"}}},
  UnassignDomainResponse: {"fields":{}},
  RemoveShardRequest: {"fields":{"shardId":{"type":"string","id":1,"protoName":"shard_id"}}},
  RemoveShardResponse: {"fields":{}},
  ListShardsRequest: {"fields":{}},
  ListShardsResponse: {"fields":{"shards":{"rule":"repeated","type":"ShardRegistryEntry","id":1}}},
  ShardRegistryEntry: {"fields":{"shardId":{"type":"string","id":1,"protoName":"shard_id"},"address":{"type":"string","id":2},"registeredAtUnixNs":{"type":"int64","id":3,"protoName":"registered_at_unix_ns"},"lastHeartbeatUnixNs":{"type":"int64","id":4,"protoName":"last_heartbeat_unix_ns"}}},
  ListDomainAssignmentsRequest: {"fields":{}},
  ListDomainAssignmentsResponse: {"fields":{"assignments":{"rule":"repeated","type":"DomainAssignment","id":1}}},
  DomainAssignment: {"fields":{"topologyKey":{"type":"string","id":1,"protoName":"topology_key"},"topologyValue":{"type":"string","id":2,"protoName":"topology_value"},"shardId":{"type":"string","id":3,"protoName":"shard_id"}}},
  ListShardReportsRequest: {"fields":{"shardId":{"type":"string","id":1,"protoName":"shard_id"}}},
  ListShardReportsResponse: {"fields":{"reports":{"rule":"repeated","type":"ShardReportSnapshot","id":1}}},
  ShardReportSnapshot: {"fields":{"shardId":{"type":"string","id":1,"protoName":"shard_id"},"cycle":{"type":"int64","id":2},"receivedAtUnixNs":{"type":"int64","id":3,"protoName":"received_at_unix_ns"},"summary":{"type":"ShardSummary","id":4},"shortfalls":{"rule":"repeated","type":"Shortfall","id":5}}},
  ListQuotasRequest: {"fields":{}},
  ListQuotasResponse: {"fields":{"allocations":{"rule":"repeated","type":"QuotaAllocation","id":1}}},
  QuotaAllocation: {"fields":{"provider":{"type":"string","id":1},"region":{"type":"string","id":2},"perShard":{"keyType":"string","type":"int32","id":3,"protoName":"per_shard"}}},
};

