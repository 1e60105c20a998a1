/** What-if questions on the thread of a test, which keeps the copy. */
import type { WhatIfTexts, WhatIfThreads } from '../../../src/shard/ports/what-if.ts';
import { answerOf } from '../../../src/shard/what-if/answer.ts';
import type { WhatIfImage } from '../../../src/shard/what-if/image.ts';
import { type RestedCopy, runToRest } from '../../../src/shard/what-if/run.ts';

export const NOTHING: WhatIfTexts = {
  ...{ without: [], demand: [], add: [], price: [] },
  ...{ set: [], latency: [], rollups: [] },
};

export class InPlace implements WhatIfThreads {
  rested: RestedCopy | null = null;
  closed = 0;
  /** What `run` waits for before it begins. */
  gate: Promise<void> = Promise.resolve();

  async open(bytes: number) {
    let end: (error: Error) => void = () => {};
    const ended = new Promise<never>((_, reject) => {
      end = reject;
    });
    ended.catch(() => {});
    return {
      buffer: new SharedArrayBuffer(bytes),
      run: async (image: object, onProgress: (progress: object) => void) => {
        await Promise.race([this.gate, ended]);
        const run = runToRest(image as WhatIfImage);
        let step = run.next();
        for (; !step.done; step = run.next()) onProgress(step.value);
        this.rested = step.value;
        return answerOf(step.value);
      },
      close: () => {
        this.closed++;
        end(new Error('the thread was ended'));
      },
    };
  }
}
