/**
 * The chunks of ordered-lists.ts (whose header shows the layout): blocks of 4 … 512 items in one growing array, and the
 * columns that describe them. Chunk 0 and item 0 are never allocated.
 */
import { assert } from '../base/assert.ts';
import { grown } from '../base/vectors.ts';

export const CHUNK_ITEMS_MAX = 512;
const SMALLEST_ROOM = 4;
/** 4 << 7 = 512. */
export const LARGEST_CLASS = 7;

/** A position, chunk × 512 + index, must stay a u32. */
const CHUNKS_MAX = 2 ** 23;
const CHUNKS_AT_START = 64;
const ITEMS_AT_START = 1024;

export class ChunkPool {
  items = new Uint32Array(ITEMS_AT_START);
  start = new Uint32Array(CHUNKS_AT_START);
  count = new Uint16Array(CHUNKS_AT_START);
  sizeClass = new Uint8Array(CHUNKS_AT_START);
  list = new Uint32Array(CHUNKS_AT_START);
  next = new Uint32Array(CHUNKS_AT_START);
  previous = new Uint32Array(CHUNKS_AT_START);
  #freeChunk = 0;
  #chunkLimit = 1;
  /** By size class: first free block, 0 = none; a free block's first item is the next one. */
  readonly #freeBlock = new Uint32Array(LARGEST_CLASS + 1);
  #itemLimit = SMALLEST_ROOM;

  roomOf(chunk: number): number {
    return SMALLEST_ROOM << this.sizeClass[chunk]!;
  }

  /** A chunk without items and neighbours. */
  allocate(list: number, sizeClass: number): number {
    let chunk = this.#freeChunk;
    if (chunk !== 0) {
      this.#freeChunk = this.next[chunk]!;
    } else {
      chunk = this.#chunkLimit++;
      if (chunk === this.start.length) this.#growChunks();
    }
    this.start[chunk] = this.#takeBlock(sizeClass);
    this.sizeClass[chunk] = sizeClass;
    this.count[chunk] = 0;
    this.list[chunk] = list;
    this.next[chunk] = this.previous[chunk] = 0;
    return chunk;
  }

  free(chunk: number): void {
    this.#giveBlock(this.start[chunk]!, this.sizeClass[chunk]!);
    this.next[chunk] = this.#freeChunk;
    this.#freeChunk = chunk;
  }

  grow(chunk: number): void {
    this.#resize(chunk, this.sizeClass[chunk]! + 1);
  }

  /** Moves the chunk to the smallest block that is at least half free, so that the next `add` need not grow it again. */
  shrink(chunk: number): void {
    let sizeClass = this.sizeClass[chunk]!;
    while (sizeClass > 0 && this.count[chunk]! * 4 <= SMALLEST_ROOM << sizeClass) sizeClass--;
    if (sizeClass !== this.sizeClass[chunk]) this.#resize(chunk, sizeClass);
  }

  #resize(chunk: number, sizeClass: number): void {
    assert(sizeClass <= LARGEST_CLASS, 'a chunk of the largest size is split, not grown');
    const from = this.start[chunk]!;
    const to = this.#takeBlock(sizeClass);
    const { items } = this;
    const count = this.count[chunk]!;
    for (let item = 0; item < count; item++) items[to + item] = items[from + item]!;
    this.#giveBlock(from, this.sizeClass[chunk]!);
    this.start[chunk] = to;
    this.sizeClass[chunk] = sizeClass;
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
      this.items = grown(this.items, new Uint32Array(2 * this.items.length));
    }
    return block;
  }

  #giveBlock(block: number, sizeClass: number): void {
    this.items[block] = this.#freeBlock[sizeClass]!;
    this.#freeBlock[sizeClass] = block;
  }

  #growChunks(): void {
    const chunks = this.start.length * 2;
    assert(chunks <= CHUNKS_MAX, `at most ${CHUNKS_MAX} chunks`);
    this.start = grown(this.start, new Uint32Array(chunks));
    this.count = grown(this.count, new Uint16Array(chunks));
    this.sizeClass = grown(this.sizeClass, new Uint8Array(chunks));
    this.list = grown(this.list, new Uint32Array(chunks));
    this.next = grown(this.next, new Uint32Array(chunks));
    this.previous = grown(this.previous, new Uint32Array(chunks));
  }
}
