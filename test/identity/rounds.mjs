/**
 * A process that opens and closes a data directory again and again among others that do the same. While it holds the
 * directory it makes MARK, which nobody else may have made. At the end it kills itself, or not.
 *
 *   node rounds.mjs DIRECTORY MARK ROUNDS (close|kill)
 */
import { mkdirSync, rmdirSync } from 'node:fs';
import { openDataDirectory } from '../../dist/src/identity/data-directory.js';

const [, , path, mark, rounds, ending] = process.argv;
const epochs = [];
let refusedCount = 0;

while (epochs.length < Number(rounds)) {
  try {
    const directory = await openDataDirectory({ path });
    mkdirSync(mark);
    epochs.push(directory.epoch);
    await new Promise((resolve) => setTimeout(resolve, 1));
    rmdirSync(mark);
    if (epochs.length < Number(rounds) || ending === 'close') await directory.close();
  } catch (error) {
    if (error.code !== 'data_directory_held') throw error;
    refusedCount++;
    await new Promise((resolve) => setTimeout(resolve, refusedCount % 5));
  }
}
await new Promise((resolve) =>
  process.stdout.write(`${JSON.stringify({ epochs, refusedCount })}\n`, resolve),
);
if (ending === 'kill') process.kill(process.pid, 'SIGKILL');
