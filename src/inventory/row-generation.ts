/**
 * The generation of a row: incarnation (16 bits) · writes (15 bits) · being written (1 bit). The lower half changes with
 * every write, so that a reader in another thread notices a torn row; the upper half changes only when a machine is
 * removed, so that code that keeps (slot, generation) notices when the slot has passed to another machine. Writes wrap
 * within their 15 bits: 32,768 writes to one row during one read of it do not happen.
 */
import { beginWrite, endWrite } from '../base/seqlock.ts';
import { CORE_WORDS, Core } from './columns.ts';

const WRITES_MASK = 0xffff;
const INCARNATION_SHIFT = 16;

/** Whether two generations of a slot belong to one machine: writes in between do not matter, removal does. */
export function isSameIncarnation(generationA: number, generationB: number): boolean {
  return (generationA ^ generationB) >>> INCARNATION_SHIFT === 0;
}

/** Makes the generation odd. */
export function beginRowWrite(core: Uint32Array, slot: number): void {
  const word = slot * CORE_WORDS + Core.Generation;
  beginWrite(core, word, core[word]! | 1);
}

/** Makes the generation even, and different from the one before. */
export function endRowWrite(core: Uint32Array, slot: number): void {
  const word = slot * CORE_WORDS + Core.Generation;
  const odd = core[word]!;
  endWrite(core, word, (odd & ~WRITES_MASK) | ((odd + 1) & WRITES_MASK));
}

/** Makes it even: the first generation of the slot's next machine. */
export function endRowRemoval(core: Uint32Array, slot: number): void {
  const word = slot * CORE_WORDS + Core.Generation;
  endWrite(core, word, ((core[word]! >>> INCARNATION_SHIFT) + 1) << INCARNATION_SHIFT);
}
