import { expect, it } from 'vitest';
import { RollupQueue, type RollupResult } from '../../src/session/rollup-queue.ts';
import { createTables } from '../../src/shard/tables.ts';
import { encode } from '../../src/wire/codec.ts';
import type { CapacityNeedInit } from '../../src/wire/protocol.generated.ts';
import { CASES_MIN, fuzz, GROWN_BYTES_MAX } from './fuzzer.ts';

const ROWS: readonly CapacityNeedInit[] = [
  {
    requirements: [
      { key: 'node.kubernetes.io/instance-type', operator: 1, values: ['a', 'b'] },
      { key: 'rack', operator: 5 },
    ],
    aggregateResources: { cpu: '16', memory: '64Gi' },
    minUnit: { cpu: '4', memory: '16Gi' },
    priority: 1_000,
    interruptionPenaltyBucket: 9,
    reclamationPenaltyBucket: 27,
    group: 'training',
  },
  {
    requirements: [{ key: 'topology.kubernetes.io/zone', operator: 2, values: ['z1'] }],
    aggregateResources: { cpu: '500m', 'nvidia.com/gpu': '8' },
    priority: -5,
    spread: [{ topologyKey: 'topology.kubernetes.io/zone', maxSkew: 1, whenUnsatisfiable: 1 }],
  },
];

it('a damaged roll-up is accepted, quarantined or refused as a whole, and accepted demand stays', async () => {
  const { needs, inventory } = createTables({ machinesMax: 64, hasRollupGuard: false });
  const { clusters } = inventory.tables;
  let refusals = 0;
  const queue = new RollupQueue({
    acceptRollup: (clusterId, digests, decodeRow) =>
      needs.acceptInSteps(clusterId, digests, decodeRow, 1_000, 0),
    rejectRollup: (clusterId) => {
      refusals++;
      needs.reject(clusterId);
    },
  });
  const offer = (clusterId: string, bytes: Uint8Array) =>
    new Promise<RollupResult>((resolve) => queue.offer(clusterId, queue, bytes, resolve));
  const good = encode('ClusterCapacityNeeds', { clusterId: 'east', needs: [...ROWS] });
  const other = encode('ClusterCapacityNeeds', { needs: ROWS.map((row) => ({ ...row, group: 'other' })) });
  const count = (clusterId: string) => needs.sliceCount(clusters.find(clusterId));
  const report = await fuzz([good, other], async (bytes, random) => {
    const before = count('east');
    const { outcome } = await offer('east', bytes);
    if (outcome === 'rejected') expect(count('east')).toBe(before);
    if (random.chance(0.05)) {
      expect((await offer('west', other)).outcome).not.toBe('rejected');
      expect(count('west')).toBe(ROWS.length);
    }
    return outcome;
  });
  queue.clear();
  expect(refusals).toBeGreaterThan(0);
  expect(report.cases).toBeGreaterThanOrEqual(CASES_MIN);
  expect(Object.keys(report.outcomes)).toEqual(expect.arrayContaining(['applied', 'rejected']));
  expect(report.grownBytes).toBeLessThan(GROWN_BYTES_MAX);
});
