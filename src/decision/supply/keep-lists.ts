/**
 * A cluster's machines in keep order (A2), one list per family and state, that know whom their machines count for. A need
 * looks for the first machine that nobody has or only a later need; in a settled cluster almost all belong to earlier ones,
 * so that going through them one by one was most of a cycle. Here they stand in blocks, and each block has a bound: none
 * of its machines counts for a need later than that. A walk skips whole blocks and reads the one it stops in.
 *
 *   by list     first, last       u32   blocks, 0 = none; of a free list id: first = the next free one
 *               directory         array of blocks in order; only while there are two or more
 *   by block    items             u32 × 16   slots
 *               count             u8
 *               latest            u32   no claim in it is greater, an unclaimed machine being UNCLAIMED; may be too high
 *               list, next, previous   u32
 *   by slot     blockOf           u32   0 = in no list
 *
 * The bound rises at once when a machine is released or joins, and falls only when a walk has read the whole block in
 * vain: taking a machine costs nothing here. A position is block × 16 + index, good until the next `add` or `remove`.
 */
import { assert } from '../../base/assert.ts';
import { columnU8, columnU32, widerU8, widerU32 } from '../columns/columns.ts';

const BLOCK_SHIFT = 4;
const BLOCK_ITEMS = 1 << BLOCK_SHIFT;
const INDEX_MASK = BLOCK_ITEMS - 1;
/** Blocks of together no more than this are joined when one of them runs nearly empty. */
const JOINED_MAX = 12;
const SPARSE_MAX = 4;
/** The bound of a block with an unclaimed machine; above every claim. */
const UNCLAIMED = 0xffff_ffff;

export class KeepLists {
  readonly #compare: (slotA: number, slotB: number) => number;
  readonly #claim: Uint32Array;
  readonly #blockOf: Uint32Array;
  #first = columnU32(64);
  #last = columnU32(64);
  #blockCount = columnU32(64);
  readonly #directories: (Uint32Array | undefined)[] = [];
  #listLimit = 1;
  #freeList = 0;
  #items = columnU32(64 * BLOCK_ITEMS);
  #count = columnU8(64);
  #latest = columnU32(64);
  #listOf = columnU32(64);
  #next = columnU32(64);
  #previous = columnU32(64);
  #blockLimit = 1;
  #freeBlock = 0;

  /** `claim` by slot: a greater number is a later need, 0 is nobody. */
  constructor(slotsMax: number, compare: (slotA: number, slotB: number) => number, claim: Uint32Array) {
    this.#blockOf = columnU32(slotsMax);
    this.#compare = compare;
    this.#claim = claim;
  }

  create(): number {
    let list = this.#freeList;
    if (list !== 0) this.#freeList = this.#first[list]!;
    else {
      list = this.#listLimit++;
      this.#first = widerU32(this.#first, list);
      this.#last = widerU32(this.#last, list);
      this.#blockCount = widerU32(this.#blockCount, list);
    }
    this.#first[list] = this.#last[list] = this.#blockCount[list] = 0;
    return list;
  }

