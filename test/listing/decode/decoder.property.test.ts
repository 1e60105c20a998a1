import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MachineDecoder } from '../../../src/listing/decode/decoder.ts';
import { MalformedAnswerError } from '../../../src/listing/decode/errors.ts';
import { expectedMeaning, type Meaning, meaningOf } from './expected.ts';
import { listMessage } from './generators.ts';

/** The same answer between poisoned bytes: a read outside of it would show. */
function poisoned(bytes: Uint8Array): Uint8Array {
  const large = new Uint8Array(bytes.length + 64).fill(0x0a);
  large.set(bytes, 32);
  return large.subarray(32, 32 + bytes.length);
}

describe('the columnar decoder', () => {
  it('agrees with protobufjs and plain code on all valid bytes', () => {
    const decoder = new MachineDecoder(); // shared: leftovers of one answer must not show in the next
    const otherOwnLabels = new MachineDecoder({ ownLabelKeys: ['own', 'zone', 'k'.repeat(200)] });
    const seen = { rows: 0, rejected: 0, duplicates: 0, assignments: 0 };
    fc.assert(
      fc.property(listMessage, (bytes) => {
        const expected = expectedMeaning(bytes);
        const batch = decoder.decodeList(poisoned(bytes));
        expect(meaningOf(batch)).toEqual(expected);
        expect(meaningOf(otherOwnLabels.decodeList(bytes))).toEqual(expected);
        seen.rows += expected.machines.length;
        seen.rejected += expected.rejectedIds.length;
        seen.duplicates += expected.duplicateIdCount;
        seen.assignments += expected.machines.filter(({ assignment }) => assignment !== null).length;
      }),
      { numRuns: 2000 },
    );
    for (const [what, least] of [
      ['rows', 1500],
      ['rejected', 500],
      ['duplicates', 100],
      ['assignments', 300],
    ] as const) {
      expect(seen[what], what).toBeGreaterThan(least);
    }
  });

  it('reads the same from a listing in parts, and reports the rows that a part replaced', () => {
    const decoder = new MachineDecoder();
    const seen = { parts: 0, repeated: 0, emptyParts: 0 };
    fc.assert(
      fc.property(listMessage, fc.integer({ min: 1, max: 400 }), (bytes, partBytes) => {
        const machines: Meaning['machines'][number][] = [];
        const batch = decoder.beginList(poisoned(bytes));
        for (let hasMore = true; hasMore; ) {
          hasMore = decoder.readList(partBytes);
          const { machines: soFar } = meaningOf(batch);
          for (let row = batch.partStart; row < batch.rowCount; row++) machines[row] = soFar[row]!;
          for (const row of batch.repeatedRows) {
            expect(row).toBeLessThan(batch.partStart);
            machines[row] = soFar[row]!;
          }
          seen.parts++;
          seen.repeated += batch.repeatedRows.length;
          if (batch.partStart === batch.rowCount) seen.emptyParts++;
        }
        const expected = expectedMeaning(bytes);
        expect(meaningOf(batch)).toEqual(expected);
        expect(machines).toEqual(expected.machines);
      }),
      { numRuns: 1000 },
    );
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(50);
  });

  it('gives machines one shape if and only if their facts are equal', () => {
    const decoder = new MachineDecoder();
    let pairCount = 0;
    fc.assert(
      fc.property(listMessage, (bytes) => {
        const batch = decoder.decodeList(bytes);
        const { machines } = meaningOf(batch);
        const keyOf = (row: number) => {
          const { instanceType, zone, capacityType, capacity, labels } = machines[row]!;
          const { 'kubernetes.io/hostname': _own, ...shared } = labels;
          const sorted = (map: object) => Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
          return JSON.stringify([instanceType, zone, capacityType, sorted(capacity), sorted(shared)]);
        };
        for (let left = 0; left < machines.length; left++) {
          for (let right = 0; right < left; right++) {
            expect(batch.shape[left] === batch.shape[right]).toBe(keyOf(left) === keyOf(right));
            pairCount++;
          }
        }
      }),
      { numRuns: 800 },
    );
    expect(pairCount).toBeGreaterThan(300);
  });
});

describe('corrupt and truncated answers', () => {
  /** Null: refused with a typed error whose offset is in the answer. */
  function meaningOrRefusal(decoder: MachineDecoder, bytes: Uint8Array): Meaning | null {
    try {
      return meaningOf(decoder.decodeList(poisoned(bytes)));
    } catch (error) {
      expect(error).toBeInstanceOf(MalformedAnswerError);
      const { offset } = error as MalformedAnswerError;
      expect(offset).toBeGreaterThanOrEqual(0);
      expect(offset).toBeLessThanOrEqual(bytes.length);
      expect(decoder.batch.rowCount).toBe(0);
      return null;
    }
  }

  function expectedOrNull(bytes: Uint8Array): Meaning | null {
    try {
      return expectedMeaning(bytes);
    } catch {
      return null;
    }
  }

  it('are read as protobufjs reads them, or refused', () => {
    const decoder = new MachineDecoder();
    const seen = { read: 0, refused: 0 };
    const change = fc.tuple(fc.nat(), fc.nat({ max: 255 }));
    fc.assert(
      fc.property(listMessage, fc.array(change, { minLength: 1, maxLength: 4 }), (bytes, changes) => {
        fc.pre(bytes.length > 0);
        for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
        const expected = expectedOrNull(bytes);
        const actual = meaningOrRefusal(decoder, bytes);
        if (expected !== null) {
          seen.read++;
          expect(actual).toEqual(expected);
        } else seen.refused++;
      }),
      { numRuns: 2000 },
    );
    expect(seen.read).toBeGreaterThan(300);
    expect(seen.refused).toBeGreaterThan(300);
  });

  it('are refused wherever they are cut, unless the cut is between two fields', () => {
    const decoder = new MachineDecoder();
    let refusedCount = 0;
    fc.assert(
      fc.property(listMessage, fc.nat(), (bytes, at) => {
        fc.pre(bytes.length > 0);
        const cut = bytes.subarray(0, at % bytes.length);
        const expected = expectedOrNull(cut);
        const actual = meaningOrRefusal(decoder, cut);
        expect(actual).toEqual(expected);
        if (actual === null) refusedCount++;
      }),
      { numRuns: 1200 },
    );
    expect(refusedCount).toBeGreaterThan(500);
  });

  it('never crash the decoder, even when they are noise', () => {
    const decoder = new MachineDecoder();
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        meaningOrRefusal(decoder, bytes);
      }),
      { numRuns: 3000 },
    );
  });
});
