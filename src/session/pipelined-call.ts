/**
 * Lets a stream have several messages under way. grpc-js gives a server's stream its next message when the one before has left
 * for the socket, so every message is a system call and a turn of the event loop of its own. Told that a message has left as soon
 * as there is room behind it, it hands over the next ones at once, and HTTP/2 sends them together. What has really left is
 * counted, so that a reader that stops still stops the writer.
 */
import { ServerInterceptingCall, type ServerInterceptor } from '@grpc/grpc-js';

/** As many as a stream buffers before it asks to wait: about 6 KB of node updates. */
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
