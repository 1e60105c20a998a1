/**
 * The thread that checks decisions from scratch: one for each check, which ends with it, because the memory of a check is
 * worth more than the tenth of a second that a thread takes to start.
 */
import { Worker } from 'node:worker_threads';
import { pathOfWorker } from '../provider/pool/setup.ts';
import type { CheckPort, CheckResult, OpenCheck } from '../shard/ports/check.ts';

/** Seconds at 500,000 machines; a thread that takes longer than this hangs. */
const CHECK_MS_MAX = 300_000;

/** The id of a thread that is no more. */
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
    thread.on('error', () => {}); // whoever waits is told; without a listener it would end the process
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

  /** Ends whatever is under way. */
  async close(): Promise<void> {
    await Promise.all([...this.#threads].map((thread) => thread.terminate()));
  }
}

/** Beside this module once compiled; tests run this module as TypeScript and the threads from the build. */
function checkProgram(): URL {
  const isSource = import.meta.url.endsWith('.ts');
  return new URL(isSource ? '../../dist/workers/check.js' : '../../workers/check.js', import.meta.url);
}

/** Rejects if the thread fails, ends or takes too long instead. */
function nextMessage(thread: Worker): Promise<unknown> {
  return new Promise((resolve, reject) => {
    if (thread.threadId === ENDED) {
      reject(new Error('the thread ended before it was needed'));
      return;
    }
    const timer = setTimeout(
      () => settle(() => reject(new Error(`no word from the thread in ${CHECK_MS_MAX / 1_000} s`))),
      CHECK_MS_MAX,
    );
    timer.unref();
    const onMessage = (message: unknown) => settle(() => resolve(message));
    const onError = (error: Error) => settle(() => reject(error));
    const onExit = (code: number) => settle(() => reject(new Error(`the thread ended with code ${code}`)));
    const settle = (how: () => void) => {
      clearTimeout(timer);
      thread.off('message', onMessage).off('error', onError).off('exit', onExit);
      how();
    };
    thread.on('message', onMessage).on('error', onError).on('exit', onExit);
  });
}
