/** F8: the reference's Coordinator service over the coordinator of this fleet. Each call checks who calls. */
import {
  type handleUnaryCall,
  type ServerUnaryCall,
  type ServiceDefinition,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { ShardError } from '../base/errors.ts';
import { whyNotFleetAdmin, whyNotFleetReader, whyNotShard } from '../tls/identity.ts';
import type { MessageInits, Messages } from '../wire/protocol.generated.ts';
import { coordinatorService } from '../wire/services.ts';
import { type Coordinator, NoCoordinatorHereError } from './coordinator.ts';
import { SHORTFALLS_MAX, TOPOLOGY_BYTES_MAX } from './limits.ts';

/** Ids of shards are shorter; addresses are a host and a port. */
const TEXT_BYTES_MAX = 512;
/** Instance types and zones of a report: a fleet has a few hundred. */
const COUNTS_MAX = 20_000;
const NANOS_PER_MS = 1e6;

export class RequestRefusedError extends ShardError {
  readonly code = 'coordinator_request_refused';
  readonly next = 'reject-input';

  constructor(what: string) {
    super(`${what} The coordinator changed nothing. Correct the request.`);
  }
}

export interface CoordinatorServiceOptions {
  readonly coordinator: Coordinator;
  /** Without TLS everybody may call, as everywhere on this port. */
  readonly hasTls: boolean;
  readonly onRefused: (peer: string, why: string) => void;
}

type Check = (call: ServerUnaryCall<unknown, unknown>, request: unknown) => string | null;

export function coordinatorServiceOf(options: CoordinatorServiceOptions): {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
} {
  const { coordinator } = options;
  const { registry } = coordinator;
  const call = <Request extends keyof Messages, Reply extends keyof MessageInits>(
    check: Check,
    run: (request: Messages[Request]) => Promise<MessageInits[Reply]> | MessageInits[Reply],
  ) => serve<Messages[Request], MessageInits[Reply]>(options, check, run);
  const reader: Check = (one) => whyNotFleetReader(one);
  const admin: Check = (one) => whyNotFleetAdmin(one);

  const implementation: UntypedServiceImplementation = {
    ReportShard: call<'ShardReport', 'ReportAck'>(
      (one, request) => whyNotShard(one, (request as Messages['ShardReport']).shardId),
      (report) => {
        checkReport(report);
        return coordinator.report(report);
      },
    ),
    AssignDomain: call<'AssignDomainRequest', 'AssignDomainResponse'>(admin, async (request) => {
      coordinator.requireTerm();
      checkDomain(request);
      requireText('shard_id', request.shardId, TEXT_BYTES_MAX);
      await registry.assignDomain(request.topologyKey, request.topologyValue, request.shardId);
      return {};
    }),
    UnassignDomain: call<'UnassignDomainRequest', 'UnassignDomainResponse'>(admin, async (request) => {
      coordinator.requireTerm();
      checkDomain(request);
      await registry.unassignDomain(request.topologyKey, request.topologyValue);
      return {};
    }),
    RemoveShard: call<'RemoveShardRequest', 'RemoveShardResponse'>(admin, async ({ shardId }) => {
      requireText('shard_id', shardId, TEXT_BYTES_MAX);
      await coordinator.removeShard(shardId);
      return {};
    }),
    ListShards: call<'ListShardsRequest', 'ListShardsResponse'>(reader, () => {
      coordinator.requireTerm();
      return {
        shards: registry.shards().map(({ shard, address, registeredAtMs }) => ({
          shardId: shard,
          address,
          registeredAtUnixNs: registeredAtMs * NANOS_PER_MS,
          lastHeartbeatUnixNs: coordinator.lastReportAtMs(shard) * NANOS_PER_MS,
        })),
      };
    }),
    ListDomainAssignments: call<'ListDomainAssignmentsRequest', 'ListDomainAssignmentsResponse'>(
      reader,
      () => {
        coordinator.requireTerm();
        return {
          assignments: registry.domains().map(({ topologyKey, topologyValue, shard }) => ({
            ...{ topologyKey, topologyValue },
            shardId: shard,
          })),
        };
      },
    ),
    ListShardReports: call<'ListShardReportsRequest', 'ListShardReportsResponse'>(reader, ({ shardId }) => ({
      reports: coordinator.reports(shardId).map(([shard, { report, receivedAtMs }]) => ({
        shardId: shard,
        cycle: report.cycle,
        receivedAtUnixNs: receivedAtMs * NANOS_PER_MS,
        ...(report.summary === null ? {} : { summary: report.summary }),
        shortfalls: report.shortfalls,
      })),
    })),
    // Of earlier coordinators: this one has none.
    ListQuotas: call<'ListQuotasRequest', 'ListQuotasResponse'>(reader, () => {
      coordinator.requireTerm();
      return { allocations: [] };
    }),
  };
  return { definition: coordinatorService as ServiceDefinition, implementation };
}

function serve<Request, Reply>(
  { hasTls, onRefused }: CoordinatorServiceOptions,
  check: Check,
  run: (request: Request) => Promise<Reply> | Reply,
): handleUnaryCall<Request, Reply> {
  return (call: ServerUnaryCall<Request, Reply>, answer: sendUnaryData<Reply>) => {
    const why = hasTls ? check(call as ServerUnaryCall<unknown, unknown>, call.request) : null;
    if (why !== null) {
      onRefused(call.getPeer(), why);
      answer({ code: status.PERMISSION_DENIED, details: why });
      return;
    }
    Promise.resolve()
      .then(() => run(call.request))
      .then(
        (reply) => answer(null, reply),
        (error: Error) => answer({ code: statusOf(error), details: error.message }),
      );
  };
}

/** UNAVAILABLE makes a relay offer the call to the next coordinator. */
function statusOf(error: Error): status {
  if (!(error instanceof ShardError)) return status.INTERNAL;
  if (error instanceof NoCoordinatorHereError) return status.UNAVAILABLE;
  return error.next === 'reject-input' ? status.INVALID_ARGUMENT : status.UNAVAILABLE;
}

/** The coordinator keeps the report in memory, so what it may have is bounded. */
function checkReport({ shardId, shardAddress, summary, shortfalls }: Messages['ShardReport']): void {
  requireText('shard_id', shardId, TEXT_BYTES_MAX);
  if (Buffer.byteLength(shardAddress) > TEXT_BYTES_MAX)
    throw new RequestRefusedError(`shard_address is longer than ${TEXT_BYTES_MAX} bytes.`);
  if (shortfalls.length > SHORTFALLS_MAX)
    throw new RequestRefusedError(
      `The report has ${shortfalls.length} shortfalls; the maximum is ${SHORTFALLS_MAX}.`,
    );
  const counts = summary === null ? [] : [summary.perInstanceTypeCounts, summary.perZoneCounts];
  for (const one of counts)
    if (Object.keys(one).length > COUNTS_MAX)
      throw new RequestRefusedError(`The summary has more than ${COUNTS_MAX} instance types or zones.`);
}

function checkDomain({ topologyKey, topologyValue }: { topologyKey: string; topologyValue: string }): void {
  requireText('topology_key', topologyKey, TOPOLOGY_BYTES_MAX);
  requireText('topology_value', topologyValue, TOPOLOGY_BYTES_MAX);
}

function requireText(field: string, text: string, bytesMax: number): void {
  if (text === '') throw new RequestRefusedError(`${field} is empty.`);
  if (Buffer.byteLength(text) > bytesMax)
    throw new RequestRefusedError(`${field} is longer than ${bytesMax} bytes.`);
}
