/** Whose machine it is, and what happens to a provider whose rows the shard refuses. */
import { describe, expect, it } from 'vitest';
import { Flag } from '../../src/inventory/intent.ts';
import type { ShardEvent } from '../../src/shard/ports/observer.ts';
import type { ListAnswer } from '../../src/shard/ports/providers.ts';
import type { MachineInit } from '../../src/wire/protocol.generated.ts';
import { inState } from '../inventory/machines.ts';
import { onWire } from '../listing/compare/listing-fixture.ts';
import { S } from './fixture.ts';
import { Parts } from './listing-world.ts';

/** As large as one machine of `need` in fixture.ts. */
const CAPACITY = { cpu: 4_000, memory: 16 * 1024 ** 2 };

function idle(id: string, capacity: Record<string, number> = CAPACITY): MachineInit {
  return onWire(inState(S.Idle, { id, instanceType: 'a', capacity }));
}

function bound(id: string, cluster = 'c1'): MachineInit {
  const assignment = null;
  return onWire(inState(S.Configured, { id, instanceType: 'a', capacity: CAPACITY, cluster, assignment }));
}

const ids = (count: number, prefix = 'm') =>
  Array.from({ length: count }, (_, index) => `${prefix}-${String(index).padStart(2, '0')}`);

/** Lets the listing of one provider arrive after that of the others. */
function late(world: Parts, provider: number, ms = 2_000): void {
  const isSeen = new Set<number>();
  world.bend = (part, _index, of) => {
    if (of !== provider || isSeen.has(of)) return part;
    isSeen.add(of);
    return new Promise<ListAnswer>((resolve) => world.time.after(ms, () => resolve(part)));
  };
}

function events<Kind extends ShardEvent['kind']>(world: Parts, kind: Kind) {
  return world.events.filter((event): event is Extract<ShardEvent, { kind: Kind }> => event.kind === kind);
}

