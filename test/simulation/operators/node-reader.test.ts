import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { onlyFieldOf, ShardFrame } from '../../../src/operator-kit/shard-frame.ts';
import { NodeSighting } from '../../../src/simulation/operators/node-reader.ts';
import { encode } from '../../../src/wire/codec.ts';

const TYPE_KEY = 'node.kubernetes.io/instance-type';
const texts = fc.string({ unit: 'grapheme', maxLength: 40 });
const quantities = fc.dictionary(texts, texts, { maxKeys: 4 });

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
});
