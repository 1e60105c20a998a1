/** The keep lists against plain sorted arrays, under random additions, removals and changes of claims. */
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { KeepLists } from '../../src/decision/supply/keep-lists.ts';

const SLOTS = 600;
const LISTS = 3;

function run(seed: number, steps: number, joinChance: number): { longest: number; sought: number } {
  const random = new Random(seed);
  const price = Float64Array.from({ length: SLOTS }, () => random.below(40));
  const compare = (a: number, b: number): number => price[a]! - price[b]! || a - b;
  const claim = new Uint32Array(SLOTS);
  const lists = new KeepLists(SLOTS, compare, claim);
  const ids = Array.from({ length: LISTS }, () => lists.create());
  const expected: number[][] = ids.map(() => []);
  const listOf = new Int8Array(SLOTS).fill(-1);
  let longest = 0;
  let sought = 0;
  const slotsOf = (list: number): number[] => {
    const slots: number[] = [];
    for (let at = lists.first(ids[list]!); at !== 0; at = lists.next(at)) slots.push(lists.slotAt(at));
    return slots;
  };
  for (let step = 0; step < steps; step++) {
    const slot = 1 + random.below(SLOTS - 1);
    const list = listOf[slot]!;
    if (list < 0) {
      if (!random.chance(joinChance)) continue;
      const joined = random.below(LISTS);
      price[slot] = random.below(40);
      claim[slot] = random.chance(0.5) ? 0 : 1 + random.below(50);
      lists.add(ids[joined]!, slot);
      listOf[slot] = joined;
      expected[joined]!.push(slot);
    } else if (random.chance(0.3)) {
      lists.remove(slot);
      listOf[slot] = -1;
      expected[list] = expected[list]!.filter((other) => other !== slot);
    } else if (claim[slot] === 0 || random.chance(0.5)) {
      const before = claim[slot]!;
      claim[slot] = 1 + random.below(50);
      if (before !== 0 && claim[slot]! > before) lists.renumbered(slot);
    } else {
      claim[slot] = 0;
      lists.released(slot);
    }
    const looked = random.below(LISTS);
    const sorted = expected[looked]!.sort(compare);
    longest = Math.max(longest, sorted.length);
    expect(slotsOf(looked)).toEqual(sorted);
    const from = random.below(60);
    const reachable = sorted.filter((one) => claim[one] === 0 || claim[one]! >= from);
    const met: number[] = [];
    for (
      let at = lists.seek(lists.first(ids[looked]!), from);
      at !== 0;
      at = lists.seek(lists.next(at), from)
    )
      met.push(lists.slotAt(at));
    expect(met).toEqual(reachable);
    sought += met.length;
    const first = lists.seekUnclaimed(lists.first(ids[looked]!));
    expect(first === 0 ? undefined : lists.slotAt(first)).toBe(sorted.find((one) => claim[one] === 0));
    const mark = 1 + random.below(SLOTS - 1);
    const after = lists.after(ids[looked]!, mark);
    expect(after === 0 ? undefined : lists.slotAt(after)).toBe(sorted.find((one) => compare(one, mark) > 0));
  }
  for (let slot = 1; slot < SLOTS; slot++) lists.remove(slot);
  for (const id of ids) {
    expect(lists.first(id)).toBe(0);
    lists.drop(id);
  }
  expect(lists.create()).toBe(ids[LISTS - 1]); // ids are used again
  return { longest, sought };
}

describe('lists in keep order', () => {
  it('keep machines in order and find those that a need may take, after any changes', () => {
    let longest = 0;
    for (let seed = 1; seed <= 6; seed++) {
      const { longest: length, sought } = run(seed, 1_500, seed % 2 === 0 ? 1 : 0.4);
      longest = Math.max(longest, length);
      expect(sought).toBeGreaterThan(1_000);
    }
    expect(longest).toBeGreaterThan(96); // many blocks
  });
});
