/**
 * One operator's stream, from its first frame to its end. The session handles each frame on arrival: it settles answers,
 * counts acks and enqueues roll-ups in RollupQueue. Writing follows the stream's back-pressure: while the stream is full,
 * the session encodes nothing.
 */
import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import { isClusterId } from '../base/frame-limits.ts';
import type { BlobAnswer, BlobRequest, CapacityHint, ReclaimInstruction } from '../shard/ports/operators.ts';
import { decode } from '../wire/codec.ts';
import { BlobRequests } from './blob-requests.ts';
import type { OperatorCounters } from './counters.ts';
import { encodeBootstrapRequest, encodeReclaim } from './encode.ts';
import { MalformedFrameError } from './errors.ts';
import { readFrame } from './frame.ts';
import { HELLO_BYTES_MAX } from './limits.ts';
import { Outbox } from './outbox.ts';
import { acceptFrames, http2StreamOf } from './pipelined-call.ts';
import type { RollupResult } from './rollup-queue.ts';
import type { Writer } from './write-turns.ts';

export type SessionStream = ServerDuplexStream<Buffer, Uint8Array>;

/** The gRPC status with which a stream ends. */
export interface EndStatus {
  readonly code: status;
  readonly details: string;
}

/** What a session needs from the owner of all sessions. */
export interface SessionHost {
  readonly counters: OperatorCounters;
  nowMs(): number;
  /** T11: the stream is about to end because it sent no Hello in time. */
  helloMissing(session: Session, detail: string): void;
  /** Hello named a cluster: returns the session's outbox, or the status to end the stream with. */
  greet(session: Session, clusterId: string): Outbox | EndStatus;
  rollup(session: Session, payload: Uint8Array): void;
  /** Called once for every session that was greeted. */
  ended(session: Session): void;
  /** The session has frames to write. */
  wantsToWrite(session: Session): void;
}

export class Session implements Writer {
  readonly stream: SessionStream;
  readonly openedMs: number;
  lastRollupMs: number | null = null;
  lastRollupRows = 0;
  readonly #host: SessionHost;
  readonly #blobs: BlobRequests;
  readonly #helloTimer: NodeJS.Timeout;
  #clusterId = '';
  #outbox: Outbox | null = null;
  #isEnded = false;
  #isBlocked = false;
  #isRetired = false;

