/**
 * Ids as numbers: every order in docs/rules.md ends in "id asc", and comparing ids byte by byte would be most of the cost
 * of a sort. Each id gets a u32 rank in bytewise order, with gaps; new ids are merged in a batch when ranks are next
 * needed, and take numbers from the gaps.
 *
 *   slotsById   u32 × machinesMax   0…count: slots in order of their ids; then `added` slots whose ids are not merged yet
 *   idRank      column by slot      rising along slotsById; 0 = not ranked yet
 *   removed     slots whose ids are gone, but whose numbers may still be in slotsById: *limbo*. A slot is not reused
 *               before it is out of limbo, so a number in slotsById never means two machines, and all fit.
 *
 * When a gap is exhausted its neighbourhood is renumbered, widened until its numbers are far enough apart. That changes
 * ranks but never the order of two ranks, so a list sorted by them stays sorted.
 *
 * A batch of k among n costs k · log n comparisons and one move of the array (0.2 ms at 500,000).
 */
import { assert } from '../base/assert.ts';
import type { KeyTable } from '../base/key-table.ts';
import { grown } from '../base/vectors.ts';
import { sortByIds } from './id-sort.ts';

/** Ranks lie in 1 … 2^32 − 1. */
const RANK_LIMIT = 2 ** 32;
/** At the ends of the order: room for 2,047 more in each gap, and 1,048,576 ids take half of all ranks. */
const USUAL_STEP = 2048;
/** A neighbourhood is renumbered over a range that leaves at least this much between two ids. */
const RELABEL_STEP_MIN = 64;
/** Above this share of the ids, one pass over all finds the removed ones sooner than a search for each. */
const PASS_SHARE = 1 / 64;

export class IdRanks {
  readonly #ids: KeyTable;
  readonly #rank: Uint32Array;
  readonly #slotsById: Uint32Array;
  #count = 0;
  #added = 0;
  readonly #removed = new SlotBatch();

  constructor(ids: KeyTable, idRank: Uint32Array, machinesMax: number) {
    this.#ids = ids;
    this.#rank = idRank;
    this.#slotsById = new Uint32Array(machinesMax);
  }

  /** Slots in order of their ids; as of the last `ensure`. */
  get slotsById(): Uint32Array {
    return this.#slotsById.subarray(0, this.#count);
  }

  get isCurrent(): boolean {
    return this.#added === 0 && this.#removed.count === 0;
  }

  get limboCount(): number {
    return this.#removed.count;
  }

