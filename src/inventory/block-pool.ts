/**
 * Blocks of slots for slot-lists.ts, from one array. All lists of a fleet grow side by side while it is loaded, and the
 * blocks that they outgrow must become larger blocks again, or half of the memory would be free blocks too small for any
 * list. So this is a buddy allocator: two free neighbours that were one block are joined, and a block is split when none of
 * the wanted size is free.
 *
 *   items        u32   in use: slots. Free: items 0 and 1 of a block are the next and previous free block of its order
 *   spare        u32   by size class, smallest ones only: blocks freed last, used again first and not joined. Lists of one
 *                      or two machines come and go with every transition; these cost a push and a pop
 *   freeOrder    u8    by unit of 4 items: 1 + order of the free block that begins there, 0 = none
 *
 * A block of order k has 4 << k items and begins at a multiple of that. Rooms have 4, 8, 12, 16, 24, 32, 48, 64 … items: a
 * room between two orders is a block of the larger one whose last quarter is freed at once. (Finer steps would save
 * space in the lists and lose more between them.) Item 0 is never allocated.
 */
const UNIT = 4;
const ORDER_COUNT = 26;
const ITEMS_AT_START = 4096;
const SPARE_CLASSES = 3;
/** At most 1,024 × (4 + 8 + 12) items are kept from being joined: 96 KiB. */
const SPARE_MAX = 1_024;

/** Items in a room of each class: 4, 8, 12, 16, 24, 32, 48 … */
export const ROOM: Uint32Array = Uint32Array.from({ length: 2 * (ORDER_COUNT - 3) }, (_, sizeClass) => {
  if (sizeClass === 0) return UNIT;
  return (sizeClass % 2 === 1 ? 2 : 3) * UNIT * 2 ** ((sizeClass - 1) >>> 1);
});

export class BlockPool {
  /** Replaced when the pool grows. */
  items: Uint32Array;
  #freeOrder: Uint8Array;
  readonly #heads = new Uint32Array(ORDER_COUNT);
  readonly #spare = new Uint32Array(SPARE_CLASSES * SPARE_MAX);
  readonly #spareCount = new Uint32Array(SPARE_CLASSES);
  /** First item that was never part of a block. */
  #untouched = UNIT;

  /** Reserves room for `itemsExpected` at once: untouched pages cost nothing, but growing costs a copy. */
  constructor(itemsExpected: number) {
    const items = Math.max(ITEMS_AT_START, itemsExpected);
    this.items = new Uint32Array(items);
    this.#freeOrder = new Uint8Array(Math.ceil(items / UNIT));
  }

  get bytesTouched(): number {
    return this.#untouched * 4 + this.#untouched / UNIT;
  }

  allocate(sizeClass: number): number {
    if (sizeClass < SPARE_CLASSES && this.#spareCount[sizeClass]! > 0) {
      return this.#spare[sizeClass * SPARE_MAX + --this.#spareCount[sizeClass]!]!;
    }
    const room = ROOM[sizeClass]!;
    const order = orderFor(room);
    const block = this.#take(order);
    for (let tail = room; tail < UNIT << order; ) {
      const piece = lowestOrder(tail);
      this.#give(block + tail, piece);
      tail += UNIT << piece;
    }
    return block;
  }

  free(block: number, sizeClass: number): void {
    if (sizeClass < SPARE_CLASSES && this.#spareCount[sizeClass]! < SPARE_MAX) {
      this.#spare[sizeClass * SPARE_MAX + this.#spareCount[sizeClass]!++] = block;
      return;
    }
    // From the end: the last piece is the smallest, and begins at a multiple of its size.
    for (let left = ROOM[sizeClass]!; left > 0; ) {
      const piece = lowestOrder(left);
      left -= UNIT << piece;
      this.#give(block + left, piece);
    }
  }

  #take(order: number): number {
    let larger = order;
    while (larger < ORDER_COUNT && this.#heads[larger] === 0) larger++;
    if (larger === ORDER_COUNT) return this.#takeFresh(order);
    const block = this.#heads[larger]!;
    this.#unlink(block, larger);
    while (larger > order) {
      larger--;
      this.#link(block + (UNIT << larger), larger);
    }
    return block;
  }

  #takeFresh(order: number): number {
    const size = UNIT << order;
    // Blocks begin at multiples of their size; the items skipped become smaller free blocks.
    while (this.#untouched % size !== 0) {
      const gapOrder = lowestOrder(this.#untouched);
      const gap = this.#untouched;
      this.#reach(gap + (UNIT << gapOrder));
      this.#give(gap, gapOrder);
    }
    const block = this.#untouched;
    this.#reach(block + size);
    return block;
  }

  #reach(limit: number): void {
    this.#untouched = limit;
    if (limit <= this.items.length) return;
    const items = new Uint32Array(2 ** Math.ceil(Math.log2(limit)));
    items.set(this.items);
    this.items = items;
    const freeOrder = new Uint8Array(items.length / UNIT);
    freeOrder.set(this.#freeOrder);
    this.#freeOrder = freeOrder;
  }

  #give(freed: number, freedOrder: number): void {
    let block = freed;
    let order = freedOrder;
    while (order + 1 < ORDER_COUNT) {
      const buddy = block ^ (UNIT << order);
      if (this.#freeOrder[buddy / UNIT] !== order + 1) break;
      this.#unlink(buddy, order);
      block = Math.min(block, buddy);
      order++;
    }
    this.#link(block, order);
  }

  #link(block: number, order: number): void {
    const { items } = this;
    const next = this.#heads[order]!;
    items[block] = next;
    items[block + 1] = 0;
    if (next !== 0) items[next + 1] = block;
    this.#heads[order] = block;
    this.#freeOrder[block / UNIT] = order + 1;
  }

  #unlink(block: number, order: number): void {
    const { items } = this;
    const next = items[block]!;
    const previous = items[block + 1]!;
    if (previous === 0) this.#heads[order] = next;
    else items[previous] = next;
    if (next !== 0) items[next + 1] = previous;
    this.#freeOrder[block / UNIT] = 0;
  }
}

/** The smallest order that holds this many items. */
function orderFor(items: number): number {
  return 30 - Math.clz32(items - 1); // 1…4 items: 0, 5…8: 1, 9…16: 2, …
}

/** The largest order whose block size divides this multiple of 4. */
function lowestOrder(items: number): number {
  return 29 - Math.clz32(items & -items);
}