describe('T10: an id that two providers list before either is known', () => {
  for (const [order, lateProvider] of [
    ['the owner first', 1],
    ['the other first', 0],
    ['both at once', -1],
  ] as const) {
    it(`T10: ${order}: is in dispute, and no call is made for it`, async () => {
      const fleet = ids(50);
      const world = new Parts([fleet.map((id) => idle(id)), fleet.map((id) => idle(id))]);
      late(world, lateProvider);
      world.demand(30);
      world.shard.start();
      await world.run(40);
      expect(world.shard.readiness.heldBack()).toBe('');
      expect(world.shard.gauges().disputedMachines).toBe(50);
      expect(world.calls).toEqual([]);
      expect(world.enqueued()).toBe(0);
      const [event] = events(world, 'machines_disputed');
      expect(event).toMatchObject({ level: 'error', count: 50, machineId: expect.stringMatching(/^m-/) });
      expect(event!.claimedBy.split(', ').sort()).toEqual(['p0', 'p1']);
      expect(events(world, 'machines_disputed')).toHaveLength(1);
    });

    it(`T10: ${order}: keeps the binding that one of them shows, and credits it`, async () => {
      const fleet = ids(8);
      const spare = ids(8, 'spare').map((id) => idle(id));
      const world = new Parts([fleet.map((id) => bound(id)), [...fleet.map((id) => idle(id)), ...spare]]);
      late(world, lateProvider);
      world.demand(8);
      world.shard.start();
      await world.run(40);
      expect(world.shard.gauges().disputedMachines).toBe(8);
      const { inventory, engine } = world.shard;
      for (const id of fleet) {
        const slot = inventory.find(id);
        expect(world.get(id)).toMatchObject({ state: S.Configured, cluster: 'c1' });
        expect(inventory.hasFlag(slot, Flag.Disputed)).toBe(true);
        expect(engine.claimOf(slot)).not.toBeNull();
      }
      expect(world.calls).toEqual([]); // credited: no spare machine is needed
    });
  }

  it('T10: neither reclaims nor preempts a bound machine in dispute', async () => {
    const world = new Parts([[bound('m-00')], [bound('m-00')]]);
    world.demand(0);
    world.shard.start();
    await world.run(60);
    expect(world.get('m-00')).toMatchObject({ state: S.Configured, cluster: 'c1' });
    expect(world.calls).toEqual([]);
  });

  it('T10: reads no machine in dispute, and reads it when the dispute has ended', async () => {
    const world = new Parts([
      [idle('m-00'), idle('a')],
      [idle('m-00'), idle('b')],
    ]);
    late(world, 1);
    world.shard.start();
    await world.run(25);
    expect(world.shard.gauges().disputedMachines).toBe(1);
    const reads = () => world.shard.counters.followUpReads;
    const before = reads();
    world.shard.reads.recheck(world.shard.inventory.find('m-00'));
    await world.run(30);
    expect(reads()).toBe(before);
    world.machines[1] = [idle('b')];
    await world.run(30);
    expect(world.shard.gauges().disputedMachines).toBe(0);
    expect(reads()).toBeGreaterThan(before);
  });

  for (const isIncremental of [false, true]) {
    it(`T10: the dispute ends when the other no longer lists it${isIncremental ? ', with cursors too' : ''}`, async () => {
      const fleet = ids(4).map((id) => idle(id));
      const world = new Parts([fleet, [...fleet, idle('mine')]], { isIncremental });
      world.hangs = true;
      late(world, 1);
      world.shard.start();
      await world.run(25);
      expect(world.shard.gauges().disputedMachines).toBe(4);
      world.machines[1] = [idle('mine'), fleet[0]!];
      await world.run(10);
      expect(world.shard.gauges().disputedMachines).toBe(1);
      expect(events(world, 'disputes_ended')).toMatchObject([{ provider: 'p1', count: 3 }]);
      world.machines[1] = [idle('mine')];
      await world.run(10);
      expect(world.shard.gauges().disputedMachines).toBe(0);
      world.demand(5);
      await world.run(10);
      const providers = world.calls.filter(({ kind }) => kind === 'configure');
      expect(providers.map(({ machineId, provider }) => [machineId, provider]).sort()).toEqual(
        [...ids(4).map((id) => [id, 0]), ['mine', 1]].sort(),
      );
      // Now the shard knows the owner: who claims the id later is refused.
      world.machines[1] = [idle('mine'), ...fleet];
      await world.run(20);
      expect(world.shard.gauges().disputedMachines).toBe(0);
      expect(world.ownerOf('m-00')).toBe(0);
      expect(world.listings.findLast(({ provider }) => provider === 'p1')!.foreignCount).toBe(4);
    });
  }

  it('T10: the other gets the machine when its present provider no longer lists it', async () => {
    const world = new Parts([
      [idle('m-00'), idle('a')],
      [idle('m-00'), idle('b')],
    ]);
    late(world, 1);
    world.shard.start();
    await world.run(15);
    expect(world.ownerOf('m-00')).toBe(0);
    world.machines[0] = [idle('a')];
    await world.run(25);
    expect(world.ownerOf('m-00')).toBe(1);
    expect(world.shard.gauges().disputedMachines).toBe(0);
    world.demand(3);
    await world.run(10);
    const configured = world.calls.filter(({ machineId }) => machineId === 'm-00');
    expect(configured.map(({ provider }) => provider)).toContain(1);
    expect(configured.map(({ provider }) => provider)).not.toContain(0);
  });

  it('T10: three providers may claim it; it stays in dispute until one is left', async () => {
    const world = new Parts([
      [idle('m'), idle('a')],
      [idle('m'), idle('b')],
      [idle('m'), idle('c')],
    ]);
    world.shard.start();
    await world.run(15);
    expect(world.shard.gauges().disputedMachines).toBe(1);
    const owner = world.ownerOf('m');
    const others = [0, 1, 2].filter((provider) => provider !== owner);
    world.machines[others[0]!] = [idle('x')];
    await world.run(10);
    expect(world.shard.gauges().disputedMachines).toBe(1);
    world.machines[others[1]!] = [idle('y')];
    await world.run(10);
    expect(world.shard.gauges().disputedMachines).toBe(0);
  });

  it('T10: an optional provider that is listed after the first action gets no id of a known owner', async () => {
    const fleet = ids(10).map((id) => idle(id));
    const world = new Parts([fleet, [...fleet, idle('b')]], { optionalProviders: ['p1'] });
    world.hangs = true;
    late(world, 1, 60_000);
    world.demand(5);
    world.shard.start();
    await world.run(30);
    expect(world.calls.length).toBeGreaterThan(0);
    await world.run(60);
    expect(
      world.listings.some(({ provider, foreignCount }) => provider === 'p1' && foreignCount === 10),
    ).toBe(true);
    expect(world.shard.gauges().disputedMachines).toBe(0);
    expect(world.calls.every(({ provider, machineId }) => provider === 0 || machineId === 'b')).toBe(true);
  });
});

