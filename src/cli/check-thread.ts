/**
 * Runs from-scratch checks of decisions, each in a new thread that ends with the check. Starting a thread costs a tenth of
 * a second; keeping it would keep the memory of a whole check.
 */
import { Worker } from 'node:worker_threads';
import { pathOfWorker } from '../provider/pool/setup.ts';
import type { CheckPort, CheckResult, OpenCheck } from '../shard/ports/check.ts';

/** A check takes seconds at 500,000 machines; a thread that needs longer than this hangs. */
const CHECK_MS_MAX = 300_000;

/** The `threadId` of a thread that has ended. */
const ENDED = -1;

export class CheckThreads implements CheckPort {
  readonly #file: string;
  readonly #threads = new Set<Worker>();

  constructor(file: URL = checkProgram()) {
    this.#file = pathOfWorker(file);
  }

  async open(bytes: number): Promise<OpenCheck> {
    const thread = new Worker(this.#file, { workerData: { bytes } });
    thread.unref(); // a check never keeps a process alive
    this.#threads.add(thread);
    thread.once('exit', () => this.#threads.delete(thread));
    thread.on('error', () => {}); // `nextMessage` rejects; without a listener the error would end the process
    const end = () => void thread.terminate();
    try {
      const buffer = (await nextMessage(thread)) as SharedArrayBuffer;
      return {
        buffer,
        run: async (image) => {
          try {
            const answer = nextMessage(thread);
            thread.postMessage(image);
            return (await answer) as CheckResult;
          } finally {
            end();
          }
        },
        close: end,
      };
    } catch (error) {
      end();
      throw error;
    }
  }

  /** Ends all checks in progress. */
  async close(): Promise<void> {
    await Promise.all([...this.#threads].map((thread) => thread.terminate()));
  }
}

/** Next to this module in the build. Tests run this module as TypeScript, but threads always run from the build. */
function checkProgram(): URL {
  const isSource = import.meta.url.endsWith('.ts');
  return new URL(isSource ? '../../dist/workers/check.js' : '../../workers/check.js', import.meta.url);
}

/** Resolves with the thread's next message; rejects if the thread fails, ends or takes too long. */
function nextMessage(thread: Worker): Promise<unknown> {
  return new Promise((resolve, reject) => {
    if (thread.threadId === ENDED) {
      reject(new Error('the check thread ended before the check began'));
      return;
    }
    const timer = setTimeout(
      () =>
        settle(() => reject(new Error(`the check thread did not answer within ${CHECK_MS_MAX / 1_000} s`))),
      CHECK_MS_MAX,
    );
    timer.unref();
    const onMessage = (message: unknown) => settle(() => resolve(message));
    const onError = (error: Error) => settle(() => reject(error));
    const onExit = (code: number) =>
      settle(() => reject(new Error(`the check thread ended with code ${code}`)));
    const settle = (how: () => void) => {
      clearTimeout(timer);
      thread.off('message', onMessage).off('error', onError).off('exit', onExit);
      how();
    };
    thread.on('message', onMessage).on('error', onError).on('exit', onExit);
  });
}
