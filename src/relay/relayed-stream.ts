/**
 * One client's stream on a standby. The relay copies the bytes of HTTP/2 streams, in both directions and in order. It reads neither
 * gRPC messages nor their frames, so a roll-up of megabytes needs no more memory here than the windows of two streams.
 *
 *   held ──connect──▶ opening ──first answer──▶ open ──▶ ended
 *     ▲                  │
 *     └──no answer───────┘     the bytes sent so far are kept, and go to the next replica
 */
import { constants, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import { status } from '@grpc/grpc-js';
import { respondWithStatus, statusTrailers } from '../wire/http2-status.ts';
import { isFull, writeWithOthers } from './batched-writes.ts';
import type { UpstreamStream } from './connections.ts';
import type { RelayEnd } from './counters.ts';
import { QUIET_MS, RETIRED_STREAM_MS, UNANSWERED_BYTES_MAX } from './limits.ts';
import type { AdmittedStream } from './ports.ts';

/** What a stream tells its relay. */
export interface StreamOwner {
  /** The active replica answered. */
  answered(stream: RelayedStream): void;
  /** The active replica did not answer: the stream is held again. */
  unanswered(stream: RelayedStream, isRefusal: boolean): void;
  ended(stream: RelayedStream, end: RelayEnd): void;
}

export class RelayedStream {
  /** What is sent to the active replica. */
  readonly headers: OutgoingHttpHeaders;
  readonly sinceMs: number;
  /** Why the active replica did not answer, for the client if it gives up. */
  why = '';
  readonly #admitted: AdmittedStream;
  readonly #owner: StreamOwner;
  #upstream: UpstreamStream | null = null;
  #state: 'held' | 'opening' | 'open' | 'ended' = 'held';
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #isRequestEnded = false;
  #trailers: OutgoingHttpHeaders | null = null;
  #wantsTrailers = false;
  #lastFrameMs: number;
  #retiredMs: number | null = null;

  constructor(admitted: AdmittedStream, headers: OutgoingHttpHeaders, owner: StreamOwner) {
    this.#admitted = admitted;
    this.headers = headers;
    this.#owner = owner;
    this.sinceMs = this.#lastFrameMs = performance.now();
    const { stream } = admitted;
    stream.on('error', this.#ignore);
    stream.on('close', this.#closed);
  }

  get isHeld(): boolean {
    return this.#state === 'held';
  }

  /** Sends a held stream on, first what was kept of it. */
  connect(upstream: UpstreamStream): void {
    const from = this.#admitted.stream;
    const to = upstream.stream;
    this.#upstream = upstream;
    this.#state = 'opening';
    to.on('error', this.#ignore); // 'close' follows
    to.once('response', (headers, flags) => this.#answered(upstream, headers, flags));
    to.once('close', () => this.#lost(upstream));
    to.on('drain', () => this.#readOn());
    for (const chunk of this.#kept) to.write(chunk);
    if (this.#isRequestEnded) to.end();
    else {
      from.on('data', this.#forward);
      from.on('end', this.#forwardEnd);
      this.#readOn();
    }
  }

  /** Takes an unanswered stream back from its replica, to be held. */
  disconnect(): void {
    if (this.#state !== 'opening') return;
    this.#detach();
    this.#state = 'held';
  }

  /** This replica serves the stream itself: the server gets it as if it were unread. False if it cannot. */
  handOver(): boolean {
    this.disconnect();
    const { stream, pass } = this.#admitted;
    if (this.#state !== 'held' || this.#isRequestEnded || stream.destroyed) return false;
    this.#state = 'ended';
    stream.off('error', this.#ignore);
    stream.off('close', this.#closed);
    if (this.#keptBytes > 0) stream.unshift(Buffer.concat(this.#kept));
    pass();
    return true;
  }

  /** T14: whether the stream may be cut, because its client's connection is too old. */
  retire(): boolean {
    const nowMs = performance.now();
    this.#retiredMs ??= nowMs;
    return nowMs - this.#lastFrameMs >= QUIET_MS || nowMs - this.#retiredMs >= RETIRED_STREAM_MS;
  }

  /** Ends the client's stream with a status, behind what it has not read yet. */
  end(code: status, details: string, end: RelayEnd): void {
    if (this.#state === 'ended') return;
    const wasAnswered = this.#state === 'open';
    this.#finish(end);
    const { stream } = this.#admitted;
    if (stream.destroyed || stream.closed) return;
    if (wasAnswered) this.#endWith(statusTrailers(code, details));
    else respondWithStatus(stream, code, details);
  }

  #answered(upstream: UpstreamStream, headers: IncomingHttpHeaders, flags: number): void {
    if (upstream !== this.#upstream || this.#state !== 'opening') return;
    const { stream, opened } = this.#admitted;
    const isWhole = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    if (isWhole && Number(headers['grpc-status']) === status.UNAVAILABLE) {
      this.#unanswered(decodeMessage(headers['grpc-message']), true);
      return;
    }
    this.#state = 'open';
    this.#kept = [];
    this.#keptBytes = 0;
    opened();
    this.#owner.answered(this);
    if (isWhole) {
      this.#finish('active');
      stream.respond(headers, { endStream: true });
      return;
    }
    stream.respond(headers, { waitForTrailers: true });
    stream.once('wantTrailers', () => {
      this.#wantsTrailers = true;
      this.#sendTrailers();
    });
    const from = upstream.stream;
    from.on('data', (chunk: Buffer) => {
      this.#lastFrameMs = performance.now();
      if (!writeWithOthers(stream, chunk)) from.pause();
    });
    stream.on('drain', () => from.resume());
    from.once('trailers', (trailers) => {
      this.#trailers ??= trailers;
      this.#sendTrailers();
    });
    from.once('end', () => {
      if (this.#state !== 'open' || this.#trailers === null) return; // without trailers it was cut off: 'close' follows
      this.#finish('active');
      stream.end(); // the trailers follow
    });
    this.#readOn();
  }

  readonly #forward = (chunk: Buffer): void => {
    this.#lastFrameMs = performance.now();
    if (this.#state === 'opening') {
      this.#kept.push(chunk);
      this.#keptBytes += chunk.length;
    }
    const hasRoom = this.#upstream === null || writeWithOthers(this.#upstream.stream, chunk);
    if (!hasRoom || !this.#mayRead()) this.#admitted.stream.pause();
  };

  readonly #forwardEnd = (): void => {
    this.#isRequestEnded = true;
    this.#upstream?.stream.end();
  };

  readonly #ignore = (): void => {};

  readonly #closed = (): void => {
    this.#finish('client');
  };

  #mayRead(): boolean {
    return this.#state === 'open' || this.#keptBytes < UNANSWERED_BYTES_MAX;
  }

  #readOn(): void {
    if (this.#upstream === null || isFull(this.#upstream.stream) || !this.#mayRead()) return;
    this.#admitted.stream.resume();
  }

  /** The stream to the active replica has closed. */
  #lost(upstream: UpstreamStream): void {
    if (upstream !== this.#upstream || this.#state === 'ended') return;
    const why = upstream.isSilent()
      ? 'The active replica did not answer a ping.'
      : 'The connection to the active replica was lost.';
    if (this.#state === 'opening') this.#unanswered(why, false);
    else
      this.end(
        status.UNAVAILABLE,
        `${why} Connect again.`,
        upstream.isSilent() ? 'keepalive' : 'connection_lost',
      );
  }

  #unanswered(why: string, isRefusal: boolean): void {
    this.disconnect();
    this.why = why;
    this.#owner.unanswered(this, isRefusal);
  }

  /** Leaves the stream of the active replica, and stops reading the client's. */
  #detach(code: number = constants.NGHTTP2_CANCEL): void {
    const { stream } = this.#admitted;
    const upstream = this.#upstream;
    this.#upstream = null;
    stream.off('data', this.#forward);
    stream.off('end', this.#forwardEnd);
    stream.pause();
    upstream?.stream.close(code);
  }

  /** Once. What the client has not read yet goes on to it. */
  #finish(end: RelayEnd): void {
    if (this.#state === 'ended') return;
    const { stream } = this.#admitted;
    this.#state = 'ended';
    this.#detach(end === 'active' ? constants.NGHTTP2_NO_ERROR : constants.NGHTTP2_CANCEL);
    stream.resume(); // what the client still sends is not kept
    this.#owner.ended(this, end);
  }

  #endWith(trailers: OutgoingHttpHeaders): void {
    this.#trailers ??= trailers;
    this.#admitted.stream.end();
    this.#sendTrailers();
  }

  #sendTrailers(): void {
    const { stream } = this.#admitted;
    if (!this.#wantsTrailers || this.#trailers === null || stream.destroyed || stream.closed) return;
    this.#wantsTrailers = false;
    stream.sendTrailers(this.#trailers);
  }
}

function decodeMessage(text: string | string[] | undefined): string {
  try {
    return decodeURI(String(text ?? ''));
  } catch {
    return String(text);
  }
}
