/**
 * Threads that live as long as the shard: a Piscina pool without three of its features.
 *
 *   atomics    'disabled'   the default blocks the event loop of a thread without tasks: gRPC's keepalive and the
 *                           closing of connections would wait for the next call
 *   signal     never given  it gives a task its own thread, and an abort ends that thread with all its channels
 *   timing     off          costs a histogram entry per task, which the shard does not use
 *
 * When a thread dies, Piscina replaces it and rejects its tasks.
 */
import { Piscina } from 'piscina';
import { boundedDetail } from '../../base/outside-text.ts';
import { pathOfWorker } from './setup.ts';

/**
 * Calls and listings make short-lived objects; without a limit V8 lets them grow to 48 MiB in each thread. With 6 MiB a thread
 * with 2,048 calls under way spent a quarter of its time on collections.
 */
const YOUNG_MIB_MAX = 12;

export interface ThreadsOptions {
  readonly file: URL;
  readonly threads: number;
  readonly tasksPerThread: number;
  readonly setup: object;
  /** A thread died; Piscina has already replaced it. */
  readonly onLost: () => void;
  /** Messages that threads sent with `parentPort.postMessage`. */
  readonly onMessage?: (message: unknown) => void;
}

export class Threads {
  readonly #pool: Piscina;
  #lastError = '';
  #isClosing = false;

  constructor(options: ThreadsOptions) {
    this.#pool = new Piscina({
      filename: pathOfWorker(options.file),
      minThreads: options.threads,
      maxThreads: options.threads,
      concurrentTasksPerWorker: options.tasksPerThread,
      idleTimeout: Number.POSITIVE_INFINITY,
      atomics: 'disabled',
      recordTiming: false,
      workerData: options.setup,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB_MAX },
    });
    // Without a listener, the death of an idle thread would end the process.
    this.#pool.on('error', (error: unknown) => this.#noteError(error));
    this.#pool.on('workerDestroy', () => {
      if (!this.#isClosing) options.onLost();
    });
    if (options.onMessage !== undefined) this.#pool.on('message', options.onMessage);
  }

  /** The error of the last thread that died; '' if none did. */
  get lastError(): string {
    return this.#lastError;
  }

  /** Resolves when the task has finished; rejects if its thread died. */
  async run(task: unknown, transferList: ArrayBuffer[]): Promise<unknown> {
    try {
      return await this.#pool.run(task, { transferList });
    } catch (error) {
      this.#noteError(error);
      throw error;
    }
  }

  /** Ends the threads at once. They still write their CPU profiles. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#pool.destroy();
  }

  #noteError(error: unknown): void {
    this.#lastError = boundedDetail(error instanceof Error ? error.message : String(error));
  }
}
