/**
 * Many sorted lists of slots over one comparator. A change costs a search and a short move, never a sort: for the 480,000
 * offers of a fleet, cheapest first, or the dozen machines that one cluster has of one family.
 *
 *   by list     head, tail        u32   first and last chunk, 0 = none; of a free list id: head = the next free one
 *               length            u32   slots in it
 *               directory         array of chunks in order; only while there are two or more
 *   by chunk    start             u32   first item in the pool
 *               count             u16   items, 1…512
 *               sizeClass         u8    room for 4 << sizeClass items
 *               list              u32   owner
 *               next, previous    u32   neighbours in the list, 0 = none; of a free chunk: next = the next free one
 *   pool        items             u32   slots; blocks of one size class are linked when free
 *   by slot     chunkOf           u32   where it is, 0 = in no list: so removal needs no key, which may have changed
 *
 * A list begins as one chunk of 4 and grows in powers of two up to 512. A full chunk is then split in half, except at the
 * end of the list, where a new chunk follows it, so that sorted input fills chunks. Chunks that become nearly empty are
 * merged with a neighbour. About 10 bytes per slot in a list, 26 more per chunk.
 *
 * A position is chunk × 512 + index: a plain integer, valid until the next `add`, `remove` or `drop`.
 * A slot is in at most one list. The comparator must order all members of a list strictly, by keys that have not changed
 * since they were added: remove all changed slots first, then add them again.
 */
import { assert } from '../base/assert.ts';
import { grown } from '../base/vectors.ts';
import { CHUNK_ITEMS_MAX, ChunkPool, LARGEST_CLASS } from './chunk-pool.ts';

export type SlotComparator = (slotA: number, slotB: number) => number;

const POSITION_SHIFT = 9;
const INDEX_MASK = CHUNK_ITEMS_MAX - 1;
/** A chunk added behind a full one begins with room for 128: a list that long usually keeps growing. */
const FOLLOWING_CLASS = 5;
/** A chunk that is three quarters empty is merged with a neighbour if the result leaves room to grow. */
const MERGED_MAX = 384;

export class OrderedLists {
  readonly #compare: SlotComparator;
  readonly #pool = new ChunkPool();
  readonly #chunkOf: Uint32Array;
  #head = new Uint32Array(64);
  #tail = new Uint32Array(64);
  #length = new Uint32Array(64);
  readonly #directories: (Uint32Array | undefined)[] = [];
  /** Chunks in each directory. */
  #chunkCount = new Uint32Array(64);
  #listLimit = 1;
  #freeList = 0;

  constructor(slotsMax: number, compare: SlotComparator) {
    this.#chunkOf = new Uint32Array(slotsMax + 1);
    this.#compare = compare;
  }

