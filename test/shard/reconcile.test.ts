/** S1–S7: how listings and reads change the inventory, and how they must not. */
import { describe, expect, it } from 'vitest';
import { everyOperation } from '../../src/simulation/provider/settings.ts';
import { encode } from '../../src/wire/codec.ts';
import { Fixture, machine, machines, need, PROVIDERS, S } from './fixture.ts';

const INCREMENTAL = { isIncremental: true, fullListEveryCycles: 0 } as const;

describe('S1: listing', () => {
  for (const [mode, settings] of [
    ['full', {}],
    ['incremental', INCREMENTAL],
  ] as const) {
    it(`S1: ${mode}: finds new, changed and removed machines within a cycle`, async () => {
      const fixture = new Fixture({ machines: machines(20, 'm'), settings });
      await fixture.run(5);
      const { world } = fixture.world.provider;
      fixture.world.provider.add(machine('new', { state: S.Idle }));
      world.reprice('m-0001', 42);
      world.remove('m-0002');
      world.finish('m-0003');
      await fixture.run(10);
      expect(fixture.known('new')).toBe('Idle');
      expect(fixture.known('m-0002')).toBe('unknown');
      const { inventory } = fixture.shard;
      expect(inventory.get(inventory.find('m-0001')).pricePerHourUsd).toBe(42);
      expect(inventory.count).toBe(20);
    });
  }

  it('S1: passes its cursor when incremental, and lists in full after an empty revision', async () => {
    const withCursors = new Fixture({ machines: machines(5, 'm'), settings: INCREMENTAL });
    const without = new Fixture({
      machines: machines(5, 'm'),
      settings: INCREMENTAL,
      provider: { cursors: false },
    });
    await withCursors.run(25);
    await without.run(25);
    without.world.provider.world.remove('m-0000');
    withCursors.world.provider.world.remove('m-0000');
    await withCursors.run(10);
    await without.run(10);
    // Without cursors every listing is full and absence counts; with cursors a tombstone does.
    expect(without.known('m-0000')).toBe('unknown');
    expect(withCursors.known('m-0000')).toBe('unknown');
  });

  it('S5: finds a removal without a tombstone in the periodic full listing', async () => {
    const fixture = new Fixture({
      machines: machines(5, 'm'),
      settings: { isIncremental: true, fullListEveryCycles: 10 },
      provider: { deletedIds: false },
    });
    await fixture.run(15);
    fixture.world.provider.world.remove('m-0000');
    await fixture.run(50);
    expect(fixture.known('m-0000')).toBe('Speculative');
    await fixture.run(60);
    expect(fixture.known('m-0000')).toBe('unknown');
  });

  it('S1: lists everything in a new process, because the cursor is not persisted', async () => {
    const fixture = new Fixture({ machines: machines(5, 'm'), settings: INCREMENTAL });
    await fixture.run(25);
    fixture.world.killShard();
    fixture.world.startShard();
    await fixture.run(5);
    expect(fixture.shard.inventory.count).toBe(5);
  });
});

