/**
 * A cluster's machines in keep order (A2: price, penalty, id), one list per family and state. The lists know the claims:
 * a need looks for the first machine that is unclaimed or claimed by a later need, and in a settled cluster earlier needs
 * claim almost all, so reading them one by one was most of a cycle. The machines stand in blocks with a bound: no machine
 * of the block has a later claim. A scan skips whole blocks and reads only the one it stops in.
 *
 *   by list     first, last            u32        blocks, 0 = none; of a free list id: first = the next free one
 *               directory              array      of the blocks, in order; only while there are two or more
 *   by block    items                  u32 × 16   slots
 *               count                  u8
 *               latest                 u32        the bound: no claim is greater; an unclaimed machine has UNCLAIMED
 *               list, next, previous   u32
 *   by slot     blockOf                u32        0 = in no list
 *
 * The bound rises at once when a machine is released or added, and falls only when a scan has read the whole block in
 * vain, so taking a machine costs nothing here. A position is block × 16 + index, valid until the next `add` or `remove`.
 */
import { assert } from '../../base/assert.ts';
import { columnU8, columnU32, widerU8, widerU32 } from '../columns/columns.ts';

const BLOCK_SHIFT = 4;
const BLOCK_ITEMS = 1 << BLOCK_SHIFT;
const INDEX_MASK = BLOCK_ITEMS - 1;
/** A sparse block joins a neighbour if both together have no more items than this. */
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

  /** `claim` by slot: a greater number is a later need, 0 is unclaimed. */
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

  /** Frees the id of an empty list. */
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
    // Families differ in price, so a whole list mostly comes before or after a machine of another family.
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

  /** The first position, from this one on, whose machine is unclaimed or claimed by `claim` or later; 0 = none. */
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

  /** The machine is unclaimed now. */
  released(slot: number): void {
    const block = this.#blockOf[slot]!;
    if (block !== 0) this.#latest[block] = UNCLAIMED;
  }

  /** The same need claims the machine, but has another number now. */
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

  /** Takes a slot out of its list; no effect if it is in none. */
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

  /** The first block whose last slot does not come before this one; the caller knows that there is one. */
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

  /** Halves a full block; returns the half that the slot belongs to. */
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

  /** Appends the items of a block between two indexes to another block. */
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

  /** Adds an empty block behind `after`; 0 = as the first. */
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
