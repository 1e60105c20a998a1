/**
 * The slots touched since the reader last took them. The cost of an incremental decision follows the number of changes, so
 * the engine must learn which slots changed without a scan. Two levels of bits: a mark is two stores, a second mark of the
 * same slot costs nothing more, and finding 1,000 marks among a million slots reads a thousand words, not a million rows.
 *
 *   marks      1 bit a slot
 *   summary    1 bit for each word of marks (32 slots) that has a bit
 *
 * The log returns each slot once, however often it was touched, in ascending order, and does not say what happened to it.
 * A removed machine leaves its slot marked; if another machine gets the slot before the log is taken, the slot is still
 * returned once and its row shows the new machine. So a reader discards what it knew of every slot returned and reads the
 * row (state 0 = no machine now). A machine that was added and removed in between shows as an empty slot, too.
 */
import { assert } from '../base/assert.ts';

export class ChangeLog {
  readonly #marks: Uint32Array;
  readonly #summary: Uint32Array;
  #count = 0;

  constructor(slotsMax: number) {
    this.#marks = new Uint32Array((slotsMax >>> 5) + 1);
    this.#summary = new Uint32Array((slotsMax >>> 10) + 1);
  }

  /** Slots marked now. */
  get count(): number {
    return this.#count;
  }

  mark(slot: number): void {
    const word = slot >>> 5;
    const bit = 1 << (slot & 31);
    const before = this.#marks[word]!;
    if ((before & bit) !== 0) return;
    this.#marks[word] = before | bit;
    this.#summary[word >>> 5]! |= 1 << (word & 31);
    this.#count++;
  }

  has(slot: number): boolean {
    return (this.#marks[slot >>> 5]! & (1 << (slot & 31))) !== 0;
  }

  /** Moves marked slots to `out`, lowest first, until it is full; returns how many. The rest stays marked. */
  take(out: Uint32Array): number {
    let taken = 0;
    for (let group = 0; group < this.#summary.length && this.#count > 0; group++) {
      let words = this.#summary[group]!;
      while (words !== 0) {
        const lowestWord = words & -words;
        const word = group * 32 + 31 - Math.clz32(lowestWord);
        let bits = this.#marks[word]!;
        while (bits !== 0) {
          if (taken === out.length) {
            this.#marks[word] = bits;
            this.#summary[group] = words;
            return taken;
          }
          const lowestBit = bits & -bits;
          out[taken++] = word * 32 + 31 - Math.clz32(lowestBit);
          bits ^= lowestBit;
          this.#count--;
        }
        this.#marks[word] = 0;
        words ^= lowestWord;
      }
      this.#summary[group] = 0;
    }
    assert(this.#count >= 0, 'no more slots are taken than were marked');
    return taken;
  }

  clear(): void {
    if (this.#count === 0) return;
    this.#marks.fill(0);
    this.#summary.fill(0);
    this.#count = 0;
  }
}
