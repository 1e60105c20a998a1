/**
 * One cluster of a simulation on the operator kit's session: periodic roll-ups of a demand that changes, and answers that can be
 * late, missing, failing or repeated. Nodes and demand live elsewhere, because one operator in a test and two thousand in a
 * process store them differently. docs/adr/0051 says why this is not the kit's ClusterOperator.
 */
import type { Random } from '../../base/random.ts';
import type { SessionStream } from '../../operator-kit/connection.ts';
import {
  bootstrapFrame,
  type DemandSource,
  reclaimAckFrame,
  rollupFrame,
} from '../../operator-kit/frames.ts';
import { type ReconnectSettings, SessionLink } from '../../operator-kit/session-link.ts';
import { ShardFrame } from '../../operator-kit/shard-frame.ts';
import { encode } from '../../wire/codec.ts';
import type {
  Acknowledgement,
  BootstrapRequest,
  OperatorMessageInit,
  ReclaimInstruction,
  ShardMessage,
} from '../../wire/protocol.generated.ts';
import type { OperatorCounters } from './counters.ts';
import type { BootstrapAnswer, OperatorBehaviour } from './settings.ts';

/** Receives the events of a session. */
export interface SessionSink {
  /** The shard acked Hello. */
  onStanding(ack: Acknowledgement): void;
  onEnded(status: number, details: string): void;
  /** Called before a roll-up is encoded: the last chance to change the demand. */
  onRollupDue(): void;
  onRollupSent(nowMs: number): void;
  onRollupAcked(): void;
  /** A ShardMessage whose only field is a NodeStateUpdate. Returns false if it is malformed. */
  onNodeFrame(frame: Buffer): boolean;
  onCapacityFrame(frame: Buffer): void;
  onBootstrapRequest(request: BootstrapRequest): void;
  /** Also called when the operator deliberately sends no answer. */
  onBootstrapAnswered(request: BootstrapRequest, answer: BootstrapAnswer): void;
  /** Returns how many of the named nodes begin to drain. */
  onReclaim(instruction: ReclaimInstruction): number;
}

export interface SessionOptions {
  readonly clusterId: string;
  readonly openStream: () => SessionStream;
  /** The demand of the next roll-up. */
  readonly demand: () => DemandSource;
  readonly sink: SessionSink;
  readonly counters: OperatorCounters;
  readonly behaviour: OperatorBehaviour;
  readonly reconnect: ReconnectSettings;
  readonly random: Random;
  /** Default: Hello. null: the session sends no first frame. */
  readonly firstFrame?: Buffer | null;
}

