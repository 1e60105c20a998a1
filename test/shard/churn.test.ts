/**
 * Machines, kinds, clusters and needs come and go for as long as a shard runs. It keeps nothing of those that are gone, so
 * a shard that has seen a thousand names has as much room as a new one.
 */
import { describe, expect, it } from 'vitest';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { Fixture, machine, need, PROVIDERS, S } from './fixture.ts';

const ROUNDS = 12;
const clusterOf = (round: number) => `cluster-${round}`;

/** Entries of each table. */
function tableCounts({ shard }: Fixture): Record<string, number> {
  const { inventory, needs, reads, changes, backoffs, needBackoffs } = shard;
  const { clusters, fingerprints, groups, texts, shapes, hosts } = inventory.tables;
  const gauges = shard.gauges();
  return {
    machines: inventory.count,
    needs: needs.count,
    clusters: clusters.count,
    fingerprints: fingerprints.count,
    groups: groups.count,
    texts: texts.count,
    instanceTypes: shapes.instanceTypes.count,
    zones: shapes.zones.count,
    hostBytes: hosts.bytesUsed,
    profiles: needs.profiles.count,
    reads: reads.waitingCount + reads.inFlightCount + reads.deferredCount,
    doubts: changes.doubtCount,
    inBackoff: backoffs.machineCount + needBackoffs.count,
    underWay: gauges.queueDepth + gauges.inFlight,
  };
}

/** Adds a new kind of machine, a new cluster and its needs, and removes them again before it returns. */
async function round(fixture: Fixture, number: number): Promise<void> {
  const { world } = fixture;
  const type = `type-${number}`;
  const ids = Array.from({ length: 6 }, (_, index) => `m-${number}-${index}`);
  for (const [index, id] of ids.entries()) {
    const labels = { rack: `rack-${number}`, 'kubernetes.io/hostname': `host-${number}-${index}` };
    const capacityType = index % 2 === 0 ? CapacityType.Spot : CapacityType.OnDemand;
    world.provider.add(machine(id, { type, zone: `zone-${number}`, labels, capacityType }));
  }
  const cluster = fixture.cluster(clusterOf(number));
  cluster.faults = { delayMsMean: 100, blobError: 0.2, blobSilence: 0 };
  cluster.rows = [need(3, { type, group: `g-${number}` }), need(1, { type, priority: 5 + number })];
  world.reconnect(cluster);
  await fixture.run(60);
  world.provider.world.fail(ids[0]!, `power of ${ids[0]}`);
  await fixture.run(30);
  world.setDemand(cluster, [need(1, { type, priority: 1_000_000 + number, group: `h-${number}` })]);
  await fixture.run(60);
  world.setDemand(cluster, []);
  await fixture.run(30);
  world.disconnect(cluster);
  for (const id of ids) world.provider.world.remove(id);
  await fixture.run(60);
}

for (const [name, provider] of PROVIDERS) {
  for (const isIncremental of [false, true]) {
    const mode = isIncremental ? 'incremental' : 'full';
    it(`with ${name}, ${mode}: keeps nothing of machines, clusters and needs that are gone`, async () => {
      const clusterIds = Array.from({ length: ROUNDS }, (_, number) => clusterOf(number));
      const fixture = new Fixture({
        demand: Object.fromEntries(clusterIds.map((id) => [id, []])),
        provider,
        settings: {
          isIncremental,
          reclaimCapFraction: 0,
          hasRollupGuard: false,
          idleHoldSpotMs: 5_000,
          idleHoldOnDemandMs: 5_000,
        },
      });
      await fixture.run(15);
      for (const id of clusterIds) fixture.world.disconnect(fixture.cluster(id));
      for (let number = 0; number < ROUNDS; number++) {
        await round(fixture, number);
        expect(fixture.cluster(clusterOf(number)).nodes.size).toBeLessThanOrEqual(6);
      }
      expect(fixture.started('configure').length).toBeGreaterThanOrEqual(4 * ROUNDS);
      await fixture.run(1_300);
      const counts = tableCounts(fixture);
      expect(counts).toEqual(Object.fromEntries(Object.keys(counts).map((table) => [table, 0])));
    });
  }
}

describe('clusters', () => {
  it('are kept while disconnected if they have demand or machines', async () => {
    const fixture = new Fixture({
      machines: [machine('m', { state: S.Idle })],
      demand: { c1: [need(1)], c2: [], c3: [need(1, { type: 'missing' })] },
      settings: { hasRollupGuard: false },
    });
    await fixture.run(15);
    for (const id of ['c1', 'c2', 'c3']) fixture.world.disconnect(fixture.cluster(id));
    await fixture.run(100);
    const { needs, inventory } = fixture.shard;
    const hasReported = (id: string) => needs.hasReported(inventory.tables.clusters.find(id));
    expect(['c1', 'c2', 'c3'].map(hasReported)).toEqual([true, false, true]);
    expect(fixture.truth()).toEqual({ Configured: 1 });
    fixture.world.reconnect(fixture.cluster('c2'));
    await fixture.run(20);
    expect(hasReported('c2')).toBe(true);
  });
});
