/** Sums over the fleet and pages of machines, compared with a read of every machine. */
import { describe, expect, it } from 'vitest';
import { compareBytewise } from '../../../src/base/dimensions.ts';
import { Flag } from '../../../src/inventory/intent.ts';
import { CapacityType } from '../../../src/machine/capacity-type.ts';
import type { Machine } from '../../../src/machine/machine.ts';
import { MachineState } from '../../../src/machine/state.ts';
import type { MachineLine, MachinesQuery } from '../../../src/shard/ports/fleet-view.ts';
import { SteadyFleet } from '../../../src/simulation/catalogue/fleet.ts';
import { ViewWorld } from './view-world.ts';

const S = MachineState;

function steady(): { shard: ViewWorld; machines: Machine[] } {
  const fleet = new SteadyFleet(1_500);
  const shard = new ViewWorld();
  for (const [index, machine] of [...fleet.machines()].entries()) {
    shard.inventory.insert(machine, index % 2, shard.clock.nowMs());
  }
  for (const { clusterId, rows } of fleet.rollups()) shard.rollUp(clusterId, rows);
  shard.decide();
  return { shard, machines: [...fleet.machines()].sort((a, b) => compareBytewise(a.id, b.id)) };
}

async function allPages(
  shard: ViewWorld,
  query: MachinesQuery,
): Promise<{ ids: string[]; matching: number }> {
  const lines: MachineLine[] = [];
  let after = '';
  for (;;) {
    const page = await shard.view.machinesPage(query, after);
    lines.push(...page.machines);
    after = page.next;
    if (after === '') return { ids: lines.map(({ id }) => id), matching: page.matching };
  }
}

describe('the summary of a fleet', () => {
  it('counts every machine once in each table, and adds up what the hosts cost', async () => {
    const { shard, machines } = steady();
    const { machines: counts, byCapacityType, byInstanceType, byZone, cost } = await shard.view.summary();
    const countOf = (fits: (machine: Machine) => boolean) => machines.filter(fits).length;
    expect(counts[S.Configured]).toBe(countOf(({ state }) => state === S.Configured));
    expect(counts[S.Speculative]).toBeGreaterThan(0);
    expect(byCapacityType[CapacityType.Spot]![S.Configured]).toBe(
      countOf(({ state, capacityType }) => state === S.Configured && capacityType === CapacityType.Spot),
    );
    for (const table of [
      byCapacityType,
      byInstanceType.map((one) => one.machines),
      byZone.map((one) => one.machines),
    ]) {
      expect(table.flat().reduce((sum, count) => sum + count, 0)).toBe(machines.length);
    }
    const usd = machines
      .filter(({ host }) => host !== null)
      .reduce((sum, { pricePerHourUsd }) => sum + pricePerHourUsd, 0);
    expect(cost.totalUsd).toBeCloseTo(usd, 6);
    expect(cost.byCapacityTypeUsd.reduce((sum, one) => sum + one, 0)).toBeCloseTo(usd, 6);
    const idleUsd = machines
      .filter(({ state }) => state === S.Idle)
      .reduce((sum, { pricePerHourUsd }) => sum + pricePerHourUsd, 0);
    expect(cost.byStateUsd[S.Idle]).toBeCloseTo(idleUsd, 6);
    expect(cost.idleByCapacityTypeUsd.reduce((sum, one) => sum + one, 0)).toBeCloseTo(idleUsd, 6);
    const [dearest] = cost.byCluster;
    const bound = machines.filter(({ cluster }) => cluster === dearest!.clusterId);
    expect(dearest!.machines).toBe(bound.length);
    expect(dearest!.usd).toBeCloseTo(
      bound.reduce((sum, { pricePerHourUsd }) => sum + pricePerHourUsd, 0),
      6,
    );
    expect(cost.byCluster).toHaveLength(6);
  });

  it('is computed once a second for all readers', async () => {
    const { shard } = steady();
    const [first, second] = await Promise.all([shard.view.summary(), shard.view.summary()]);
    expect(second).toBe(first);
    expect(await shard.view.summary()).toBe(first);
    shard.clock.advance(1_000);
    expect(await shard.view.summary()).not.toBe(first);
  });
});

