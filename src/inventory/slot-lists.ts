/**
 * Many unordered lists of slots, with O(1) add and remove: the last slot of a list takes the place of the one that
 * leaves. Which machines of a shape are Idle, which of a cluster are Configured.
 *
 *   by list     head       2 × u32   block: first item in `items`, 0 = none · count | sizeClass << 27
 *   pool        items      u32       slots; a block has room for 4 << sizeClass; free blocks of one class are linked
 *   by slot     position   u32       index in its list (a column of the machine table, given by the owner)
 *
 * Both words of a head, and the heads of one shape or cluster, lie next to each other: at half a million machines
 * the price of a change is the number of cache lines that it waits for, not the number of instructions. Blocks grow in
 * powers of two, shrink when an eighth full, and are given back when empty; a slot costs 5 to 6 bytes.
 *
 * `items` is replaced when the pool grows: read it again after anything that may add.
 */
import { assert } from '../base/assert.ts';

const SMALLEST_ROOM = 4;
const CLASS_SHIFT = 27;
const COUNT_MASK = 2 ** CLASS_SHIFT - 1;
const CLASS_COUNT = 26; // 4 << 25 = 2^27 slots
const ITEMS_AT_START = 4096;

export class SlotLists {
  items = new Uint32Array(ITEMS_AT_START);
  readonly #heads: Uint32Array;
  readonly #position: Uint32Array;
  readonly #freeBlock = new Uint32Array(CLASS_COUNT);
  #itemLimit = SMALLEST_ROOM;

  constructor(listsMax: number, position: Uint32Array) {
    this.#heads = new Uint32Array(2 * listsMax);
    this.#position = position;
  }

  startOf(list: number): number {
    return this.#heads[2 * list]!;
  }

  countOf(list: number): number {
    return this.#heads[2 * list + 1]! & COUNT_MASK;
  }

  add(list: number, slot: number): void {
    const heads = this.#heads;
    const head = heads[2 * list + 1]!;
    const count = head & COUNT_MASK;
    let start = heads[2 * list]!;
    if (start === 0) start = heads[2 * list] = this.#takeBlock(0);
    else if (count === SMALLEST_ROOM << (head >>> CLASS_SHIFT)) {
      start = this.#resize(list, (head >>> CLASS_SHIFT) + 1);
    }
    this.items[start + count] = slot;
    this.#position[slot] = count;
    heads[2 * list + 1]!++;
  }

  remove(list: number, slot: number): void {
    const heads = this.#heads;
    const { items } = this;
    const start = heads[2 * list]!;
    const head = heads[2 * list + 1]!;
    const last = (head & COUNT_MASK) - 1;
    const position = this.#position[slot]!;
    const moved = items[start + last]!;
    assert(position <= last, 'a slot is removed from the list that it is in');
    items[start + position] = moved;
    this.#position[moved] = position;
    heads[2 * list + 1] = head - 1;
    const sizeClass = head >>> CLASS_SHIFT;
    if (last === 0) {
      this.#giveBlock(start, sizeClass);
      heads[2 * list] = heads[2 * list + 1] = 0;
    } else if (last << 3 <= SMALLEST_ROOM << sizeClass) {
      this.#resize(list, sizeClass - 1);
    }
  }

  /** Bytes of the pool that were ever touched. */
  get bytesTouched(): number {
    return this.#itemLimit * 4;
  }

  #resize(list: number, sizeClass: number): number {
    const heads = this.#heads;
    const from = heads[2 * list]!;
    const head = heads[2 * list + 1]!;
    const count = head & COUNT_MASK;
    const to = this.#takeBlock(sizeClass);
    const { items } = this;
    if (count > 32) items.copyWithin(to, from, from + count);
    else for (let index = 0; index < count; index++) items[to + index] = items[from + index]!;
    this.#giveBlock(from, head >>> CLASS_SHIFT);
    heads[2 * list] = to;
    heads[2 * list + 1] = count | (sizeClass << CLASS_SHIFT);
    return to;
  }

  #takeBlock(sizeClass: number): number {
    const free = this.#freeBlock[sizeClass]!;
    if (free !== 0) {
      this.#freeBlock[sizeClass] = this.items[free]!;
      return free;
    }
    const block = this.#itemLimit;
    this.#itemLimit += SMALLEST_ROOM << sizeClass;
    if (this.#itemLimit > this.items.length) {
      const wider = new Uint32Array(2 ** Math.ceil(Math.log2(this.#itemLimit)));
      wider.set(this.items);
      this.items = wider;
    }
    return block;
  }

  #giveBlock(block: number, sizeClass: number): void {
    this.items[block] = this.#freeBlock[sizeClass]!;
    this.#freeBlock[sizeClass] = block;
  }
}
