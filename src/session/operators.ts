/**
 * All sessions, by cluster id, and the port through which the shard sends to them. O2: one session per cluster; a new one
 * replaces the old. The departures of a cluster are kept here, because they must outlive its session.
 */
import { status } from '@grpc/grpc-js';
import type { Clock } from '../base/clock.ts';
import { ShardError } from '../base/errors.ts';
import type {
  BlobAnswer,
  BlobRequest,
  CapacityHint,
  NodeState,
  OperatorsPort,
  ReclaimInstruction,
  ShardForOperators,
} from '../shard/ports/operators.ts';
import type { TlsEvent } from '../tls/server-credentials.ts';
import {
  Admission,
  type AdmissionOptions,
  admissionLimits,
  type Limited,
  type RefusalReason,
} from './admission.ts';
import { Arrivals } from './arrivals.ts';
import { newCounters, type OperatorCounters } from './counters.ts';
import { Departures } from './departures.ts';
import { encodeAck } from './encode.ts';
import type { ConnectionEnd } from './lifetimes.ts';
import { HELLO_TIMEOUT_MS } from './limits.ts';
import { type AckFrames, Outbox } from './outbox.ts';
import { RollupQueue, type RollupResult } from './rollup-queue.ts';
import { type EndStatus, Session, type SessionHost, type SessionStream } from './session.ts';
import { WriteTurns } from './write-turns.ts';

/** How often expired departures are removed. */
const EXPIRY_INTERVAL_MS = 60_000;
/** The connection had too many pings open, or is about to end. */
const PING_AGAIN_MS = 1_000;

/** For the log. */
export type OperatorEvent =
  | { readonly kind: 'session_opened'; readonly clusterId: string; readonly peer: string }
  | { readonly kind: 'session_ended'; readonly clusterId: string; readonly peer: string }
  | { readonly kind: 'session_replaced'; readonly clusterId: string; readonly peer: string }
  | {
      readonly kind: 'identity_rejected';
      readonly clusterId: string;
      readonly peer: string;
      readonly detail: string;
    }
  | {
      /** T11: the first refusal for this reason in a minute. */
      readonly kind: 'limit_reached';
      readonly reason: RefusalReason;
      readonly peer: string;
      readonly detail: string;
    }
  | {
      /** T14: the certificate of an open connection is no longer valid. */
      readonly kind: 'connection_ended';
      readonly reason: ConnectionEnd;
      readonly peer: string;
      readonly detail: string;
    }
  | TlsEvent;

/** One session, for the dashboard. */
export interface SessionView {
  readonly clusterId: string;
  readonly peer: string;
  readonly sinceMs: number;
  /** Null: no roll-up yet. */
  readonly lastRollupMs: number | null;
  readonly lastRollupRows: number;
  readonly outboxDepth: number;
  readonly waitingBlobs: number;
  readonly boundMachines: number;
}

export interface OperatorsOptions {
  readonly clock: Clock;
  /** The server notices a dead peer within this time. */
  readonly deadPeerMs: number;
  readonly helloTimeoutMs?: number;
  /** Replaces the usual limits. */
  readonly limits?: AdmissionOptions;
  /** Why this stream may not speak for the cluster; null if it may. */
  readonly whyNotCluster?: (stream: SessionStream, clusterId: string) => string | null;
  readonly onEvent?: (event: OperatorEvent) => void;
}

export class Operators implements OperatorsPort, SessionHost {
  readonly counters: OperatorCounters = newCounters();
  protected readonly admission: Admission;
  readonly #options: OperatorsOptions;
  /** The edge is constructed before the shard that it serves; `serve` sets these three before a stream can open. */
  #shard!: ShardForOperators;
  #acks!: AckFrames;
  #rollups: RollupQueue | null = null;
  readonly #byCluster = new Map<string, Session>();
  /** Open streams, whether sessions or not; admission limits them. */
  readonly #streams = new Set<Session>();
  readonly #departures = new Map<string, Departures>();
  protected readonly arrivals = new Arrivals();
  readonly #turns = new WriteTurns(this.arrivals);
  readonly #expiry: NodeJS.Timeout;
  #opened = 0;
  #pings = 0;
  #endedWith: string | null = null;

