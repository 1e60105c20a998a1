/**
 * Bootstrap requests of one session that wait for their answer. X5: an answer counts only on the session that was asked,
 * once, and in time; every other answer is counted and ignored. The blob is a secret: it goes to the caller and is
 * neither logged nor stored.
 */
import type { BlobAnswer } from '../shard/ports/operators.ts';
import type { BootstrapBlobResponse } from '../wire/protocol.generated.ts';
import { BLOB_BYTES_MAX, ERROR_TEXT_MAX } from './limits.ts';

interface Request {
  readonly settle: (answer: BlobAnswer) => void;
  readonly timer: NodeJS.Timeout;
}

export class BlobRequests {
  readonly #prefix: string;
  readonly #waiting = new Map<string, Request>();
  #issued = 0;

  /** `prefix` is unique to the session, so the ids of two sessions never collide. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  isWaiting(requestId: string): boolean {
    return this.#waiting.has(requestId);
  }

  /** The new request's id and its answer, which settles by the deadline. */
  open(timeoutMs: number): { readonly requestId: string; readonly answer: Promise<BlobAnswer> } {
    const requestId = `${this.#prefix}-${++this.#issued}`;
    const answer = new Promise<BlobAnswer>((resolve) => {
      const timer = setTimeout(() => this.#settle(requestId, { kind: 'timeout' }), timeoutMs);
      this.#waiting.set(requestId, { settle: resolve, timer });
    });
    return { requestId, answer };
  }

  /** Returns whether a request was waiting for this answer. */
  answered(response: BootstrapBlobResponse): boolean {
    const { requestId, userData, ttlSeconds, error } = response;
    if (error !== '') return this.#settle(requestId, { kind: 'error', text: error.slice(0, ERROR_TEXT_MAX) });
    if (userData.length > BLOB_BYTES_MAX) {
      const text = `the bootstrap blob has ${userData.length} bytes; the maximum is ${BLOB_BYTES_MAX}`;
      return this.#settle(requestId, { kind: 'error', text });
    }
    return this.#settle(requestId, { kind: 'blob', userData, ttlSeconds });
  }

  /** The session has ended. */
  end(): void {
    for (const requestId of [...this.#waiting.keys()]) this.#settle(requestId, { kind: 'no_session' });
  }

  #settle(requestId: string, answer: BlobAnswer): boolean {
    const request = this.#waiting.get(requestId);
    if (request === undefined) return false;
    this.#waiting.delete(requestId);
    clearTimeout(request.timer);
    request.settle(answer);
    return true;
  }
}
