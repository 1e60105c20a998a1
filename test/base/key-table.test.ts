import { describe, expect, it } from 'vitest';
import { hashBytes } from '../../src/base/hash.ts';
import { KeyTable } from '../../src/base/key-table.ts';
import { Random } from '../../src/base/random.ts';

/** One segment below 65,536 entries, many above: both must behave the same. */
const SIZES = [
  { entriesMax: 300, keyCount: 400 },
  { entriesMax: 65_535, keyCount: 90_000 },
  { entriesMax: 100_000, keyCount: 140_000 },
];

const bytesOf = (key: number) => new TextEncoder().encode(`key-${key}`);

const hashOf = (bytes: Uint8Array) => hashBytes(bytes, 0, bytes.length);

function find(table: KeyTable, key: number): number {
  const bytes = bytesOf(key);
  return table.find(hashOf(bytes), bytes, 0, bytes.length);
}

function add(table: KeyTable, ref: number, key: number): boolean {
  const bytes = bytesOf(key);
  return table.add(ref, hashOf(bytes), bytes, 0, bytes.length);
}

describe.each(SIZES)('a key table for $entriesMax entries', ({ entriesMax, keyCount }) => {
  it('finds every entry that was added and not removed, however often it grows', () => {
    const table = KeyTable.create(entriesMax, entriesMax * 16);
    const random = new Random(entriesMax);
    const refs = new Map<number, number>();
    const free = Array.from({ length: entriesMax }, (_, index) => entriesMax - index);
    let wrongCount = 0;
    for (let step = 0; step < 3 * entriesMax; step++) {
      const key = random.below(keyCount);
      const known = refs.get(key) ?? 0;
      if (find(table, key) !== known) wrongCount++;
      if (known === 0 && free.length > 0) {
        const ref = free.pop()!;
        if (!add(table, ref, key)) wrongCount++;
        refs.set(key, ref);
      } else if (known !== 0 && random.chance(0.3)) {
        table.remove(known);
        refs.delete(key);
        free.push(known);
      }
    }
    for (let key = 0; key < keyCount; key++) if (find(table, key) !== (refs.get(key) ?? 0)) wrongCount++;
    const reader = KeyTable.attach(table.share());
    for (const [key, ref] of refs) if (find(reader, key) !== ref) wrongCount++;
    expect(wrongCount).toBe(0);
    expect(refs.size).toBeGreaterThan(entriesMax / 3);
  });

  it('holds as many entries as it declares', () => {
    const table = KeyTable.create(entriesMax, entriesMax * 16);
    let wrongCount = 0;
    for (let ref = 1; ref <= entriesMax; ref++) if (!add(table, ref, ref)) wrongCount++;
    for (let key = 1; key <= keyCount; key++) {
      if (find(table, key) !== (key <= entriesMax ? key : 0)) wrongCount++;
    }
    expect(wrongCount).toBe(0);
  });

  it('touches memory only for the entries that it holds', () => {
    const table = KeyTable.create(entriesMax, entriesMax * 16);
    const held = Math.floor(entriesMax / 10);
    for (let ref = 1; ref <= held; ref++) add(table, ref, ref);
    const bytesOfBuckets = table.bytesTouched(held) - table.arena.bytesTouched - 4 * held;
    expect(bytesOfBuckets).toBeLessThan(4 * Math.max(1_024, 3 * held));
  });
});

it('a key table with a full segment refuses entries of that segment and accepts others', () => {
  const entriesMax = 65_536;
  const table = KeyTable.create(entriesMax, entriesMax * 16);
  // The first bits of a hash choose the segment: all these keys are in one.
  const keys: number[] = [];
  for (let key = 0; keys.length < entriesMax / 16; key++)
    if (hashOf(bytesOf(key)) >>> 26 === 0) keys.push(key);
  const full = keys.findIndex((key, index) => !add(table, index + 1, key));
  expect(full).toBeGreaterThan(entriesMax / 64);
  const others = keys[full]! + 1;
  expect(keys.slice(0, full).filter((key, index) => find(table, key) !== index + 1)).toEqual([]);
  expect(find(table, keys[full]!)).toBe(0);
  expect(add(table, full + 1, others)).toBe(true);
  table.remove(1);
  expect(add(table, 1, keys[full]!)).toBe(true);
  expect([find(table, keys[full]!), find(table, others), find(table, keys[0]!)]).toEqual([1, full + 1, 0]);
});
