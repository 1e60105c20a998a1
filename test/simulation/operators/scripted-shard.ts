/**
 * The shard's side of sessions over real gRPC: acks Hello and roll-ups, replaces sessions, and otherwise does
 * what a test tells it. With `binds` it has unlimited machines: every cluster gets a node for each whole machine
 * of the small catalogue that its roll-up asks for, and the shard reclaims the others.
 */
import { Server, ServerCredentials, type ServerDuplexStream, status } from '@grpc/grpc-js';
import { MachineState } from '../../../src/machine/state.ts';
import { toPlain } from '../../../src/wire/codec.ts';
import type { OperatorMessage, ShardMessageInit } from '../../../src/wire/protocol.generated.ts';
import { shardService } from '../../../src/wire/services.ts';

type Call = ServerDuplexStream<OperatorMessage, ShardMessageInit>;

const S = MachineState;
const CORES_PER_MACHINE = 4;

export interface ScriptedShardSettings {
  readonly credentials?: ServerCredentials;
  readonly port?: number;
  readonly greets?: boolean;
  readonly acksRollups?: boolean;
  readonly binds?: boolean;
  /** Machines that each cluster already has when it connects. */
  readonly boundBefore?: number;
}

export class ScriptedSession {
  readonly clusterId: string;
  readonly received: OperatorMessage[] = [];
  /** Machine ids by state, as last announced. */
  readonly announced = new Map<string, MachineState>();
  readonly call: Call;
  nextMachine = 0;

  constructor(clusterId: string, call: Call) {
    this.clusterId = clusterId;
    this.call = call;
  }

  send(message: ShardMessageInit): void {
    this.call.write(message);
  }

  announce(machineId: string, state: MachineState, instanceType = 'small-4', lastError = ''): void {
    this.announced.set(machineId, state);
    this.send({
      nodeStateUpdate: {
        supersedesKey: `node:${machineId}`,
        machineId,
        clusterId: this.clusterId,
        state,
        nodeName: machineId,
        providerId: `scripted/${machineId}`,
        lastError,
        labels: { 'a.example/first': 'x', 'node.kubernetes.io/instance-type': instanceType, zone: 'a' },
        resources: { resources: { cpu: '4' } },
      },
    });
  }

  askForBlob(requestId: string, instanceType = 'small-4'): void {
    const requirements = [{ key: 'node.kubernetes.io/instance-type', operator: 1, values: [instanceType] }];
    this.send({ bootstrapRequest: { requestId, clusterId: this.clusterId, requirements } });
  }

  end(code: status, details: string): void {
    this.call.emit('error', { code, details });
  }

  count(payload: OperatorMessage['payload']): number {
    return this.received.filter((message) => message.payload === payload).length;
  }

  last(payload: 'hello' | 'rollup' | 'bootstrapResponse' | 'reclaimAck'): OperatorMessage | undefined {
    return this.received.findLast((message) => message.payload === payload);
  }
}

export class ScriptedShard {
  readonly sessions = new Map<string, ScriptedSession>();
  /** All sessions, also ended ones. */
  readonly all: ScriptedSession[] = [];
  readonly streams: Call[] = [];
  readonly #server: Server;
  readonly #settings: ScriptedShardSettings;
  #port = 0;

  constructor(settings: ScriptedShardSettings = {}) {
    this.#settings = settings;
    this.#server = new Server({ 'grpc.max_receive_message_length': -1 });
    this.#server.addService(shardService, { Session: (call: Call) => this.#accept(call) });
  }

  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  async listen(): Promise<this> {
    const credentials = this.#settings.credentials ?? ServerCredentials.createInsecure();
    this.#port = await new Promise((resolve, reject) =>
      this.#server.bindAsync(`127.0.0.1:${this.#settings.port ?? 0}`, credentials, (error, port) =>
        error === null ? resolve(port) : reject(error),
      ),
    );
    return this;
  }

  /** Like a crash: without a status. */
  close(): void {
    this.#server.forceShutdown();
  }

  session(clusterId: string): ScriptedSession {
    const session = this.sessions.get(clusterId);
    if (session === undefined) throw new Error(`there is no session of ${clusterId}`);
    return session;
  }

  #accept(call: Call): void {
    this.streams.push(call);
    let session: ScriptedSession | null = null;
    call.on('data', (raw: OperatorMessage) => {
      const message = toPlain('OperatorMessage', raw); // without unset fields
      if (message.hello) session = this.#greet(message.hello.clusterId, call);
      if (session === null) {
        call.emit('error', refused('the first frame is not Hello'));
        return;
      }
      session.received.push(message);
      this.#answer(session, message);
    });
    call.on('error', () => {});
    call.on('end', () => call.end());
  }

  #greet(clusterId: string, call: Call): ScriptedSession {
    const before = this.sessions.get(clusterId);
    if (before?.call === call) return before;
    before?.end(status.ABORTED, 'replaced by a newer session of this cluster');
    const session = new ScriptedSession(clusterId, call);
    this.sessions.set(clusterId, session);
    this.all.push(session);
    return session;
  }

  #answer(session: ScriptedSession, message: OperatorMessage): void {
    const { greets = true, acksRollups = true, binds = false, boundBefore = 0 } = this.#settings;
    if (message.hello && greets) {
      session.send({ ack: { echo: 'hello', shardEpoch: 7 } });
      while (session.nextMachine < boundBefore) {
        session.announce(`${session.clusterId}-${session.nextMachine++}`, S.Configured);
      }
    }
    if (message.rollup && acksRollups) session.send({ ack: { echo: 'rollup', shardEpoch: 7 } });
    if (!binds) return;
    if (message.rollup) this.#bind(session, message);
    if (message.bootstrapResponse?.error === '') {
      session.announce(message.bootstrapResponse.requestId, S.Configured);
    }
  }

  /** The request id is the machine id, so that the answer names the machine to configure. */
  #bind(session: ScriptedSession, { rollup }: OperatorMessage): void {
    const cores = rollup!.needs.reduce((sum, need) => sum + Number(need.aggregateResources.cpu ?? 0), 0);
    const bound = [...session.announced].filter(([, state]) => state !== S.Idle).map(([id]) => id);
    for (let missing = cores / CORES_PER_MACHINE - bound.length; missing > 0; missing--) {
      const machineId = `${session.clusterId}-${session.nextMachine++}`;
      session.announce(machineId, S.Configuring);
      session.askForBlob(machineId);
    }
    for (let excess = bound.length - cores / CORES_PER_MACHINE; excess > 0; excess--) {
      const machineId = bound.pop()!;
      session.send({
        reclaimInstruction: { instructionId: machineId, nodes: [machineId], gracePeriodSeconds: 1 },
      });
      session.announce(machineId, S.Draining);
      session.announce(machineId, S.Idle);
    }
  }
}

function refused(details: string) {
  return { code: status.INVALID_ARGUMENT, details };
}