describe('S2: observations', () => {
  it('S2: update the facts when the state is the same', async () => {
    const fixture = new Fixture({ machines: [machine('m', { state: S.Idle })] });
    await fixture.run(5);
    fixture.world.provider.world.reprice('m', 3, 0.25);
    await fixture.run(10);
    const { inventory } = fixture.shard;
    expect(inventory.get(inventory.find('m'))).toMatchObject({
      pricePerHourUsd: 3,
      interruptionProbability: 0.25,
      state: S.Idle,
    });
  });

  it('S2: that show an impossible move are read again, and applied when the read confirms them', async () => {
    const fixture = new Fixture({ machines: [machine('m', { state: S.Idle })], demand: { c1: [need(1)] } });
    await fixture.run(15);
    expect(fixture.known('m')).toBe('Configured');
    fixture.world.provider.world.reset('m'); // a spot machine vanished: Configured → Speculative
    await fixture.run(10);
    expect(fixture.events).toContainEqual(
      expect.objectContaining({
        kind: 'observation_confirmed',
        machineId: 'm',
        from: S.Configured,
        to: S.Speculative,
      }),
    );
    expect(fixture.shard.counters.observationsConfirmed).toBe(1);
    await fixture.run(15);
    expect(fixture.truth()).toEqual({ Configured: 1 }); // bound again, because the demand is still there
  });

  it('S2: of a single wrong row are discarded, logged and counted', async () => {
    const fixture = new Fixture({ machines: [machine('m', { state: S.Idle })], demand: { c1: [need(1)] } });
    await fixture.run(15);
    const read = fixture.world.provider.get({ id: 'm' });
    if (read.kind !== 'ok') throw new Error('the machine is there');
    const lie = { ...read.value, state: S.Speculative, host: null, cluster: '', shardMetadata: {} };
    let lies = 1;
    fixture.world.link.bendListing = (bytes) =>
      lies-- > 0 ? encode('MachineList', { machines: [lie] }) : bytes;
    await fixture.run(10);
    expect(fixture.known('m')).toBe('Configured');
    expect(fixture.shard.counters).toMatchObject({ observationsConfirmed: 0, observationsDiscarded: 1 });
    expect(fixture.asked('configure')).toHaveLength(1);
  });

  it('S2, M2: do not make a Configuring machine Idle at once, because its call may be delayed', async () => {
    const fixture = new Fixture({
      machines: machines(3, 'm', { state: S.Idle }),
      demand: { c1: [need(2)] },
      provider: { operations: everyOperation({ latency: { meanMs: 15_000, p99Ms: 16_000 } }) },
    });
    await fixture.run(2);
    expect(fixture.known('m-0000')).toBe('Configuring');
    let left = 1;
    fixture.world.link.bend = (listing) =>
      left-- > 0
        ? { ...listing, machines: listing.machines.map((one) => ({ ...one, state: S.Idle, cluster: '' })) }
        : listing;
    await fixture.run(10);
    expect(fixture.known('m-0000')).toBe('Configuring');
    expect(fixture.shard.counters.observationsDiscarded).toBe(2);
    await fixture.run(30);
    expect(fixture.known('m-0000')).toBe('Configured');
    expect(fixture.world.provider.ledger.count('configure')).toBe(2);
  });

  it('S2: beyond 256 are confirmed by the next listing, which is full, and not one by one', async () => {
    const fixture = new Fixture({
      machines: machines(300, 'm', { state: S.Idle }),
      demand: { c1: [need(300)] },
      settings: { ...INCREMENTAL, isPaused: false },
    });
    await fixture.run(25);
    expect(fixture.truth()).toEqual({ Configured: 300 });
    fixture.shard.setRails({ ...fixture.shard.rails, isPaused: true });
    const reads = fixture.asked('get').length;
    for (let index = 0; index < 300; index++) {
      fixture.world.provider.world.reset(`m-${String(index).padStart(4, '0')}`);
    }
    await fixture.run(25);
    expect(fixture.asked('get').length).toBe(reads);
    expect(fixture.shard.counters.observationsConfirmed).toBe(300);
    expect(fixture.known('m-0000')).toBe('Speculative');
  });

  it('S2: bring a Failed machine back when the provider repairs it', async () => {
    const fixture = new Fixture({ machines: [machine('m', { state: S.Failed, lastError: 'fan' })] });
    await fixture.run(5);
    expect(fixture.known('m')).toBe('Failed');
    fixture.world.provider.world.reset('m', 'repaired');
    await fixture.run(15);
    expect(fixture.known('m')).toBe('Speculative');
  });
});

describe('S3: bindings', () => {
  it('S3, M5: of a Failed machine are kept for routing, satisfy no need, and end with the next observation', async () => {
    const fixture = new Fixture({ machines: machines(2, 'm', { state: S.Idle }), demand: { c1: [need(1)] } });
    await fixture.run(15);
    fixture.world.provider.world.fail('m-0000', 'power');
    await fixture.run(22);
    const { inventory } = fixture.shard;
    const slot = inventory.find('m-0000');
    expect(inventory.get(slot)).toMatchObject({ state: S.Failed, cluster: 'c1', lastError: 'power' });
    expect(fixture.cluster().nodes.get('m-0000')).toBe(S.Failed);
    expect(fixture.known('m-0001')).toBe('Configured');
    fixture.world.provider.world.reset('m-0000', 'repaired');
    await fixture.run(15);
    expect(inventory.get(slot)).toMatchObject({ state: S.Speculative, cluster: '', assignment: null });
    expect(fixture.cluster().nodes.has('m-0000')).toBe(false);
  });
});

describe('S4: deferred rows', () => {
  for (const [name, provider] of PROVIDERS) {
    it(`S4: with ${name}, are read again after the action that was under way`, async () => {
      const fixture = new Fixture({
        machines: machines(4, 'm'),
        demand: { c1: [need(2)] },
        provider,
        settings: INCREMENTAL,
      });
      // Slow answers: listings overlap with actions all the time.
      fixture.world.network.faults = { delayMsMean: 1_500, requestLoss: 0, answerLoss: 0, noticedShare: 0 };
      await fixture.run(8);
      for (let index = 0; index < 4; index++)
        fixture.world.provider.world.reprice(`m-000${index}`, 7 + index);
      await fixture.run(60);
      const { inventory } = fixture.shard;
      for (let index = 0; index < 4; index++) {
        expect(inventory.get(inventory.find(`m-000${index}`)).pricePerHourUsd).toBe(7 + index);
      }
      expect(fixture.shard.reads.deferredCount).toBe(0);
    });
  }

  it('S4, S5: NOT_FOUND twice in a row removes a machine and reports it to its cluster', async () => {
    const fixture = new Fixture({
      machines: machines(2, 'm', { state: S.Idle }),
      demand: { c1: [need(2)] },
      provider: { operations: everyOperation({ latency: { meanMs: 4_000, p99Ms: 4_400 } }) },
      settings: { cycleIntervalMs: 1_000_000 },
    });
    await fixture.run(2);
    expect(fixture.known('m-0000')).toBe('Configuring');
    fixture.world.provider.world.remove('m-0000');
    await fixture.run(20);
    expect(fixture.known('m-0000')).toBe('unknown');
    expect(fixture.cluster().nodes.has('m-0000')).toBe(false);
    expect(fixture.known('m-0001')).toBe('Configured');
  });
});

