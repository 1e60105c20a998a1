import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RollupScan } from '../../src/session/rollup-scan.ts';
import { RowDecoder } from '../../src/session/row-decoder.ts';
import { decode, encode, toPlain } from '../../src/wire/codec.ts';
import type { CapacityNeedInit } from '../../src/wire/protocol.generated.ts';

const texts = fc.oneof(
  fc.constantFrom(
    'cpu',
    'memory',
    'nvidia.com/gpu',
    'node.kubernetes.io/instance-type',
    '',
    'é',
    '\u{1F600}',
    '__proto__',
  ),
  fc.string({ maxLength: 90 }),
);
const quantities = fc.dictionary(texts, fc.constantFrom('1', '8', '16Gi', '500m', ''), { maxKeys: 5 });
const rows: fc.Arbitrary<CapacityNeedInit> = fc.record({
  requirements: fc.array(
    fc.record({
      key: texts,
      operator: fc.integer({ min: -1, max: 9 }),
      values: fc.array(texts, { maxLength: 3 }),
    }),
    { maxLength: 4 },
  ),
  aggregateResources: quantities,
  priority: fc.oneof(fc.constantFrom(0, 100, -5, 2_147_483_647), fc.integer()),
  spread: fc.array(
    fc.record({ topologyKey: texts, maxSkew: fc.integer({ min: -2, max: 5 }), whenUnsatisfiable: fc.nat(4) }),
    { maxLength: 2 },
  ),
  interruptionPenaltyBucket: fc.nat(30),
  reclamationPenaltyBucket: fc.nat(30),
  minUnit: quantities,
  group: texts,
});

/** Bytes of each row, and their digests. */
function scan(bytes: Uint8Array) {
  const scanned = new RollupScan();
  for (const _ of scanned.read(bytes, 'east'));
  return {
    clusterId: scanned.clusterId,
    digests: Array.from({ length: scanned.rowCount }, (_, row) =>
      [...scanned.digests.subarray(2 * row, 2 * row + 2)].join(':'),
    ),
    ranges: Array.from(
      { length: scanned.rowCount },
      (_, row) => [scanned.startOf(row), scanned.endOf(row)] as const,
    ),
  };
}

const digestOf = (row: Uint8Array) =>
  scan(Uint8Array.from([0x1a, ...lengthOf(row.length), ...row])).digests[0]!;

function lengthOf(length: number): number[] {
  return length < 0x80 ? [length] : [(length & 0x7f) | 0x80, length >> 7];
}

/** A row with its fields shuffled, as Go senders shuffle their maps, and more. */
function shuffled(row: CapacityNeedInit, seed: number): Uint8Array {
  const parts: Uint8Array[] = [
    ...(row.requirements ?? []).map((one) => encode('CapacityNeed', { requirements: [one] })),
    ...Object.entries(row.aggregateResources ?? {}).map(([name, text]) =>
      encode('CapacityNeed', { aggregateResources: { [name]: text } }),
    ),
    ...Object.entries(row.minUnit ?? {}).map(([name, text]) =>
      encode('CapacityNeed', { minUnit: { [name]: text } }),
    ),
    ...(row.spread ?? []).map((one) => encode('CapacityNeed', { spread: [one] })),
    encode('CapacityNeed', { priority: row.priority }),
    encode('CapacityNeed', { interruptionPenaltyBucket: row.interruptionPenaltyBucket }),
    encode('CapacityNeed', { reclamationPenaltyBucket: row.reclamationPenaltyBucket }),
    encode('CapacityNeed', { group: row.group }),
  ];
  let state = seed;
  for (let last = parts.length - 1; last > 0; last--) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    const other = (state >>> 8) % (last + 1);
    [parts[last], parts[other]] = [parts[other]!, parts[last]!];
  }
  return Buffer.concat(parts);
}

const HAS_PROTO = (row: CapacityNeedInit) => JSON.stringify(row).includes('__proto__');

