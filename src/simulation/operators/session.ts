/**
 * The operator's side of one session: it sends Hello and periodic roll-ups, answers the shard's requests, and
 * opens a new stream after a pause when one ends. Nodes and demand live elsewhere, because one operator in a
 * test and two thousand in a process store them differently. A session *stands* while its stream is open and
 * the shard has acked Hello.
 *
 *   idle ──start──▶ opening ──ack of Hello──▶ standing ──stream ends──▶ waiting ──pause──▶ opening …
 */
import { status } from '@grpc/grpc-js';
import type { Random } from '../../base/random.ts';
import { decode, encode } from '../../wire/codec.ts';
import type {
  Acknowledgement,
  BootstrapRequest,
  OperatorMessageInit,
  ReclaimInstruction,
} from '../../wire/protocol.generated.ts';
import type { SessionStream } from './channels.ts';
import type { OperatorCounters } from './counters.ts';
import { bootstrapFrame, type DemandSource, helloFrame, reclaimAckFrame, rollupFrame } from './frames.ts';
import { onlyFieldOf, ShardFrame } from './node-reader.ts';
import type { BootstrapAnswer, OperatorBehaviour, ReconnectSettings } from './settings.ts';

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
  readonly demand: DemandSource;
  readonly sink: SessionSink;
  readonly counters: OperatorCounters;
  readonly behaviour: OperatorBehaviour;
  readonly reconnect: ReconnectSettings;
  readonly random: Random;
  /** Default: Hello. null: the session sends no first frame. */
  readonly firstFrame?: Buffer | null;
}

/** How long the shard may take to end a stream that the operator has ended. */
const CLOSE_GRACE_MS = 500;

export class OperatorSession {
  behaviour: OperatorBehaviour;
  readonly #options: SessionOptions;
  #stream: SessionStream | null = null;
  #isStanding = false;
  #isClosed = false;
  #attempt = 0;
  #isFirstRollup = true;
  #isRollupDue = false;
  readonly #timers = new Set<NodeJS.Timeout>();
  #rollupTimer: NodeJS.Timeout | null = null;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.behaviour = options.behaviour;
  }

  get isStanding(): boolean {
    return this.#isStanding;
  }

  start(): void {
    if (this.#stream === null && !this.#isClosed) this.#open();
  }

  /** Sends the demand now instead of at the end of the interval. While one is being sent, only the latest waits. */
  sendRollup(): void {
    const stream = this.#stream;
    if (stream === null || !this.#isStanding) return; // the next session begins with a roll-up
    if (stream.writableLength > 0) {
      if (!this.#isRollupDue) this.#options.counters.rollupsHeldBack++;
      this.#isRollupDue = true;
      return;
    }
    this.#isRollupDue = false;
    const { clusterId, demand, counters, sink } = this.#options;
    sink.onRollupDue();
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
    this.#stream?.pause();
  }

  resumeReading(): void {
    this.#stream?.resume();
  }

  /** Ends the stream as a crash would. A new one follows if reconnecting is on. */
  breakOff(): void {
    this.#stream?.cancel();
  }

  /** Ends for good. Resolves when the stream has ended on both sides; cancels it after a grace time. */
  close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    const stream = this.#stream;
    if (stream === null) return Promise.resolve();
    return new Promise((resolve) => {
      const cut = setTimeout(() => stream.cancel(), CLOSE_GRACE_MS);
      stream.once('status', () => {
        clearTimeout(cut);
        resolve();
      });
      stream.resume();
      stream.end();
    });
  }

  #open(): void {
    const { clusterId, openStream, firstFrame, reconnect } = this.#options;
    const stream = openStream();
    this.#stream = stream;
    this.#isRollupDue = false;
    stream.on('data', (frame: Buffer) => {
      if (stream === this.#stream) this.#receive(frame);
    });
    stream.on('error', () => {}); // the status event always follows with the same reason
    const helloTimer = this.#after(reconnect.helloTimeoutMs, () => {
      if (!this.#isStanding) stream.cancel();
    });
    stream.once('status', ({ code, details }) => {
      this.#forget(helloTimer);
      if (stream === this.#stream) this.#ended(code, details);
    });
    if (firstFrame !== null) this.#write(firstFrame ?? helloFrame(clusterId));
  }

  #ended(code: number, details: string): void {
    const { counters, sink, reconnect, random } = this.#options;
    this.#stream = null;
    this.#isStanding = false;
    this.#forget(this.#rollupTimer);
    counters.countEnding(code, details);
    sink.onEnded(code, details);
    if (this.#isClosed || !reconnect.isEnabled) return;
    const pauseMs = Math.min(reconnect.maxMs, reconnect.initialMs * 2 ** this.#attempt);
    this.#attempt++;
    this.#after(pauseMs * (1 - reconnect.jitter * random.unit()), () => this.#open());
  }

  #receive(frame: Buffer): void {
    const { counters, sink } = this.#options;
    const field = onlyFieldOf(frame);
    if (field === ShardFrame.NodeState) {
      counters.nodeUpdates++;
      if (!sink.onNodeFrame(frame)) counters.malformedFrames++;
    } else if (field === ShardFrame.Capacity) {
      counters.capacityUpdates++;
      sink.onCapacityFrame(frame);
    } else this.#receiveMessage(frame);
  }

  #receiveMessage(frame: Buffer): void {
    const message = decoded(frame);
    if (message?.ack) this.#acknowledged(message.ack);
    else if (message?.bootstrapRequest) this.#answerBootstrap(message.bootstrapRequest);
    else if (message?.reclaimInstruction) this.#reclaim(message.reclaimInstruction);
    else this.#options.counters.malformedFrames++;
  }

  #acknowledged(ack: Acknowledgement): void {
    const { echo } = ack;
    const { counters, sink } = this.#options;
    if (echo === 'rollup') {
      counters.rollupsAcked++;
      sink.onRollupAcked();
    } else if (echo === 'hello' && !this.#isStanding) {
      this.#isStanding = true;
      this.#attempt = 0;
      counters.sessionsOpened++;
      sink.onStanding(ack);
      if (this.behaviour.rollupIntervalMs === 0) return;
      this.sendRollup();
      this.#scheduleRollup();
    }
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
      const stream = this.#stream;
      // The shard accepts an answer only on the session that it asked.
      this.#after(answer.delayMs, () => stream === this.#stream && this.#sendBlob(request, answer));
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
    const stream = this.#stream;
    if (stream === null || stream.writableEnded || stream.destroyed) return;
    this.#options.counters.bytesSent += frame.length;
    stream.write(frame, (error?: Error | null) => {
      if (!error) onTaken();
      if (this.#isRollupDue && stream === this.#stream) this.sendRollup();
    });
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

function decoded(frame: Buffer) {
  try {
    return decode('ShardMessage', frame);
  } catch {
    return null;
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

/** Statuses that a retry will not change. */
export const REFUSALS: readonly number[] = [
  status.INVALID_ARGUMENT,
  status.PERMISSION_DENIED,
  status.UNAUTHENTICATED,
  status.UNIMPLEMENTED,
];
