/** The reader in the same thread as its writer: both must agree. */
import { describe, expect, it } from 'vitest';
import { InventoryReader } from '../../src/inventory/inventory-reader.ts';
import { inventory, machine } from './machines.ts';

describe('a reader of the shared columns', () => {
  it('finds the machines of one provider by a scan of single values', () => {
    const fleet = inventory();
    const reader = InventoryReader.attach(fleet.share());
    const slots = [0, 1, 2, 1].map((provider, index) =>
      fleet.insert(machine({ id: `m-${index}` }), provider, 1),
    );
    fleet.remove(slots[3]!);
    const found: number[] = [];
    for (let slot = 1; slot < reader.slotLimit; slot++) {
      if (reader.stateOf(slot) !== 0 && reader.providerOf(slot) === 1) found.push(slot);
    }
    expect(found).toEqual([slots[1]]);
  });

  it('returns a generation with which the writer checks that a slot has the same machine', () => {
    const fleet = inventory();
    const reader = InventoryReader.attach(fleet.share());
    const slot = fleet.insert(machine({ id: 'm-1' }), 0, 1);
    const generation = reader.generationOf(slot);
    fleet.apply(slot, { pricePerHourUsd: 9 }, 2);
    expect(reader.generationOf(slot)).not.toBe(generation);
    expect(fleet.isCurrent(slot, generation)).toBe(true);
    fleet.remove(slot);
    expect(fleet.isCurrent(slot, generation)).toBe(false);
  });
});
