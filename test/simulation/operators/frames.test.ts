import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RollupRow } from '../../../src/needs/rollup.ts';
import { needOf, RowDemand, rollupFrame } from '../../../src/simulation/operators/frames.ts';
import { NodeSighting, onlyFieldOf, ShardFrame } from '../../../src/simulation/operators/node-reader.ts';
import { decode, encode, toPlain } from '../../../src/wire/codec.ts';

const TYPE_KEY = 'node.kubernetes.io/instance-type';
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
        const demand = new RowDemand();
        demand.set(given);
        const { bytes: frame, release } = rollupFrame(clusterId, 1_700_000_000_123, demand);
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
    const demand = new RowDemand();
    const [row] = fc.sample(rows, 1);
    demand.set([row!, row!]);
    const { rollup } = decode('OperatorMessage', rollupFrame('blue', 1, demand).bytes);
    expect(rollup?.needs).toHaveLength(2);
  });
});

describe('a sighting of a node', () => {
  const labels = fc
    .tuple(quantities, fc.option(texts))
    .map(([map, type]) => (type === null ? map : { ...map, [TYPE_KEY]: type }));
  const updates = fc.record({
    supersedesKey: texts,
    machineId: fc.string({ minLength: 1 }),
    clusterId: texts,
    state: fc.nat(200),
    nodeName: texts,
    providerId: texts,
    lastError: texts,
    labels,
    resources: fc.option(fc.record({ resources: quantities })),
    taints: fc.array(fc.record({ key: texts, value: texts, effect: texts }), { maxLength: 2 }),
  });

  it('agrees with the decoded message for any update', () => {
    let typed = 0;
    fc.assert(
      fc.property(updates, (update) => {
        const frame = encode('ShardMessage', { nodeStateUpdate: update });
        expect(onlyFieldOf(frame)).toBe(ShardFrame.NodeState);
        const sighting = new NodeSighting();
        expect(sighting.read(frame)).toBe(true);
        const instanceType = update.labels[TYPE_KEY] ?? '';
        if (instanceType !== '') typed++;
        expect(sighting).toEqual({
          machineId: update.machineId,
          clusterId: update.clusterId,
          state: update.state,
          instanceType,
        });
      }),
    );
    expect(typed).toBeGreaterThan(10);
  });

  it('is rejected without an exception if the bytes are truncated or changed', () => {
    let refused = 0;
    fc.assert(
      fc.property(updates, fc.nat(), fc.nat(255), (update, where, byte) => {
        const frame = encode('ShardMessage', { nodeStateUpdate: update });
        const changed = Buffer.from(frame);
        changed[where % changed.length] = byte;
        for (const bytes of [changed, frame.subarray(0, where % frame.length)]) {
          const sighting = new NodeSighting();
          if (onlyFieldOf(bytes) !== ShardFrame.NodeState || !sighting.read(bytes)) refused++;
        }
      }),
    );
    expect(refused).toBeGreaterThan(50);
  });

  it('leaves frames of two fields to the ordinary decoder', () => {
    const ack = encode('ShardMessage', { ack: { echo: 'hello' } });
    expect(onlyFieldOf(ack)).toBe(ShardFrame.Ack);
    expect(onlyFieldOf(Buffer.concat([ack, ack]))).toBe(0);
    expect(onlyFieldOf(Buffer.alloc(0))).toBe(0);
  });
});
