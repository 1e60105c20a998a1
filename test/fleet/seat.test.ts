/** F8: which replica is the coordinator, over the directory in memory and on virtual time. */
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { FleetKeys } from '../../src/directory/keys.ts';
import { type DirectoryCall, type Fate, MemoryDirectory } from '../../src/directory/memory/directory.ts';
import { MemoryStore } from '../../src/directory/memory/store.ts';
import { FleetCopy } from '../../src/fleet/copy.ts';
import { FleetRegistry } from '../../src/fleet/registry.ts';
import { CoordinatorSeat, type SeatEvent } from '../../src/fleet/seat.ts';
import { readTerm } from '../../src/replica/records.ts';
import { type Life, VirtualTime } from '../../src/simulation/virtual-time/time.ts';

const LEASE_MS = 6_000;
const START_MS = Date.UTC(2026, 0, 1);
const PROMPT: Fate = { requestMs: 1, answerMs: 1 };

class World {
  readonly time = new VirtualTime(START_MS);
  readonly keys = new FleetKeys('test');
  readonly store = new MemoryStore(this.time, this.time);

  async term(): Promise<number> {
    const directory = new MemoryDirectory({
      ...{ store: this.store, network: this.time, scheduler: this.time, callTimeoutMs: 2_000 },
    });
    const read = directory.get(this.keys.term);
    await this.time.advance(1);
    const { entry } = await read;
    return entry === null ? 0 : readTerm(entry.value);
  }

  run(seconds: number): Promise<void> {
    return this.time.advance(seconds * 1_000);
  }
}

class Replica {
  readonly life: Life;
  readonly seat: CoordinatorSeat;
  readonly copy: FleetCopy;
  readonly registry: FleetRegistry;
  readonly events: SeatEvent[] = [];
  readonly name: string;
  isActive = true;
  fate: (call: DirectoryCall) => Fate = () => PROMPT;

  constructor({ time, store, keys }: World, name: string) {
    this.name = name;
    this.life = time.life();
    const directory = new MemoryDirectory({
      ...{ store, network: time, scheduler: this.life, callTimeoutMs: LEASE_MS / 3 },
      fate: (call) => this.fate(call),
    });
    const shared = { directory, keys, scheduler: this.life, leaseMs: LEASE_MS };
    this.copy = new FleetCopy(shared);
    this.seat = new CoordinatorSeat({
      ...shared,
      copy: this.copy,
      wall: this.life,
      self: () => ({ shard: name, replica: name, instance: `${name}-1`, addresses: [`${name}:1`] }),
      isCandidate: () => this.isActive,
      onEvent: (event) => this.events.push(event),
    });
    this.registry = new FleetRegistry({ directory, keys, copy: this.copy, seat: this.seat });
  }
}

const seated = (replicas: readonly Replica[]) => replicas.filter(({ seat }) => seat.term !== null);

