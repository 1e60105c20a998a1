import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { reflectedType } from '../../src/wire/codec.ts';
import { ADMIN, BIGFLEET, ETCD, generateProtocolModule } from '../../src/wire/generate.ts';
import * as protocol from '../../src/wire/protocol.generated.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** The protocol's facts: message → `number type name` of every field. `[]` repeated, `map` string to string. */
const FIELDS: Readonly<Record<string, string>> = {
  HostRef: '1 string provider, 2 string ref',
  Resources: '1 map resources',
  Machine:
    '1 string id, 2 MachineState state, 3 HostRef host, 4 string instance_type, 5 string zone, 6 CapacityType capacity_type, 7 double price_per_hour, 8 double interruption_probability, 9 Resources resources, 10 map labels, 12 string last_error, 13 Resources allocatable, 14 string cluster, 15 map shard_metadata',
  MachineRef: '1 string id',
  MachineList: '1 []Machine machines, 2 bytes revision, 3 []string deleted_ids',
  ListFilter: '1 []MachineState states, 4 int32 max_results, 5 bytes since_revision',
  CreateRequest: '1 string machine_id, 3 string shard_id, 4 int64 shard_epoch, 5 int64 sequence_number',
  ConfigureRequest:
    '1 string machine_id, 2 string cluster_id, 3 bytes bootstrap_blob, 4 string shard_id, 5 int64 shard_epoch, 6 int64 sequence_number, 7 map shard_metadata',
  DrainRequest:
    '1 string machine_id, 2 int64 grace_period_seconds, 3 string shard_id, 4 int64 shard_epoch, 5 int64 sequence_number',
  DeleteRequest: '1 string machine_id, 2 string shard_id, 3 int64 shard_epoch, 4 int64 sequence_number',
  TransitionAck: '1 string operation_id, 2 Machine machine',
  ClusterCapacityNeeds: '1 string cluster_id, 2 int64 timestamp_unix_nanos, 3 []CapacityNeed needs',
  CapacityNeed:
    '1 []NodeSelectorRequirement requirements, 2 map aggregate_resources, 3 int32 priority, 5 []TopologySpread spread, 6 PenaltyBucket interruption_penalty_bucket, 7 PenaltyBucket reclamation_penalty_bucket, 8 map min_unit, 9 string group',
  NodeSelectorRequirement: '1 string key, 2 Operator operator, 3 []string values',
  TopologySpread: '1 string topology_key, 2 int32 max_skew, 3 WhenUnsatisfiable when_unsatisfiable',
  OperatorMessage:
    '1 Hello hello, 2 ClusterCapacityNeeds rollup, 3 BootstrapBlobResponse bootstrap_response, 4 ReclaimAck reclaim_ack',
  ShardMessage:
    '1 Acknowledgement ack, 2 BootstrapRequest bootstrap_request, 3 ReclaimInstruction reclaim_instruction, 4 NodeStateUpdate node_state_update, 5 AvailableCapacityUpdate available_capacity',
  Hello: '1 string cluster_id, 3 string protocol_version',
  Acknowledgement: '1 string echo, 2 int64 coordinator_term, 3 int64 shard_epoch',
  BootstrapRequest: '1 string request_id, 2 []NodeSelectorRequirement requirements, 3 string cluster_id',
  BootstrapBlobResponse: '1 string request_id, 2 bytes user_data, 3 int64 ttl_seconds, 4 string error',
  ReclaimInstruction:
    '1 string instruction_id, 2 []string nodes, 3 int64 grace_period_seconds, 4 int32 preemptor_priority',
  ReclaimAck: '1 string instruction_id, 2 int32 nodes_started',
  NodeStateUpdate:
    '1 string supersedes_key, 2 string machine_id, 3 string cluster_id, 4 MachineState state, 5 string node_name, 6 string provider_id, 8 string last_error, 9 map labels, 10 Resources resources, 11 []Taint taints',
  Taint: '1 string key, 2 string value, 3 string effect',
  AvailableCapacityUpdate:
    '1 string supersedes_key, 2 []NodeSelectorRequirement requirements, 3 Resources resources, 4 int32 available_count, 5 Confidence confidence, 6 double cost_per_hour',
  InspectNeedsRequest: '1 string cluster_id, 2 int32 limit',
  InspectNeedsResponse: '1 InspectNeedsHeader header, 2 NeedView need',
  InspectNeedsHeader: '1 int64 cycle, 2 int64 computed_at_unix_nanos, 3 int32 total_needs',
  NeedView:
    '1 CapacityNeed need, 2 string cluster_id, 3 int64 arrival_unix_nanos, 4 string profile_fingerprint, 5 bool satisfied, 6 Resources residual_deficit, 7 int32 claimed_machine_count, 8 int32 bootstrap_count, 9 int32 provision_count, 10 string same_domain, 11 bool same_satisfiable, 12 bool acquisition_parked, 13 int32 parked_age_cycles, 14 int32 age_cycles_unmet, 15 UnmetReason unmet_reason, 16 MatchingSupply matching_supply, 17 PreemptionSummary preemption, 18 []DomainCoverage same_candidates',
  MatchingSupply: '1 int32 idle, 2 int32 configured, 3 int32 speculative, 4 bool capped',
  PreemptionSummary: '1 int32 victims_found, 2 Resources capacity_freed',
  DomainCoverage: '1 string domain, 2 int32 coverage_per_mille, 3 bool satisfiable',
  ListShardReportsRequest: '1 string shard_id',
  ListShardReportsResponse: '1 []ShardReportSnapshot reports',
  ShardReportSnapshot:
    '1 string shard_id, 2 int64 cycle, 3 int64 received_at_unix_ns, 4 ShardSummary summary, 5 []Shortfall shortfalls',
  ShardReport:
    '1 string shard_id, 2 int64 cycle, 3 int64 timestamp_unix_nanos, 4 int64 shard_epoch, 5 ShardSummary summary, 6 []Shortfall shortfalls, 7 []InstructAck instruction_acks, 8 string shard_address',
  ShardSummary:
    '1 int32 total_machines, 2 int32 free_machines, 3 map<string,int32> per_instance_type_counts, 4 map<string,int32> per_zone_counts, 7 string provider_address',
  Shortfall:
    '1 []NodeSelectorRequirement requirements, 2 Resources deficit, 3 int32 priority, 5 int32 age_cycles, 6 PenaltyBucket interruption_penalty_bucket',
  ReportAck: '1 int64 coordinator_term, 2 bool acknowledged, 3 []CoordinatorInstruction instructions',
  CoordinatorInstruction:
    '1 int64 coordinator_term, 2 int64 sequence_number, 3 string instruction_id, 4 AssignDomain assign_domain, 5 UnassignDomain unassign_domain, 6 ReassignSpeculative reassign_speculative, 7 CrossShardDrain cross_shard_drain, 8 TransferOwnership transfer_ownership',
  AssignDomain: '1 string topology_key, 2 string topology_value',
  UnassignDomain: '1 string topology_key, 2 string topology_value',
  ReassignSpeculative: '1 []string machine_ids',
  CrossShardDrain: '1 []string machine_ids, 2 int32 preemptor_priority',
  TransferOwnership: '1 []string machine_ids, 2 string from_shard_id, 3 string to_shard_id',
  InstructAck: '1 string instruction_id, 2 Outcome outcome, 3 string reason',
  AssignDomainRequest: '1 string topology_key, 2 string topology_value, 3 string shard_id',
  AssignDomainResponse: '',
  UnassignDomainRequest: '1 string topology_key, 2 string topology_value',
  UnassignDomainResponse: '',
  RemoveShardRequest: '1 string shard_id',
  RemoveShardResponse: '',
  ListShardsRequest: '',
  ListShardsResponse: '1 []ShardRegistryEntry shards',
  ShardRegistryEntry:
    '1 string shard_id, 2 string address, 3 int64 registered_at_unix_ns, 4 int64 last_heartbeat_unix_ns',
  ListDomainAssignmentsRequest: '',
  ListDomainAssignmentsResponse: '1 []DomainAssignment assignments',
  DomainAssignment: '1 string topology_key, 2 string topology_value, 3 string shard_id',
  ListQuotasRequest: '',
  ListQuotasResponse: '1 []QuotaAllocation allocations',
  QuotaAllocation: '1 string provider, 2 string region, 3 map<string,int32> per_shard',
};