describe('pages of machines', () => {
  it('hold every machine once, by id, for every page size', async () => {
    const { shard, machines } = steady();
    for (const limit of [7, 400, 5_000]) {
      const { ids, matching } = await allPages(shard, { limit });
      expect(ids).toEqual(machines.map(({ id }) => id));
      expect(matching).toBe(machines.length);
    }
  });

  it('hold the machines that match the filter, with their total on each page', async () => {
    const { shard, machines } = steady();
    const { idPrefix, type, zone } = {
      idPrefix: machines[700]!.id.slice(0, -3),
      type: machines[3]!.instanceType,
      zone: machines[3]!.zone,
    };
    const isOdd = new Set(
      [...new SteadyFleet(1_500).machines()].filter((_, index) => index % 2 === 1).map(({ id }) => id),
    );
    for (const [query, fits] of [
      [{ state: S.Idle }, ({ state }) => state === S.Idle],
      [{ clusterId: 'cluster-0003' }, ({ cluster }) => cluster === 'cluster-0003'],
      [
        { clusterId: 'cluster-0003', state: S.Configured, zone },
        (one) => one.cluster === 'cluster-0003' && one.zone === zone,
      ],
      [{ instanceType: type, zone }, (one) => one.instanceType === type && one.zone === zone],
      [{ capacityType: CapacityType.Reserved }, (one) => one.capacityType === CapacityType.Reserved],
      [{ provider: 'other' }, ({ id }) => isOdd.has(id)],
      [{ idPrefix }, ({ id }) => id.startsWith(idPrefix)],
      [
        { idPrefix, state: S.Speculative },
        (one) => one.id.startsWith(idPrefix) && one.state === S.Speculative,
      ],
      [{ zone: 'nowhere' }, () => false],
      [{ provider: 'nobody' }, () => false],
      [{ clusterId: 'nobody' }, () => false],
      [{ stuckOnly: true }, () => false],
    ] as const satisfies readonly (readonly [MachinesQuery, (machine: Machine) => boolean])[]) {
      const expected = machines.filter(fits).map(({ id }) => id);
      const { ids, matching } = await allPages(shard, { ...query, limit: 11 });
      expect(ids, JSON.stringify(query)).toEqual(expected);
      expect(matching).toBe(expected.length);
    }
  });

  it('show each machine’s time in its state, its failures and its action', async () => {
    const { shard, machines } = steady();
    const { id } = machines.find(({ state }) => state === S.Idle)!;
    const slot = shard.inventory.find(id);
    shard.clock.advance(5_000);
    shard.inventory.setFlag(slot, Flag.Backoff, true);
    const { machines: found } = await shard.view.machinesPage({ backoffOnly: true }, '');
    expect(found).toEqual([expect.objectContaining({ id, forMs: 5_000, isInBackoff: true, action: '' })]);
  });

  it('begin behind an id that no longer exists', async () => {
    const { shard, machines } = steady();
    const gone = machines[10]!;
    shard.inventory.remove(shard.inventory.find(gone.id));
    const { machines: found } = await shard.view.machinesPage({ limit: 1 }, gone.id);
    expect(found[0]!.id).toBe(machines[11]!.id);
  });
});

describe('pages of clusters', () => {
  it('hold those with a session, demand or machines, once each', async () => {
    const { shard } = steady();
    shard.sessions.set('zeta', {
      clusterId: 'zeta',
      isConnected: true,
      sinceMs: 1,
      peer: '10.0.0.1',
      outboxFrames: 0,
      lastRollupAtMs: 0,
    });
    const page = await shard.view.clustersPage({ limit: 4 });
    const rest = await shard.view.clustersPage({ limit: 4, after: page.next });
    const ids = [...page.clusters, ...rest.clusters].map(({ clusterId }) => clusterId);
    expect(ids).toEqual([...Array.from({ length: 6 }, (_, index) => `cluster-000${index}`), 'zeta']);
    expect(rest).toMatchObject({ total: 7, matching: 7, next: '' });
    expect(page.clusters[0]).toMatchObject({ session: null, hasReported: true });
    expect(page.clusters[0]!.needs).toBeGreaterThan(100);
    expect(rest.clusters.at(-1)).toMatchObject({ needs: 0, hasReported: false });
    expect((await shard.view.clustersPage({ prefix: 'ze' })).clusters).toHaveLength(1);
  });
});
