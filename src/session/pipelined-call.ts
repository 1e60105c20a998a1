/**
 * Lets a stream have several messages in flight. grpc-js passes a server stream its next message only after the previous
 * one has left for the socket, so every message costs a system call and an event-loop turn. This interceptor confirms a
 * message while there is room behind it; grpc-js then passes the next ones at once, and HTTP/2 sends them together. The
 * interceptor counts messages that really left, so a reader that stops still stops the writer.
 */
import { ServerInterceptingCall, type ServerInterceptor } from '@grpc/grpc-js';

/** As many as a stream buffers before it signals back-pressure: about 6 KB of node updates. */
const MESSAGES_UNDER_WAY_MAX = 16;

export const pipelined: ServerInterceptor = (_method, call) => new PipelinedCall(call);

class PipelinedCall extends ServerInterceptingCall {
  #underWay = 0;
  #waiting: (() => void) | null = null;

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
