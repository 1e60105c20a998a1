/**
 * The generation of a row: incarnation (16 bits) · writes (15 bits) · being written (1 bit). The lower half changes with
 * every write, so that a reader in another thread notices a torn row; the upper half only when a machine is removed,
 * so that whoever holds (slot, generation) across other people's writes notices that the slot has become another
 * machine's. Writes wrap within their 15 bits: 32,768 writes to one row during one read of it do not happen.
 */
import { beginWrite, endWrite } from '../base/seqlock.ts';
import { CORE_WORDS, Core } from './columns.ts';

const WRITES_MASK = 0xffff;
const INCARNATION_SHIFT = 16;

/** Whether two generations of a slot are of one machine: writes in between do not matter, removal does. */
export function isSameIncarnation(generationA: number, generationB: number): boolean {
  return (generationA ^ generationB) >>> INCARNATION_SHIFT === 0;
}

/** Odd from here on. */
export function beginRowWrite(core: Uint32Array, slot: number): void {
  const word = slot * CORE_WORDS + Core.Generation;
  beginWrite(core, word, core[word]! | 1);
}

/** Even again, and another number than before. */
export function endRowWrite(core: Uint32Array, slot: number): void {
  const word = slot * CORE_WORDS + Core.Generation;
  const odd = core[word]!;
  endWrite(core, word, (odd & ~WRITES_MASK) | ((odd + 1) & WRITES_MASK));
}

/** Even again, and the first generation of the slot's next machine. */
export function endRowRemoval(core: Uint32Array, slot: number): void {
  const word = slot * CORE_WORDS + Core.Generation;
  endWrite(core, word, ((core[word]! >>> INCARNATION_SHIFT) + 1) << INCARNATION_SHIFT);
}
