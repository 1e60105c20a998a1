/**
 * Many lists of slots (the machines of a shape, of a cluster). Each counts its slots by state at every write and is tidied
 * only when it is read. A transition changes two counts and sets one word, all in one cache line, and removing a slot
 * changes as little. Exact lists, one for each (list, state), would need four to six other cache lines, and at half a
 * million machines a change costs the time that it waits for memory. The first read after a change drops the entries of
 * slots that left and groups the rest by state; until the next change a read is a plain range of `items`.
 *
 *   by list     head       16 × u32   0  block: first item in `items`, 0 = none
 *                                     1  entries in the block | size class << 25
 *                                     2  stale, all bits set by every change: bit 0 for the groups, bits 1…8 for the
 *                                        readers of each state (orders.ts)
 *                                     2 + state (1…8)  slots in that state
 *                                     11  slots in the list: the entries, less those whose slot has left
 *   pool        items      u32        entries, in blocks (block-pool.ts); grouped by state unless stale
 *   by slot     key        u16 u32    the list that it is in (a column; the caller writes it)
 *               position   u32        index of its entry (a column; written here)
 *
 * An entry counts if its slot has this list as key and this index as position: a slot that left and came back has a new
 * entry, and the old one no longer counts. A full list is tidied before it grows, by a third to a half; when three quarters
 * of its slots have left, a list is tidied and moves to a smaller block, or frees its block. The changes before pay for
 * both, and a slot costs 5 to 7 bytes.
 *
 * `items` is replaced when the pool grows: read it again after anything that may add.
 */
import { assert } from '../base/assert.ts';
import { STATE_COUNT } from '../machine/state.ts';
import { BlockPool, ROOM } from './block-pool.ts';

const CLASS_SHIFT = 25; // 7 bits of size class; 2^25 slots in a list
const COUNT_MASK = 2 ** CLASS_SHIFT - 1;
const HEAD_SHIFT = 4;
/** Bytes of each list's head. */
export const HEAD_BYTES = 4 << HEAD_SHIFT;
const SIZE = 1;
const STALE = 2;
const COUNTS = 2;
const MEMBERS = 11;
const ALL_STALE = 0xffffffff;
const GROUPS_STALE = 1;
/** By size class: with this many slots left or fewer, a list moves to a smaller block. */
const SHRINK_AT = ROOM.map((room, sizeClass) => (sizeClass > 1 ? room / 4 : 0));
/** Tidying makes room if it drops at least this share of the entries; else the block grows at once. */
const TIDY_SHARE = 1 / 4;
/** Up to here a loop moves items, above it the runtime. */
const FEW = 32;

export class SlotLists {
  readonly #pool: BlockPool;
  readonly #heads: Uint32Array;
  readonly #keys: Uint16Array | Uint32Array;
  readonly #positions: Uint32Array;
  readonly #states: Uint8Array;
  /** By state, while a list is being grouped: the next index to check. */
  readonly #cursors = new Uint32Array(STATE_COUNT);

  /** `keys` and `states` are read-only columns; the caller may write a key before or after the call that it belongs to. */
  constructor(listsMax: number, keys: Uint16Array | Uint32Array, positions: Uint32Array, states: Uint8Array) {
    this.#pool = new BlockPool(2 * positions.length);
    this.#heads = new Uint32Array(listsMax << HEAD_SHIFT);
    this.#keys = keys;
    this.#positions = positions;
    this.#states = states;
  }

  get items(): Uint32Array {
    return this.#pool.items;
  }

  /** Where the slots of a list that are in a state begin in `items`; there are `countOf` of them. */
  startOf(list: number, state: number): number {
    const head = list << HEAD_SHIFT;
    const heads = this.#heads;
    if ((heads[head + STALE]! & GROUPS_STALE) !== 0) {
      this.#tidy(list, 0);
      this.#group(head);
    }
    let start = heads[head]!;
    for (let before = 1; before < state; before++) start += heads[head + COUNTS + before]!;
    return start;
  }

  countOf(list: number, state: number): number {
    return this.#heads[(list << HEAD_SHIFT) + COUNTS + state]!;
  }

