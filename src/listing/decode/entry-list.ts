/**
 * The entries of one map while its machine is read: sorted by key ref, the last value of a key wins. So the
 * order of entries on the wire, which Go shuffles, is gone before anything is hashed. Two words of value:
 * a string ref for labels, the halves of a double for amounts.
 */
import { assert } from '../../base/assert.ts';

/**
 * Labels and resources of one machine, repeated keys included. Machines have about ten; a record with more
 * than this is refused, so that sorting stays cheap whatever a provider sends.
 */
export const ENTRIES_PER_MACHINE_MAX = 1024;

/** Up to here the place of a key is found by walking from the end, which is cheaper than halving. */
const WALK_MAX = 24;

export class EntryList {
  readonly keys = new Uint32Array(ENTRIES_PER_MACHINE_MAX);
  readonly low = new Uint32Array(ENTRIES_PER_MACHINE_MAX);
  readonly high = new Uint32Array(ENTRIES_PER_MACHINE_MAX);
  count = 0;

  put(key: number, low: number, high: number): void {
    const { keys, count } = this;
    let place = count;
    if (count <= WALK_MAX) while (place > 0 && keys[place - 1]! > key) place--;
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

  /** Leaves out the zeros of a vector: a dimension that a vector lacks is zero. */
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
