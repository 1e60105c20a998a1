/**
 * The program of the thread that derives one cycle from scratch (src/shard/check). It makes the memory for the copy and
 * touches every page of it, so that the main thread, which copies, waits for none; then it waits for the image, compares,
 * says what it found and ends. Started for each check: what it needs, some 400 MB at 500,000 machines, goes with it.
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
