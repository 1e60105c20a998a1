/**
 * Bootstrap requests that wait for their answer on one session (X5). An answer counts only on the session that was asked,
 * once, and in time; every other one is counted and forgotten. The blob is a secret: it goes to whoever asked and is
 * neither logged nor kept.
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

  /** `prefix` is the session's own: ids of two sessions never meet. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  isWaiting(requestId: string): boolean {
    return this.#waiting.has(requestId);
  }

  /** The new request's id and its answer, which comes by the deadline at the latest. */
  open(timeoutMs: number): { readonly requestId: string; readonly answer: Promise<BlobAnswer> } {
    const requestId = `${this.#prefix}-${++this.#issued}`;
    const answer = new Promise<BlobAnswer>((resolve) => {
      const timer = setTimeout(() => this.#settle(requestId, { kind: 'timeout' }), timeoutMs);
      this.#waiting.set(requestId, { settle: resolve, timer });
    });
    return { requestId, answer };
  }

  /** Whether it was an answer that somebody waited for. */
  answered(response: BootstrapBlobResponse): boolean {
    const { requestId, userData, ttlSeconds, error } = response;
    if (error !== '') return this.#settle(requestId, { kind: 'error', text: error.slice(0, ERROR_TEXT_MAX) });
    if (userData.length > BLOB_BYTES_MAX) {
      const text = `the bootstrap blob has ${userData.length} bytes; the maximum is ${BLOB_BYTES_MAX}`;
      return this.#settle(requestId, { kind: 'error', text });
    }
    return this.#settle(requestId, { kind: 'blob', userData, ttlSeconds });
  }

  /** The session is gone. */
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