  /** Gives back the id of a list that has no machines. */
  drop(list: number): void {
    assert(this.#blockCount[list] === 0, 'a list is dropped when its machines are gone');
    this.#first[list] = this.#freeList;
    this.#freeList = list;
  }

  /** Position of the first slot, 0 if the list is empty. */
  first(list: number): number {
    return this.#first[list]! << BLOCK_SHIFT;
  }

  /** The position after this one, 0 at the end. */
  next(position: number): number {
    const block = position >>> BLOCK_SHIFT;
    if ((position & INDEX_MASK) + 1 < this.#count[block]!) return position + 1;
    return this.#next[block]! << BLOCK_SHIFT;
  }

  slotAt(position: number): number {
    return this.#items[position]!;
  }

  /** Position of the first slot that comes after this one, which need not be in the list; 0 = none. */
  after(list: number, slot: number): number {
    const own = this.#blockOf[slot]!;
    if (own !== 0 && this.#listOf[own] === list) return this.next(this.#positionIn(own, slot));
    const last = this.#last[list]!;
    if (last === 0 || this.#compare(this.#lastOf(last), slot) <= 0) return 0;
    // Families have prices of their own, so mostly all of a list comes before a machine of another one, or all after it.
    const first = this.first(list);
    if (this.#compare(this.#items[first]!, slot) > 0) return first;
    const block = this.#blockFor(list, slot);
    let low = block << BLOCK_SHIFT;
    for (let high = low + this.#count[block]!; low < high; ) {
      const middle = (low + high) >>> 1;
      if (this.#compare(this.#items[middle]!, slot) <= 0) low = middle + 1;
      else high = middle;
    }
    return (low & INDEX_MASK) < this.#count[block]! && low >>> BLOCK_SHIFT === block
      ? low
      : this.#next[block]! << BLOCK_SHIFT;
  }

  /** The first position, from this one on, whose machine is unclaimed or counts for `claim` or later; 0 = none. */
  seek(position: number, claim: number): number {
    if (position === 0) return 0;
    const claims = this.#claim;
    const items = this.#items;
    let block = position >>> BLOCK_SHIFT;
    let at = position;
    for (;;) {
      if (this.#latest[block]! >= claim) {
        const start = block << BLOCK_SHIFT;
        const end = start + this.#count[block]!;
        const isWhole = at === start;
        let latest = 0;
        for (; at < end; at++) {
          const held = claims[items[at]!]!;
          if (held === 0 || held >= claim) return at;
          if (held > latest) latest = held;
        }
        if (isWhole) this.#latest[block] = latest;
      }
      block = this.#next[block]!;
      if (block === 0) return 0;
      at = block << BLOCK_SHIFT;
    }
  }

  /** The first unclaimed one from this position on; 0 = none. */
  seekUnclaimed(position: number): number {
    return this.seek(position, UNCLAIMED);
  }

  /** The machine is nobody's now. */
  released(slot: number): void {
    const block = this.#blockOf[slot]!;
    if (block !== 0) this.#latest[block] = UNCLAIMED;
  }

  /** The machine counts for the same need, which has another number now. */
  renumbered(slot: number): void {
    const block = this.#blockOf[slot]!;
    if (block !== 0 && this.#claim[slot]! > this.#latest[block]!) this.#latest[block] = this.#claim[slot]!;
  }

  add(list: number, slot: number): void {
    assert(this.#blockOf[slot] === 0, 'a slot is in one list only');
    let block = this.#last[list]!;
    if (block === 0) block = this.#addBlock(list, 0);
    else if (this.#compare(slot, this.#lastOf(block)) < 0) block = this.#blockFor(list, slot);
    else if (this.#count[block] === BLOCK_ITEMS) block = this.#addBlock(list, block);
    if (this.#count[block] === BLOCK_ITEMS) block = this.#split(list, block, slot);
    const start = block << BLOCK_SHIFT;
    const end = start + this.#count[block]!;
    let low = start;
    for (let high = end; low < high; ) {
      const middle = (low + high) >>> 1;
      if (this.#compare(this.#items[middle]!, slot) < 0) low = middle + 1;
      else high = middle;
    }
    for (let item = end; item > low; item--) this.#items[item] = this.#items[item - 1]!;
    this.#items[low] = slot;
    this.#count[block]!++;
    this.#blockOf[slot] = block;
    const held = this.#claim[slot]!;
    this.#latest[block] = held === 0 ? UNCLAIMED : Math.max(held, this.#latest[block]!);
  }

  /** Takes a slot out of whichever list it is in; nothing happens if it is in none. */
  remove(slot: number): void {
    const block = this.#blockOf[slot]!;
    if (block === 0) return;
    const items = this.#items;
    let item = this.#positionIn(block, slot);
    const last = (block << BLOCK_SHIFT) + this.#count[block]! - 1;
    for (; item < last; item++) items[item] = items[item + 1]!;
    this.#blockOf[slot] = 0;
    const left = --this.#count[block]!;
    if (left === 0) this.#removeBlock(block);
    else if (left <= SPARSE_MAX) this.#joinNeighbour(block);
  }

  #positionIn(block: number, slot: number): number {
    let item = block << BLOCK_SHIFT;
    while (this.#items[item] !== slot) item++;
    return item;
  }

  #lastOf(block: number): number {
    return this.#items[(block << BLOCK_SHIFT) + this.#count[block]! - 1]!;
  }

  /** The first block whose last slot does not come before this one; there is one. */
  #blockFor(list: number, slot: number): number {
    const directory = this.#directories[list];
    if (directory === undefined) return this.#first[list]!;
    let low = 0;
    let high = this.#blockCount[list]! - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(slot, this.#lastOf(directory[middle]!)) > 0) low = middle + 1;
      else high = middle;
    }
    return directory[low]!;
  }

  /** Halves a full block; the half that the slot belongs to. */
  #split(list: number, block: number, slot: number): number {
    const upper = this.#addBlock(list, block);
    const half = BLOCK_ITEMS / 2;
    this.#count[block] = half;
    this.#moveAll(block, half, BLOCK_ITEMS, upper);
    return this.#compare(slot, this.#lastOf(block)) > 0 ? upper : block;
  }

  #joinNeighbour(block: number): void {
    const count = this.#count[block]!;
    const next = this.#next[block]!;
    const previous = this.#previous[block]!;
    let into = 0;
    let from = 0;
    if (next !== 0 && this.#count[next]! + count <= JOINED_MAX) [into, from] = [block, next];
    else if (previous !== 0 && this.#count[previous]! + count <= JOINED_MAX) [into, from] = [previous, block];
    if (into === 0) return;
    this.#moveAll(from, 0, this.#count[from]!, into);
    this.#removeBlock(from);
  }

  /** Puts the items of a block between two indexes at the end of another one. */
  #moveAll(from: number, fromIndex: number, endIndex: number, into: number): void {
    const items = this.#items;
    let target = (into << BLOCK_SHIFT) + this.#count[into]!;
    for (let index = fromIndex; index < endIndex; index++) {
      const slot = items[(from << BLOCK_SHIFT) + index]!;
      items[target++] = slot;
      this.#blockOf[slot] = into;
    }
    this.#count[into]! += endIndex - fromIndex;
    this.#latest[into] = Math.max(this.#latest[into]!, this.#latest[from]!);
  }

  /** An empty block behind `after`, or the first one if that is 0. */
  #addBlock(list: number, after: number): number {
    let block = this.#freeBlock;
    if (block !== 0) this.#freeBlock = this.#next[block]!;
    else {
      block = this.#blockLimit++;
      this.#widenBlocks(block);
    }
    const next = after === 0 ? 0 : this.#next[after]!;
    this.#count[block] = this.#latest[block] = 0;
    this.#listOf[block] = list;
    this.#previous[block] = after;
    this.#next[block] = next;
    if (after === 0) this.#first[list] = block;
    else this.#next[after] = block;
    if (next === 0) this.#last[list] = block;
    else this.#previous[next] = block;
    const count = ++this.#blockCount[list]!;
    if (count > 1) this.#addToDirectory(list, after, block, count);
    return block;
  }

  #addToDirectory(list: number, after: number, block: number, count: number): void {
    let directory = this.#directories[list];
    if (directory === undefined || directory.length < count) {
      const wider = new Uint32Array(Math.max(4, 2 * count));
      if (directory === undefined) wider[0] = after;
      else wider.set(directory);
      directory = this.#directories[list] = wider;
    }
    const at = directory[count - 2] === after ? count - 1 : directory.indexOf(after) + 1;
    directory.copyWithin(at + 1, at, count - 1);
    directory[at] = block;
  }

  #removeBlock(block: number): void {
    const list = this.#listOf[block]!;
    const next = this.#next[block]!;
    const previous = this.#previous[block]!;
    if (previous === 0) this.#first[list] = next;
    else this.#next[previous] = next;
    if (next === 0) this.#last[list] = previous;
    else this.#previous[next] = previous;
    const left = --this.#blockCount[list]!;
    const directory = this.#directories[list];
    if (left <= 1) this.#directories[list] = undefined;
    else if (directory !== undefined) {
      const at = directory.indexOf(block);
      directory.copyWithin(at, at + 1, left + 1);
    }
    this.#next[block] = this.#freeBlock;
    this.#freeBlock = block;
  }

  #widenBlocks(block: number): void {
    if (block < this.#count.length) return;
    this.#count = widerU8(this.#count, block);
    this.#items = widerU32(this.#items, this.#count.length * BLOCK_ITEMS - 1);
    this.#latest = widerU32(this.#latest, block);
    this.#listOf = widerU32(this.#listOf, block);
    this.#next = widerU32(this.#next, block);
    this.#previous = widerU32(this.#previous, block);
  }
}
