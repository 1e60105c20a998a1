import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SlotLists } from '../../src/inventory/slot-lists.ts';
import { ALL_STATES } from '../../src/machine/state.ts';

const SLOTS = 60;
const LISTS = 3;

/** A slot moves to a list (0 = none) and a state; now and then a list is read in between. */
const stepArb = fc.record({
  slot: fc.integer({ min: 1, max: SLOTS }),
  list: fc.integer({ min: 0, max: LISTS }),
  state: fc.constantFrom(...ALL_STATES),
  isKeyFirst: fc.boolean(),
  read: fc.option(fc.integer({ min: 1, max: LISTS }), { freq: 8 }),
});

class Fleet {
  readonly keys = new Uint16Array(SLOTS + 1);
  readonly states = new Uint8Array(SLOTS + 1);
  readonly lists = new SlotLists(LISTS + 1, this.keys, new Uint32Array(SLOTS + 1), this.states);

  put(slot: number, list: number, state: number, isKeyFirst: boolean): void {
    const { lists, keys, states } = this;
    const [listBefore, stateBefore] = [keys[slot]!, states[slot]!];
    // An insert writes the row before its indexes, every other write after them.
    if (isKeyFirst) keys[slot] = list;
    if (listBefore === list && list !== 0) {
      if (stateBefore === state) lists.touch(list);
      else lists.move(list, stateBefore, state);
    } else {
      if (listBefore !== 0) lists.remove(listBefore, slot, stateBefore);
      if (list !== 0) lists.add(list, slot, state);
    }
    keys[slot] = list;
    states[slot] = state;
  }

  slotsOf(list: number, state: number): number[] {
    const start = this.lists.startOf(list, state);
    const slots = this.lists.items.subarray(start, start + this.lists.countOf(list, state));
    return [...slots].sort((a, b) => a - b);
  }

  expectRight(list: number): void {
    for (const state of ALL_STATES) {
      const members = [];
      for (let slot = 1; slot <= SLOTS; slot++) {
        if (this.keys[slot] === list && this.states[slot] === state) members.push(slot);
      }
      expect(this.slotsOf(list, state)).toEqual(members);
    }
  }
}

describe('lists of slots', () => {
  it('hold each slot once, in the group of its state, whatever changes between two reads', () => {
    let reads = 0;
    fc.assert(
      fc.property(fc.array(stepArb, { maxLength: 400, size: 'max' }), (steps) => {
        const fleet = new Fleet();
        for (const { slot, list, state, isKeyFirst, read } of steps) {
          fleet.put(slot, list, state, isKeyFirst);
          if (read === null) continue;
          fleet.expectRight(read);
          reads++;
        }
        for (let list = 1; list <= LISTS; list++) fleet.expectRight(list);
      }),
    );
    expect(reads).toBeGreaterThan(100);
  });

  it('free the block of a list that becomes empty', () => {
    const fleet = new Fleet();
    fleet.put(1, 1, 3, true);
    const { bytesTouched } = fleet.lists;
    for (let round = 0; round < 1_000; round++) {
      fleet.put(1, 0, 3, false);
      fleet.put(1, 1, 3, false);
    }
    expect(fleet.lists.bytesTouched).toBe(bytesTouched);
    expect(fleet.slotsOf(1, 3)).toEqual([1]);
  });

  it('do not grow while slots leave and come back without a read', () => {
    const fleet = new Fleet();
    for (let slot = 1; slot <= 40; slot++) fleet.put(slot, 1, 5, true);
    for (let round = 0; round < 100; round++) fleet.put(1 + (round % 40), round % 2, 5, false);
    const { bytesTouched } = fleet.lists;
    for (let round = 0; round < 10_000; round++) {
      const slot = 1 + (round % 40);
      fleet.put(slot, 0, 5, false);
      fleet.put(slot, 1, 5, false);
    }
    expect(fleet.lists.bytesTouched).toBeLessThanOrEqual(2 * bytesTouched);
    fleet.expectRight(1);
  });

  it('report a change once for each state', () => {
    const fleet = new Fleet();
    fleet.put(1, 1, 3, true);
    expect([fleet.lists.takeStale(1, 3), fleet.lists.takeStale(1, 3)]).toEqual([true, false]);
    expect(fleet.lists.takeStale(1, 5)).toBe(true);
    fleet.put(1, 1, 3, false);
    expect([fleet.lists.takeStale(1, 3), fleet.lists.takeStale(1, 5)]).toEqual([true, true]);
    expect(fleet.lists.takeStale(2, 3)).toBe(false);
  });
});
