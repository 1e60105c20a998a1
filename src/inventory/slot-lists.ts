/**
 * Many unordered lists of slots, with O(1) add and remove: the last slot of a list takes the place of the one that
 * leaves. Which machines of a shape are Idle, which of a cluster are Configured.
 *
 *   by list     head       2 × u32   block: first item in `items`, 0 = none · count | size class << 25
 *   pool        items      u32       slots, in blocks (block-pool.ts)
 *   by slot     position   u32       index in its list (one of the links in the columns)
 *
 * Both words of a head, and the heads of one shape or cluster, lie next to each other: at half a million machines
 * the price of a change is the number of cache lines that it waits for, not the number of instructions. A list grows by a
 * third to a half, halves its room when a quarter full, and gives its block back when empty; a slot costs 5 to 6 bytes.
 *
 * `items` is replaced when the pool grows: read it again after anything that may add.
 */
import { assert } from '../base/assert.ts';
import { BlockPool, ROOM } from './block-pool.ts';
import { type InventoryColumns, LINKS_PER_ROW } from './columns.ts';

const CLASS_SHIFT = 25; // 7 bits of size class; 2^25 slots in a list
const COUNT_MASK = 2 ** CLASS_SHIFT - 1;
/** Of each list. */
export const HEAD_BYTES = 8;
/** By size class: with so few slots left or fewer, a list takes a smaller block, or gives back its last. */
const SHRINK_AT = ROOM.map((room, sizeClass) => (sizeClass > 1 ? room / 4 : 0));
/** Moved by a loop up to here, by the runtime above. */
const FEW = 32;

export class SlotLists {
  readonly #pool: BlockPool;
  readonly #heads: Uint32Array;
  readonly #links: Uint32Array;
  /** Which of a row's links is the position. */
  readonly #link: number;

  constructor(listsMax: number, columns: InventoryColumns, link: number) {
    this.#pool = new BlockPool(2 * columns.rowCapacity);
    this.#heads = new Uint32Array(2 * listsMax);
    this.#links = columns.links;
    this.#link = link;
  }

  get items(): Uint32Array {
    return this.#pool.items;
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
    if (start === 0) start = heads[2 * list] = this.#pool.allocate(0);
    else if (count === ROOM[head >>> CLASS_SHIFT]) start = this.#resize(list, (head >>> CLASS_SHIFT) + 1);
    this.#pool.items[start + count] = slot;
    this.#links[slot * LINKS_PER_ROW + this.#link] = count;
    heads[2 * list + 1]!++;
  }

  remove(list: number, slot: number): void {
    const heads = this.#heads;
    const links = this.#links;
    const { items } = this.#pool;
    const start = heads[2 * list]!;
    const head = heads[2 * list + 1]!;
    const last = (head & COUNT_MASK) - 1;
    const moved = items[start + last]!;
    const position = links[slot * LINKS_PER_ROW + this.#link]!;
    assert(position <= last, 'a slot is removed from the list that it is in');
    items[start + position] = moved;
    links[moved * LINKS_PER_ROW + this.#link] = position;
    heads[2 * list + 1] = head - 1;
    const sizeClass = head >>> CLASS_SHIFT;
    if (last === 0) {
      this.#pool.free(start, sizeClass);
      heads[2 * list] = heads[2 * list + 1] = 0;
    } else if (last <= SHRINK_AT[sizeClass]!) {
      this.#resize(list, sizeClass - 2);
    }
  }

  /** `remove` and `add` in one, each head read once: what a transition does, and mostly waits for. */
  transfer(from: number, to: number, slot: number): void {
    const heads = this.#heads;
    const fromStart = heads[2 * from]!;
    const fromHead = heads[2 * from + 1]!;
    const toStart = heads[2 * to]!;
    const toHead = heads[2 * to + 1]!;
    const last = (fromHead & COUNT_MASK) - 1;
    const count = toHead & COUNT_MASK;
    const shrinks = last <= SHRINK_AT[fromHead >>> CLASS_SHIFT]!;
    if (shrinks || toStart === 0 || count === ROOM[toHead >>> CLASS_SHIFT]) {
      this.remove(from, slot);
      this.add(to, slot);
      return;
    }
    const { items } = this.#pool;
    const links = this.#links;
    const word = slot * LINKS_PER_ROW + this.#link;
    const position = links[word]!;
    const moved = items[fromStart + last]!;
    items[fromStart + position] = moved;
    links[moved * LINKS_PER_ROW + this.#link] = position;
    heads[2 * from + 1] = fromHead - 1;
    items[toStart + count] = slot;
    links[word] = count;
    heads[2 * to + 1] = toHead + 1;
  }

  get bytesTouched(): number {
    return this.#pool.bytesTouched;
  }

  #resize(list: number, sizeClass: number): number {
    const heads = this.#heads;
    const from = heads[2 * list]!;
    const head = heads[2 * list + 1]!;
    const count = head & COUNT_MASK;
    const to = this.#pool.allocate(sizeClass);
    const { items } = this.#pool;
    if (count > FEW) items.copyWithin(to, from, from + count);
    else for (let index = 0; index < count; index++) items[to + index] = items[from + index]!;
    this.#pool.free(from, head >>> CLASS_SHIFT);
    heads[2 * list] = to;
    heads[2 * list + 1] = count | (sizeClass << CLASS_SHIFT);
    return to;
  }
}
