/**
 * The operator of one cluster, for tests and small tools: connect, set the demand, wait for the nodes.
 *
 *   const operator = new SimulatedOperator({ address, clusterId: 'blue' });
 *   await operator.connect();
 *   operator.setDemand([row]);
 *   const node = await operator.waitForNode(({ state }) => state === MachineState.Configured);
 *   await operator.close();
 *
 * `behave` causes trouble with bootstrap answers (late, missing, failing, repeated); pauseReading, breakOff and
 * send cause other trouble.
 */
import { Random } from '../../base/random.ts';
import { MachineState } from '../../machine/state.ts';
import type { RollupRow } from '../../needs/rollup.ts';
import { SessionEndedError } from '../../operator-kit/errors.ts';
import { EncodedRows } from '../../operator-kit/frames.ts';
import type { ReconnectSettings } from '../../operator-kit/session-link.ts';
import { shardMessageOf } from '../../operator-kit/shard-frame.ts';
import type { TlsFiles } from '../../tls/files.ts';
import { toPlain } from '../../wire/codec.ts';
import type {
  AvailableCapacityUpdate,
  BootstrapRequest,
  NodeStateUpdate,
  OperatorMessageInit,
  ReclaimInstruction,
} from '../../wire/protocol.generated.ts';
import { ShardChannels } from './channels.ts';
import { OperatorCounters } from './counters.ts';
import { OperatorSession, type SessionSink } from './session.ts';
import {
  DEFAULT_BEHAVIOUR,
  DEFAULT_RECONNECT,
  type OperatorBehaviour,
  WaitedTooLongError,
} from './settings.ts';

export interface SimulatedOperatorOptions {
  /** `host:port` of the shard. */
  readonly address: string;
  readonly clusterId: string;
  /** Default: plaintext. */
  readonly tls?: TlsFiles;
  readonly behaviour?: Partial<OperatorBehaviour>;
  readonly reconnect?: Partial<ReconnectSettings>;
  readonly seed?: number;
  /** Default: Hello. null: the operator sends no first frame. */
  readonly firstFrame?: Buffer | null;
}

const WAIT_MS = 30_000;

export class SimulatedOperator {
  readonly clusterId: string;
  readonly counters = new OperatorCounters();
  /** The newest update by machine id. A machine that left the cluster keeps its last update here. */
  readonly nodes = new Map<string, NodeStateUpdate>();
  /** Every update in order of arrival. */
  readonly nodeHistory: NodeStateUpdate[] = [];
  /** The newest hint of every profile, by supersedes key. */
  readonly capacityHints = new Map<string, AvailableCapacityUpdate>();
  readonly bootstrapRequests: BootstrapRequest[] = [];
  readonly reclaims: ReclaimInstruction[] = [];
  /** Statuses of the ended streams, in order. */
  readonly endings: { readonly status: number; readonly details: string }[] = [];
  /** From the latest ack of Hello. */
  shardEpoch = 0;
  coordinatorTerm = 0;
  readonly #channels: ShardChannels;
  readonly #session: OperatorSession;
  #demand = new EncodedRows([]);
  readonly #waiters = new Set<() => void>();
  readonly #reconnects: boolean;

