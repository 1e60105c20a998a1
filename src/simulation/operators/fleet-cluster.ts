/** One of many clusters: its changing demand, its nodes and its session. */
import type { Random } from '../../base/random.ts';
import { MachineState } from '../../machine/state.ts';
import type { SessionStream } from '../../operator-kit/connection.ts';
import type { ReconnectSettings } from '../../operator-kit/session-link.ts';
import type { BootstrapRequest, ReclaimInstruction } from '../../wire/protocol.generated.ts';
import { INSTANCE_TYPE_KEY } from '../catalogue/hardware.ts';
import { BindTickets, type BindTotals } from './bind-tickets.ts';
import type { ClusterDemand } from './cluster-demand.ts';
import type { OperatorCounters } from './counters.ts';
import type { LatencyHistogram } from './latency-histogram.ts';
import { NodeBook, type NodeTotals } from './node-book.ts';
import { OperatorSession, type SessionSink } from './session.ts';
import type { BootstrapAnswer, OperatorBehaviour } from './settings.ts';

/** Shared by all clusters of a process. */
export interface FleetShare {
  readonly typeIndexes: ReadonlyMap<string, number>;
  readonly binds: BindTotals;
  readonly nodes: NodeTotals;
  readonly counters: OperatorCounters;
  /** From sending a roll-up to its ack. */
  readonly acks: LatencyHistogram;
  readonly behaviour: OperatorBehaviour;
  readonly reconnect: ReconnectSettings;
  readonly churnShare: number;
  readonly onSessionChange: () => void;
}

/** After this many roll-up intervals without a resynced node, the resync counts as over. */
const QUIET_INTERVALS = 2;

export class FleetCluster {
  readonly demand: ClusterDemand;
  readonly tickets: BindTickets;
  readonly session: OperatorSession;
  readonly #share: FleetShare;
  readonly #book: NodeBook;
  #unackedCount = 0;
  #lastSentMs = 0;
  #hasSent = false;

  constructor(demand: ClusterDemand, openStream: () => SessionStream, share: FleetShare, random: Random) {
    this.demand = demand;
    this.#share = share;
    this.tickets = new BindTickets(demand.wantedByType.length, share.binds);
    const quietMs = QUIET_INTERVALS * share.behaviour.rollupIntervalMs;
    this.#book = new NodeBook(share.typeIndexes, this.tickets, share.nodes, quietMs);
    const { counters, behaviour, reconnect } = share;
    this.session = new OperatorSession({
      clusterId: demand.clusterId,
      openStream,
      demand: () => demand,
      sink: this.#sink(),
      counters,
      behaviour,
      reconnect,
      random,
    });
  }

  /** Whether the session is open and its resync is over. */
  get isSettled(): boolean {
    return this.session.isStanding && this.#book.isSettled;
  }

  #sink(): SessionSink {
    const { counters } = this.#share;
    return {
      onStanding: () => {
        this.#unackedCount = 0;
        this.#book.onStream(Date.now());
        this.#share.onSessionChange();
      },
      onEnded: () => this.#share.onSessionChange(),
      onRollupDue: () => {
        // The first roll-up is the plan itself: if its machines are already bound, the shard has nothing to do.
        if (this.#hasSent) this.demand.churn(this.#share.churnShare);
        this.#hasSent = true;
      },
      onRollupSent: (nowMs) => {
        this.#unackedCount++;
        this.#lastSentMs = nowMs;
        this.tickets.onRollup(this.demand.wantedByType, nowMs);
      },
      onRollupAcked: () => {
        const nowMs = Date.now();
        // With several roll-ups in flight, the ack does not say which one it is for.
        if (this.#unackedCount === 1) this.#share.acks.add(nowMs - this.#lastSentMs);
        this.#unackedCount = Math.max(0, this.#unackedCount - 1);
        this.#book.onRollupAcked(nowMs);
      },
      onNodeFrame: (frame) => this.#book.onFrame(frame, Date.now()),
      onCapacityFrame: () => {},
      onBootstrapRequest: () => {},
      onBootstrapAnswered: (request, answer) => this.#onAnswered(request, answer),
      onReclaim: (instruction) => this.#startedCount(instruction, counters),
    };
  }

  /** Every need of the catalogue names one instance type. */
  #onAnswered({ requirements }: BootstrapRequest, { times, error }: BootstrapAnswer): void {
    if (times === 0 || error !== '') return;
    const named = requirements.find(({ key }) => key === INSTANCE_TYPE_KEY)?.values[0];
    const type = named === undefined ? undefined : this.#share.typeIndexes.get(named);
    if (type !== undefined) this.tickets.onBlob(type, Date.now());
  }

  /** The shard uses the machine's id as node name if it knows no other. */
  #startedCount({ nodes }: ReclaimInstruction, counters: OperatorCounters): number {
    counters.reclaimedNodes += nodes.length;
    return nodes.filter((name) => {
      const state = this.#book.stateOf(name);
      return state === MachineState.Configured || state === MachineState.Draining;
    }).length;
  }
}
