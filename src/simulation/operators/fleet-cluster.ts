/** One of many clusters: its changing demand, its nodes and its session. */
import type { Random } from '../../base/random.ts';
import { MachineState } from '../../machine/state.ts';
import type { BootstrapRequest, ReclaimInstruction } from '../../wire/protocol.generated.ts';
import { INSTANCE_TYPE_KEY } from '../catalogue/hardware.ts';
import { BindTickets, type BindTotals } from './bind-tickets.ts';
import type { SessionStream } from './channels.ts';
import type { ClusterDemand } from './cluster-demand.ts';
import type { OperatorCounters } from './counters.ts';
import type { LatencyHistogram } from './latency-histogram.ts';
import { NodeBook, type NodeTotals } from './node-book.ts';
import { OperatorSession, type SessionSink } from './session.ts';
import type { BootstrapAnswer, OperatorBehaviour, ReconnectSettings } from './settings.ts';

/** What all clusters of a process share. */
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

/** So many roll-up intervals without news of the resync, and it is taken to be over. */
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
      demand,
      sink: this.#sink(),
      counters,
      behaviour,
      reconnect,
      random,
    });
  }

  /** Whether the session stands and its resync is over. */
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
        // The first one is the plan itself: a shard that finds it in place has nothing to do.
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
        // With several under way nobody knows which one this is.
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

  /** Of the catalogue's needs each names one instance type. */
  #onAnswered({ requirements }: BootstrapRequest, { times, error }: BootstrapAnswer): void {
    if (times === 0 || error !== '') return;
    const named = requirements.find(({ key }) => key === INSTANCE_TYPE_KEY)?.values[0];
    const type = named === undefined ? undefined : this.#share.typeIndexes.get(named);
    if (type !== undefined) this.tickets.onBlob(type);
  }

  /** A node goes by its machine's id where the shard knows no other name. */
  #startedCount({ nodes }: ReclaimInstruction, counters: OperatorCounters): number {
    counters.reclaimedNodes += nodes.length;
    return nodes.filter((name) => {
      const state = this.#book.stateOf(name);
      return state === MachineState.Configured || state === MachineState.Draining;
    }).length;
  }
}
