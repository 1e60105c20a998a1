/**
 * Collects garbage when told to. An answer of 400 MB arrives in pieces that are then joined: twice its size, of which the collector
 * knows little, because none of it is in its heap. Left to itself it still holds the last answer while the next one
 * arrives, and the shard takes a gigabyte more than it needs. This thread's heap is small: a collection takes milliseconds
 * and holds up nobody.
 */
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as (options?: { type: 'minor' }) => void;
setFlagsFromString('--no-expose-gc');

/** Below this the collector may take its time. */
const ANSWER_BYTES_MIN = 16 * 1024 ** 2;

/**
 * Pieces of an answer are young when they have been copied, and freed in a third of a millisecond. Left alone for 64 MB, they
 * make V8 mark the whole heap, beside the thread that receives and on its cores: every 90 ms, a third of the time.
 */
const PIECES_BYTES_MAX = 8 * 1024 ** 2;
let pieceBytes = 0;

/** So many bytes more that arrived were copied to where they belong. */
export function notePieces(bytes: number): void {
  pieceBytes += bytes;
  if (pieceBytes < PIECES_BYTES_MAX) return;
  pieceBytes = 0;
  gc({ type: 'minor' });
}

export function isLarge(answerBytes: number): boolean {
  return answerBytes >= ANSWER_BYTES_MIN;
}

/**
 * In a later turn of the loop: whoever handed over what is garbage now may still have it in its hands. Resolves when its memory
 * is the system's again, in the turn after that: what was given back goes with a port that is closed.
 */
export async function collectGarbageOf(answerBytes: number): Promise<void> {
  if (!isLarge(answerBytes)) return;
  await setImmediate();
  gc();
  await setImmediate();
}
