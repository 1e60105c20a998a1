/**
 * What the shard adds to every call of the operators' server.
 *
 * Several messages in flight: grpc-js passes a server stream its next message only after the previous one has left for the
 * socket, so every message costs a system call and an event-loop turn. This interceptor confirms a message while there is
 * room behind it; grpc-js then passes the next ones at once, and HTTP/2 sends them together. The interceptor counts messages
 * that really left, so a reader that stops still stops the writer.
 *
 * T11: before its Hello, or its request, a call may send only a few kilobytes, and must send them soon.
 */
import { constants, type ServerHttp2Stream } from 'node:http2';
import { ServerInterceptingCall, type ServerInterceptor, status } from '@grpc/grpc-js';
import { limitFirstMessage } from '../wire/messages-in-place.ts';
import { FIRST_FRAME_BYTES_MAX, FRAME_BYTES_MAX } from './limits.ts';

/** As many as a stream buffers before it signals back-pressure: about 6 KB of node updates. */
const MESSAGES_UNDER_WAY_MAX = 16;

type Call = ConstructorParameters<typeof ServerInterceptingCall>[0];
type Responder = ConstructorParameters<typeof ServerInterceptingCall>[1];

export interface CallHost {
  readonly requestTimeoutMs: number;
  /** The HTTP/2 stream of a call has sent its Hello, or its request. */
  opened(stream: object): void;
  refused(reason: 'opening_bytes' | 'opening_timeout', peer: string, detail: string): void;
}

export function callsOf(host: CallHost): ServerInterceptor {
  return (method, call) => (method.requestStream ? new SessionCall(call, host) : requestCall(call, host));
}

/** The operator of this stream has said who it is: it may send long frames from now on. */
export function acceptFrames(stream: object): void {
  const { call } = stream as { readonly call?: unknown };
  if (call instanceof SessionCall) call.acceptFrames();
}

/** The HTTP/2 stream of a call. */
export function http2StreamOf(stream: object): ServerHttp2Stream | null {
  const { call } = stream as { readonly call?: unknown };
  return call instanceof PipelinedCall ? call.http2Stream : null;
}

/** Ends the stream after this time, whether or not the peer has read its status. */
export function cutOff(stream: object, afterMs: number): void {
  const { call } = stream as { readonly call?: unknown };
  if (call instanceof PipelinedCall) call.cutOff(afterMs);
}

class PipelinedCall extends ServerInterceptingCall {
  readonly #call: Call;
  #underWay = 0;
  #waiting: (() => void) | null = null;

  constructor(call: Call, responder?: Responder) {
    super(call, responder);
    this.#call = call;
  }

  /** The HTTP/2 stream of the call. */
  get http2Stream(): ServerHttp2Stream {
    return (this.#call as unknown as { readonly stream: ServerHttp2Stream }).stream;
  }

  cutOff(afterMs: number): void {
    const stream = this.http2Stream;
    const timer = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), afterMs);
    timer.unref();
    stream.once('close', () => clearTimeout(timer));
  }

  override sendMessage(message: unknown, whenTaken: () => void): void {
    this.#underWay++;
    super.sendMessage(message, () => this.#left());
    if (this.#underWay < MESSAGES_UNDER_WAY_MAX) whenTaken();
    else this.#waiting = whenTaken;
  }

  #left(): void {
    this.#underWay--;
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.();
  }
}

class SessionCall extends PipelinedCall {
  readonly #host: CallHost;
  readonly #first: ReturnType<typeof limitFirstMessage>;

  constructor(call: Call, host: CallHost) {
    super(call);
    this.#host = host;
    this.#first = limitOf(call, host);
  }

  acceptFrames(): void {
    this.#host.opened(this.http2Stream);
    this.#first?.raise(FRAME_BYTES_MAX);
  }
}

/** A call with one request. */
function requestCall(call: Call, host: CallHost): PipelinedCall {
  limitOf(call, host);
  const timer = setTimeout(() => {
    const details = `The shard received no request within ${host.requestTimeoutMs} ms.`;
    host.refused('opening_timeout', call.getPeer(), details);
    call.sendStatus({ code: status.DEADLINE_EXCEEDED, details });
  }, host.requestTimeoutMs);
  const pipelined: PipelinedCall = new PipelinedCall(call, {
    start: (next) =>
      next({
        onReceiveMessage: (message, pass) => {
          clearTimeout(timer);
          host.opened(pipelined.http2Stream);
          pass(message);
        },
        onReceiveMetadata: (metadata, pass) => pass(metadata),
        onReceiveHalfClose: (pass) => pass(),
        onCancel: () => clearTimeout(timer),
      }),
    sendMetadata: (metadata, pass) => pass(metadata),
    sendMessage: (message, pass) => pass(message),
    sendStatus: (ended, pass) => {
      clearTimeout(timer);
      pass(ended);
    },
  });
  return pipelined;
}

function limitOf(call: Call, host: CallHost): ReturnType<typeof limitFirstMessage> {
  return limitFirstMessage(call, FIRST_FRAME_BYTES_MAX, (bytes) => {
    const details =
      `A stream announced a message of ${bytes} bytes before its Hello or request was read; ` +
      `the maximum is ${FIRST_FRAME_BYTES_MAX}. The shard ended the stream. Send Hello first.`;
    host.refused('opening_bytes', call.getPeer(), details);
    return details;
  });
}
