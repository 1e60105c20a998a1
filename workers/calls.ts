/**
 * The program of a thread that calls providers. A task is one batch. Results go back through `parentPort` while the batch
 * still runs, and Piscina emits them as messages of the pool.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { CallRunner } from '../src/provider/pool/call-runner.ts';
import type { CallsSetup } from '../src/provider/pool/setup.ts';

const runner = new CallRunner(workerData as CallsSetup, (message) =>
  parentPort!.postMessage(message, [message.buffer]),
);

export default (message: Uint8Array): Promise<void> => runner.run(message);
