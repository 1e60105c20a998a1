/**
 * F7: a session whose shard is not known yet: its Hello is awaited, or its cluster waits for a shard. Then a relay or this server takes
 * it, unread.
 */
import type { ServerHttp2Stream } from 'node:http2';
import type { status } from '@grpc/grpc-js';
import { respondWithStatus } from '../wire/http2-status.ts';
import type { AdmittedStream, RelayedCall, TakeStream } from './ports.ts';

export class UnroutedStream implements RelayedCall {
  readonly admitted: AdmittedStream;
  readonly #onEnd: () => void;
  /** What the stream waits for. */
  #giveUp: () => void = () => {};
  #taken: RelayedCall | null = null;
  #isOver = false;

  /** `onEnd`: once, when it waits no more. */
  constructor(admitted: AdmittedStream, onEnd: () => void) {
    this.admitted = admitted;
    this.#onEnd = onEnd;
    const { stream } = admitted;
    stream.on('error', this.#ignore);
    stream.once('close', this.#closed);
  }

  /** It waits for this; `giveUp` ends the wait. */
  waitFor(giveUp: () => void): void {
    this.#giveUp = giveUp;
  }

  /** A relay or this server takes the stream. */
  giveTo(take: TakeStream): void {
    if (this.#isOver) return;
    this.#finish();
    const { stream, pass } = this.admitted;
    if (stream.destroyed || stream.closed) return;
    this.#taken = take(this.admitted);
    if (this.#taken === null) pass();
  }

  /** T14: nothing is lost if it ends with its connection while it waits. */
  retire(): boolean {
    return this.#taken === null || this.#taken.retire();
  }

  end(code: status, details: string): void {
    if (this.#taken !== null) this.#taken.end(code, details);
    else if (!this.#isOver) this.refuse(code, details);
  }

  refuse(code: status, details: string): void {
    if (this.#isOver) return;
    this.#finish();
    const { stream } = this.admitted;
    if (canRespond(stream)) respondWithStatus(stream, code, details);
  }

  readonly #ignore = (): void => {};

  readonly #closed = (): void => {
    this.#finish();
  };

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { stream } = this.admitted;
    stream.off('close', this.#closed);
    this.#giveUp();
    this.#onEnd();
    stream.off('error', this.#ignore);
    if (stream.destroyed) stream.on('error', this.#ignore);
  }
}

function canRespond(stream: ServerHttp2Stream): boolean {
  return !stream.destroyed && !stream.closed && !stream.headersSent;
}
