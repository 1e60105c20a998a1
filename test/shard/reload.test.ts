/** H11: settings that a reload changes, where the shard reads them. */
import { describe, expect, it } from 'vitest';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import type { Rails } from '../../src/shard/settings.ts';
import { Fixture, machines, need, S, SLOW } from './fixture.ts';

const MINUTE_MS = 60_000;

function reload(fixture: Fixture, change: Partial<Rails>): void {
  fixture.shard.setRails({ ...fixture.shard.rails, ...change });
}

describe('a reload', () => {
  for (const [name, change, isReleased] of [
    ['idle-hold-on-demand', { idleHoldOnDemandMs: MINUTE_MS }, true],
    ['idle-hold-spot', { idleHoldSpotMs: MINUTE_MS }, false],
  ] as const) {
    it(`H11: of ${name} ${isReleased ? 'releases' : 'does not release'} an on-demand machine that is Idle already`, async () => {
      const fixture = new Fixture({
        machines: machines(2, 'm', { state: S.Idle, capacityType: CapacityType.OnDemand }),
        settings: { idleHoldOnDemandMs: 60 * MINUTE_MS, idleHoldSpotMs: 60 * MINUTE_MS, checkEveryCycles: 1 },
      });
      await fixture.run(120);
      expect(fixture.truth()).toEqual({ Idle: 2 });
      reload(fixture, change);
      await fixture.run(30);
      expect(fixture.truth()).toEqual(isReleased ? { Speculative: 2 } : { Idle: 2 });
      expect(fixture.shard.counters.checksRun).toBeGreaterThan(5);
      expect(fixture.shard.counters.checkDifferences).toBe(0);
    });
  }

  it('H11: of a longer idle-hold keeps a machine whose hold was almost over', async () => {
    const fixture = new Fixture({
      machines: machines(1, 'm', { state: S.Idle, capacityType: CapacityType.OnDemand }),
      settings: { idleHoldOnDemandMs: 2 * MINUTE_MS },
    });
    await fixture.run(100);
    reload(fixture, { idleHoldOnDemandMs: 10 * MINUTE_MS });
    await fixture.run(120);
    expect(fixture.truth()).toEqual({ Idle: 1 });
    await fixture.run(420);
    expect(fixture.truth()).toEqual({ Speculative: 1 });
  });

  it('H11: of vanishing-hold counts for a listing that is held already', async () => {
    const fixture = new Fixture({ machines: machines(4, 'm', { state: S.Idle }) });
    await fixture.run(25);
    for (const { id } of machines(4, 'm')) fixture.world.provider.world.remove(id);
    await fixture.run(120);
    expect(fixture.shard.gauges().heldListings).toMatchObject([{ missingCount: 4 }]);
    reload(fixture, { vanishingHoldMs: MINUTE_MS });
    await fixture.run(20);
    expect(fixture.shard.gauges().heldListings).toEqual([]);
    expect(fixture.shard.inventory.count).toBe(0);
  });

  it('H11: of stuck-after finds machines that are stuck by now', async () => {
    const fixture = new Fixture({
      machines: machines(1, 'm'),
      demand: { c1: [need(1)] },
      provider: SLOW,
    });
    await fixture.run(120);
    expect(fixture.shard.gauges().stuckMachines).toBe(0);
    reload(fixture, { stuckAfterMs: MINUTE_MS });
    await fixture.run(15);
    expect(fixture.shard.gauges().stuckMachines).toBe(1);
  });
});