  constructor(options: OperatorsOptions) {
    this.#options = options;
    this.admission = new Admission(
      admissionLimits(options.limits),
      this.counters.refused,
      () => this.nowMs(),
      ({ reason, address, detail }) => {
        options.onEvent?.({ kind: 'limit_reached', reason, peer: address, detail });
      },
    );
    this.#expiry = setInterval(() => this.#expire(), EXPIRY_INTERVAL_MS);
    this.#expiry.unref();
  }

  /** Before the first stream, and again when a standby becomes active (F4): it had no sessions. */
  protected serve(shard: ShardForOperators): void {
    this.#shard = shard;
    this.#acks = acksOf(shard.epoch, 0);
    this.#rollups?.clear();
    this.#rollups = new RollupQueue(shard, this.arrivals);
  }

  /** A new stream; Hello makes it a session. */
  open(stream: SessionStream): Session {
    const name = `b-${this.#shard.epoch}-${++this.#opened}`;
    const session = new Session(stream, this, name, this.#options.helloTimeoutMs ?? HELLO_TIMEOUT_MS);
    if (this.#endedWith !== null) session.end(status.UNAVAILABLE, this.#endedWith);
    else {
      this.#streams.add(session);
      stream.once('close', () => this.#streams.delete(session));
    }
    return session;
  }

  /** Acks carry the coordinator's highest term. */
  setCoordinatorTerm(term: number): void {
    this.#acks = acksOf(this.#shard.epoch, term);
  }

  /** Why the shard accepts no sessions now; null if it does. */
  get refusal(): string | null {
    return this.#endedWith ?? this.#shard.refusal();
  }

  get sessionCount(): number {
    return this.#byCluster.size;
  }

  /** Bytes of roll-ups that wait or are being read. */
  get rollupBytesWaiting(): number {
    return this.#rollups?.bytes ?? 0;
  }

  /** T11: places in use. */
  held(what: Limited): number {
    return this.admission.held(what);
  }

  hasSession(clusterId: string): boolean {
    return this.#byCluster.has(clusterId);
  }

  sessions(): SessionView[] {
    return [...this.#byCluster.values()].map((session) => ({
      clusterId: session.clusterId,
      peer: session.stream.getPeer(),
      sinceMs: session.openedMs,
      lastRollupMs: session.lastRollupMs,
      lastRollupRows: session.lastRollupRows,
      outboxDepth: session.outboxDepth,
      waitingBlobs: session.waitingBlobs,
      boundMachines: this.#shard.boundSlots(session.clusterId).length,
    }));
  }

  requestBlob(request: BlobRequest): Promise<BlobAnswer> {
    const session = this.#byCluster.get(request.clusterId);
    return session?.requestBlob(request) ?? Promise.resolve({ kind: 'no_session' });
  }

  instructReclaim(clusterId: string, instruction: ReclaimInstruction): boolean {
    const session = this.#byCluster.get(clusterId);
    session?.reclaim(instruction);
    return session !== undefined;
  }

  nodeChanged(clusterId: string, slot: number, machineId: string): void {
    this.#departures.get(clusterId)?.forget(machineId);
    this.#byCluster.get(clusterId)?.nodeChanged(slot);
  }

  nodeLeft(node: NodeState): void {
    this.#departuresOf(node.clusterId).add(node, this.nowMs());
    this.#byCluster.get(node.clusterId)?.wake();
  }

  hintCapacity(clusterId: string, hint: CapacityHint): void {
    this.#byCluster.get(clusterId)?.hint(hint);
  }

  pingAll(): void {
    const round = ++this.#pings;
    for (const session of this.#byCluster.values()) this.#ping(session, round);
  }

  endAll(reason: string): void {
    this.#endedWith = reason;
    for (const session of [...this.#streams]) session.end(status.UNAVAILABLE, reason);
    this.#rollups?.clear();
  }

  protected endForGood(): void {
    clearInterval(this.#expiry);
    this.endAll(this.#endedWith ?? 'The shard is shutting down.');
  }

  protected rejectIdentity(clusterId: string, peer: string, detail: string): void {
    this.counters.identityRejections++;
    this.#options.onEvent?.({ kind: 'identity_rejected', clusterId, peer, detail });
  }

  // SessionHost

  nowMs(): number {
    return this.#options.clock.nowMs();
  }

  helloMissing(session: Session, detail: string): void {
    this.admission.refused('opening_timeout', session.stream.getPeer(), detail);
  }

  greet(session: Session, clusterId: string): Outbox | EndStatus {
    const peer = session.stream.getPeer();
    const detail = this.#options.whyNotCluster?.(session.stream, clusterId) ?? null;
    if (detail !== null) {
      this.rejectIdentity(clusterId, peer, detail);
      return { code: status.PERMISSION_DENIED, details: detail };
    }
    const { refusal } = this;
    if (refusal !== null) return { code: status.UNAVAILABLE, details: refusal };
    try {
      this.#shard.sessionOpened(clusterId);
    } catch (error) {
      if (!(error instanceof ShardError)) throw error;
      return { code: status.RESOURCE_EXHAUSTED, details: error.message }; // the shard has no room for another cluster
    }
    const replaced = this.#byCluster.get(clusterId);
    this.#byCluster.set(clusterId, session);
    this.counters.sessionsInstalled++;
    if (replaced !== undefined) this.#replace(replaced, peer);
    const departures = this.#departuresOf(clusterId);
    departures.reopen(this.nowMs());
    this.#options.onEvent?.({ kind: 'session_opened', clusterId, peer });
    return new Outbox(clusterId, this.#shard, () => this.#acks, departures);
  }

  rollup(session: Session, payload: Uint8Array): void {
    this.#rollups?.offer(session.clusterId, session, payload, (result) => {
      this.#countRollup(result);
      session.rollupSettled(result);
    });
  }

  ended(session: Session): void {
    this.counters.sessionsRemoved++;
    const { clusterId } = session;
    if (this.#byCluster.get(clusterId) !== session) return; // it was replaced
    this.#byCluster.delete(clusterId);
    this.#departures.get(clusterId)?.readerLeft();
    this.#options.onEvent?.({ kind: 'session_ended', clusterId, peer: session.stream.getPeer() });
    this.#shard.sessionClosed(clusterId);
  }

  wantsToWrite(session: Session): void {
    this.#turns.join(session);
  }

  #ping(session: Session, round: number): void {
    session.ping((hasAnswered) => {
      if (round !== this.#pings || this.#byCluster.get(session.clusterId) !== session) return;
      if (hasAnswered) this.#shard.sessionAnswered(session.clusterId);
      else setTimeout(() => this.#ping(session, round), PING_AGAIN_MS).unref();
    });
  }

  #replace(session: Session, byPeer: string): void {
    const { clusterId } = session;
    this.counters.sessionsReplaced++;
    this.#options.onEvent?.({ kind: 'session_replaced', clusterId, peer: session.stream.getPeer() });
    const who = JSON.stringify(clusterId);
    session.end(status.ABORTED, `A newer session of cluster ${who}, from ${byPeer}, replaced this one.`);
  }

  #countRollup({ outcome, rollups }: RollupResult): void {
    const { counters } = this;
    if (outcome === 'applied') counters.rollupsApplied++;
    else if (outcome === 'unchanged') counters.rollupsUnchanged++;
    else if (outcome === 'quarantined') counters.rollupsHeld++;
    else counters.rollupsRejected++;
    counters.rollupsSuperseded += rollups - 1;
  }

  #departuresOf(clusterId: string): Departures {
    let departures = this.#departures.get(clusterId);
    if (departures === undefined) {
      departures = new Departures(2 * this.#options.deadPeerMs);
      this.#departures.set(clusterId, departures);
    }
    return departures;
  }

  /** Removes the departures of clusters that have none left and no session; a live session uses its own. */
  #expire(): void {
    const nowMs = this.nowMs();
    for (const [clusterId, departures] of this.#departures) {
      departures.expire(nowMs);
      if (departures.size === 0 && !this.#byCluster.has(clusterId)) this.#departures.delete(clusterId);
    }
  }
}

function acksOf(epoch: number, term: number): AckFrames {
  return { hello: encodeAck('hello', epoch, term), rollup: encodeAck('rollup', epoch, term) };
}