export class OperatorSession {
  behaviour: OperatorBehaviour;
  readonly #options: SessionOptions;
  readonly #link: SessionLink;
  #isFirstRollup = true;
  #isRollupDue = false;
  readonly #timers = new Set<NodeJS.Timeout>();
  #rollupTimer: NodeJS.Timeout | null = null;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.behaviour = options.behaviour;
    const { clusterId, openStream, reconnect, random, firstFrame } = options;
    this.#link = new SessionLink({
      clusterId,
      openStream,
      events: {
        onStanding: (ack) => this.#stands(ack),
        onEnded: ({ status, details }) => this.#ended(status, details),
        onUpdate: (field, frame) => this.#updated(field, frame),
        onMessage: (message) => this.#received(message),
      },
      reconnect,
      random,
      ...(firstFrame === undefined ? {} : { firstFrame }),
    });
  }

  get isStanding(): boolean {
    return this.#link.isStanding;
  }

  start(): void {
    this.#link.start();
  }

  /** Sends the demand now instead of at the end of the interval. While one is being sent, only the latest waits. */
  sendRollup(): void {
    if (!this.#link.isStanding) return; // the next session begins with a roll-up
    const { clusterId, counters, sink } = this.#options;
    if (this.#link.isWriting) {
      if (!this.#isRollupDue) counters.rollupsHeldBack++;
      this.#isRollupDue = true;
      return;
    }
    this.#isRollupDue = false;
    sink.onRollupDue();
    const demand = this.#options.demand();
    const nowMs = Date.now();
    const frame = rollupFrame(clusterId, nowMs, demand);
    counters.rollupsSent++;
    counters.rowsSent += demand.rowCount;
    this.#write(frame.bytes, frame.release);
    sink.onRollupSent(nowMs);
  }

  /** Sends any frame, also an invalid one. */
  send(message: OperatorMessageInit): void {
    this.sendBytes(encode('OperatorMessage', message));
  }

  /** Sends any bytes as one frame. */
  sendBytes(frame: Buffer): void {
    this.#write(frame);
  }

  /** Simulates a slow reader: frames fill the stream's buffers, and then the shard's. */
  pauseReading(): void {
    this.#link.pauseReading();
  }

  resumeReading(): void {
    this.#link.resumeReading();
  }

  /** Ends the stream as a crash would. A new one follows if reconnecting is on. */
  breakOff(): void {
    this.#link.breakOff();
  }

  /** Ends for good. Resolves when the stream has ended on both sides. */
  close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    return this.#link.close();
  }

  #stands(ack: Acknowledgement): void {
    const { counters, sink } = this.#options;
    this.#isRollupDue = false;
    counters.sessionsOpened++;
    sink.onStanding(ack);
    if (this.behaviour.rollupIntervalMs === 0) return;
    this.sendRollup();
    this.#scheduleRollup();
  }

  #ended(status: number, details: string): void {
    const { counters, sink } = this.#options;
    this.#forget(this.#rollupTimer);
    counters.countEnding(status, details);
    sink.onEnded(status, details);
  }

  #updated(field: number, frame: Buffer): void {
    const { counters, sink } = this.#options;
    if (field === ShardFrame.NodeState) {
      counters.nodeUpdates++;
      if (!sink.onNodeFrame(frame)) counters.malformedFrames++;
    } else {
      counters.capacityUpdates++;
      sink.onCapacityFrame(frame);
    }
  }

  #received(message: ShardMessage | null): void {
    const { counters, sink } = this.#options;
    if (message?.ack?.echo === 'rollup') {
      counters.rollupsAcked++;
      sink.onRollupAcked();
    } else if (message?.bootstrapRequest) this.#answerBootstrap(message.bootstrapRequest);
    else if (message?.reclaimInstruction) this.#reclaim(message.reclaimInstruction);
    else counters.malformedFrames++;
  }

  #scheduleRollup(): void {
    const { rollupIntervalMs, rollupJitter } = this.behaviour;
    const { random } = this.#options;
    // A random time within the interval for the second roll-up spreads sessions that began together.
    const factor = this.#isFirstRollup ? random.unit() : 1 + rollupJitter * (2 * random.unit() - 1);
    this.#isFirstRollup = false;
    this.#rollupTimer = this.#after(rollupIntervalMs * factor, () => {
      this.sendRollup();
      this.#scheduleRollup();
    });
  }

  #answerBootstrap(request: BootstrapRequest): void {
    const { counters, sink } = this.#options;
    counters.bootstrapRequests++;
    sink.onBootstrapRequest(request);
    const answer = this.behaviour.answerBootstrap?.(request) ?? this.#drawAnswer();
    if (answer.times === 0) {
      counters.bootstrapSilences++;
      sink.onBootstrapAnswered(request, answer);
    } else if (answer.delayMs === 0) this.#sendBlob(request, answer);
    else {
      const asked = this.#link.streamNumber;
      // The shard accepts an answer only on the session that it asked.
      this.#after(answer.delayMs, () => {
        if (asked === this.#link.streamNumber) this.#sendBlob(request, answer);
      });
    }
  }

  #drawAnswer(): BootstrapAnswer {
    const { bootstrapDelayMs, bootstrapErrorProbability, bootstrapSilenceProbability } = this.behaviour;
    const { random } = this.#options;
    const { min, max } = bootstrapDelayMs;
    return {
      delayMs: min + random.unit() * (max - min),
      times: random.chance(bootstrapSilenceProbability) ? 0 : 1,
      error: random.chance(bootstrapErrorProbability) ? 'the cluster could not create a join token' : '',
    };
  }

  #sendBlob(request: BootstrapRequest, answer: BootstrapAnswer): void {
    const { clusterId, counters, sink } = this.#options;
    const { requestId } = request;
    const { blobTtlSeconds, blobBytes } = this.behaviour;
    const frame = bootstrapFrame(
      answer.error === ''
        ? { requestId, userData: userDataOf(clusterId, blobBytes), ttlSeconds: blobTtlSeconds }
        : { requestId, error: answer.error },
    );
    for (let sent = 0; sent < answer.times; sent++) this.#write(frame);
    if (answer.error === '') counters.bootstrapAnswers++;
    else counters.bootstrapErrors++;
    sink.onBootstrapAnswered(request, answer);
  }

  #reclaim(instruction: ReclaimInstruction): void {
    const { counters, sink } = this.#options;
    counters.reclaimInstructions++;
    if (instruction.preemptorPriority > 0) counters.preemptions++;
    const startedCount = sink.onReclaim(instruction);
    if (!this.behaviour.acknowledgesReclaims) return;
    this.#write(reclaimAckFrame(instruction.instructionId, startedCount));
  }

  /** `onTaken` is called when the stream has taken the bytes; never if the stream has ended. */
  #write(frame: Buffer, onTaken = () => {}): void {
    const isWritten = this.#link.write(frame, () => {
      onTaken();
      if (this.#isRollupDue) this.sendRollup();
    });
    if (isWritten) this.#options.counters.bytesSent += frame.length;
  }

  #after(delayMs: number, run: () => void): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, delayMs);
    this.#timers.add(timer);
    return timer;
  }

  #forget(timer: NodeJS.Timeout | null): void {
    if (timer === null) return;
    clearTimeout(timer);
    this.#timers.delete(timer);
  }
}

/** User data of the given size that names the cluster: a script that a provider can really run, padded with a comment. */
export function userDataOf(clusterId: string, bytes: number): Buffer {
  const lines = [
    '#!/bin/sh',
    "trap 'exit 0' TERM",
    `echo "process $$ joins ${clusterId}"`,
    'while :; do sleep 1 & wait $!; done',
    '#',
  ];
  return Buffer.from(lines.join('\n').padEnd(bytes, '#'));
}