  create(): number {
    let list = this.#freeList;
    if (list !== 0) {
      this.#freeList = this.#head[list]!;
    } else {
      list = this.#listLimit++;
      if (list === this.#head.length) this.#growLists();
    }
    this.#head[list] = this.#tail[list] = this.#length[list] = this.#chunkCount[list] = 0;
    return list;
  }

  /** Removes every slot and frees the list's id. */
  drop(list: number): void {
    const pool = this.#pool;
    for (let chunk = this.#head[list]!; chunk !== 0; ) {
      const end = pool.start[chunk]! + pool.count[chunk]!;
      for (let item = pool.start[chunk]!; item < end; item++) this.#chunkOf[pool.items[item]!] = 0;
      const next = pool.next[chunk]!;
      pool.free(chunk);
      chunk = next;
    }
    this.#directories[list] = undefined;
    this.#head[list] = this.#freeList;
    this.#freeList = list;
  }

  length(list: number): number {
    return this.#length[list]!;
  }

  /** The list that a slot is in, 0 if none. */
  listOf(slot: number): number {
    const chunk = this.#chunkOf[slot]!;
    return chunk === 0 ? 0 : this.#pool.list[chunk]!;
  }

  /** Position of the first slot, 0 if the list is empty. */
  first(list: number): number {
    return this.#head[list]! * CHUNK_ITEMS_MAX;
  }

  /** The position after this one, 0 at the end. */
  next(position: number): number {
    const chunk = position >>> POSITION_SHIFT;
    if ((position & INDEX_MASK) + 1 < this.#pool.count[chunk]!) return position + 1;
    return this.#pool.next[chunk]! * CHUNK_ITEMS_MAX;
  }

  slotAt(position: number): number {
    const pool = this.#pool;
    return pool.items[pool.start[position >>> POSITION_SHIFT]! + (position & INDEX_MASK)]!;
  }

  /** Copies up to out.length slots in order; returns how many. */
  fill(list: number, out: Uint32Array): number {
    const pool = this.#pool;
    let filled = 0;
    for (let chunk = this.#head[list]!; chunk !== 0 && filled < out.length; chunk = pool.next[chunk]!) {
      const end = Math.min(pool.start[chunk]! + pool.count[chunk]!, pool.start[chunk]! + out.length - filled);
      for (let item = pool.start[chunk]!; item < end; item++) out[filled++] = pool.items[item]!;
    }
    return filled;
  }

  add(list: number, slot: number): void {
    assert(this.#chunkOf[slot] === 0, 'a slot is in one list only');
    this.#length[list]!++;
    const pool = this.#pool;
    const tail = this.#tail[list]!;
    if (tail === 0) {
      const chunk = this.#addChunk(list, 0, 0);
      this.#insertAt(chunk, 0, slot);
    } else if (this.#compare(slot, pool.items[pool.start[tail]! + pool.count[tail]! - 1]!) > 0) {
      this.#append(list, tail, slot);
    } else {
      const chunk = this.#chunkFor(list, slot);
      this.#insertAt(this.#withRoom(list, chunk, slot), -1, slot);
    }
  }

  /** Removes a slot from the list it is in, if any. */
  remove(slot: number): void {
    const chunk = this.#chunkOf[slot]!;
    if (chunk === 0) return;
    const pool = this.#pool;
    const { items } = pool;
    const list = pool.list[chunk]!;
    const end = pool.start[chunk]! + pool.count[chunk]!;
    let item = pool.start[chunk]!;
    while (items[item] !== slot) item++;
    moveItems(items, item + 1, end, item);
    this.#chunkOf[slot] = 0;
    this.#length[list]!--;
    const left = --pool.count[chunk]!;
    if (left === 0) this.#removeChunk(list, chunk);
    else if (left * 4 <= pool.roomOf(chunk) && !this.#merge(list, chunk)) pool.shrink(chunk);
  }

  #append(list: number, tail: number, slot: number): void {
    const pool = this.#pool;
    let chunk = tail;
    if (pool.count[tail]! === pool.roomOf(tail)) {
      if (pool.sizeClass[tail]! < LARGEST_CLASS) pool.grow(tail);
      else chunk = this.#addChunk(list, tail, FOLLOWING_CLASS);
    }
    this.#insertAt(chunk, pool.count[chunk]!, slot);
  }

  /** The first chunk whose last slot does not come before this one; `add` has checked that there is one. */
  #chunkFor(list: number, slot: number): number {
    const directory = this.#directories[list];
    if (directory === undefined) return this.#head[list]!;
    const { items, start, count } = this.#pool;
    let low = 0;
    let high = this.#chunkCount[list]! - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const chunk = directory[middle]!;
      if (this.#compare(slot, items[start[chunk]! + count[chunk]! - 1]!) > 0) low = middle + 1;
      else high = middle;
    }
    return directory[low]!;
  }

  /** This chunk, or the half of it in which the slot belongs, with room for one more. */
  #withRoom(list: number, chunk: number, slot: number): number {
    const pool = this.#pool;
    if (pool.count[chunk]! < pool.roomOf(chunk)) return chunk;
    if (pool.sizeClass[chunk]! < LARGEST_CLASS) {
      pool.grow(chunk);
      return chunk;
    }
    const half = CHUNK_ITEMS_MAX / 2;
    const upper = this.#addChunk(list, chunk, LARGEST_CLASS);
    this.#moveTo(upper, chunk, half);
    const lastOfLower = pool.items[pool.start[chunk]! + half - 1]!;
    return this.#compare(slot, lastOfLower) > 0 ? upper : chunk;
  }

  /** `at` = -1: the comparator decides. */
  #insertAt(chunk: number, at: number, slot: number): void {
    const pool = this.#pool;
    const { items } = pool;
    const start = pool.start[chunk]!;
    const end = start + pool.count[chunk]!;
    let low = start + at;
    if (at === -1) {
      low = start;
      for (let high = end; low < high; ) {
        const middle = (low + high) >>> 1;
        if (this.#compare(items[middle]!, slot) < 0) low = middle + 1;
        else high = middle;
      }
    }
    moveItems(items, low, end, low + 1);
    items[low] = slot;
    pool.count[chunk]!++;
    this.#chunkOf[slot] = chunk;
  }

  /** Moves the items of `from` behind its first `kept` to the end of `to`. */
  #moveTo(to: number, from: number, kept: number): void {
    const pool = this.#pool;
    const { items } = pool;
    const end = pool.start[from]! + pool.count[from]!;
    let target = pool.start[to]! + pool.count[to]!;
    for (let item = pool.start[from]! + kept; item < end; item++) {
      const slot = items[item]!;
      items[target++] = slot;
      this.#chunkOf[slot] = to;
    }
    pool.count[to]! += pool.count[from]! - kept;
    pool.count[from] = kept;
  }

