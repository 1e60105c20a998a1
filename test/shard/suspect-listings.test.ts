/** S6: what the shard does when a listing lacks many machines, and what a person can do about it. */
import { describe, expect, it } from 'vitest';
import { RemovalHold } from '../../src/shard/reconcile/removal-hold.ts';
import { Fixture, type FixtureOptions, machines, need, S } from './fixture.ts';

const COMMANDER = { who: 'ann', why: 'rack is off', via: 'test' };
const CONFIRM = { provider: 'simulated', ...COMMANDER };
const INCREMENTAL = { isIncremental: true, fullListEveryCycles: 0 } as const;
const CYCLE_SECONDS = 10;

/** A provider whose listings leave out machines: those with an index from `from` to below `to`. */
class Hiding extends Fixture {
  readonly #count: number;

  constructor(count: number, options: FixtureOptions = {}) {
    super({ machines: machines(count, 'm', { state: S.Idle }), ...options });
    this.#count = count;
  }

  hide(from: number, to: number): void {
    const hidden = new Set(
      machines(this.#count, 'm')
        .map(({ id }) => id)
        .slice(from, to),
    );
    this.world.link.bend = (listing, isFull) =>
      isFull ? { ...listing, machines: listing.machines.filter(({ id }) => !hidden.has(id)) } : listing;
  }

  get count(): number {
    return this.shard.inventory.count;
  }

  held() {
    return this.shard.gauges().heldListings;
  }

  said(kind: string) {
    return this.events.filter((event) => event.kind === kind);
  }

  confirm(change: object = {}) {
    return this.shard.admin.confirmRemoval({ ...CONFIRM, ...change });
  }
}

/** The provider has hidden the first machines for one listing. */
async function hiding(known: number, missing: number, options: FixtureOptions = {}): Promise<Hiding> {
  const fixture = new Hiding(known, options);
  await fixture.run(5);
  expect(fixture.count).toBe(known);
  fixture.hide(0, missing);
  await fixture.run(CYCLE_SECONDS);
  return fixture;
}

describe('S6: a listing that lacks machines', () => {
  for (const [known, missing, heldSeconds, because] of [
    [20, 20, 600, 'it is empty'],
    [1, 1, 600, 'it is empty, however small the fleet'],
    [100, 51, 600, 'more than half'],
    [3, 2, 600, 'more than half, however small the fleet'],
    [99, 50, 600, 'more than half of an odd number'],
    [100, 50, 60, 'half is not more than half'],
    [100, 11, 60, 'more than a tenth'],
    [40, 10, 60, 'more than a tenth of a small fleet, and ten machines'],
    [100, 10, 0, 'a tenth is not more than a tenth'],
    [40, 9, 0, 'fewer than ten machines'],
    [2, 1, 0, 'fewer than ten machines, and half'],
  ] as const) {
    const what = heldSeconds === 0 ? 'removes them at once' : `removes none for ${heldSeconds} s`;
    it(`S6: ${missing} of ${known}: ${what}: ${because}`, async () => {
      const fixture = await hiding(known, missing);
      const { counters } = fixture.shard;
      if (heldSeconds === 0) {
        expect([fixture.count, counters.suspectListings, fixture.held()]).toEqual([known - missing, 0, []]);
        return;
      }
      expect(fixture.held()).toMatchObject([
        { provider: 'simulated', knownCount: known, missingCount: missing },
      ]);
      expect(fixture.said('listing_suspect')).toHaveLength(1);
      await fixture.run(heldSeconds - CYCLE_SECONDS);
      expect([fixture.count, fixture.held()[0]!.leftMs <= 10_000]).toEqual([known, true]);
      await fixture.run(2 * CYCLE_SECONDS);
      expect([fixture.count, fixture.held()]).toEqual([known - missing, []]);
      expect(counters.suspectListings).toBeGreaterThanOrEqual(heldSeconds / CYCLE_SECONDS);
      expect(fixture.said('removal_believed')).toMatchObject([
        { because: 'agreed', missingCount: missing, who: '' },
      ]);
      // The log repeats a hold once a minute, not with every listing.
      expect(fixture.said('listing_suspect').length).toBeLessThanOrEqual(1 + heldSeconds / 60);
    });
  }

  it('S6: keeps bindings while it is held: no cluster is told, and no need gets another machine', async () => {
    const fixture = new Hiding(8, {
      machines: machines(8, 'm', { state: S.Idle }),
      demand: { c1: [need(4)] },
    });
    await fixture.run(25);
    const bound = fixture.started('configure').length;
    expect(bound).toBe(4);
    fixture.hide(0, 8);
    await fixture.run(300);
    expect(fixture.truth()).toEqual({ Configured: 4, Idle: 4 });
    expect([fixture.count, fixture.started('configure').length]).toEqual([8, bound]);
  });

  it('S6: with cursors too, every listing is full while one is held', async () => {
    const fixture = new Hiding(20, { settings: { isIncremental: true, fullListEveryCycles: 4 } });
    await fixture.run(5);
    const kinds: boolean[] = [];
    fixture.world.link.bend = (listing, isFull) => {
      kinds.push(isFull);
      return isFull ? { ...listing, machines: [] } : listing;
    };
    await fixture.run(100);
    expect(kinds.slice(0, kinds.indexOf(true)).length).toBeGreaterThan(1);
    expect(new Set(kinds.slice(kinds.indexOf(true)))).toEqual(new Set([true]));
    expect([fixture.count, fixture.held().length]).toEqual([20, 1]);
  });

  it('S6: three listings must agree, however short the hold', async () => {
    const fixture = await hiding(20, 20, { settings: { vanishingHoldMs: 0 } });
    await fixture.run(CYCLE_SECONDS);
    expect(fixture.count).toBe(20);
    await fixture.run(CYCLE_SECONDS);
    expect(fixture.count).toBe(0);
  });

  it('S6: a provider that lists its machines again ends the hold, and the next one begins anew', async () => {
    const fixture = await hiding(20, 20);
    await fixture.run(570);
    fixture.hide(0, 0);
    await fixture.run(CYCLE_SECONDS);
    expect([fixture.count, fixture.held()]).toEqual([20, []]);
    expect(fixture.said('listing_suspect_ended')).toHaveLength(1);
    fixture.hide(0, 20);
    await fixture.run(590);
    expect(fixture.count).toBe(20);
    await fixture.run(30);
    expect(fixture.count).toBe(0);
  });

  it('S6: one that lacks further machines begins the hold anew: 12 of 20 for long, then all', async () => {
    const fixture = await hiding(20, 12);
    await fixture.run(580);
    fixture.hide(0, 20);
    await fixture.run(580);
    expect(fixture.count).toBe(20);
    await fixture.run(40);
    expect(fixture.count).toBe(0);
  });

  it('S6: listings that lack other machines each time never agree', async () => {
    const fixture = await hiding(20, 12);
    for (let at = 0; at < 80; at++) {
      fixture.hide(at % 2 === 0 ? 8 : 0, at % 2 === 0 ? 20 : 12);
      await fixture.run(CYCLE_SECONDS);
    }
    expect(fixture.count).toBe(20);
  });

  it('S6: another fleet in place of the known one, however large, does not shorten the hold', async () => {
    const fixture = new Hiding(20);
    await fixture.run(5);
    for (const other of machines(300, 'other')) fixture.world.provider.add(other);
    fixture.hide(0, 20);
    await fixture.run(590);
    expect(fixture.count).toBe(320);
    expect(fixture.held()).toMatchObject([{ knownCount: 20, missingCount: 20 }]);
    await fixture.run(40);
    expect([fixture.count, fixture.held()]).toEqual([300, []]);
  });

  it('S6: a failed listing neither ends the hold nor counts', async () => {
    const fixture = await hiding(20, 20, { settings: { vanishingHoldMs: 0 } });
    fixture.world.link.bendListing = () => new Uint8Array([0x0a, 0xff, 0xff, 0xff]);
    await fixture.run(50);
    expect([fixture.count, fixture.held().length]).toEqual([20, 1]);
  });

  it('S6: a restart forgets the hold and the machines that the provider does not list', async () => {
    const fixture = await hiding(20, 15);
    fixture.world.killShard();
    fixture.world.startShard();
    await fixture.run(5);
    expect([fixture.count, fixture.held()]).toEqual([5, []]);
  });

  it('S6: an empty first listing is followed by a full one, with cursors too', async () => {
    const fixture = new Fixture({ machines: machines(5, 'm'), settings: INCREMENTAL, isStopped: true });
    let left = 1;
    fixture.world.link.bend = (listing) => (left-- > 0 ? { ...listing, machines: [] } : listing);
    fixture.world.startShard();
    await fixture.run(5);
    expect(fixture.shard.inventory.count).toBe(0);
    await fixture.run(10);
    expect(fixture.shard.inventory.count).toBe(5);
  });
});

describe('S6: a confirmation', () => {
  it('S6: removes the machines with the next listing, which comes at once', async () => {
    const fixture = await hiding(20, 15);
    expect(await fixture.confirm()).toEqual({ provider: 'simulated', knownCount: 20, missingCount: 15 });
    expect(fixture.held()).toMatchObject([{ confirmedBy: 'ann' }]);
    await expect(fixture.confirm({ who: 'bob' })).rejects.toThrow('confirmed already, by ann (rack is off)');
    await fixture.run(2);
    expect([fixture.count, fixture.held()]).toEqual([5, []]);
    const { who, why } = COMMANDER;
    expect(fixture.said('removal_believed')).toMatchObject([{ because: 'confirmed', who, why }]);
    expect(fixture.said('control')).toMatchObject([
      { command: 'confirm-removal', outcome: 'done', detail: '15 of 20 machines' },
      { command: 'confirm-removal', outcome: 'refused' },
    ]);
    await expect(fixture.confirm()).rejects.toThrow('because ann confirmed it');
  });

  for (const [what, from, to] of [
    ['more machines', 0, 20],
    ['as many other machines', 8, 20],
  ] as const)
    it(`S6: covers only the listing that was held: the next one lacks ${what}, and is held`, async () => {
      const fixture = await hiding(20, 12);
      fixture.hide(from, to);
      await fixture.confirm();
      await fixture.run(60);
      expect(fixture.count).toBe(20);
      expect(fixture.held()).toMatchObject([{ missingCount: to - from, confirmedBy: '' }]);
      await fixture.confirm();
      await fixture.run(2);
      expect(fixture.count).toBe(20 - (to - from));
    });

  it('S6: covers no later hold', async () => {
    const fixture = await hiding(20, 12);
    await fixture.confirm();
    await fixture.run(2);
    fixture.hide(0, 20);
    await fixture.run(60);
    expect([fixture.count, fixture.held()[0]!.confirmedBy]).toEqual([8, '']);
  });

  it('S6: is void if the provider lists the machines again', async () => {
    const fixture = await hiding(20, 20);
    fixture.hide(0, 0);
    await fixture.confirm();
    await fixture.run(2);
    fixture.hide(0, 20);
    await fixture.run(60);
    expect([fixture.count, fixture.held()[0]!.confirmedBy]).toEqual([20, '']);
  });

  for (const [what, change, said] of [
    [
      'for an unknown provider',
      { provider: 'x' },
      'The shard has no provider "x". Nothing was changed. Its providers are simulated.',
    ],
    ['when nothing is held', {}, 'No listing of provider simulated is held. Nothing was changed.'],
    ['without a reason', { why: ' ' }, '--why is missing'],
    ['without a name', { who: '' }, '--who is missing'],
  ] as const)
    it(`S6: ${what} is refused, and recorded`, async () => {
      const fixture = new Hiding(20);
      await fixture.run(5);
      await expect(fixture.confirm(change)).rejects.toThrow(said);
      expect(fixture.said('control')).toMatchObject([{ command: 'confirm-removal', outcome: 'refused' }]);
    });
});

it('S6: half a million missing slots are compared in one pass', () => {
  const hold = new RemovalHold({ removalHoldMs: 60_000, vanishingHoldMs: 600_000 });
  const knownCount = 500_000;
  const missing = Uint32Array.from({ length: knownCount }, (_, index) => 2 * index + 1);
  const facts = { listedCount: 0, knownCount, missing, unnamedCount: 0 };
  expect([0, 1, 300_000, 600_000].map((nowMs) => hold.judge(facts, nowMs))).toEqual([
    'held',
    'held',
    'held',
    'agreed',
  ]);
});
