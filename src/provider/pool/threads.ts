/**
 * Threads that live as long as the shard, as a Piscina pool with three of its defaults turned off:
 *
 *   atomics    'disabled'   the default parks a thread without tasks, and its event loop with it: gRPC's keepalive
 *                           and closing connections would wait for the next call
 *   signal     never given  it makes a task exclusive to its thread, and aborting ends the thread with every channel
 *   timing     off          a histogram entry per task that nobody reads
 *
 * A thread that dies, whatever of, is replaced by Piscina; its tasks reject, and whoever holds them is told.
 */
import { Piscina } from 'piscina';
import { boundedDetail } from '../../base/outside-text.ts';
import { pathOfWorker } from './setup.ts';

/** Calls and listings leave few objects, in columns or short-lived; V8 would let them pile up to 48 MiB in each thread. */
const YOUNG_MIB_MAX = 6;

export interface ThreadsOptions {
  readonly file: URL;
  readonly threads: number;
  readonly tasksPerThread: number;
  readonly setup: object;
  /** A thread died; Piscina has replaced it already. */
  readonly onLost: () => void;
  /** What threads said with `parentPort.postMessage`. */
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
    // Without a listener a thread that dies while it has nothing to do would end the process.
    this.#pool.on('error', (error: unknown) => this.#noteError(error));
    this.#pool.on('workerDestroy', () => {
      if (!this.#isClosing) options.onLost();
    });
    if (options.onMessage !== undefined) this.#pool.on('message', options.onMessage);
  }

  /** Why a thread died last, for people; '' if none did. */
  get lastError(): string {
    return this.#lastError;
  }

  /** Settles when the task has ended; rejects if its thread died. */
  async run(task: unknown, transferList: ArrayBuffer[]): Promise<unknown> {
    try {
      return await this.#pool.run(task, { transferList });
    } catch (error) {
      this.#noteError(error);
      throw error;
    }
  }

  /** Ends the threads whatever they do. A thread that is ended so still writes its CPU profile. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#pool.destroy();
  }

  #noteError(error: unknown): void {
    this.#lastError = boundedDetail(error instanceof Error ? error.message : String(error));
  }
}