describe('a row’s digest', () => {
  it('N4: does not depend on the order of map entries, requirements or fields', () => {
    let moved = 0;
    fc.assert(
      fc.property(rows, fc.nat(), (row, seed) => {
        fc.pre(!HAS_PROTO(row));
        const plain = encode('CapacityNeed', row);
        const mixed = shuffled(row, seed);
        if (!plain.equals(mixed)) moved++;
        expect(digestOf(mixed)).toBe(digestOf(plain));
      }),
      { numRuns: 500 },
    );
    expect(moved).toBeGreaterThan(300);
  });

  it('differs after every change of a byte, and for rows that swap parts', () => {
    const row = encode('CapacityNeed', {
      requirements: [{ key: 'zone', operator: 1, values: ['a', 'b'] }],
      aggregateResources: { cpu: '8', memory: '16Gi' },
      minUnit: { cpu: '1' },
      priority: 100,
      group: 'gang-17',
    });
    const seen = new Set([digestOf(row)]);
    let changes = 0;
    for (let at = 0; at < row.length; at++) {
      for (const bit of [1, 2, 4, 64]) {
        const other = Uint8Array.from(row);
        other[at]! ^= bit;
        try {
          const digest = digestOf(other);
          if (digest === '0:0') continue; // a field is repeated
          seen.add(digest);
          changes++;
        } catch {
          // no longer a message
        }
      }
    }
    expect(seen.size).toBe(changes + 1);
    const trade = (a: CapacityNeedInit, b: CapacityNeedInit) =>
      expect(digestOf(encode('CapacityNeed', a))).not.toBe(digestOf(encode('CapacityNeed', b)));
    trade(
      { aggregateResources: { cpu: '1', memory: '2' } },
      { aggregateResources: { cpu: '2', memory: '1' } },
    );
    trade({ aggregateResources: { cpu: '1' } }, { minUnit: { cpu: '1' } });
    trade({ interruptionPenaltyBucket: 3 }, { reclamationPenaltyBucket: 3 });
  });

  it('is unknown if a scalar field repeats, so that the row is always decoded: the last value counts', () => {
    const twice = Buffer.concat([
      encode('CapacityNeed', { priority: 1 }),
      encode('CapacityNeed', { priority: 2 }),
    ]);
    expect(digestOf(twice)).toBe('0:0');
    expect(digestOf(new Uint8Array())).toBe('1:0');
  });

  it('comes with each row’s offsets and the cluster, wherever the cluster is', () => {
    fc.assert(
      fc.property(fc.array(rows, { maxLength: 6 }), (needs) => {
        const frame = Buffer.concat([
          encode('ClusterCapacityNeeds', { needs }),
          encode('ClusterCapacityNeeds', { clusterId: 'east', timestampUnixNanos: 1.7e18 }),
        ]);
        const { clusterId, ranges } = scan(frame);
        expect(clusterId).toBe('east');
        expect(ranges.map(([start, end]) => frame.subarray(start, end))).toEqual(
          needs.map((need) => encode('CapacityNeed', need)),
        );
      }),
      { numRuns: 100 },
    );
  });
});

describe('a decoded row', () => {
  it('equals what protobufjs reads from the same bytes', () => {
    const decoder = new RowDecoder();
    fc.assert(
      fc.property(rows, (row) => {
        const bytes = encode('CapacityNeed', row);
        decoder.open(bytes);
        const found = decoder.decode(0, bytes.length);
        const expected = toPlain('CapacityNeed', decode('CapacityNeed', bytes));
        expect(found.requirements).toEqual(expected.requirements);
        expect(found.spread).toEqual(expected.spread);
        expect([found.priority, found.group]).toEqual([expected.priority, expected.group]);
        expect([found.interruptionBucket, found.reclamationBucket]).toEqual([
          expected.interruptionPenaltyBucket,
          expected.reclamationPenaltyBucket,
        ]);
        expect(Object.entries(found.aggregate).sort()).toEqual(
          Object.entries(row.aggregateResources!).sort(),
        );
        expect(Object.entries(found.minUnit).sort()).toEqual(Object.entries(row.minUnit!).sort());
      }),
      { numRuns: 500 },
    );
  });

  it('is refused with an offset if malformed, and never read beyond its end', () => {
    const decoder = new RowDecoder();
    let refused = 0;
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (noise) => {
        const padded = Uint8Array.from([...noise, ...new Uint8Array(20).fill(0x0a)]);
        decoder.open(padded);
        try {
          decoder.decode(0, noise.length);
        } catch (error) {
          refused++;
          expect((error as Error).message).toMatch(/^A frame cannot be read: at byte \d+ there is/);
        }
      }),
      { numRuns: 1_000 },
    );
    expect(refused).toBeGreaterThan(300);
  });
});
