import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { OrderedLists } from '../../src/inventory/ordered-lists.ts';
import { sortSlots } from '../../src/inventory/slot-sort.ts';

function slotsOf(lists: OrderedLists, list: number): number[] {
  const slots: number[] = [];
  for (let position = lists.first(list); position !== 0; position = lists.next(position)) {
    slots.push(lists.slotAt(position));
  }
  return slots;
}

/** Lists ordered by a key that the test may change while a slot is in none of them. */
function keyedLists(slotsMax: number) {
  const keys = new Float64Array(slotsMax + 1);
  const compare = (a: number, b: number) => keys[a]! - keys[b]! || a - b;
  return { keys, compare, lists: new OrderedLists(slotsMax, compare) };
}

describe('ordered lists', () => {
  it('keep slots in order through splits, merges and growth', () => {
    const random = new Random(7);
    const slotsMax = 6_000;
    const { keys, compare, lists } = keyedLists(slotsMax);
    const long = lists.create();
    const short = lists.create();
    const members = new Map<number, Set<number>>([
      [long, new Set()],
      [short, new Set()],
    ]);
    let mostHeld = 0;
    for (let step = 0; step < 60_000; step++) {
      // Grows to thousands, then shrinks to dozens, twice: chunks begin and end in every way.
      const growing = Math.floor(step / 15_000) % 2 === 0;
      const slot = random.between(1, slotsMax);
      const held = lists.listOf(slot);
      if (held === 0 && (growing || random.chance(0.05))) {
        const list = random.chance(0.02) ? short : long;
        keys[slot] = random.below(200);
        lists.add(list, slot);
        members.get(list)!.add(slot);
      } else if (held !== 0 && (!growing || random.chance(0.1))) {
        keys[slot] = -1; // removal needs no key
        lists.remove(slot);
        members.get(held)!.delete(slot);
      }
      mostHeld = Math.max(mostHeld, members.get(long)!.size);
      if (step % 3_000 === 0 || step === 59_999) {
        for (const [list, slots] of members) {
          expect(slotsOf(lists, list)).toEqual([...slots].sort(compare));
          expect(lists.length(list)).toBe(slots.size);
        }
      }
    }
    expect(mostHeld).toBeGreaterThan(3_000);
    expect(members.get(long)!.size).toBeLessThan(1_000);
  });

  it('append sorted input, also behind a full chunk', () => {
    const { keys, lists } = keyedLists(3_000);
    const list = lists.create();
    const sorted = Array.from({ length: 3_000 }, (_, index) => index + 1);
    for (const slot of sorted) {
      keys[slot] = slot;
      lists.add(list, slot);
    }
    expect(slotsOf(lists, list)).toEqual(sorted);
    const out = new Uint32Array(700);
    expect(lists.fill(list, out)).toBe(700);
    expect([...out]).toEqual(sorted.slice(0, 700));
  });

  it('agree with sorted arrays after any history of lists created, changed and dropped', () => {
    let drops = 0;
    const stepArb = fc.tuple(
      fc.constantFrom('add', 'add', 'add', 'remove', 'create', 'drop'),
      fc.integer({ min: 1, max: 40 }),
      fc.nat(9),
    );
    fc.assert(
      fc.property(fc.array(stepArb, { maxLength: 150, size: 'max' }), (steps) => {
        const { keys, compare, lists } = keyedLists(40);
        const model = new Map<number, number[]>();
        for (const [what, slot, pick] of steps) {
          const all = [...model.keys()];
          const list = all[pick % Math.max(1, all.length)];
          if (what === 'create' || list === undefined) {
            const created = lists.create();
            expect(model.has(created)).toBe(false);
            model.set(created, []);
          } else if (what === 'add' && lists.listOf(slot) === 0) {
            keys[slot] = pick;
            lists.add(list, slot);
            model.get(list)!.push(slot);
          } else if (what === 'remove') {
            lists.remove(slot);
            for (const slots of model.values())
              if (slots.includes(slot)) slots.splice(slots.indexOf(slot), 1);
          } else if (what === 'drop') {
            drops++;
            lists.drop(list);
            model.delete(list);
          }
          for (const [held, slots] of model) expect(slotsOf(lists, held)).toEqual(slots.sort(compare));
        }
      }),
      { numRuns: 60 },
    );
    expect(drops).toBeGreaterThan(20);
  });

  it('refuse a slot that is in a list already', () => {
    const { lists } = keyedLists(4);
    lists.add(lists.create(), 1);
    expect(() => lists.add(lists.create(), 1)).toThrow(/one list/);
  });
});

describe('sorting slots', () => {
  it('orders any number of slots by the comparator', () => {
    fc.assert(
      fc.property(fc.uint32Array({ maxLength: 300, max: 50, size: 'max' }), (values) => {
        const slots = Uint32Array.from(values, (_, index) => index);
        const compare = (a: number, b: number) => values[a]! - values[b]! || a - b;
        sortSlots(slots, slots.length, compare);
        expect([...slots]).toEqual([...slots].sort(compare));
        expect(new Set(slots).size).toBe(values.length);
      }),
    );
  });
});
