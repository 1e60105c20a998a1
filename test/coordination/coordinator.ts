/**
 * A coordinator for tests, over real gRPC on loopback. It registers the shards that report, assigns domains to them by
 * instruction, and repeats an instruction until it is acked. Its state may outlive the server, as in a real one; a test
 * sets faults as fields.
 */
import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { toPlain } from '../../src/wire/codec.ts';
import type {
  CoordinatorInstructionInit,
  InstructAck,
  MessageInits,
  Messages,
  QuotaAllocationInit,
  ShardReport,
} from '../../src/wire/protocol.generated.ts';
import { coordinatorService } from '../../src/wire/services.ts';

type Fault =
  | 'none'
  | 'silent' // accepts the report and never answers
  | 'lost' // accepts the report, and the answer is lost
  | 'lost-with-acks' // the same, for reports with acks
  | 'down' // accepts nothing
  | 'unacknowledged'; // answers that it did not accept the report

interface RegisteredShard {
  address: string;
  registeredAtMs: number;
  lastHeartbeatMs: number;
}

/** The coordinator's disk. */
export class CoordinatorState {
  term = 1;
  sequenceNumber = 0;
  readonly shards = new Map<string, RegisteredShard>();
  /** `key=value` to shard. */
  readonly assignments = new Map<string, string>();
  /** By shard: not acked yet. */
  readonly open = new Map<string, CoordinatorInstructionInit[]>();
  readonly quotas: QuotaAllocationInit[] = [];
  /** All acks of shards, in order. */
  readonly acks: InstructAck[] = [];
  readonly reports: ShardReport[] = [];

  /** Sends the instruction with every answer until it is acked; `term` overrides the coordinator's own. */
  instruct(shardId: string, instruction: CoordinatorInstructionInit, term = this.term): string {
    const sequenceNumber = ++this.sequenceNumber;
    const instructionId = instruction.instructionId ?? `i-${sequenceNumber}`;
    const open = this.open.get(shardId) ?? [];
    open.push({ ...instruction, instructionId, sequenceNumber, coordinatorTerm: term });
    this.open.set(shardId, open);
    return instructionId;
  }

  take(report: ShardReport): CoordinatorInstructionInit[] {
    this.reports.push(toPlain('ShardReport', report));
    const nowMs = Date.now();
    const known = this.shards.get(report.shardId);
    const registeredAtMs = known?.registeredAtMs ?? nowMs;
    this.shards.set(report.shardId, {
      address: report.shardAddress,
      registeredAtMs,
      lastHeartbeatMs: nowMs,
    });
    const acked = new Set(report.instructionAcks.map((ack) => ack.instructionId));
    this.acks.push(...report.instructionAcks);
    const open = (this.open.get(report.shardId) ?? []).filter((one) => !acked.has(one.instructionId!));
    this.open.set(report.shardId, open);
    return open;
  }
}

export class TestCoordinator {
  readonly state: CoordinatorState;
  fault: Fault = 'none';
  /** Reports that this server received, with any outcome. */
  callCount = 0;
  readonly #server = new Server();
  readonly #unanswered: (() => void)[] = [];
  #port = 0;

  static async serve(
    state = new CoordinatorState(),
    options: { port?: number; credentials?: ServerCredentials } = {},
  ): Promise<TestCoordinator> {
    const coordinator = new TestCoordinator(state);
    const { port = 0, credentials = ServerCredentials.createInsecure() } = options;
    coordinator.#port = await new Promise<number>((resolve, reject) => {
      coordinator.#server.bindAsync(`127.0.0.1:${port}`, credentials, (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    return coordinator;
  }

  private constructor(state: CoordinatorState) {
    this.state = state;
    this.#server.addService(coordinatorService, this.#methods() as unknown as UntypedServiceImplementation);
  }

  get port(): number {
    return this.#port;
  }

  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  async close(): Promise<void> {
    for (const giveUp of this.#unanswered.splice(0)) giveUp();
    this.#server.forceShutdown();
  }

  #methods() {
    const { state } = this;
    return {
      ReportShard: (
        call: ServerUnaryCall<Messages['ShardReport'], MessageInits['ReportAck']>,
        answer: sendUnaryData<MessageInits['ReportAck']>,
      ) => this.#report(call.request, answer),
      AssignDomain: unary<'AssignDomainRequest', 'AssignDomainResponse'>((request) => {
        const { topologyKey, topologyValue, shardId } = request;
        state.assignments.set(`${topologyKey}=${topologyValue}`, shardId);
        state.instruct(shardId, { assignDomain: { topologyKey, topologyValue } });
        return {};
      }),
      UnassignDomain: unary<'UnassignDomainRequest', 'UnassignDomainResponse'>((request) => {
        const { topologyKey, topologyValue } = request;
        const shardId = state.assignments.get(`${topologyKey}=${topologyValue}`);
        state.assignments.delete(`${topologyKey}=${topologyValue}`);
        if (shardId !== undefined)
          state.instruct(shardId, { unassignDomain: { topologyKey, topologyValue } });
        return {};
      }),
      RemoveShard: unary<'RemoveShardRequest', 'RemoveShardResponse'>(({ shardId }) => {
        state.shards.delete(shardId);
        state.open.delete(shardId);
        return {};
      }),
      ListShards: unary<'ListShardsRequest', 'ListShardsResponse'>(() => ({
        shards: [...state.shards].map(([shardId, { address, registeredAtMs, lastHeartbeatMs }]) => ({
          shardId,
          address,
          registeredAtUnixNs: registeredAtMs * 1e6,
          lastHeartbeatUnixNs: lastHeartbeatMs * 1e6,
        })),
      })),
      ListDomainAssignments: unary<'ListDomainAssignmentsRequest', 'ListDomainAssignmentsResponse'>(() => ({
        assignments: [...state.assignments].map(([domain, shardId]) => {
          const [topologyKey, topologyValue] = domain.split('=');
          return { topologyKey, topologyValue, shardId };
        }),
      })),
      ListQuotas: unary<'ListQuotasRequest', 'ListQuotasResponse'>(() => ({ allocations: state.quotas })),
    };
  }

  #report(report: ShardReport, answer: sendUnaryData<MessageInits['ReportAck']>): void {
    this.callCount++;
    const { term } = this.state;
    const unavailable = () => answer({ code: status.UNAVAILABLE, details: 'try\u001b[2J again\nlater' });
    if (this.fault === 'down') {
      unavailable();
    } else if (this.fault === 'unacknowledged') {
      const instructions = this.state.open.get(report.shardId) ?? [];
      answer(null, { coordinatorTerm: term, acknowledged: false, instructions });
    } else {
      const instructions = this.state.take(report);
      const hasAcks = report.instructionAcks.length > 0;
      if (this.fault === 'lost' || (this.fault === 'lost-with-acks' && hasAcks)) unavailable();
      else if (this.fault === 'silent') this.#unanswered.push(unavailable);
      else answer(null, { coordinatorTerm: term, acknowledged: true, instructions });
    }
  }
}

function unary<Request extends keyof Messages, Response extends keyof MessageInits>(
  handle: (request: Messages[Request]) => MessageInits[Response],
) {
  return (
    call: ServerUnaryCall<Messages[Request], MessageInits[Response]>,
    answer: sendUnaryData<MessageInits[Response]>,
  ) => answer(null, handle(call.request));
}