  constructor(stream: SessionStream, host: SessionHost, name: string, helloTimeoutMs: number) {
    this.stream = stream;
    this.openedMs = host.nowMs();
    this.#host = host;
    this.#blobs = new BlobRequests(name);
    this.#helloTimer = setTimeout(() => {
      const detail = `The shard received no Hello within ${helloTimeoutMs} ms.`;
      host.helloMissing(this, detail);
      this.end(status.DEADLINE_EXCEEDED, detail);
    }, helloTimeoutMs);
    stream.on('data', (bytes: Buffer) => this.#receive(bytes));
    stream.on('drain', () => this.#drained());
    stream.on('end', () => this.end(status.OK, 'The operator ended the session.'));
    stream.on('cancelled', () => this.#close());
    stream.on('close', () => this.#close());
  }

  /** '' before Hello. */
  get clusterId(): string {
    return this.#clusterId;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  get outboxDepth(): number {
    return this.#outbox?.depth ?? 0;
  }

  get waitingBlobs(): number {
    return this.#blobs.waitingCount;
  }

  /** T14: the session asks for no more blobs. Returns whether it may end: none is awaited. */
  retire(): boolean {
    this.#isRetired = true;
    return this.#blobs.waitingCount === 0;
  }

  requestBlob({ clusterId, requirements, timeoutMs }: BlobRequest): Promise<BlobAnswer> {
    if (this.#isRetired) return Promise.resolve({ kind: 'no_session' }); // a newer session follows
    const { requestId, answer } = this.#blobs.open(timeoutMs);
    const encode = () => encodeBootstrapRequest(requestId, clusterId, requirements);
    this.#sendControl(encode, () => this.#blobs.isWaiting(requestId));
    return answer;
  }

  /** X16: whether the peer of the connection is there. A peer that never answers is left to keepalive, which ends the session. */
  ping(done: (hasAnswered: boolean) => void): void {
    const connection = http2StreamOf(this.stream)?.session;
    if (connection === undefined || connection.destroyed) done(false);
    else connection.ping((error) => done(error === null));
  }

  reclaim(instruction: ReclaimInstruction): void {
    this.#sendControl(() => encodeReclaim(instruction));
  }

  nodeChanged(slot: number): void {
    this.#outbox!.changed(slot);
    this.wake();
  }

  hint(hint: CapacityHint): void {
    this.#outbox!.hint(hint);
    this.wake();
  }

  rollupSettled({ outcome, rowCount, acks }: RollupResult): void {
    if (this.#isEnded || outcome === 'rejected') return; // V2: an invalid roll-up is rejected whole and not acked
    this.lastRollupMs = this.#host.nowMs();
    this.lastRollupRows = rowCount;
    this.#outbox!.ackRollups(acks);
    this.#writeUrgent();
  }

  /** Asks for a write turn, if the stream can take frames. */
  wake(): void {
    if (!this.#isBlocked && !this.#isEnded) this.#host.wantsToWrite(this);
  }

  write(framesMax: number): boolean {
    for (let count = 0; count < framesMax; count++) {
      if (this.#isBlocked || this.#isEnded) return false;
      const frame = this.#outbox!.next(this.#host.nowMs());
      if (frame === null) return false;
      this.#writeFrame(frame);
    }
    return !this.#isBlocked;
  }

  /** Ends the stream with a status; frames that still arrive are dropped. */
  end(code: status, details: string): void {
    if (this.#isEnded) return;
    this.#close();
    // About thirty frames may be buffered, and the status follows them. An operator that does not read gets it once it reads
    // again. Destroying the stream would leave it open on the operator's side, and its cluster without a session.
    if (code === status.OK) this.stream.end();
    else this.stream.emit('error', { code, details });
  }

  #receive(bytes: Buffer): void {
    const { counters } = this.#host;
    if (this.#isEnded) {
      counters.framesDropped++;
      return;
    }
    const frame = this.#read(() => readFrame(bytes));
    if (frame === null) return;
    const { kind, payload } = frame;
    counters.framesIn[kind]++;
    if (kind === 'hello' && payload.length > HELLO_BYTES_MAX) {
      this.#refuse(`Hello has ${payload.length} bytes; the maximum is ${HELLO_BYTES_MAX}.`);
    } else if (kind === 'hello') {
      const hello = this.#read(() => decode('Hello', payload));
      if (hello !== null) this.#hello(hello.clusterId);
    } else if (this.#outbox === null) {
      this.#refuse('The first frame must be Hello.');
    } else if (kind === 'rollup') {
      this.#host.rollup(this, payload);
    } else if (kind === 'bootstrap_response') {
      const response = this.#read(() => decode('BootstrapBlobResponse', payload));
      if (response !== null && !this.#blobs.answered(response)) counters.answersIgnored++;
    }
    // A ReclaimAck is only counted, and so is an unknown frame: newer operators may send more kinds.
  }

  /** Ends the session and returns null if `read` throws: the bytes are not the expected message. */
  #read<T>(read: () => T): T | null {
    try {
      return read();
    } catch (error) {
      const { message } = error as Error;
      this.#refuse(error instanceof MalformedFrameError ? message : `A frame cannot be read: ${message}`);
      return null;
    }
  }

  #hello(clusterId: string): void {
    if (!isClusterId(clusterId)) {
      this.#refuse('Hello must name a cluster with 1 to 253 printable bytes.');
      return;
    }
    if (this.#outbox === null) {
      const greeted = this.#host.greet(this, clusterId);
      if (!(greeted instanceof Outbox)) {
        this.end(greeted.code, greeted.details);
        return;
      }
      clearTimeout(this.#helloTimer);
      this.#clusterId = clusterId;
      this.#outbox = greeted;
      acceptFrames(this.stream);
    } else if (clusterId !== this.#clusterId) {
      this.#refuse(
        `This session belongs to cluster ${JSON.stringify(this.#clusterId)}; Hello names another.`,
      );
      return;
    }
    this.#outbox.ackHello();
    this.#writeUrgent();
    this.wake();
  }

  #refuse(details: string): void {
    this.end(status.INVALID_ARGUMENT, details);
  }

  #sendControl(encode: () => Buffer, isWanted?: () => boolean): void {
    if (!this.#outbox!.addControl(encode, isWanted)) {
      this.end(
        status.RESOURCE_EXHAUSTED,
        'The operator does not read its stream, and too many requests wait for it.',
      );
      return;
    }
    this.#writeUrgent();
  }

  #writeUrgent(): void {
    while (!this.#isBlocked && !this.#isEnded) {
      const frame = this.#outbox!.nextUrgent();
      if (frame === null) return;
      this.#writeFrame(frame);
    }
  }

  #writeFrame(frame: Uint8Array): void {
    this.#host.counters.framesOut++;
    this.#isBlocked = !this.stream.write(frame);
  }

  #drained(): void {
    this.#isBlocked = false;
    if (this.#outbox !== null) this.wake();
  }

  #close(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearTimeout(this.#helloTimer);
    this.#blobs.end();
    if (this.#outbox === null) this.#host.counters.streamsRefused++;
    else this.#host.ended(this);
  }
}
