/**
 * Sorts slots by a comparator without an allocation per slot: merge sort over two arrays, beginning with short runs
 * sorted by insertion. Merging two runs that are in order already costs one comparison, so a nearly sorted list takes
 * little more than one pass.
 */
import type { SlotComparator } from './ordered-lists.ts';

const RUN = 16;

export function sortSlots(slots: Uint32Array, count: number, compare: SlotComparator): void {
  for (let start = 0; start < count; start += RUN) {
    sortRun(slots, start, Math.min(start + RUN, count), compare);
  }
  if (count <= RUN) return;
  let from: Uint32Array = slots;
  let to: Uint32Array = new Uint32Array(count);
  for (let width = RUN; width < count; width *= 2) {
    for (let start = 0; start < count; start += 2 * width) {
      mergeRuns(from, to, start, Math.min(start + width, count), Math.min(start + 2 * width, count), compare);
    }
    const swapped = from;
    from = to;
    to = swapped;
  }
  if (from !== slots) slots.set(from.subarray(0, count));
}

/** Merges few sorted slots into many: searches the place of each of the few and copies the stretches between as a whole. */
export function mergeSlots(many: Uint32Array, few: Uint32Array, compare: SlotComparator): Uint32Array {
  const merged = new Uint32Array(many.length + few.length);
  let taken = 0;
  for (let next = 0; next < few.length; next++) {
    const slot = few[next]!;
    let low = taken;
    for (let high = many.length; low < high; ) {
      const middle = (low + high) >>> 1;
      if (compare(many[middle]!, slot) < 0) low = middle + 1;
      else high = middle;
    }
    merged.set(many.subarray(taken, low), taken + next);
    merged[low + next] = slot;
    taken = low;
  }
  merged.set(many.subarray(taken), taken + few.length);
  return merged;
}

function sortRun(slots: Uint32Array, start: number, end: number, compare: SlotComparator): void {
  for (let index = start + 1; index < end; index++) {
    const slot = slots[index]!;
    let at = index;
    for (; at > start && compare(slots[at - 1]!, slot) > 0; at--) slots[at] = slots[at - 1]!;
    slots[at] = slot;
  }
}

function mergeRuns(
  from: Uint32Array,
  to: Uint32Array,
  start: number,
  middle: number,
  end: number,
  compare: SlotComparator,
): void {
  let left = start;
  let right = middle;
  let at = start;
  if (middle < end && compare(from[middle - 1]!, from[middle]!) > 0) {
    while (left < middle && right < end) {
      to[at++] = compare(from[left]!, from[right]!) <= 0 ? from[left++]! : from[right++]!;
    }
  }
  while (left < middle) to[at++] = from[left++]!;
  while (right < end) to[at++] = from[right++]!;
}
