/** F7: which shard a cluster belongs to, over the directory in memory and on virtual time. */
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { FleetKeys } from '../../src/directory/keys.ts';
import { type DirectoryCall, type Fate, MemoryDirectory } from '../../src/directory/memory/directory.ts';
import { MemoryStore } from '../../src/directory/memory/store.ts';
import { Adoption } from '../../src/fleet/adoption.ts';
import { FleetCopy } from '../../src/fleet/copy.ts';
import { Placement } from '../../src/fleet/placement.ts';
import { readShardOf, writeRecord } from '../../src/replica/records.ts';
import { VirtualTime } from '../../src/simulation/virtual-time/time.ts';

const PROMPT: Fate = { requestMs: 1, answerMs: 1 };
const LEASE_MS = 4_000;
const RETRY_MS = LEASE_MS / 4;

/** A directory that outlives its stores: a test can begin it again. */
class Fleet {
  readonly time = new VirtualTime(0);
  readonly keys = new FleetKeys('test/1');
  readonly store = new MemoryStore(this.time, this.time);

  directory(fate: (call: DirectoryCall) => Fate = () => PROMPT): MemoryDirectory {
    const { store, time } = this;
    return new MemoryDirectory({ store, network: time, scheduler: time, callTimeoutMs: 2_000, fate });
  }

  async put(key: string, value: object): Promise<void> {
    const done = this.directory().transact({
      when: [],
      change: [{ kind: 'put', key, value: writeRecord(value) }],
    });
    await this.run(1);
    await done;
  }

  async delete(key: string): Promise<void> {
    const done = this.directory().transact({ when: [], change: [{ kind: 'delete', key }] });
    await this.run(1);
    await done;
  }

  /** The shard of each cluster, as the directory has it. */
  async routes(): Promise<Record<string, string>> {
    const read = this.directory().range(this.keys.clusters);
    await this.run(1);
    const { entries } = await read;
    return Object.fromEntries(
      entries.map(({ key, value }) => [
        decodeURIComponent(key.slice(this.keys.clusters.length)),
        readShardOf(value),
      ]),
    );
  }

  run(seconds: number): Promise<void> {
    return this.time.advance(seconds * 1_000);
  }
}

/** One replica of a shard. */
class Member {
  readonly copy: FleetCopy;
  readonly placement: Placement;
  readonly adoption: Adoption;
  readonly adopted: number[] = [];
  clusters: string[] | null = null;
  isActive = true;
  readonly #activeKey: string;
  #activeRevision = 0;

