/**
 * A process that opens a data directory, says in one line of JSON what came of it, and holds it until its input ends.
 *
 *   node holder.mjs DIRECTORY [MIN_EPOCH]
 */
import { openDataDirectory } from '../../dist/src/identity/data-directory.js';

const [, , path, minEpoch = '0'] = process.argv;
const say = (fact) => process.stdout.write(`${JSON.stringify(fact)}\n`);

globalThis.armFaults?.();
try {
  const directory = await openDataDirectory({ path, minEpoch: Number(minEpoch) });
  say({ epoch: directory.epoch, callCount: globalThis.faultCallCount?.() });
  for await (const _ of process.stdin);
  await directory.close();
} catch (error) {
  say({ code: error.code, next: error.next, message: error.message });
}
