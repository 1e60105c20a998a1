/**
 * Calls an asynchronous handler for values that arrive by key: one call at a time for each key, a bounded number in all, and
 * always with the newest value of the key. A slow handler therefore costs one waiting value per key, and it never blocks the
 * stream: behind a blocked stream a bootstrap request would time out.
 */
export interface RetrySettings {
  /** The first pause after a failure; each further one is twice as long. */
  readonly initialMs: number;
  readonly maxMs: number;
}

export interface WorkQueueOptions<Value> {
  readonly concurrencyMax: number;
  readonly handle: (value: Value) => Promise<void>;
  /** Called for every failure of `handle`. `pauseMs`: when it is called again with the newest value; null: never. */
  readonly onFailed: (value: Value, error: unknown, pauseMs: number | null) => void;
  /** Left out: a failure is final. */
  readonly retry?: RetrySettings;
}

interface Failure {
  count: number;
  timer: NodeJS.Timeout | undefined;
}

export class WorkQueue<Value> {
  readonly #options: WorkQueueOptions<Value>;
  /** In the order of their turns. */
  readonly #waiting = new Map<string, Value>();
  readonly #running = new Set<string>();
  readonly #failures = new Map<string, Failure>();
  #isClosed = false;
  #whenIdle: (() => void) | null = null;

  constructor(options: WorkQueueOptions<Value>) {
    this.#options = options;
  }

  /** Keys whose newest value has not been handled yet. */
  get depth(): number {
    return this.#waiting.size + this.#running.size;
  }

  put(key: string, value: Value): void {
    if (this.#isClosed) return;
    clearTimeout(this.#failures.get(key)?.timer); // a newer value does not wait for the retry of an older one
    this.#waiting.set(key, value);
    this.#fill();
  }

  /** Drops what waits. Calls that are under way continue. */
  clear(): void {
    for (const { timer } of this.#failures.values()) clearTimeout(timer);
    this.#failures.clear();
    this.#waiting.clear();
  }

  /** No further call begins. Resolves when the calls under way have ended. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.clear();
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenIdle = resolve;
    });
  }

  /** Skips keys that run already: at most `concurrencyMax` of them. */
  #fill(): void {
    for (const [key, value] of this.#waiting) {
      if (this.#running.size >= this.#options.concurrencyMax) return;
      if (this.#running.has(key)) continue;
      this.#waiting.delete(key);
      void this.#run(key, value);
    }
  }

  async #run(key: string, value: Value): Promise<void> {
    this.#running.add(key);
    try {
      await this.#options.handle(value);
      this.#failures.delete(key);
    } catch (error) {
      this.#failed(key, value, error);
    }
    this.#running.delete(key);
    if (this.#running.size === 0) this.#whenIdle?.();
    this.#fill();
  }

  #failed(key: string, value: Value, error: unknown): void {
    const { retry, onFailed } = this.#options;
    if (retry === undefined || this.#isClosed) {
      onFailed(value, error, null);
      return;
    }
    const failure = this.#failures.get(key) ?? { count: 0, timer: undefined };
    const pauseMs = this.#waiting.has(key) ? 0 : Math.min(retry.maxMs, retry.initialMs * 2 ** failure.count);
    failure.count++;
    this.#failures.set(key, failure);
    // Nothing waits for this key: the value is still the newest.
    if (!this.#waiting.has(key)) failure.timer = setTimeout(() => this.put(key, value), pauseMs);
    onFailed(value, error, pauseMs);
  }
}