  constructor(options: SimulatedOperatorOptions) {
    const { address, clusterId, tls, firstFrame } = options;
    this.clusterId = clusterId;
    this.#channels = new ShardChannels({ address, tls, connectionCount: 0 });
    const reconnect = { ...DEFAULT_RECONNECT, ...options.reconnect };
    this.#reconnects = reconnect.isEnabled;
    this.#session = new OperatorSession({
      clusterId,
      openStream: () => this.#channels.open(clusterId, 0),
      demand: () => this.#demand,
      sink: this.#sink(),
      counters: this.counters,
      behaviour: { ...DEFAULT_BEHAVIOUR, ...options.behaviour },
      reconnect,
      random: new Random(options.seed ?? 1),
      ...(firstFrame === undefined ? {} : { firstFrame }),
    });
  }

  get isConnected(): boolean {
    return this.#session.isStanding;
  }

  /** Resolves when the shard has acked Hello. If reconnecting is off, it rejects when the stream ends first. */
  async connect(timeoutMs = WAIT_MS): Promise<void> {
    const endedBefore = this.endings.length;
    this.#session.start();
    await this.waitFor('a session', () => this.isConnected || this.#hasGivenUp(endedBefore), timeoutMs);
    if (this.isConnected) return;
    const { status, details } = this.endings.at(-1)!;
    throw new SessionEndedError(this.clusterId, status, details, null);
  }

  /** Sets the cluster's whole demand and sends it. */
  setDemand(rows: readonly RollupRow[]): void {
    this.#demand = new EncodedRows(rows);
    this.#session.sendRollup();
  }

  /** Sends the same demand again. */
  repeatDemand(): void {
    this.#session.sendRollup();
  }

  behave(change: Partial<OperatorBehaviour>): void {
    this.#session.behaviour = { ...this.#session.behaviour, ...change };
  }

  /** Sends any frame, also an invalid one. */
  send(message: OperatorMessageInit): void {
    this.#session.send(message);
  }

  /** Sends any bytes as one frame; they need not be a message. */
  sendBytes(frame: Buffer): void {
    this.#session.sendBytes(frame);
  }

  pauseReading(): void {
    this.#session.pauseReading();
  }

  resumeReading(): void {
    this.#session.resumeReading();
  }

  /** Ends the stream as a crash would. A new session follows if reconnecting is on. */
  breakOff(): void {
    this.#session.breakOff();
  }

  nodesIn(state: MachineState): NodeStateUpdate[] {
    return [...this.nodes.values()].filter((node) => node.state === state);
  }

  /** The first node whose newest update fits; waits for it if necessary. */
  async waitForNode(fits: (node: NodeStateUpdate) => boolean, timeoutMs = WAIT_MS): Promise<NodeStateUpdate> {
    const found = () => [...this.nodes.values()].find(fits);
    await this.waitFor('a node', () => found() !== undefined, timeoutMs);
    return found()!;
  }

  /** Checks the condition now and after every event on the session. */
  waitFor(what: string, isSo: () => boolean, timeoutMs = WAIT_MS): Promise<void> {
    if (isSo()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const look = () => {
        if (!isSo()) return;
        clearTimeout(timer);
        this.#waiters.delete(look);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiters.delete(look);
        reject(new WaitedTooLongError(this.clusterId, what, timeoutMs, this.#summary()));
      }, timeoutMs);
      this.#waiters.add(look);
    });
  }

  async close(): Promise<void> {
    await this.#session.close();
    this.#channels.close();
  }

  #hasGivenUp(endedBefore: number): boolean {
    return !this.#reconnects && this.endings.length > endedBefore;
  }

  #summary(): string {
    const byState = new Map<number, number>();
    for (const { state } of this.nodes.values()) byState.set(state, (byState.get(state) ?? 0) + 1);
    const nodes = [...byState].map(([state, count]) => `${count} nodes in state ${state}`).join(', ');
    const { rollupsSent, rollupsAcked, bootstrapRequests } = this.counters;
    return `${nodes || 'no node'}; ${rollupsSent} roll-ups sent, ${rollupsAcked} acked; ${bootstrapRequests} bootstrap requests`;
  }

  #changed(): void {
    for (const look of [...this.#waiters]) look();
  }

  #sink(): SessionSink {
    return {
      onStanding: ({ shardEpoch, coordinatorTerm }) => {
        this.shardEpoch = shardEpoch;
        this.coordinatorTerm = coordinatorTerm;
        this.#changed();
      },
      onEnded: (status, details) => {
        this.endings.push({ status, details });
        this.capacityHints.clear();
        this.#changed();
      },
      onRollupDue: () => {},
      onRollupSent: () => {},
      onRollupAcked: () => this.#changed(),
      onNodeFrame: (frame) => {
        const update = plainMessage(frame)?.nodeStateUpdate;
        if (!update) return false;
        this.nodes.set(update.machineId, update);
        this.nodeHistory.push(update);
        this.#changed();
        return true;
      },
      onCapacityFrame: (frame) => {
        const update = plainMessage(frame)?.availableCapacity;
        if (update) this.capacityHints.set(update.supersedesKey, update);
        this.#changed();
      },
      onBootstrapRequest: (request) => {
        this.bootstrapRequests.push(request);
        this.#changed();
      },
      onBootstrapAnswered: () => this.#changed(),
      onReclaim: (instruction) => {
        this.reclaims.push(instruction);
        this.#changed();
        const { Configured, Draining } = MachineState; // the Draining update may arrive before the instruction
        const known = [...this.nodesIn(Configured), ...this.nodesIn(Draining)];
        return instruction.nodes.filter((name) => known.some(({ nodeName }) => nodeName === name)).length;
      },
    };
  }
}

function plainMessage(frame: Buffer) {
  const message = shardMessageOf(frame);
  return message === null ? null : toPlain('ShardMessage', message);
}