  #merge(list: number, chunk: number): boolean {
    const pool = this.#pool;
    const next = pool.next[chunk]!;
    const previous = pool.previous[chunk]!;
    const count = pool.count[chunk]!;
    if (next !== 0 && pool.count[next]! + count <= MERGED_MAX) this.#join(list, chunk, next);
    else if (previous !== 0 && pool.count[previous]! + count <= MERGED_MAX) this.#join(list, previous, chunk);
    else return false;
    return true;
  }

  #join(list: number, into: number, from: number): void {
    const pool = this.#pool;
    while (pool.roomOf(into) < pool.count[into]! + pool.count[from]!) pool.grow(into);
    this.#moveTo(into, from, 0);
    this.#removeChunk(list, from);
  }

  /** An empty chunk behind `after`, or the first one if that is 0. */
  #addChunk(list: number, after: number, sizeClass: number): number {
    const pool = this.#pool;
    const chunk = pool.allocate(list, sizeClass);
    const next = after === 0 ? 0 : pool.next[after]!;
    pool.previous[chunk] = after;
    pool.next[chunk] = next;
    if (after === 0) this.#head[list] = chunk;
    else pool.next[after] = chunk;
    if (next === 0) this.#tail[list] = chunk;
    else pool.previous[next] = chunk;
    const count = ++this.#chunkCount[list]!;
    if (count > 1) this.#addToDirectory(list, after, chunk, count);
    return chunk;
  }

  #addToDirectory(list: number, after: number, chunk: number, count: number): void {
    let directory = this.#directories[list];
    if (directory === undefined || directory.length < count) {
      const wider = new Uint32Array(Math.max(4, 2 * count));
      if (directory === undefined) wider[0] = after;
      else wider.set(directory);
      directory = this.#directories[list] = wider;
    }
    const at = directory[count - 2] === after ? count - 1 : directory.indexOf(after) + 1;
    directory.copyWithin(at + 1, at, count - 1);
    directory[at] = chunk;
  }

  #removeChunk(list: number, chunk: number): void {
    const pool = this.#pool;
    const next = pool.next[chunk]!;
    const previous = pool.previous[chunk]!;
    if (previous === 0) this.#head[list] = next;
    else pool.next[previous] = next;
    if (next === 0) this.#tail[list] = previous;
    else pool.previous[next] = previous;
    const left = --this.#chunkCount[list]!;
    const directory = this.#directories[list];
    if (left <= 1) this.#directories[list] = undefined;
    else if (directory !== undefined) {
      const at = directory.indexOf(chunk);
      directory.copyWithin(at, at + 1, left + 1);
    }
    pool.free(chunk);
  }

  #growLists(): void {
    const lists = 2 * this.#head.length;
    this.#head = grown(this.#head, new Uint32Array(lists));
    this.#tail = grown(this.#tail, new Uint32Array(lists));
    this.#length = grown(this.#length, new Uint32Array(lists));
    this.#chunkCount = grown(this.#chunkCount, new Uint32Array(lists));
  }
}

/** Moves items start…end so that they begin at `to`: a few in a loop, many by the runtime. */
function moveItems(items: Uint32Array, start: number, end: number, to: number): void {
  if (end - start > 32) items.copyWithin(to, start, end);
  else if (to < start) for (let item = start; item < end; item++) items[to + item - start] = items[item]!;
  else for (let item = end - 1; item >= start; item--) items[to + item - start] = items[item]!;
}
