/** Runs what-if questions, each in a new thread that ends with its answer: keeping it would keep the memory of a whole copy. */
import { Worker } from 'node:worker_threads';
import { pathOfWorker } from '../provider/pool/setup.ts';
import type { OpenWhatIf, WhatIfThreads } from '../shard/ports/what-if.ts';
import { WhatIfRefusedError } from '../shard/what-if/question.ts';

/** The largest shard needs half a minute; a thread that needs longer than this hangs. */
const ANSWER_MS_MAX = 600_000;

type Message =
  | SharedArrayBuffer
  | { readonly progress: object }
  | { readonly answer: object }
  | { readonly refused: string };

export class WhatIfThread implements WhatIfThreads {
  readonly #file: string;
  readonly #threads = new Set<Worker>();

  constructor(file: URL = whatIfProgram()) {
    this.#file = pathOfWorker(file);
  }

  open(bytes: number): Promise<OpenWhatIf> {
    const thread = new Worker(this.#file, { workerData: { bytes } });
    thread.unref(); // a question never keeps a process alive
    this.#threads.add(thread);
    const close = () => void thread.terminate();
    return new Promise((resolve, reject) => {
      let fail: (error: Error) => void = reject;
      let take: (message: Message) => void = (message) => {
        if (message instanceof SharedArrayBuffer) resolve({ buffer: message, run, close });
      };
      const run: OpenWhatIf['run'] = (image, onProgress) =>
        new Promise((answered, failed) => {
          const timer = setTimeout(
            () => failed(new Error(`no answer within ${ANSWER_MS_MAX / 1_000} s`)),
            ANSWER_MS_MAX,
          );
          timer.unref();
          fail = (error) => {
            clearTimeout(timer);
            failed(error);
          };
          take = (message) => {
            if ('progress' in message) {
              onProgress(message.progress);
              return;
            }
            clearTimeout(timer);
            if ('answer' in message) answered(message.answer);
            else if ('refused' in message) failed(new WhatIfRefusedError(message.refused));
          };
          thread.postMessage(image);
        });
      thread.on('message', (message: Message) => take(message));
      thread.on('error', (error) => fail(error));
      thread.once('exit', (code) => {
        this.#threads.delete(thread);
        fail(new Error(`the thread ended with code ${code}`));
      });
    });
  }

  /** Ends the question in progress. */
  async close(): Promise<void> {
    await Promise.all([...this.#threads].map((thread) => thread.terminate()));
  }
}

/** Next to this module in the build. Tests run this module as TypeScript, but threads always run from the build. */
function whatIfProgram(): URL {
  const isSource = import.meta.url.endsWith('.ts');
  return new URL(isSource ? '../../dist/workers/what-if.js' : '../../workers/what-if.js', import.meta.url);
}
