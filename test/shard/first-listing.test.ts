/** A first listing in parts: what the shard does between two parts, and when a later part fails. */
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { Flag } from '../../src/inventory/intent.ts';
import { STATE_NAMES } from '../../src/machine/state.ts';
import type { MachineInit } from '../../src/wire/protocol.generated.ts';
import { inState } from '../inventory/machines.ts';
import { onWire } from '../listing/compare/listing-fixture.ts';
import { S } from './fixture.ts';
import { Parts } from './listing-world.ts';

const IDS = Array.from({ length: 40 }, (_, index) => `m-${String(index).padStart(2, '0')}`);
const FLEET = IDS.map((id) => onWire(inState(S.Idle, { id, instanceType: 'a' })));

describe('a first listing in parts', () => {
  it('S1: adds and counts every machine once, and keeps the cursor', async () => {
    const world = new Parts([FLEET], { isIncremental: true });
    world.shard.start();
    await world.run(5);
    expect(world.partCount).toBeGreaterThan(5);
    expect(world.released).toBe(world.partCount);
    expect(world.shard.inventory.count).toBe(40);
    expect(world.listings).toMatchObject([{ failure: '', isFull: true, listedCount: 40, newCount: 40 }]);
    expect(world.shard.counters).toMatchObject({ rowsNew: 40, rowsChanged: 0 });
    await world.run(10);
    expect(world.requests.map(({ sinceRevision }) => Buffer.from(sinceRevision).toString())).toEqual([
      '',
      'r-40',
    ]);
  });

  it('C2: allows no action before the last part is applied, however late it comes', async () => {
    const world = new Parts([FLEET]);
    let come: () => void = () => {};
    world.bend = (part) => {
      if (part.kind !== 'listed' || part.next !== undefined) return part;
      return new Promise((resolve) => {
        come = () => resolve(part);
      });
    };
    world.shard.start();
    world.demand(5);
    await world.run(35);
    const knownCount = world.shard.inventory.count;
    expect(knownCount).toBeGreaterThan(20);
    expect(knownCount).toBeLessThan(40);
    expect(world.cycles.length).toBeGreaterThan(1);
    expect(world.cycles.map(({ changedMachines }) => changedMachines)).toEqual(world.cycles.map(() => 0));
    expect(world.enqueued()).toBe(0);
    expect(world.shard.readiness.heldBack()).toContain('p0');
    expect(world.listings).toEqual([]);
    come();
    await world.run(20);
    expect(world.shard.readiness.heldBack()).toBe('');
    expect(world.enqueued()).toBeGreaterThan(0);
  });

  it('S7: fails as a whole when a later part is malformed; applied rows stay, and the next listing is ordinary', async () => {
    const world = new Parts([FLEET], { isIncremental: true });
    world.tail = new Uint8Array([0x0a, 0xff]);
    world.machines[0] = [...FLEET, { ...FLEET[0]!, id: 'odd', pricePerHour: -1 }];
    world.shard.start();
    world.demand(5);
    await world.run(5);
    const knownCount = world.shard.inventory.count;
    expect(knownCount).toBeGreaterThan(20);
    expect(world.listings).toMatchObject([
      { failure: expect.stringMatching(/^malformed: .*byte/), answerBytes: 0, listedCount: 0 },
    ]);
    expect(world.shard.counters).toMatchObject({ failedListings: 1, rejected: { price: 0 } });
    expect(world.shard.readiness.heldBack()).toContain('p0');
    expect(world.enqueued()).toBe(0);
    world.tail = new Uint8Array(0);
    const { partCount } = world;
    await world.run(10);
    expect(world.partCount).toBe(partCount + 1); // whole
    expect(world.requests[1]!.sinceRevision.length).toBe(0);
    expect(world.listings[1]).toMatchObject({ failure: '', isFull: true, listedCount: 40 });
    expect(world.listings[1]!.newCount).toBe(40 - knownCount);
    expect(world.shard.counters).toMatchObject({ rowsNew: 40, rejected: { price: 1 } });
    expect(world.enqueued()).toBeGreaterThan(0);
  });

  it('S7: fails when its thread dies between two parts', async () => {
    const world = new Parts([FLEET]);
    world.bend = (part, index) =>
      index === 2 ? { kind: 'worker_lost', detail: 'died', durationMs: 7 } : part;
    world.shard.start();
    await world.run(5);
    expect(world.listings).toMatchObject([{ failure: 'worker_lost: died', durationMs: 7 }]);
    expect(world.shard.counters.failedListings).toBe(1);
    expect(world.released).toBe(2);
    expect(world.shard.readiness.heldBack()).toContain('p0');
  });

  it('V1: counts rejected records once, by reason, and reports them once', async () => {
    const odd = [
      { ...FLEET[0]!, id: 'price-1', pricePerHour: -1 },
      { ...FLEET[0]!, id: 'price-2', pricePerHour: Number.NaN },
      { ...FLEET[0]!, id: 'chance', interruptionProbability: 2 },
      { ...FLEET[0]!, id: 'state', state: 99 },
    ];
    const at = (index: number) => FLEET.slice(10 * index, 10 * index + 10);
    const machines = odd.flatMap((record, index) => [record, ...at(index)]);
    const world = new Parts([machines]);
    world.shard.start();
    await world.run(5);
    const rejected = { price: 2, interruption_probability: 1, structural: 1 };
    expect(world.listings).toMatchObject([{ listedCount: 40, newCount: 40, rejected }]);
    expect(world.shard.counters.rejected).toEqual(rejected);
    expect(world.events.filter(({ kind }) => kind === 'record_rejected')).toHaveLength(1);
    expect(world.shard.inventory.find('state')).toBe(0);
  });

  it('S1: applies the last valid record of an id that is in two parts, without doubting it', async () => {
    const bound = (id: string, cluster: string) => onWire(inState(S.Configured, { id, cluster }));
    const draining = onWire(inState(S.Draining, { id: 'm-02', cluster: 'c9' }));
    const later: MachineInit[] = [
      { ...FLEET[0]!, pricePerHour: 7 }, // the same state
      bound('m-01', 'c7'), // states that cannot follow Idle
      draining,
      { ...FLEET[3]!, pricePerHour: -1 }, // rejected: the first one stays
      onWire(inState(S.Speculative, { id: 'm-04' })),
      { ...FLEET[0]!, pricePerHour: 8 }, // a third time
    ];
    const machines = [...FLEET.slice(0, 4), bound('m-04', 'c4'), ...FLEET.slice(5), ...later];
    const world = new Parts([machines]);
    world.shard.start();
    await world.run(1);
    expect(world.listings).toMatchObject([
      { listedCount: 40, newCount: 40, changedCount: 0, deferredCount: 0, doubtedCount: 0 },
    ]);
    expect(world.shard.counters).toMatchObject({ rowsNew: 40, rowsChanged: 0, observationsConfirmed: 0 });
    expect(world.reads).toEqual([]);
    expect(world.get('m-00').pricePerHourUsd).toBe(8);
    expect(world.get('m-01')).toMatchObject({ state: S.Configured, cluster: 'c7' });
    expect(world.get('m-02')).toMatchObject({ state: S.Draining, cluster: 'c9' });
    expect(world.get('m-03')).toMatchObject({ state: S.Idle, pricePerHourUsd: FLEET[3]!.pricePerHour });
    expect(world.get('m-04')).toMatchObject({ state: S.Speculative, cluster: '', assignment: null });
    // P6: the first listing found it Draining, whichever record showed that.
    const { inventory } = world.shard;
    expect(inventory.hasFlag(inventory.find('m-02'), Flag.FoundDraining)).toBe(true);
    expect(world.machines[0]).toHaveLength(46);
  });

  it('S1: treats repeated ids like a listing in one part', async () => {
    const random = new Random(3);
    const states = [S.Idle, S.Configured, S.Failed, S.Speculative, S.Draining] as const;
    const machines = Array.from({ length: 120 }, () => {
      const id = IDS[random.below(IDS.length)]!;
      return onWire(inState(states[random.below(states.length)]!, { id, pricePerHourUsd: random.below(9) }));
    });
    const known = async (isInParts: boolean) => {
      const world = new Parts([machines]);
      // With another provider's machine in the inventory, the listing comes in one part.
      if (!isInParts) world.shard.inventory.insert(inState(S.Speculative, { id: 'other' }), 9, 0);
      world.shard.start();
      await world.run(1);
      const { inventory } = world.shard;
      expect(world.partCount > 1).toBe(isInParts);
      const { listedCount, newCount, changedCount, doubtedCount } = world.listings[0]!;
      const rows = IDS.filter((id) => inventory.find(id) !== 0).map((id) => [
        inventory.get(inventory.find(id)),
        STATE_NAMES[inventory.stateOf(inventory.find(id))],
        inventory.hasFlag(inventory.find(id), Flag.FoundDraining),
      ]);
      return { rows, listedCount, newCount, changedCount, doubtedCount };
    };
    expect(await known(true)).toEqual(await known(false));
  });

  it('S1: gives an id that two providers list at the same time to the first, and counts the rejection once', async () => {
    // Both list every fourth machine, and one of those twice.
    const theirs = IDS.map((id, index) => ({ ...FLEET[index]!, id: index % 4 === 0 ? id : `w-${id}` }));
    const world = new Parts([theirs, [...FLEET, FLEET[20]!]]);
    // One provider's second part comes after the other's listing is complete.
    let come: () => void = () => {};
    world.bend = (part, index, provider) =>
      provider !== 1 || index !== 1
        ? part
        : new Promise((resolve) => {
            come = () => resolve(part);
          });
    world.shard.start();
    await world.run(5);
    const firstCount = world.shard.counters.rowsNew - 40;
    expect(firstCount).toBeGreaterThan(0);
    expect(firstCount).toBeLessThan(30);
    world.time.after(0, come);
    await world.run(1);
    const { inventory, counters } = world.shard;
    expect(inventory.count).toBe(70);
    expect(counters).toMatchObject({ rowsNew: 70, rejected: { structural: 10 } });
    expect(world.events.filter(({ kind }) => kind === 'inventory_full')).toEqual([]);
    expect(world.listings.map(({ provider, failure }) => [provider, failure])).toEqual([
      ['p0', ''],
      ['p1', ''],
    ]);
    expect([world.ownerOf('m-01'), world.ownerOf('w-m-01'), world.ownerOf('m-20')]).toEqual([1, 0, 0]);
    expect(world.shard.readiness.heldBack()).toBe('');
  });

  it('yields the thread between two parts, even when the next one is ready', async () => {
    const world = new Parts([FLEET]);
    let turns = 0;
    const counts: number[] = [];
    world.bend = (part) => {
      counts.push(turns);
      return part;
    };
    const yielding = world.time.yield.bind(world.time);
    world.time.yield = () => {
      turns++;
      return yielding();
    };
    world.shard.start();
    await world.run(5);
    // The next part is requested before this one is applied. From then on each part comes two turns later: one before the
    // rows of the part before it, and one before their ids are ranked.
    expect(counts.slice(2)).toEqual(counts.slice(2).map((_, index) => 2 + 2 * index));
    expect(counts.length).toBeGreaterThan(4);
  });

  it('is given up when the shard stops: no further part is requested or applied, and memory is released', async () => {
    const world = new Parts([FLEET]);
    let come: () => void = () => {};
    world.bend = (part, index) =>
      index !== 2
        ? part
        : new Promise((resolve) => {
            come = () => resolve(part);
          });
    world.shard.start();
    await world.run(1);
    const knownCount = world.shard.inventory.count;
    void world.shard.stop(0);
    world.time.after(0, come);
    await world.run(5);
    expect(world.partCount).toBe(3);
    expect(world.released).toBe(3);
    expect(world.shard.inventory.count).toBe(knownCount);
    expect(world.listings).toEqual([]);
  });
});