  /** Whether a slot of the list has changed since the last call for this state. */
  takeStale(list: number, state: number): boolean {
    const word = (list << HEAD_SHIFT) + STALE;
    const bit = 1 << state;
    if ((this.#heads[word]! & bit) === 0) return false;
    this.#heads[word]! &= ~bit;
    return true;
  }

  /** A slot of the list has changed, but not its state. */
  touch(list: number): void {
    this.#heads[(list << HEAD_SHIFT) + STALE]! |= ALL_STALE & ~GROUPS_STALE;
  }

  /** A slot of the list moves from one state to another. */
  move(list: number, from: number, to: number): void {
    const heads = this.#heads;
    const head = list << HEAD_SHIFT;
    heads[head + COUNTS + from]!--;
    heads[head + COUNTS + to]!++;
    heads[head + STALE] = ALL_STALE;
  }

  add(list: number, slot: number, state: number): void {
    const heads = this.#heads;
    const head = list << HEAD_SHIFT;
    const members = heads[head + MEMBERS]!;
    if (heads[head] === 0) heads[head] = this.#pool.allocate(0);
    else this.#makeRoom(list, head, members, slot);
    const at = heads[head + SIZE]!++ & COUNT_MASK;
    this.#pool.items[heads[head]! + at] = slot;
    this.#positions[slot] = at;
    heads[head + MEMBERS] = members + 1;
    heads[head + COUNTS + state]!++;
    heads[head + STALE] = ALL_STALE;
  }

  remove(list: number, slot: number, state: number): void {
    const heads = this.#heads;
    const head = list << HEAD_SHIFT;
    const left = heads[head + MEMBERS]! - 1;
    assert(left >= 0, 'a slot is removed from the list that it is in');
    heads[head + MEMBERS] = left;
    heads[head + COUNTS + state]!--;
    heads[head + STALE] = ALL_STALE;
    const sizeClass = heads[head + SIZE]! >>> CLASS_SHIFT;
    if (left === 0) {
      this.#pool.free(heads[head]!, sizeClass);
      heads[head] = heads[head + SIZE] = 0;
    } else if (left <= SHRINK_AT[sizeClass]!) {
      this.#tidy(list, slot);
      this.#resize(head, sizeClass - 2);
    }
  }

  get bytesTouched(): number {
    return this.#pool.bytesTouched;
  }

  #makeRoom(list: number, head: number, members: number, slot: number): void {
    const size = this.#heads[head + SIZE]!;
    const count = size & COUNT_MASK;
    if (count < ROOM[size >>> CLASS_SHIFT]!) return;
    if (count - members >= count * TIDY_SHARE) this.#tidy(list, slot);
    else this.#resize(head, (size >>> CLASS_SHIFT) + 1);
  }

  /** Drops the entries that do not count. `except` never counts: its key may not be written yet. */
  #tidy(list: number, except: number): void {
    const heads = this.#heads;
    const keys = this.#keys;
    const positions = this.#positions;
    const { items } = this.#pool;
    const head = list << HEAD_SHIFT;
    const start = heads[head]!;
    const size = heads[head + SIZE]!;
    const count = size & COUNT_MASK;
    const members = heads[head + MEMBERS]!;
    if (count === members) return;
    let kept = 0;
    for (let at = 0; at < count; at++) {
      const slot = items[start + at]!;
      if (slot === except || keys[slot] !== list || positions[slot] !== at) continue;
      items[start + kept] = slot;
      positions[slot] = kept++;
    }
    assert(kept === members, 'a list has an entry for each of its slots');
    heads[head + SIZE] = size - count + kept;
    heads[head + STALE]! |= GROUPS_STALE;
  }

  /** Moves slots to the group of their state; slots already in place are read but not written. */
  #group(head: number): void {
    const heads = this.#heads;
    const cursors = this.#cursors;
    const states = this.#states;
    const positions = this.#positions;
    const { items } = this.#pool;
    const start = heads[head]!;
    heads[head + STALE]! &= ~GROUPS_STALE;
    for (let state = 1, next = 0; state < STATE_COUNT; state++) {
      cursors[state] = next;
      next += heads[head + COUNTS + state]!;
    }
    for (let state = 1, end = 0; state < STATE_COUNT; state++) {
      end += heads[head + COUNTS + state]!;
      while (cursors[state]! < end) {
        const at = cursors[state]!;
        const slot = items[start + at]!;
        const actual = states[slot]!;
        if (actual === state) {
          cursors[state] = at + 1;
          continue;
        }
        let to = cursors[actual]!;
        while (states[items[start + to]!] === actual) to++;
        const moved = items[start + to]!;
        items[start + to] = slot;
        positions[slot] = to;
        cursors[actual] = to + 1;
        items[start + at] = moved;
        positions[moved] = at;
      }
    }
  }

  #resize(head: number, sizeClass: number): void {
    const heads = this.#heads;
    const from = heads[head]!;
    const size = heads[head + SIZE]!;
    const count = size & COUNT_MASK;
    const to = this.#pool.allocate(sizeClass);
    const { items } = this.#pool;
    if (count > FEW) items.copyWithin(to, from, from + count);
    else for (let index = 0; index < count; index++) items[to + index] = items[from + index]!;
    this.#pool.free(from, size >>> CLASS_SHIFT);
    heads[head] = to;
    heads[head + SIZE] = count | (sizeClass << CLASS_SHIFT);
  }
}