describe('T10: id prefixes', () => {
  const PREFIXES = {
    providerIdPrefixes: [
      { name: 'p0', prefix: 'a-' },
      { name: 'p0', prefix: 'aa-' },
    ],
  };

  for (const lateProvider of [0, 1]) {
    it(`T10: decide who has an id, also if provider ${1 - lateProvider} is listed first`, async () => {
      const world = new Parts(
        [
          [bound('a-1'), idle('aa-2'), idle('b-3')],
          [idle('a-1'), idle('aa-2'), idle('b-4')],
        ],
        PREFIXES,
      );
      late(world, lateProvider);
      world.shard.start();
      await world.run(15);
      expect([world.ownerOf('a-1'), world.ownerOf('aa-2'), world.ownerOf('b-4')]).toEqual([0, 0, 1]);
      expect(world.get('a-1').cluster).toBe('c1');
      expect(world.shard.inventory.find('b-3')).toBe(0);
      expect(world.shard.gauges().disputedMachines).toBe(0);
      const first = (name: string) => world.listings.find(({ provider }) => provider === name);
      expect(first('p0')!.foreignCount).toBe(1);
      expect(first('p1')!.foreignCount).toBe(2);
      expect(events(world, 'record_rejected').map(({ detail }) => detail)).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/"b-3".*begins with no id prefix of provider p0/),
          expect.stringMatching(/"a-1" is not valid: .*(begin with "a-" belong to|already has).*p0/),
        ]),
      );
      expect(world.shard.readiness.notReady()).toBe('');
    });
  }
});

describe('T10: bindings that no shard assigned', () => {
  const stamped = onWire(
    inState(S.Configured, { id: 'stamped', instanceType: 'a', capacity: CAPACITY, cluster: 'c1' }),
  );

  for (const ignoresUnassignedBindings of [false, true]) {
    it(`T10: ${ignoresUnassignedBindings ? 'count for no need if they are ignored' : 'count as usual'}`, async () => {
      const world = new Parts(
        [[bound('m-0'), bound('m-1'), stamped, ...ids(3, 'free').map((id) => idle(id))]],
        {
          ignoresUnassignedBindings,
        },
      );
      world.hangs = true;
      world.demand(3);
      world.shard.start();
      await world.run(25);
      const configured = world.calls.filter(({ kind }) => kind === 'configure');
      expect(configured).toHaveLength(ignoresUnassignedBindings ? 2 : 0);
      const { inventory, engine } = world.shard;
      expect(engine.claimOf(inventory.find('m-0')) === null).toBe(ignoresUnassignedBindings);
      expect(engine.claimOf(inventory.find('stamped'))).not.toBeNull();
    });
  }

  it('T10: are neither reclaimed nor preempted while they are ignored', async () => {
    const world = new Parts([[bound('m-0'), stamped]], {
      ignoresUnassignedBindings: true,
      reclaimCapFraction: 0,
    });
    world.hangs = true;
    world.demand(0);
    world.shard.start();
    await world.run(60);
    expect(world.calls.map(({ kind, machineId }) => [kind, machineId])).toEqual([['drain', 'stamped']]);
  });
});

