import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MachineListView } from '../../src/conformance/machine-list-view.ts';
import { findDifference } from '../../src/conformance/snapshot.ts';
import { decode, encode } from '../../src/wire/codec.ts';
import type { MachineListInit } from '../../src/wire/protocol.generated.ts';

const texts = fc.dictionary(fc.string({ minLength: 1, maxLength: 5 }), fc.string({ maxLength: 5 }), {
  maxKeys: 3,
});

const machines = fc.record(
  {
    id: fc.string({ unit: 'grapheme', maxLength: 8 }),
    state: fc.integer({ min: 0, max: 9 }),
    host: fc.record({ provider: fc.string(), ref: fc.string() }),
    zone: fc.string(),
    pricePerHour: fc.double({ noNaN: true }),
    resources: texts.map((resources) => ({ resources })),
    labels: texts,
    cluster: fc.string(),
    shardMetadata: texts,
  },
  { requiredKeys: [] },
);

const lists: fc.Arbitrary<MachineListInit> = fc.record({
  machines: fc.array(machines, { maxLength: 8 }),
  revision: fc.uint8Array({ maxLength: 9 }),
  deletedIds: fc.array(fc.string(), { maxLength: 3 }),
});

describe('a MachineList that is decoded on demand', () => {
  it('has the content of the decoded message', () => {
    let machineCount = 0;
    fc.assert(
      fc.property(lists, (list) => {
        const bytes = encode('MachineList', list);
        const listing = new MachineListView(bytes);
        const whole = decode('MachineList', bytes);
        machineCount += listing.machineCount;
        expect(listing.ids).toEqual(whole.machines.map(({ id }) => id));
        expect([...listing.states]).toEqual(whole.machines.map(({ state }) => state));
        expect([...listing.revision]).toEqual([...whole.revision]);
        expect(listing.deletedIds).toEqual([...whole.deletedIds]);
        for (const [row, machine] of whole.machines.entries()) {
          expect(findDifference(listing.machine(row), machine)).toBeNull();
        }
      }),
    );
    expect(machineCount).toBeGreaterThan(100);
  });

  it('finds machines by id and by state, and the first of two with the same id', () => {
    const bytes = encode('MachineList', {
      machines: [
        { id: 'a', state: 3, zone: 'one' },
        { id: 'b', state: 5 },
        { id: 'a', state: 5, zone: 'two' },
      ],
    });
    const listing = new MachineListView(bytes);
    expect(listing.find('a')?.zone).toBe('one');
    expect(listing.find('c')).toBeUndefined();
    expect(listing.rowsInState(5)).toEqual([1, 2]);
    expect(listing.idsMissingFrom(['a', 'c'])).toEqual(['c']);
  });

  it('recognises equal rows of two listings by their bytes', () => {
    const before = new MachineListView(
      encode('MachineList', { machines: [{ id: 'a' }, { id: 'b', state: 3 }] }),
    );
    const after = new MachineListView(
      encode('MachineList', { machines: [{ id: 'b', state: 4 }, { id: 'a' }] }),
    );
    expect(after.hasSameBytes(1, before, 0)).toBe(true);
    expect(after.hasSameBytes(0, before, 1)).toBe(false);
  });

  it('skips unknown fields of every wire type', () => {
    const known = encode('MachineList', { machines: [{ id: 'a', state: 3 }], revision: Uint8Array.of(7) });
    const unknown = Buffer.from([
      ...[0xa0, 0x06, 0xff, 0x01], // field 100, a varint
      ...[0xa1, 0x06, 1, 2, 3, 4, 5, 6, 7, 8], // eight bytes
      ...[0xa2, 0x06, 2, 9, 9], // a length and as many bytes
      ...[0xa3, 0x06, 0x0b, 0x08, 1, 0x0c, 0xa4, 0x06], // a group within a group
      ...[0xa5, 0x06, 1, 2, 3, 4], // four bytes
    ]);
    for (const bytes of [Buffer.concat([unknown, known]), Buffer.concat([known, unknown])]) {
      const listing = new MachineListView(bytes);
      expect([listing.ids, [...listing.states], [...listing.revision]]).toEqual([['a'], [3], [7]]);
    }
  });

  for (const [bytes, part] of [
    [[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f], 'announces'],
    [[0x0a], 'ends within a number'],
    [Array(12).fill(0xff), 'more than 10 bytes'],
    [[0x0f], 'wire type 7'],
    [[0x0b], 'ends within a number'],
    [[0x0a, 2, 0x0a, 9], 'announces'],
  ] as const) {
    it(`rejects the bytes ${Buffer.from(bytes).toString('hex')} with their position`, () => {
      expect(() => new MachineListView(Buffer.from(bytes))).toThrow(part);
    });
  }

  it('rejects truncated bytes and never hangs on them', () => {
    let refusedCount = 0;
    fc.assert(
      fc.property(lists, fc.nat(), (list, cut) => {
        const bytes = encode('MachineList', list);
        const part = bytes.subarray(0, bytes.length === 0 ? 0 : cut % bytes.length);
        try {
          const listing = new MachineListView(part);
          for (let row = 0; row < listing.machineCount; row++) listing.machine(row);
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
          refusedCount++;
        }
      }),
    );
    expect(refusedCount).toBeGreaterThan(20);
  });
});
