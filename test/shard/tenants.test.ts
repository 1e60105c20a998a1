import { describe, expect, it } from 'vitest';
import { matchesPattern } from '../../src/base/pattern.ts';
import { StringTable } from '../../src/base/string-table.ts';
import { UnmetReason } from '../../src/decision/verdicts/verdicts.ts';
import { type TenantLimits, Tenants } from '../../src/shard/tenants.ts';
import { Fixture, machines, need, S } from './fixture.ts';

const none = Number.POSITIVE_INFINITY;
const entry = (cluster: string, maxMachines: number): TenantLimits => ({
  cluster,
  maxMachines,
  maxPriority: none,
  maxResources: {},
  maxDollarsPerHour: none,
  maxOfferingShare: none,
  minNonSpotShare: 0,
});

describe('the limits of a cluster', () => {
  for (const [pattern, id, isMatch] of [
    ['team-a', 'team-a', true],
    ['team-a', 'team-a2', false],
    ['team-*', 'team-', true],
    ['team-*', 'steam-a', false],
    ['*', 'anything', true],
    ['*-prod', 'east-prod', true],
    ['*-prod', 'east-prod-2', false],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'acb', false],
    ['a*a', 'a', false],
    ['a*b*b', 'ab', false],
    ['a**z', 'a-z', true],
    ['a.c', 'abc', false],
  ] as const) {
    it(`T8: the pattern ${pattern} ${isMatch ? 'names' : 'does not name'} ${id}`, () => {
      expect(matchesPattern(id, pattern)).toBe(isMatch);
    });
  }

  it('T8: a pattern of many stars takes no longer than the id is', () => {
    expect(matchesPattern('a'.repeat(253), `${'*a'.repeat(120)}*b`)).toBe(false);
  });

  it('T8: the first entry that matches counts', () => {
    const clusters = StringTable.create({ name: 'clusters', entriesMax: 8, bytesMax: 1_024 });
    const tenants = new Tenants(clusters, [entry('team-a', 1), entry('team-*', 2)]);
    expect(tenants.of(clusters.intern('team-a'))?.maxMachines).toBe(1);
    expect(tenants.of(clusters.intern('team-b'))?.maxMachines).toBe(2);
    expect(tenants.of(clusters.intern('other'))).toBe(null);
    const { version } = tenants;
    tenants.set([]);
    expect(tenants.version).not.toBe(version);
    expect(tenants.of(clusters.intern('team-a'))).toBe(null);
  });
});

describe('a shard with limits', () => {
  const limitedBy = (fixture: Fixture, clusterId: string) => {
    const cluster = fixture.shard.inventory.tables.clusters.find(clusterId);
    return fixture.shard.engine.verdict(cluster, 0);
  };

  it('T8: keeps a cluster within its limits, and a reload raises them without a restart', async () => {
    const fixture = new Fixture({
      machines: machines(8, 'm', { state: S.Idle }),
      demand: { c1: [need(6)] },
      settings: { tenants: [entry('c*', 2)] },
    });
    await fixture.run(35);
    expect(fixture.truth()).toEqual({ Configured: 2, Idle: 6 });
    expect(limitedBy(fixture, 'c1')).toMatchObject({
      limitedBy: 'max-machines',
      reason: UnmetReason.PriorityStarved,
    });
    expect(fixture.shard.engine.shortfalls).toEqual([]);
    fixture.shard.setRails({ ...fixture.shard.rails, tenants: [entry('c1', 5)] });
    await fixture.run(5);
    expect(fixture.truth()).toEqual({ Configured: 5, Idle: 3 });
    fixture.shard.setRails({ ...fixture.shard.rails, tenants: [] });
    await fixture.run(5);
    expect(fixture.truth()).toEqual({ Configured: 6, Idle: 2 });
    expect(limitedBy(fixture, 'c1')).toMatchObject({ satisfied: true, limitedBy: '' });
  });

  it('T8: a lower limit takes no machine away', async () => {
    const fixture = new Fixture({
      machines: machines(4, 'm', { state: S.Idle }),
      demand: { c1: [need(4)] },
    });
    await fixture.run(15);
    fixture.shard.setRails({ ...fixture.shard.rails, tenants: [entry('*', 1)] });
    await fixture.run(65);
    expect(fixture.truth()).toEqual({ Configured: 4 });
  });

  it('E7: creates no machine beyond a ceiling, and a reload changes it and takes nothing away', async () => {
    const ceilings = (maxDollarsPerHour: number) => ({
      maxDollarsPerHour,
      maxByCapacityType: new Array<number>(5).fill(none),
    });
    const fixture = new Fixture({
      machines: machines(8, 'm', { state: S.Speculative, price: 1 }),
      demand: { c1: [need(6)] },
      settings: { ceilings: ceilings(2) },
    });
    await fixture.run(60);
    expect(fixture.truth()).toEqual({ Configured: 2, Speculative: 6 });
    expect(limitedBy(fixture, 'c1')).toMatchObject({
      limitedBy: 'ceilings.usd-per-hour',
      reason: UnmetReason.PriorityStarved,
    });
    expect(fixture.shard.engine.shortfalls).toEqual([]);
    expect(fixture.shard.ceilingUses()).toEqual([
      { capacityType: null, maxDollarsPerHour: 2, dollarsPerHour: 2 },
    ]);
    fixture.shard.setRails({ ...fixture.shard.rails, ceilings: ceilings(4) });
    await fixture.run(60);
    expect(fixture.truth()).toEqual({ Configured: 4, Speculative: 4 });
    fixture.shard.setRails({ ...fixture.shard.rails, ceilings: ceilings(1) });
    await fixture.run(60);
    expect(fixture.truth()).toEqual({ Configured: 4, Speculative: 4 });
    fixture.shard.setRails({ ...fixture.shard.rails, ceilings: null });
    await fixture.run(60);
    expect(fixture.truth()).toEqual({ Configured: 6, Speculative: 2 });
    expect(fixture.shard.ceilingUses()).toEqual([]);
  });

  it('T8: assigns machines at the maximum priority, which their provider keeps', async () => {
    const fixture = new Fixture({
      machines: machines(1, 'm', { state: S.Idle }),
      demand: { c1: [need(1, { priority: 1_000_000 })] },
      settings: { tenants: [{ ...entry('c1', none), maxPriority: 500 }] },
    });
    await fixture.run(15);
    const slot = fixture.shard.inventory.find('m-0000');
    expect(fixture.shard.inventory.columns.priority[slot]).toBe(500);
    const { fingerprints } = fixture.shard.inventory.tables;
    expect(fingerprints.get(fixture.shard.inventory.columns.need[slot]!)).toMatch(/^p=1000000\|/);
  });
});
