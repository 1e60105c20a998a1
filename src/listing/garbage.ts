/**
 * Collects garbage on request, in the listing thread. gRPC receives an answer of 400 MB in pieces and then joins them:
 * twice its size, and outside of the heap, so V8 hardly notices it. Left alone, V8 keeps the last answer while the next
 * one arrives, and the shard takes a gigabyte more than it needs. The listing thread's heap is small: a collection takes
 * milliseconds and delays no other work.
 */
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as (options?: { type: 'minor' }) => void;
setFlagsFromString('--no-expose-gc');

/** V8 may collect smaller answers whenever it likes. */
const ANSWER_BYTES_MIN = 16 * 1024 ** 2;

/**
 * A piece is still in the young generation when it has been copied; collecting it takes a third of a millisecond. After
 * 64 MB of uncollected pieces V8 marks the whole heap, on the cores that the receiving thread needs: every 90 ms, a third
 * of the time.
 */
const PIECES_BYTES_MAX = 8 * 1024 ** 2;
let pieceBytes = 0;

/** This many more bytes have been copied out of their piece. */
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
 * Collects in a later event-loop turn, because the caller may still refer to the garbage in this one. Resolves one turn
 * after that, when the closed ports of give-back.ts have returned their memory to the system.
 */
export async function collectGarbageOf(answerBytes: number): Promise<void> {
  if (!isLarge(answerBytes)) return;
  await setImmediate();
  gc();
  await setImmediate();
}
