/**
 * Sorts slots by their machines' ids, bytewise. Ids share long prefixes (`aws-use1a-m5.4xlarge-…`) and are scattered over
 * the arena, so comparing pairs would read the same bytes again and again from cold memory. Instead the sort reads four
 * bytes of every id into a dense array, partitions the slots by those numbers, and reads the next four bytes only where
 * they are equal (multikey quicksort with cached keys). 500,000 ids in random order take about a third of a second.
 */
import type { KeyTable } from '../base/key-table.ts';

/** Below this an insertion sort by whole ids is cheaper than another partition. */
const SMALL = 12;

export function sortByIds(ids: KeyTable, slots: Uint32Array, count: number): void {
  if (isSorted(ids, slots, count)) return;
  new IdSorter(ids, slots, count).sort(0, count, 0, true);
}

function isSorted(ids: KeyTable, slots: Uint32Array, count: number): boolean {
  for (let index = 1; index < count; index++)
    if (ids.compare(slots[index - 1]!, slots[index]!) > 0) return false;
  return true;
}

class IdSorter {
  readonly #ids: KeyTable;
  readonly #slots: Uint32Array;
  /** Bytes depth…depth + 4 of each id, big endian, zeros behind its end. */
  readonly #keys: Uint32Array;

  constructor(ids: KeyTable, slots: Uint32Array, count: number) {
    this.#ids = ids;
    this.#slots = slots;
    this.#keys = new Uint32Array(count);
  }

  sort(from: number, to: number, fromDepth: number, mustLoad: boolean): void {
    let start = from;
    let end = to;
    let depth = fromDepth;
    let loads = mustLoad;
    while (end - start > 1) {
      // All ids ended: the rest can differ only in trailing zero bytes, a handful of ids.
      if (end - start <= SMALL || (loads && !this.#load(start, end, depth))) {
        this.#insertionSort(start, end);
        return;
      }
      const keys = this.#keys;
      const pivot = medianOf(keys[start]!, keys[(start + end) >>> 1]!, keys[end - 1]!);
      let less = start;
      let greater = end;
      for (let at = start; at < greater; ) {
        const key = keys[at]!;
        if (key < pivot) this.#swap(at++, less++);
        else if (key > pivot) this.#swap(at, --greater);
        else at++;
      }
      this.sort(start, less, depth, false);
      this.sort(greater, end, depth, false);
      start = less;
      end = greater;
      depth += 4;
      loads = true;
    }
  }

  /** Reads the keys at a depth; false if every id ended before it. */
  #load(start: number, end: number, depth: number): boolean {
    const { arena } = this.#ids;
    const { bytes } = arena;
    let goesOn = false;
    for (let index = start; index < end; index++) {
      const address = this.#ids.addressOf(this.#slots[index]!);
      const at = arena.startOf(address) + depth;
      const left = arena.lengthOf(address) - depth;
      let key = 0;
      if (left > 0) {
        goesOn = true;
        key = bytes[at]! << 24;
        if (left > 1) key |= bytes[at + 1]! << 16;
        if (left > 2) key |= bytes[at + 2]! << 8;
        if (left > 3) key |= bytes[at + 3]!;
      }
      this.#keys[index] = key;
    }
    return goesOn;
  }

  #insertionSort(start: number, end: number): void {
    const slots = this.#slots;
    for (let index = start + 1; index < end; index++) {
      const slot = slots[index]!;
      let at = index;
      for (; at > start && this.#ids.compare(slots[at - 1]!, slot) > 0; at--) slots[at] = slots[at - 1]!;
      slots[at] = slot;
    }
  }

  #swap(a: number, b: number): void {
    const slot = this.#slots[a]!;
    const key = this.#keys[a]!;
    this.#slots[a] = this.#slots[b]!;
    this.#keys[a] = this.#keys[b]!;
    this.#slots[b] = slot;
    this.#keys[b] = key;
  }
}

function medianOf(a: number, b: number, c: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}