describe('T6: a provider of which every row is refused', () => {
  const BAD = { ...idle('bad'), pricePerHour: -1 };

  it('T6: makes the shard not ready with the reason, and the others go on', async () => {
    const world = new Parts([[BAD, { ...BAD, id: 'bad-2' }], ids(5).map((id) => idle(id))]);
    world.demand(3);
    world.shard.start();
    await world.run(15);
    expect(world.shard.readiness.heldBack()).toBe('');
    expect(world.shard.readiness.notReady()).toMatch(
      /^every machine of provider p0 is refused: Machine "bad" is not valid: price_per_hour is -1/,
    );
    expect(world.calls.length).toBeGreaterThan(0);
    world.machines[0] = [BAD, idle('good')];
    await world.run(10);
    expect(world.shard.readiness.notReady()).toBe('');
  });

  it('T6: is the one whose machines all belong to another', async () => {
    const fleet = ids(5).map((id) => idle(id));
    const world = new Parts([fleet, fleet]);
    late(world, 1);
    world.shard.start();
    await world.run(15);
    expect(world.shard.readiness.notReady()).toMatch(/provider p1 is refused: .*provider p0 already has/);
  });

  it('T6: is not one without machines, nor an optional one', async () => {
    const world = new Parts([[idle('m')], [], [BAD]], { optionalProviders: ['p2'] });
    world.shard.start();
    await world.run(15);
    expect(world.shard.readiness.notReady()).toBe('');
  });

  it('T6: stays the reason while later listings fail', async () => {
    const world = new Parts([[BAD]]);
    world.shard.start();
    await world.run(15);
    world.tail = new Uint8Array([0x0a, 0xff]);
    await world.run(10);
    expect(world.listings.at(-1)!.failure).not.toBe('');
    expect(world.shard.readiness.notReady()).toMatch(/provider p0 is refused/);
  });
});

describe('T6: resource names of a provider', () => {
  const withNames = (id: string, names: readonly string[]) =>
    idle(id, { ...CAPACITY, ...Object.fromEntries(names.map((name) => [name, 1_000])) });
  const invented = (count: number, prefix = 'x') =>
    Array.from({ length: count }, (_, index) => `${prefix}.example/${index}`);

  for (const lateProvider of [0, 1]) {
    it(`T6: more than 64 that no other has refuse the row, whether it comes first or last (${lateProvider})`, async () => {
      const greedy = [withNames('greedy', invented(256)), idle('modest')];
      const honest = ids(5).map((id) => withNames(id, ['amd.com/gpu']));
      const world = new Parts([greedy, honest]);
      late(world, lateProvider);
      world.shard.start();
      await world.run(15);
      const { inventory } = world.shard;
      expect(inventory.find('greedy')).toBe(0);
      expect(inventory.find('modest')).not.toBe(0);
      expect(ids(5).every((id) => inventory.find(id) !== 0)).toBe(true);
      expect(inventory.shapes.vectors.dimensions.count).toBeLessThan(10);
      expect(events(world, 'record_rejected')[0]).toMatchObject({
        provider: 'p0',
        detail: expect.stringMatching(/64 resource names that provider p0 may have alone/),
      });
      expect(world.shard.counters.rejected.structural).toBeGreaterThan(0);
    });
  }

  it('T6: 64 fit, one name at a time, and names that another provider has do not count', async () => {
    const shared = invented(40, 'shared');
    const own = invented(64);
    const world = new Parts([[withNames('other', shared)], []]);
    late(world, 1);
    world.machines[1] = [
      withNames('m-shared', [...shared, 'cpu']),
      ...own.map((name, index) => withNames(`m-${index}`, [name])),
      withNames('m-last', ['one-more']),
    ];
    world.shard.start();
    await world.run(15);
    const { inventory } = world.shard;
    expect(inventory.find('m-shared')).not.toBe(0);
    expect(own.every((_, index) => inventory.find(`m-${index}`) !== 0)).toBe(true);
    expect(inventory.find('m-last')).toBe(0);
  });
});

describe('T5: malformed rows of a listing', () => {
  it('T5: remove no machine at first if their ids cannot be read', async () => {
    const fleet = ids(5).map((id) => idle(id));
    const world = new Parts([fleet]);
    world.shard.start();
    await world.run(5);
    // Field 1 is a machine whose first field has an unknown wire type.
    world.tail = new Uint8Array([0x0a, 0x02, 0x26, 0x00]);
    world.machines[0] = fleet.slice(1);
    await world.run(60);
    expect(world.shard.inventory.find('m-00')).not.toBe(0);
    expect(world.listings.at(-1)).toMatchObject({
      failure: '',
      isSuspect: true,
      rejected: { structural: 1 },
    });
    await world.run(20);
    expect(world.shard.inventory.find('m-00')).toBe(0);
  });
});
