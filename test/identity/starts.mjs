/**
 * A process that opens and closes a data directory for each line of its input, which is the path, and says in one line of JSON
 * what came of it.
 *
 *   node starts.mjs
 */
import { createInterface } from 'node:readline';
import { openDataDirectory } from '../../dist/src/identity/data-directory.js';

for await (const path of createInterface(process.stdin)) {
  let fact;
  try {
    const directory = await openDataDirectory({ path });
    fact = { epoch: directory.epoch };
    await directory.close();
  } catch (error) {
    fact = { code: error.code, next: error.next, message: error.message };
  }
  process.stdout.write(`${JSON.stringify(fact)}\n`);
}
