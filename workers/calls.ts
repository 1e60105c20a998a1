/**
 * The program of a thread that calls providers. A task of the pool is one batch; results go back by `parentPort` while
 * the batch is still running, and Piscina passes them on as messages of the pool.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { CallRunner } from '../src/provider/pool/call-runner.ts';
import type { CallsSetup } from '../src/provider/pool/setup.ts';

const runner = new CallRunner(workerData as CallsSetup, (message) =>
  parentPort!.postMessage(message, [message.buffer]),
);

export default (message: Uint8Array): Promise<void> => runner.run(message);
