/** A machine's whole lifecycle, with synchronous and asynchronous providers, asserted on the provider's own record. */
import { describe, expect, it } from 'vitest';
import { ASSIGNMENT_KEYS } from '../../src/machine/assignment-keys.ts';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { Fixture, machine, machines, need, PROVIDERS, S } from './fixture.ts';

for (const [name, provider] of PROVIDERS) {
  describe(`with ${name}`, () => {
    it('X4, X5: creates and binds offers for new demand, and reports them to the cluster', async () => {
      const fixture = new Fixture({ machines: machines(5, 'm'), demand: { c1: [need(3)] }, provider });
      await fixture.run(60);
      expect(fixture.truth()).toEqual({ Configured: 3, Speculative: 2 });
      expect(fixture.started('create')).toHaveLength(3);
      expect(fixture.started('configure').map(({ cluster }) => cluster)).toEqual(['c1', 'c1', 'c1']);
      expect([...fixture.cluster().nodes.values()]).toEqual([S.Configured, S.Configured, S.Configured]);
      // One latency per machine, over both steps.
      expect(fixture.latenciesMs).toHaveLength(3);
      const isAsynchronous = provider.operations !== undefined;
      for (const latencyMs of fixture.latenciesMs) expect(latencyMs > 1_500).toBe(isAsynchronous);
    });

    it('X6, X7: drains machines when demand shrinks, and releases them after their hold', async () => {
      const fixture = new Fixture({
        machines: machines(4, 'm', { capacityType: CapacityType.OnDemand }),
        demand: { c1: [need(4)] },
        provider,
        settings: { reclaimCapFraction: 0, idleHoldOnDemandMs: 60_000 },
      });
      await fixture.run(60);
      fixture.world.setDemand(fixture.cluster(), [need(1)]);
      await fixture.run(30);
      expect(fixture.truth()).toEqual({ Configured: 1, Idle: 3 });
      expect(fixture.cluster().nodes.size).toBe(1);
      await fixture.run(90);
      expect(fixture.truth()).toEqual({ Configured: 1, Speculative: 3 });
      expect(fixture.outcomes('Delete')).toHaveLength(3);
    });

    it('P1, X6: preempts machines of a lower priority, and tells their operator', async () => {
      const fixture = new Fixture({
        machines: machines(3, 'm', { state: S.Idle }),
        demand: { low: [need(3, { priority: 100 })], high: [] },
        settings: { preemptionCapFraction: 0 },
        provider,
      });
      await fixture.run(30);
      fixture.world.setDemand(fixture.cluster('high'), [need(2, { priority: 1_000_000 })]);
      await fixture.run(60);
      expect(fixture.cluster('high').nodes.size).toBe(2);
      expect(fixture.cluster('low').nodes.size).toBe(1);
      expect(fixture.cluster('low').instructions).toBe(2);
      expect(fixture.started('drain')).toHaveLength(2);
    });

    it('X12: replaces a machine whose create fails', async () => {
      const fixture = new Fixture({ machines: machines(2, 'm'), provider, isStopped: true });
      fixture.cluster().rows = [need(1)];
      const first = 'm-0000';
      fixture.world.startShard();
      const { provider: simulated } = fixture.world;
      if (provider.operations === undefined) {
        // A synchronous provider refuses, because the offer is gone.
        await fixture.run(1);
        simulated.world.fail(first, 'no capacity');
      } else {
        await fixture.run(0.6);
        simulated.world.finish(first, 'no capacity');
      }
      await fixture.run(60);
      expect(fixture.truth().Configured).toBe(1);
      expect(fixture.cluster().nodes.get('m-0001')).toBe(S.Configured);
    });

    it('X10, I2: reclaims, binds and creates nothing because of a restart', async () => {
      const fixture = new Fixture({
        machines: [...machines(3, 'idle', { state: S.Idle }), ...machines(3, 'offer')],
        demand: { c1: [need(2, { group: 'g' }), need(2, { priority: 5 })], c2: [need(1)] },
        provider,
      });
      await fixture.run(60);
      const before = fixture.asked('configure').length + fixture.asked('create').length;
      expect(before).toBeGreaterThan(0);
      fixture.world.killShard();
      await fixture.run(5);
      fixture.world.startShard();
      await fixture.run(120);
      expect(fixture.asked('configure').length + fixture.asked('create').length).toBe(before);
      expect(fixture.asked('drain')).toHaveLength(0);
      expect(fixture.truth()).toEqual({ Configured: 5, Speculative: 1 });
      const { inventory, engine } = fixture.shard;
      for (const id of fixture.cluster().nodes.keys())
        expect(engine.claimOf(inventory.find(id))).not.toBeNull();
    });

    it('I2: binds nothing twice after it was killed in the middle of its work', async () => {
      const fixture = new Fixture({
        machines: machines(12, 'm'),
        demand: { c1: [need(6)], c2: [need(4, { priority: 7 })] },
        provider,
      });
      for (const afterMs of [300, 700, 1_100, 2_500]) {
        await fixture.run(afterMs / 1000);
        fixture.world.killShard();
        fixture.world.startShard();
      }
      await fixture.run(120);
      expect(fixture.truth()).toEqual({ Configured: 10, Speculative: 2 });
      expect(fixture.started('create')).toHaveLength(10);
      expect(fixture.started('configure')).toHaveLength(10);
    });
  });
}

describe('the metadata of a bound machine', () => {
  it('X10: has all five keys, with an empty group too', async () => {
    const fixture = new Fixture({ machines: [machine('m', { state: S.Idle })], demand: { c1: [need(1)] } });
    await fixture.run(15);
    const read = fixture.world.provider.get({ id: 'm' });
    expect(read.kind === 'ok' && read.value.shardMetadata).toEqual({
      [ASSIGNMENT_KEYS.priority]: '1000',
      [ASSIGNMENT_KEYS.interruptionPenalty]: '0',
      [ASSIGNMENT_KEYS.reclamationPenalty]: '0',
      [ASSIGNMENT_KEYS.fingerprint]: 'p=1000|ipb=1|rpb=1|reqs=node.kubernetes.io/instance-type:1:a;|spr=',
      [ASSIGNMENT_KEYS.group]: '',
    });
  });
});
