/**
 * The set of slots that were touched since it was last taken. A decision that costs what changed must be told what
 * changed: two levels of bits, so that marking is two stores, marking twice costs nothing more, and finding 1,000 marks
 * among a million slots reads a thousand words and not a million rows.
 *
 *   marks      1 bit a slot
 *   summary    1 bit for each word of marks (32 slots) that has a bit
 *
 * A slot is given once, however often it was touched, in ascending order, and says only *that* something happened. A
 * machine that was removed leaves its slot marked; if the slot is used again before the log is taken, it is still given
 * once, and the row then shows the new machine. So a reader forgets what it knew of every slot it is given, and looks at
 * the row (state 0 = no machine now). A machine that came and went in between shows as an empty slot, too.
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
    assert(this.#count >= 0, 'no more is taken than was marked');
    return taken;
  }

  clear(): void {
    if (this.#count === 0) return;
    this.#marks.fill(0);
    this.#summary.fill(0);
    this.#count = 0;
  }
}