/** Reserved numbers. */
const RESERVED: Readonly<Record<string, readonly number[]>> = {
  Machine: [11],
  ListFilter: [2, 3],
  CreateRequest: [2],
  CapacityNeed: [4],
  Hello: [2],
  NodeStateUpdate: [7],
  AvailableCapacityUpdate: [7, 8, 9],
  ShardSummary: [5, 6],
  Shortfall: [4],
};

const names = (prefix: string, ...values: string[]) =>
  Object.fromEntries(values.map((name, number) => [`${prefix}_${name}`, number]));

const ENUMS = {
  MachineState: names(
    'MACHINE_STATE',
    'UNSPECIFIED',
    'SPECULATIVE',
    'CREATING',
    'IDLE',
    'CONFIGURING',
    'CONFIGURED',
    'DRAINING',
    'DELETING',
    'FAILED',
  ),
  CapacityType: names('CAPACITY_TYPE', 'UNSPECIFIED', 'BARE_METAL', 'RESERVED', 'ON_DEMAND', 'SPOT'),
  PenaltyBucket: names(
    'PENALTY_BUCKET',
    'UNSPECIFIED',
    'ZERO',
    'HALF_DOLLAR',
    ...Array.from({ length: 24 }, (_, power) => String(2 ** power)),
    'PINNED',
  ),
  NodeSelectorRequirementOperator: names(
    'OPERATOR',
    'UNSPECIFIED',
    'IN',
    'NOT_IN',
    'EXISTS',
    'DOES_NOT_EXIST',
    'SAME',
  ),
  TopologySpreadWhenUnsatisfiable: names(
    'WHEN_UNSATISFIABLE',
    'UNSPECIFIED',
    'DO_NOT_SCHEDULE',
    'SCHEDULE_ANYWAY',
  ),
  AvailableCapacityUpdateConfidence: names('CONFIDENCE', 'UNSPECIFIED', 'NONE', 'LOW', 'MEDIUM', 'HIGH'),
  UnmetReason: names(
    'UNMET_REASON',
    'UNSPECIFIED',
    'PRIORITY_STARVED',
    'NO_MATCHING_SUPPLY',
    'TOPOLOGY_UNSATISFIABLE',
    'PREEMPTION_EXHAUSTED',
  ),
  InstructAckOutcome: names(
    'OUTCOME',
    'UNSPECIFIED',
    'ACCEPTED',
    'REJECTED_STALE',
    'REJECTED_INVALID',
    'FAILED',
  ),
};