  /** For a restored inventory: orders the slots below `slotLimit` that have a rank by the rank column. */
  restore(slotLimit: number): void {
    const slots = this.#slotsById;
    for (let slot = 1; slot < slotLimit; slot++) if (this.#rank[slot] !== 0) slots[this.#count++] = slot;
    slots.subarray(0, this.#count).sort((a, b) => this.#rank[a]! - this.#rank[b]!);
  }

  /** The id of this slot is in the id table from now on. */
  add(slot: number): void {
    this.#rank[slot] = 0;
    this.#slotsById[this.#count + this.#added++] = slot;
  }

  /** The id of this slot is no longer in the id table; `ensure` releases the slot. */
  remove(slot: number): void {
    this.#removed.push(slot);
  }

  /** Brings order and ranks up to date. `release` gets every slot that left limbo. */
  ensure(release: (slot: number) => void): void {
    if (this.isCurrent) return;
    if (this.#removed.count > 0) this.#takeOut(release);
    if (this.#added > 0) this.#mergeIn();
  }

  #takeOut(release: (slot: number) => void): void {
    const removed = this.#removed.take();
    // An id that was added and removed before it was ranked is only among the added ones.
    const ranked = removed.filter((slot) => this.#rank[slot] !== 0);
    if (ranked.length < removed.length) this.#added -= this.#compact(this.#count, this.#count + this.#added);
    if (ranked.length > this.#count * PASS_SHARE) this.#closeGap(this.#compact(0, this.#count));
    else if (ranked.length > 0) this.#closeHoles(ranked.map((slot) => this.#positionOf(slot)).sort());
    for (const slot of removed) {
      this.#rank[slot] = 0;
      release(slot);
    }
  }

  /** Moves the slots in start…end that still have an id together; returns how many had none. */
  #compact(start: number, end: number): number {
    const slots = this.#slotsById;
    let kept = start;
    for (let index = start; index < end; index++) {
      const slot = slots[index]!;
      if (this.#ids.addressOf(slot) !== 0) slots[kept++] = slot;
    }
    return end - kept;
  }

  /** Shortens the ranked part by `goneCount`: the added slots move up. */
  #closeGap(goneCount: number): void {
    this.#slotsById.copyWithin(this.#count - goneCount, this.#count, this.#count + this.#added);
    this.#count -= goneCount;
  }

  #closeHoles(holes: Uint32Array): void {
    const slots = this.#slotsById;
    for (let index = 0; index < holes.length; index++) {
      const start = holes[index]! + 1;
      const end = index + 1 < holes.length ? holes[index + 1]! : this.#count + this.#added;
      slots.copyWithin(start - index - 1, start, end);
    }
    this.#count -= holes.length;
  }

  /** The position of a ranked slot, found by its rank. */
  #positionOf(slot: number): number {
    const rank = this.#rank[slot]!;
    let low = 0;
    for (let high = this.#count; low < high; ) {
      const middle = (low + high) >>> 1;
      if (this.#rank[this.#slotsById[middle]!]! < rank) low = middle + 1;
      else high = middle;
    }
    assert(this.#slotsById[low] === slot, 'a ranked slot is where its rank says');
    return low;
  }

  #mergeIn(): void {
    const slots = this.#slotsById;
    const before = this.#count;
    const unmerged = slots.subarray(before, before + this.#added);
    sortByIds(this.#ids, unmerged, unmerged.length);
    this.#count += this.#added;
    this.#added = 0;
    // Most often (the first listing; a listing in order of ids) all new ids sort after the old ones.
    if (before === 0 || this.#ids.compare(slots[before - 1]!, slots[before]!) < 0) {
      this.#number(before, this.#count);
      return;
    }
    const added = unmerged.slice();
    // Where each new id belongs among the old ones; sorted input only ever moves forward.
    const targets = new Uint32Array(added.length);
    for (let index = 0, from = 0; index < added.length; index++) {
      from = this.#lowerBound(added[index]!, from, before);
      targets[index] = from;
    }
    // From the end, so that no slot is overwritten before it has moved.
    for (let index = added.length - 1, end = before; index >= 0; index--) {
      const target = targets[index]!;
      if (target < end) slots.copyWithin(target + index + 1, target, end);
      slots[target + index] = added[index]!;
      end = target;
    }
    for (let index = 0; index < added.length; ) {
      let runEnd = index + 1;
      while (runEnd < added.length && targets[runEnd] === targets[index]) runEnd++;
      this.#number(targets[index]! + index, targets[index]! + runEnd);
      index = runEnd;
    }
  }

  /** First position in from…end whose id is not below the slot's. Steps double, then halve. */
  #lowerBound(slot: number, from: number, end: number): number {
    const slots = this.#slotsById;
    let low = from;
    let step = 1;
    while (low + step <= end && this.#ids.compare(slots[low + step - 1]!, slot) < 0) {
      low += step;
      step *= 2;
    }
    for (let high = Math.min(low + step - 1, end); low < high; ) {
      const middle = (low + high) >>> 1;
      if (this.#ids.compare(slots[middle]!, slot) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Gives the new slots at start…end ranks between those of their neighbours. */
  #number(start: number, end: number): void {
    const below = start === 0 ? 0 : this.#rank[this.#slotsById[start - 1]!]!;
    const above = this.#rankAbove(end);
    const step = Math.floor((above - below) / (end - start + 1));
    if (step < 1) {
      this.#numberAround(start, end);
      return;
    }
    // At the ends of the order there is much room: leave most of it for later ids.
    const usual = Math.min(step, USUAL_STEP);
    if (start === 0 && above === RANK_LIMIT) {
      this.#spread(start, end, Math.floor((RANK_LIMIT - usual * (end + 1)) / 2), usual);
    } else if (start === 0) {
      this.#spread(start, end, above - usual * (end + 1), usual);
    } else {
      this.#spread(start, end, below, above === RANK_LIMIT ? usual : step);
    }
  }

  /** The first known rank at or behind a position; slots of later runs are not numbered yet. */
  #rankAbove(position: number): number {
    return position < this.#count ? this.#rank[this.#slotsById[position]!]! : RANK_LIMIT;
  }

  #numberAround(start: number, end: number): void {
    const slots = this.#slotsById;
    let low = start;
    let high = end;
    for (let width = end - start; ; width *= 2) {
      low = Math.max(0, low - width);
      high = Math.min(this.#count, high + width);
      // Later runs have no ranks yet: a neighbourhood ends at a slot that has one, or at the end.
      while (high < this.#count && this.#rank[slots[high]!] === 0) high++;
      const below = low === 0 ? 0 : this.#rank[slots[low - 1]!]!;
      const step = Math.floor((this.#rankAbove(high) - below) / (high - low + 1));
      if (step >= RELABEL_STEP_MIN || (low === 0 && high === this.#count)) {
        assert(step >= 1, 'there are more ranks than ids');
        this.#spread(low, high, below, step);
        return;
      }
    }
  }

  #spread(start: number, end: number, below: number, step: number): void {
    let rank = below;
    for (let position = start; position < end; position++) {
      rank += step;
      this.#rank[this.#slotsById[position]!] = rank;
    }
  }
}

/** Slots collected until the next batch; a large array is dropped with its batch. */
class SlotBatch {
  #slots = new Uint32Array(64);
  count = 0;

  push(slot: number): void {
    if (this.count === this.#slots.length) {
      this.#slots = grown(this.#slots, new Uint32Array(2 * this.count));
    }
    this.#slots[this.count++] = slot;
  }

  take(): Uint32Array {
    const taken = this.#slots.subarray(0, this.count);
    this.#slots = new Uint32Array(64);
    this.count = 0;
    return taken;
  }
}
