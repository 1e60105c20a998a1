/** Y1, Y2: what the history is told of machines and needs. */
import { describe, expect, it } from 'vitest';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { Fixture, machine, machines, need, PROVIDERS, S } from './fixture.ts';

const kindsOf = (fixture: Fixture, machineId: string) =>
  fixture.noted.filter((event) => event.machineId === machineId).map(({ kind }) => kind);

for (const [name, provider] of PROVIDERS) {
  describe(`with ${name}, the history`, () => {
    it('Y1: tells the life of a machine: created, bound, drained, given back', async () => {
      const fixture = new Fixture({
        machines: [machine('m-1', { capacityType: CapacityType.OnDemand })],
        demand: { c1: [need(1, { group: 'job-7' })] },
        provider,
        settings: { reclaimCapFraction: 0, idleHoldOnDemandMs: 60_000 },
      });
      await fixture.run(60);
      fixture.world.setDemand(fixture.cluster(), []);
      await fixture.run(240);
      expect(kindsOf(fixture, 'm-1')).toEqual([
        'create_started',
        'created',
        'bind_started',
        'bound',
        'reclaim_started',
        'unbound',
        'release_started',
        'released',
      ]);
      const bound = fixture.noted.find(({ kind }) => kind === 'bound')!;
      expect(bound).toMatchObject({
        clusterId: 'c1',
        group: 'job-7',
        provider: 'simulated',
        offering: 'a/z1/on-demand',
        from: S.Configuring,
        to: S.Configured,
      });
      expect(bound.fingerprint).toContain('node.kubernetes.io/instance-type');
      expect(bound.cycle).toBeGreaterThan(0);
    });

    it('Y1: tells who lost a machine to whom in a preemption, and which need was unmet meanwhile', async () => {
      const fixture = new Fixture({
        machines: machines(1, 'm', { state: S.Idle }),
        demand: { low: [need(1, { priority: 100, group: 'batch' })], high: [] },
        settings: { preemptionCapFraction: 0 },
        provider,
      });
      await fixture.run(30);
      fixture.world.setDemand(fixture.cluster('high'), [need(1, { priority: 1_000_000, group: 'live' })]);
      await fixture.run(60);
      const told = fixture.noted.filter(({ machineId }) => machineId === 'm-0000');
      expect(told.find(({ kind }) => kind === 'preempted')).toMatchObject({
        clusterId: 'low',
        forClusterId: 'high',
        group: 'live',
        priority: 1_000_000,
      });
      expect(told.find(({ kind }) => kind === 'unbound')).toMatchObject({
        clusterId: 'low',
        group: 'batch',
        forClusterId: 'high',
      });
      expect(told.at(-1)).toMatchObject({ kind: 'bound', clusterId: 'high', group: 'live' });
      const flips = fixture.noted.filter(({ kind }) => kind === 'need_unmet' || kind === 'need_met');
      expect(flips.map(({ kind, clusterId, group }) => [kind, clusterId, group])).toEqual(
        expect.arrayContaining([
          ['need_unmet', 'high', 'live'],
          ['need_met', 'high', 'live'],
          ['need_unmet', 'low', 'batch'],
        ]),
      );
    });

    it('Y1: tells that a cluster lost a machine without a decision of the shard', async () => {
      const fixture = new Fixture({
        machines: machines(1, 'm', { state: S.Idle, capacityType: CapacityType.Spot }),
        demand: { c1: [need(1)] },
        provider,
      });
      await fixture.run(30);
      fixture.world.provider.world.reset('m-0000');
      await fixture.run(60);
      const loss = fixture.noted.find(({ kind }) => kind === 'interrupted');
      expect(loss).toMatchObject({ machineId: 'm-0000', clusterId: 'c1', offering: 'a/z1/spot' });
      expect(loss?.detail).not.toBe('');
    });
  });
}

it('Y1: tells nothing of the machines that the first listing shows', async () => {
  const fixture = new Fixture({
    machines: machines(5, 'm', { state: S.Configured, cluster: 'c1' }),
    demand: { c1: [need(5)] },
  });
  await fixture.run(30);
  expect(fixture.noted.filter(({ machineId }) => machineId !== undefined)).toEqual([]);
});

it('Y1: tells why a bootstrap failed, once', async () => {
  const fixture = new Fixture({ machines: machines(1, 'm', { state: S.Idle }), demand: { c1: [need(1)] } });
  fixture.cluster().faults = { delayMsMean: 5, blobError: 1, blobSilence: 0 };
  await fixture.run(15);
  const failed = fixture.noted.filter(({ kind }) => kind === 'bind_failed');
  expect(failed).toEqual([
    expect.objectContaining({ machineId: 'm-0000', clusterId: 'c1', detail: expect.stringMatching(/./) }),
  ]);
});