function fieldText(field: protobuf.Field): string {
  const name = field.name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  if (field instanceof protobuf.MapField) {
    return `${field.id} ${field.type === 'string' ? 'map' : `map<${field.keyType},${field.type}>`} ${name}`;
  }
  return `${field.id} ${field.repeated ? '[]' : ''}${field.type} ${name}`;
}

describe('the protocol files', () => {
  for (const [name, fields] of Object.entries(FIELDS)) {
    it(`has ${name} with exactly its fields and numbers`, () => {
      const type = reflectedType(name as keyof protocol.Messages);
      const sorted = [...type.fieldsArray].sort((left, right) => left.id - right.id);
      expect(sorted.map(fieldText).join(', ')).toBe(fields);
    });
  }

  for (const [name, numbers] of Object.entries(RESERVED)) {
    it(`never reuses ${numbers.join(', ')} in ${name}`, () => {
      const type = reflectedType(name as keyof protocol.Messages);
      for (const number of numbers) expect(type.isReservedId(number)).toBe(true);
    });
  }

  for (const [name, values] of Object.entries(ENUMS)) {
    it(`has the enum ${name} with exactly its values`, () => {
      expect(Object.entries(protocol).find(([exported]) => exported === name)?.[1]).toEqual(values);
    });
  }

  it('has exactly these oneofs', () => {
    const oneofs = Object.keys(FIELDS).flatMap((name) =>
      reflectedType(name as keyof protocol.Messages).oneofsArray.map(
        (oneof) => `${name}.${oneof.name} ${oneof.fieldsArray.map(({ id }) => id).join(' ')}`,
      ),
    );
    expect(oneofs).toEqual([
      'OperatorMessage.payload 1 2 3 4',
      'ShardMessage.payload 1 2 3 4 5',
      'InspectNeedsResponse.frame 1 2',
      'CoordinatorInstruction.payload 4 5 6 7 8',
    ]);
  });

  it('has no other message', () => {
    const text = readFileSync(join(ROOT, 'src/wire/protocol.generated.ts'), 'utf8');
    const known = [...text.matchAll(/^ {2}(\w+): \{"(?:fields|oneofs)":/gm)].map(([, name]) => name!);
    expect(known.sort()).toEqual(Object.keys(FIELDS).sort());
  });

  for (const protocol of [BIGFLEET, ETCD, ADMIN]) {
    it(`is what the committed ${protocol.output} was generated from`, () => {
      const committed = readFileSync(join(ROOT, 'src/wire', protocol.output), 'utf8');
      expect(generateProtocolModule(join(ROOT, 'proto'), protocol)).toBe(committed);
    });
  }
});
