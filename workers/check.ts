/**
 * The program of the thread that decides one cycle from scratch (src/shard/check). It allocates the memory for the copy
 * and touches every page, so that the main thread copies without page faults. Then it waits for the image, compares,
 * posts the result and ends. Each check starts a new thread, so its memory, about 400 MB at 500,000 machines, is freed
 * afterwards.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { deriveAndCompare } from '../src/shard/check/derive.ts';
import type { CheckImage } from '../src/shard/check/image.ts';

const { bytes } = workerData as { readonly bytes: number };
const buffer = new SharedArrayBuffer(bytes);
new Uint8Array(buffer).fill(1);

parentPort!.once('message', (image: CheckImage) => {
  parentPort!.postMessage(deriveAndCompare(image));
});
parentPort!.postMessage(buffer);