describe('V1: invalid records', () => {
  it('V1: are counted by reason, keep the last good record, and do not count as removed', async () => {
    const fixture = new Fixture({ machines: machines(3, 'm', { state: S.Idle }) });
    await fixture.run(5);
    const listed = fixture.world.provider.list();
    if (listed.kind !== 'ok') throw new Error('it lists');
    const [first, second, third] = listed.value.machines;
    fixture.world.link.bendListing = () =>
      encode('MachineList', {
        machines: [{ ...first!, pricePerHour: -1 }, { ...second!, host: null }, third!],
      });
    await fixture.run(10);
    expect(fixture.shard.inventory.count).toBe(3);
    expect(fixture.shard.counters.rejected).toEqual({ price: 1, structural: 1, interruption_probability: 0 });
    expect(fixture.events.some(({ kind }) => kind === 'record_rejected')).toBe(true);
  });

  it('S7: a malformed listing changes nothing', async () => {
    const fixture = new Fixture({ machines: machines(3, 'm') });
    await fixture.run(5);
    fixture.world.link.bendListing = () => new Uint8Array([0x0a, 0xff, 0xff, 0xff]);
    await fixture.run(25);
    expect(fixture.shard.inventory.count).toBe(3);
    expect(fixture.shard.counters.failedListings).toBeGreaterThan(0);
    expect(fixture.ordinaryCycles().length).toBeGreaterThanOrEqual(3);
  });
});

describe('N6, N7: protection of a cluster’s machines', () => {
  it('N6: reclaims nothing before the cluster’s first roll-up since the start', async () => {
    const fixture = new Fixture({
      machines: machines(5, 'm', { state: S.Idle }),
      demand: { c1: [need(5)] },
      settings: { reclaimCapFraction: 0 },
    });
    await fixture.run(15);
    fixture.world.killShard();
    fixture.cluster().rows = [];
    const reconnect = fixture.world.reconnect.bind(fixture.world);
    fixture.world.reconnect = () => {}; // the operator stays away
    fixture.world.startShard();
    await fixture.run(200);
    expect(fixture.asked('drain')).toHaveLength(0);
    reconnect(fixture.cluster());
    await fixture.run(30);
    expect(fixture.asked('drain')).toHaveLength(5);
  });

  it('N7: quarantines a roll-up that drops nine tenths until three in a row agree, and reports it', async () => {
    const groups = Array.from({ length: 20 }, (_, index) => need(1, { group: `g${index}` }));
    const fixture = new Fixture({
      machines: machines(20, 'm', { state: S.Idle }),
      demand: { c1: groups },
      settings: { reclaimCapFraction: 0 },
    });
    await fixture.run(15);
    fixture.world.setDemand(fixture.cluster(), groups.slice(0, 1));
    const cluster = fixture.shard.inventory.tables.clusters.find('c1');
    expect(fixture.shard.needs.quarantinedRollups(cluster)).toBe(1);
    expect(fixture.events.at(-1)).toMatchObject({ kind: 'rollup_quarantined', clusterId: 'c1' });
    await fixture.run(8);
    expect(fixture.asked('drain')).toHaveLength(0);
    await fixture.run(40);
    expect(fixture.asked('drain')).toHaveLength(19);
  });

  it('N7: applies the next roll-up once the guard is turned off', async () => {
    const groups = Array.from({ length: 20 }, (_, index) => need(1, { group: `g${index}` }));
    const fixture = new Fixture({
      machines: machines(20, 'm', { state: S.Idle }),
      demand: { c1: groups },
      settings: { reclaimCapFraction: 0 },
    });
    await fixture.run(15);
    fixture.world.setDemand(fixture.cluster(), groups.slice(0, 1));
    const cluster = fixture.shard.inventory.tables.clusters.find('c1');
    expect(fixture.shard.needs.sliceCount(cluster)).toBe(20);
    fixture.shard.setRails({ ...fixture.shard.rails, hasRollupGuard: false });
    fixture.world.setDemand(fixture.cluster(), groups.slice(0, 1));
    expect(fixture.shard.needs.sliceCount(cluster)).toBe(1);
    expect(fixture.shard.needs.quarantinedRollups(cluster)).toBe(0);
  });
});