  constructor(fleet: Fleet, shard: string, fate?: (call: DirectoryCall) => Fate) {
    const shared = {
      directory: fleet.directory(fate),
      keys: fleet.keys,
      scheduler: fleet.time,
      retryMs: RETRY_MS,
    };
    this.#activeKey = fleet.keys.active(shard);
    this.copy = new FleetCopy({ ...shared, leaseMs: LEASE_MS });
    const ofShard = { ...shared, copy: this.copy, shard };
    this.placement = new Placement(ofShard);
    this.adoption = new Adoption({
      ...ofShard,
      providers: [{ name: `${shard}-provider`, address: 'x:1' }],
      clusters: () => this.clusters,
      guard: () =>
        this.isActive
          ? { kind: 'created-at', key: this.#activeKey, createRevision: this.#activeRevision }
          : null,
      onAdopted: (count) => this.adopted.push(count),
    });
  }

  /** Its shard has this active replica, and a provider. */
  async join(fleet: Fleet, shard: string): Promise<this> {
    await fleet.put(fleet.keys.partition(`${shard}-provider`), { shard, address: 'x:1' });
    await fleet.put(this.#activeKey, { replica: 'r', instance: `${shard}-1`, epoch: 1, addresses: ['x:2'] });
    const read = fleet.directory().get(this.#activeKey);
    await fleet.run(1);
    this.#activeRevision = (await read).entry!.createRevision;
    return this;
  }

  /** The providers are listed, and these clusters have machines. */
  listed(...clusters: string[]): void {
    this.clusters = clusters;
    this.adoption.look();
  }
}

async function member(fleet: Fleet, shard: string): Promise<Member> {
  return new Member(fleet, shard).join(fleet, shard);
}

const many = (count: number) => Array.from({ length: count }, (_, at) => `c/${at}`);

describe('F7: the shard of a cluster', () => {
  it('F7: an unknown cluster waits until every shard has adopted its own, and then goes to the shard that was asked', async () => {
    const fleet = new Fleet();
    const full = await member(fleet, 'full');
    const empty = await member(fleet, 'empty');
    const placed: string[] = [];
    const ask = (cluster: string) =>
      empty.placement.place(cluster, (shard) => placed.push(`${cluster} ${shard}`));
    empty.listed();
    await fleet.run(10);
    ask('old');
    ask('new');
    await fleet.run(60);
    expect(placed).toEqual([]);
    expect(empty.placement.why).toContain('"full" of the fleet may: it has not listed its providers.');
    full.listed('old', ...many(250));
    await fleet.run(5);
    expect(placed).toEqual(['old full', 'new empty']);
    expect(full.adopted).toEqual([251]);
    const routes = await fleet.routes();
    expect(Object.values(routes).filter((shard) => shard === 'full')).toHaveLength(251);
    expect(routes['c/249']).toBe('full');
    expect(routes.new).toBe('empty');
  });

  it('F7: a route that another shard put first stays', async () => {
    const fleet = new Fleet();
    const first = await member(fleet, 'first');
    const second = await member(fleet, 'second');
    first.listed('shared', 'a');
    await fleet.run(5);
    second.listed('shared', 'b');
    await fleet.run(5);
    expect(await fleet.routes()).toEqual({ shared: 'first', a: 'first', b: 'second' });
    expect(second.adopted).toEqual([2]);
  });

  it('F7: a replica that is not active any more adopts nothing', async () => {
    const fleet = new Fleet();
    const former = await member(fleet, 'a');
    await fleet.delete(fleet.keys.active('a'));
    former.listed('x');
    await fleet.run(20);
    former.isActive = false;
    await fleet.run(20);
    expect(await fleet.routes()).toEqual({});
    expect(former.adopted).toEqual([]);
  });

  it('F7: shards that run put their routes back after the directory has lost them', async () => {
    const fleet = new Fleet();
    const a = await member(fleet, 'a');
    const b = await member(fleet, 'b');
    a.listed('x', 'y');
    b.listed('z');
    await fleet.run(5);
    for (const key of [...['x', 'y', 'z'].map((id) => fleet.keys.cluster(id)), fleet.keys.adopted('a')])
      await fleet.delete(key);
    const placed: string[] = [];
    a.placement.place('z', (shard) => placed.push(shard));
    await fleet.run(10);
    expect(await fleet.routes()).toEqual({ x: 'a', y: 'a', z: 'b' });
    expect(placed).toEqual(['b']);
  });

  it('F7: no cluster of a shard is placed elsewhere after the directory was begun again empty, or restored without its route', async () => {
    const fleet = new Fleet();
    const a = await member(fleet, 'a');
    const b = await member(fleet, 'b');
    a.listed();
    b.listed('z');
    await fleet.run(5);
    const before = fleet.store.snapshot();
    b.clusters = null; // it does not look for a while
    for (const key of [fleet.keys.cluster('z'), fleet.keys.adopted('b'), fleet.keys.partition('b-provider')])
      await fleet.delete(key);
    const placed: string[] = [];
    a.placement.place('z', (shard) => placed.push(shard));
    await fleet.run(60);
    expect([placed, a.placement.why]).toEqual([[], expect.stringContaining('"b" of the fleet may')]);
    b.listed('z');
    await fleet.run(10);
    expect(placed).toEqual(['b']);
    expect(await fleet.routes()).toEqual({ z: 'b' });

    b.listed('z', 'young');
    await fleet.run(5);
    fleet.store.restore(before);
    a.placement.place('young', (shard) => placed.push(shard));
    await fleet.run(30);
    expect(placed).toEqual(['b', 'b']);
    expect(await fleet.routes()).toEqual({ z: 'b', young: 'b' });
  });

  it('F7: a copy that cannot follow the directory keeps its routes and places no cluster', async () => {
    const fleet = new Fleet();
    let isAway = false;
    const lost: Fate = { ...PROMPT, lost: 'request' };
    const cut = await new Member(fleet, 'a', () => (isAway ? lost : PROMPT)).join(fleet, 'a');
    cut.listed('x');
    await fleet.run(5);
    isAway = true;
    fleet.store.breakWatches();
    const placed: string[] = [];
    cut.placement.place('new', (shard) => placed.push(shard));
    await fleet.run(30);
    expect([cut.copy.isWhole, cut.copy.shardOf('x'), placed]).toEqual([false, 'a', []]);
    expect(cut.placement.why).toContain('The directory does not answer');
    isAway = false;
    await fleet.run(30);
    expect([cut.copy.isWhole, placed]).toEqual([true, ['a']]);
  });

  it('F7: replicas that are asked at the same time agree, whatever is lost and however late answers are', async () => {
    let contended = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const random = new Random(seed);
      const fate = (): Fate => ({
        requestMs: random.below(300),
        answerMs: random.below(300),
        ...(random.chance(0.15) ? { lost: random.chance(0.5) ? 'request' : 'answer' } : {}),
      });
      const fleet = new Fleet();
      const members = ['a', 'a', 'b', 'c'].map((shard) => new Member(fleet, shard, fate));
      for (const [at, shard] of ['a', 'a', 'b', 'c'].entries()) await members[at]!.join(fleet, shard);
      for (const one of members) one.listed();
      const answers = new Map<string, string[]>();
      const clusters = many(12);
      for (let turn = 0; turn < 40; turn++) {
        const cluster = random.pick(clusters);
        const asked = random.pick(members);
        const giveUp = asked.placement.place(cluster, (shard) =>
          answers.set(cluster, [...(answers.get(cluster) ?? []), shard]),
        );
        if (random.chance(0.1)) giveUp!();
        await fleet.time.advance(random.below(400));
      }
      await fleet.run(120);
      const routes = await fleet.routes();
      for (const [cluster, shards] of answers) {
        if (shards.length > 1) contended++;
        expect(new Set(shards), `seed ${seed}, ${cluster}`).toEqual(new Set([routes[cluster]]));
      }
      for (const { placement } of members) expect(placement.why, `seed ${seed}`).toBe('');
    }
    expect(contended).toBeGreaterThan(200);
  });

  it('F7: shows the shards of the fleet with replicas, providers and clusters, and which of them have adopted', async () => {
    const fleet = new Fleet();
    const a = await member(fleet, 'a');
    await member(fleet, 'b/2');
    await fleet.put(fleet.keys.replica('a', 'a-1'), {
      replica: 'a-1',
      instance: 'i',
      addresses: ['h:1'],
      role: 'active',
      isReady: true,
      version: '1.0.0',
      lagSeconds: 2,
    });
    a.listed('x', 'y');
    await fleet.run(5);
    expect(a.copy.shards()).toMatchObject([
      {
        shard: 'a',
        active: { epoch: 1, addresses: ['x:2'] },
        replicas: [{ replica: 'a-1', role: 'active', isReady: true }],
        providers: ['a-provider'],
        clusterCount: 2,
        hasAdopted: true,
      },
      { shard: 'b/2', replicas: [], providers: ['b/2-provider'], clusterCount: 0, hasAdopted: false },
    ]);
    expect(a.copy.notAdopted).toEqual(['b/2']);
    expect(a.copy.routes()).toEqual([
      { cluster: 'x', shard: 'a' },
      { cluster: 'y', shard: 'a' },
    ]);
  });
});
