/**
 * The entries of one map while its machine is read, sorted by key ref; the last value of a key wins. Sorting removes the
 * order of the wire, which Go shuffles, before anything is hashed. A value has two words: a string ref for labels, the
 * halves of a double for amounts.
 */
import { assert } from '../../base/assert.ts';

/**
 * Labels and resources of one machine, repeated keys included. Machines have about ten. The decoder rejects a record
 * with more than this, so that no provider can make sorting expensive.
 */
export const ENTRIES_PER_MACHINE_MAX = 1024;

/** For so few keys a linear search from the end is cheaper than a binary one. */
const LINEAR_SEARCH_MAX = 24;

export class EntryList {
  readonly keys = new Uint32Array(ENTRIES_PER_MACHINE_MAX);
  readonly low = new Uint32Array(ENTRIES_PER_MACHINE_MAX);
  readonly high = new Uint32Array(ENTRIES_PER_MACHINE_MAX);
  count = 0;

  put(key: number, low: number, high: number): void {
    const { keys, count } = this;
    let place = count;
    if (count <= LINEAR_SEARCH_MAX) while (place > 0 && keys[place - 1]! > key) place--;
    else place = this.#placeAfter(key);
    if (place > 0 && keys[place - 1] === key) place--;
    else {
      assert(count < ENTRIES_PER_MACHINE_MAX, 'more entries than a machine may have');
      for (let at = count; at > place; at--) {
        keys[at] = keys[at - 1]!;
        this.low[at] = this.low[at - 1]!;
        this.high[at] = this.high[at - 1]!;
      }
      this.count = count + 1;
      keys[place] = key;
    }
    this.low[place] = low;
    this.high[place] = high;
  }

  /** Removes the zeros of a vector: an absent dimension is zero. */
  dropZeros(): void {
    let kept = 0;
    for (let at = 0; at < this.count; at++) {
      if ((this.low[at]! | this.high[at]!) === 0) continue;
      this.keys[kept] = this.keys[at]!;
      this.low[kept] = this.low[at]!;
      this.high[kept] = this.high[at]!;
      kept++;
    }
    this.count = kept;
  }

  hasHigh(word: number): boolean {
    for (let at = 0; at < this.count; at++) if (this.high[at] === word) return true;
    return false;
  }

  /** The first place whose key is greater. */
  #placeAfter(key: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.keys[middle]! > key) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
