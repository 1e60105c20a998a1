/**
 * The operator's end of its sessions with a shard, as bytes: it opens a stream, sends Hello, routes what arrives, and opens a new
 * stream after a pause when one ends. Demand, nodes and answers live with the owner: one cluster of a real operator and two
 * thousand simulated ones store them differently. A session *stands* while its stream is open and the shard has acked Hello.
 *
 *   idle ──start──▶ opening ──ack of Hello──▶ standing ──stream ends──▶ waiting ──pause──▶ opening …
 */
import { status } from '@grpc/grpc-js';
import type { Random } from '../base/random.ts';
import type { Acknowledgement, ShardMessage } from '../wire/protocol.generated.ts';
import type { SessionStream } from './connection.ts';
import { helloFrame } from './frames.ts';
import { onlyFieldOf, ShardFrame, shardMessageOf } from './shard-frame.ts';

export interface ReconnectSettings {
  readonly isEnabled: boolean;
  /** The first pause; each further one is twice as long. */
  readonly initialMs: number;
  readonly maxMs: number;
  /** Each pause is shorter by a random share up to this. */
  readonly jitter: number;
  /**
   * The pauses start over after a session that stood this long. O2: two operators of one cluster replace each other, and
   * without it they would do so several times a second.
   */
  readonly steadyMs: number;
  /** The operator cancels a stream on which the shard has not acked Hello after this long. */
  readonly helloTimeoutMs: number;
}

export const DEFAULT_RECONNECT: ReconnectSettings = {
  isEnabled: true,
  initialMs: 250,
  maxMs: 10_000,
  jitter: 0.5,
  steadyMs: 30_000,
  helloTimeoutMs: 30_000,
};

/** Statuses that another attempt alone will not change. */
const REFUSALS: readonly number[] = [
  status.INVALID_ARGUMENT,
  status.PERMISSION_DENIED,
  status.UNAUTHENTICATED,
  status.UNIMPLEMENTED,
];

export interface StreamEnd {
  /** The gRPC status. */
  readonly status: number;
  readonly details: string;
  /** The shard refuses this operator: another attempt alone will not help. */
  readonly isRefusal: boolean;
  /** The pause before the next stream; null if none follows. */
  readonly pauseMs: number | null;
}

export interface LinkEvents {
  /** The shard acked Hello. */
  onStanding(ack: Acknowledgement): void;
  onEnded(end: StreamEnd): void;
  /** A frame whose only field is a NodeStateUpdate or an AvailableCapacityUpdate, as `field` says. */
  onUpdate(field: number, frame: Buffer): void;
  /** Every other frame but the ack of Hello; null if the bytes are no ShardMessage. */
  onMessage(message: ShardMessage | null): void;
}

export interface LinkOptions {
  readonly clusterId: string;
  readonly openStream: () => SessionStream;
  readonly events: LinkEvents;
  readonly reconnect: ReconnectSettings;
  readonly random: Random;
  /** Default: Hello. null: no first frame. */
  readonly firstFrame?: Buffer | null;
}

/** How long the shard may take to end a stream that the operator has ended. */
const CLOSE_GRACE_MS = 500;

export class SessionLink {
  readonly #options: LinkOptions;
  #stream: SessionStream | null = null;
  #streamCount = 0;
  #isStanding = false;
  #standingSinceMs = 0;
  #isClosed = false;
  #attempt = 0;
  /** Of the pause or of the Hello that is awaited. */
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  get isStanding(): boolean {
    return this.#isStanding;
  }

  /** Distinguishes streams: an answer counts only on the stream that was asked. 0: no stream is open. */
  get streamNumber(): number {
    return this.#stream === null ? 0 : this.#streamCount;
  }

  /** Whether the stream has frames that the network has not taken yet. */
  get isWriting(): boolean {
    return (this.#stream?.writableLength ?? 0) > 0;
  }

  start(): void {
    if (this.#stream === null && !this.#isClosed) this.#open();
  }

  /** False if no stream can take the frame. `onTaken` is called when the stream has taken it; never if the stream ends first. */
  write(frame: Buffer, onTaken: () => void = () => {}): boolean {
    const stream = this.#stream;
    if (stream === null || stream.writableEnded || stream.destroyed) return false;
    stream.write(frame, (error?: Error | null) => {
      if (!error) onTaken();
    });
    return true;
  }

  /** Frames then fill the stream's buffers, and later the shard's. */
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
    clearTimeout(this.#timer);
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
    this.#streamCount++;
    stream.on('data', (frame: Buffer) => {
      if (stream === this.#stream) this.#receive(frame);
    });
    stream.on('error', () => {}); // the status event always follows with the same reason
    this.#timer = setTimeout(() => stream.cancel(), reconnect.helloTimeoutMs);
    stream.once('status', ({ code, details }) => {
      if (stream === this.#stream) this.#ended(code, details);
    });
    if (firstFrame !== null) this.write(firstFrame ?? helloFrame(clusterId));
  }

  #ended(code: number, details: string): void {
    const { events, reconnect } = this.#options;
    clearTimeout(this.#timer);
    if (this.#isStanding && performance.now() - this.#standingSinceMs >= reconnect.steadyMs)
      this.#attempt = 0;
    this.#stream = null;
    this.#isStanding = false;
    const isRefusal = REFUSALS.includes(code);
    const pauseMs = this.#isClosed || !reconnect.isEnabled ? null : this.#pauseMs(isRefusal);
    this.#attempt++;
    // The owner may close from here; the timer is set first, so that closing clears it.
    if (pauseMs !== null) this.#timer = setTimeout(() => this.#open(), pauseMs);
    events.onEnded({ status: code, details, isRefusal, pauseMs });
  }

  #pauseMs(isRefusal: boolean): number {
    const { initialMs, maxMs, jitter } = this.#options.reconnect;
    const longestMs = isRefusal ? maxMs : Math.min(maxMs, initialMs * 2 ** this.#attempt);
    return longestMs * (1 - jitter * this.#options.random.unit());
  }

  #receive(frame: Buffer): void {
    const { events } = this.#options;
    const field = onlyFieldOf(frame);
    if (field === ShardFrame.NodeState || field === ShardFrame.Capacity) {
      events.onUpdate(field, frame);
      return;
    }
    const message = shardMessageOf(frame);
    if (message?.ack?.echo === 'hello') this.#greeted(message.ack);
    else events.onMessage(message);
  }

  #greeted(ack: Acknowledgement): void {
    if (this.#isStanding) return; // the shard acks a repeated Hello too
    clearTimeout(this.#timer);
    this.#isStanding = true;
    this.#standingSinceMs = performance.now();
    this.#options.events.onStanding(ack);
  }
}
