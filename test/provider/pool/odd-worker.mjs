/** The program of a calling thread, with faults: a call fails if its machine id says so. */
import { decodeCalls } from '../../../dist/src/provider/pool/call-batch.js';
import run from '../../../dist/workers/calls.js';

const ODDITIES = {
  exit: () => process.exit(3),
  throw: () =>
    new Promise(() => {
      setImmediate(() => {
        throw new Error('a thread broke');
      });
    }),
  /** Blocks the whole thread, and its deadlines too. */
  block: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000),
  swallow: () => new Promise(() => {}),
};

export default async (message) => {
  const oddity = decodeCalls(message).map(({ machineId }) => ODDITIES[machineId]);
  for (const act of oddity) await act?.();
  return run(message);
};