describe('F8: the coordinator', () => {
  it('F8: is one of the active replicas, and its term is at least the time in seconds', async () => {
    const world = new World();
    const replicas = ['a', 'b', 'c'].map((name) => new Replica(world, name));
    replicas[0]!.isActive = false;
    await world.run(10);
    const [coordinator, ...others] = seated(replicas);
    expect(others).toEqual([]);
    expect(coordinator!.name).not.toBe('a');
    expect(coordinator!.seat.term).toBeGreaterThanOrEqual(START_MS / 1_000);
    for (const { copy } of replicas)
      expect(copy.coordinator()).toMatchObject({ shard: coordinator!.name, term: coordinator!.seat.term });
  });

  it('F8: one that dies, or is active no more, is followed by another with a higher term', async () => {
    const world = new World();
    const replicas = ['a', 'b', 'c'].map((name) => new Replica(world, name));
    await world.run(10);
    const terms: number[] = [];
    for (const how of ['dies', 'is active no more']) {
      const [coordinator] = seated(replicas);
      terms.push(coordinator!.seat.term!);
      if (how === 'dies') coordinator!.life.end();
      else coordinator!.isActive = false;
      replicas.splice(replicas.indexOf(coordinator!), 1);
      await world.run(15);
    }
    terms.push(seated(replicas)[0]!.seat.term!);
    expect(terms).toEqual([...new Set(terms)].sort((one, other) => one - other));
    expect(await world.term()).toBe(terms.at(-1));
  });

  it('F8: writes nothing once another replica is the coordinator', async () => {
    const world = new World();
    const [a, b] = ['a', 'b'].map((name) => new Replica(world, name)) as [Replica, Replica];
    await world.run(10);
    const former = seated([a, b])[0]!;
    const next = former === a ? b : a;
    former.life.stop(); // it stands still for longer than its lease
    await world.run(20);
    expect(next.seat.term).not.toBeNull();
    former.life.resume();
    const write = former.registry.register('late', 'x:1', 1).catch((error: Error) => error.message);
    await world.run(1);
    expect(await write).toContain('is not the coordinator any more. It changed nothing.');
    const other = next.registry.register('s', 'y:1', 2);
    await world.run(5);
    await other;
    expect(next.copy.registrations()).toEqual([{ shard: 's', address: 'y:1', registeredAtMs: 2 }]);
    expect(seated([a, b])).toEqual([next]);
  });

  it('F8: refuses domains for shards that it does not know, and to remove one that is active', async () => {
    const world = new World();
    const a = new Replica(world, 'a');
    await world.run(10);
    const settled = async (change: Promise<void>) => {
      const outcome = change.then(
        () => 'done',
        (error: Error) => error.message,
      );
      await world.run(2);
      return outcome;
    };
    const { registry } = a;
    expect(await settled(registry.assignDomain('rack', 'r-1', 's'))).toContain('No shard "s" has reported');
    expect(await settled(registry.register('s', 'x:1', 1))).toBe('done');
    expect(await settled(registry.assignDomain('rack/x', 'r=1/2', 's'))).toBe('done');
    expect(registry.domains()).toMatchObject([{ topologyKey: 'rack/x', topologyValue: 'r=1/2', shard: 's' }]);
    expect(await settled(registry.unassignDomain('rack/x', 'other'))).toBe('done');
    expect(await settled(registry.removeShard('s'))).toBe('done');
    expect([registry.domains(), registry.shards()]).toEqual([[], []]);
    expect(await settled(registry.removeShard('s'))).toContain('No shard "s" has reported');
  });

  it('F8: terms never go back, and two coordinators never write in the same term, under any accidents', async () => {
    let changes = 0;
    for (let seed = 1; seed <= 40; seed++) {
      const random = new Random(seed);
      const world = new World();
      const replicas = ['a', 'b', 'c'].map((name) => new Replica(world, name));
      const owners = new Map<number, string>();
      let highest = 0;
      for (const replica of replicas)
        replica.fate = () => ({
          requestMs: random.below(400),
          answerMs: random.below(400),
          ...(random.chance(0.1) ? { lost: random.chance(0.5) ? 'request' : 'answer' } : {}),
        });
      for (let step = 0; step < 60; step++) {
        const one = random.pick(replicas);
        if (random.chance(0.15)) one.life.stop();
        if (random.chance(0.4)) one.life.resume();
        if (random.chance(0.1)) one.isActive = !one.isActive;
        if (random.chance(0.1)) one.life.jump(random.below(7_200_000) - 3_600_000);
        if (random.chance(0.1)) world.store.breakWatches();
        await world.time.advance(random.below(4_000));
        const term = await world.term();
        expect(term, `seed ${seed}`).toBeGreaterThanOrEqual(highest);
        if (term > highest) changes++;
        highest = term;
        for (const { name, seat } of seated(replicas)) {
          expect(owners.get(seat.term!) ?? name, `seed ${seed}, term ${seat.term}`).toBe(name);
          owners.set(seat.term!, name);
        }
      }
      for (const replica of replicas) {
        replica.life.resume();
        replica.isActive = true;
        replica.fate = () => PROMPT;
      }
      await world.run(60);
      expect(seated(replicas), `seed ${seed}`).toHaveLength(1);
    }
    expect(changes).toBeGreaterThan(100);
  });
});
