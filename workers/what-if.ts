/**
 * The program of the thread that answers one what-if question (src/shard/what-if). It allocates the memory for the copy and touches
 * every page, so that the main thread copies without page faults. Then it waits for the image, runs it to rest, posts its progress
 * and the answer, and ends.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { ShardError } from '../src/base/errors.ts';
import { answerOf } from '../src/shard/what-if/answer.ts';
import type { WhatIfImage } from '../src/shard/what-if/image.ts';
import { runToRest } from '../src/shard/what-if/run.ts';

/** From one line of progress to the next. */
const PROGRESS_MS = 250;

const { bytes } = workerData as { readonly bytes: number };
const buffer = new SharedArrayBuffer(bytes);
new Uint8Array(buffer).fill(1);

parentPort!.once('message', (image: WhatIfImage) => {
  try {
    parentPort!.postMessage({ answer: answerTo(image) });
  } catch (error) {
    if (!(error instanceof ShardError)) throw error;
    parentPort!.postMessage({ refused: error.message });
  }
});
parentPort!.postMessage(buffer);

function answerTo(image: WhatIfImage) {
  const run = runToRest(image);
  let toldMs = Number.NEGATIVE_INFINITY;
  let toldCycles = -1;
  for (;;) {
    const step = run.next();
    if (step.done) return answerOf(step.value);
    const { cycles } = step.value;
    const isNews = cycles <= 1 && cycles !== toldCycles;
    if (!isNews && performance.now() - toldMs < PROGRESS_MS) continue;
    toldMs = performance.now();
    toldCycles = cycles;
    parentPort!.postMessage({ progress: step.value });
  }
}
