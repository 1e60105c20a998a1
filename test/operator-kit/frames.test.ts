import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { EncodedRows, needOf, rollupFrame } from '../../src/operator-kit/frames.ts';
import { onlyFieldOf, ShardFrame } from '../../src/operator-kit/shard-frame.ts';
import { decode, encode, toPlain } from '../../src/wire/codec.ts';

const texts = fc.string({ unit: 'grapheme', maxLength: 40 });
const quantities = fc.dictionary(texts, texts, { maxKeys: 4 });

const rows: fc.Arbitrary<RollupRow> = fc.record({
  requirements: fc.array(
    fc.record({ key: texts, operator: fc.nat(9), values: fc.array(texts, { maxLength: 3 }) }),
    { maxLength: 4 },
  ),
  aggregate: quantities,
  minUnit: quantities,
  priority: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  spread: fc.array(fc.record({ topologyKey: texts, maxSkew: fc.nat(5), whenUnsatisfiable: fc.nat(3) }), {
    maxLength: 2,
  }),
  interruptionBucket: fc.nat(30),
  reclamationBucket: fc.nat(30),
  group: texts,
});

/** Some much longer than fast-check draws by default. */
const demands = fc
  .tuple(fc.array(rows, { maxLength: 10 }), fc.constantFrom(1, 30))
  .map(([some, times]) => Array.from({ length: times }, () => some).flat());

describe('a roll-up assembled from encoded rows', () => {
  it('has the content that protobufjs would write, for any rows', () => {
    let largest = 0;
    fc.assert(
      fc.property(demands, fc.string({ minLength: 1 }), (given, clusterId) => {
        const { bytes: frame, release } = rollupFrame(clusterId, 1_700_000_000_123, new EncodedRows(given));
        largest = Math.max(largest, frame.length);
        const expected = encode('OperatorMessage', {
          rollup: { clusterId, timestampUnixNanos: 1_700_000_000_123e6, needs: given.map(needOf) },
        });
        const plain = (bytes: Uint8Array) => toPlain('OperatorMessage', decode('OperatorMessage', bytes));
        expect(plain(frame)).toEqual(plain(expected));
        release(); // the next one overwrites it
      }),
    );
    expect(largest).toBeGreaterThan(16_384); // lengths of one, two and three bytes were needed
  });

  it('contains a row twice if it was given twice', () => {
    const [row] = fc.sample(rows, 1);
    const demand = new EncodedRows([row!, row!]);
    const { rollup } = decode('OperatorMessage', rollupFrame('blue', 1, demand).bytes);
    expect(rollup?.needs).toHaveLength(2);
  });
});

describe('the field of a frame', () => {
  it('is unknown if the frame has two: the ordinary decoder reads those', () => {
    const ack = encode('ShardMessage', { ack: { echo: 'hello' } });
    expect(onlyFieldOf(ack)).toBe(ShardFrame.Ack);
    expect(onlyFieldOf(Buffer.concat([ack, ack]))).toBe(0);
    expect(onlyFieldOf(Buffer.alloc(0))).toBe(0);
  });
});
