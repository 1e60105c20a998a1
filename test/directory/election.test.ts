/** Which replica is active and confirmed, on virtual time: each rule in a short scene, then all of it under random accidents. */
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import type { DirectoryCall } from '../../src/directory/memory/directory.ts';
import type { StoreSnapshot } from '../../src/directory/memory/store.ts';
import { LEASE_MS, MARGIN_MS, PROMPT, type ReplicaProcess, ReplicaWorld } from './replica-world.ts';

/** Long enough for a takeover after a lost lease, and for the wait that follows. */
const TAKEOVER_MS = 4 * LEASE_MS;

async function worldWithActive(
  seed = 1,
): Promise<{ world: ReplicaWorld; active: ReplicaProcess; standby: ReplicaProcess }> {
  const world = new ReplicaWorld(seed, 2);
  await world.advance(TAKEOVER_MS);
  const [active] = world.confirmed;
  expect(active).toBeDefined();
  return { world, active: active!, standby: world.replicas.find((replica) => replica !== active)! };
}

/** The first transaction, or only its answer, is lost. */
function onceLost(lost: 'request' | 'answer') {
  let transactions = 0;
  return (call: DirectoryCall) =>
    call === 'transact' && ++transactions === 1 ? { ...PROMPT(), lost } : PROMPT();
}

const cutOff = () => ({ requestMs: 1, answerMs: 1, lost: 'request' }) as const;

describe('becoming active', () => {
  it('F1: of several replicas one becomes active, and the others know which', async () => {
    const world = new ReplicaWorld(1, 5);
    await world.advance(TAKEOVER_MS);
    expect(world.given).toHaveLength(1);
    expect(world.confirmed.map(({ name }) => name)).toEqual([world.given[0]!.replica]);
    const standbys = world.replicas.filter(({ leadership }) => leadership === null);
    expect(standbys).toHaveLength(4);
    for (const { events } of standbys) {
      expect(events).toContainEqual({ kind: 'standby', activeReplica: world.given[0]!.replica });
    }
  });

  it('F1: the first epoch is the Unix time, and every later one is higher, whatever the clock says', async () => {
    const { world, active, standby } = await worldWithActive();
    expect(active.epoch).toBe(1_700_000_000);
    standby.life.jump(-3_600_000);
    active.kill();
    await world.advance(TAKEOVER_MS);
    expect(standby.epoch).toBe(1_700_000_001);
  });

  it('F1: an epoch is higher than the highest that the data directory has seen', async () => {
    const world = new ReplicaWorld(1, 1);
    world.replicas[0]!.marks.raiseEpoch(5_000_000_000);
    await world.advance(TAKEOVER_MS);
    expect(world.given.map(({ epoch }) => epoch)).toEqual([5_000_000_001]);
    expect(world.replicas[0]!.marks.epoch).toBe(5_000_000_001);
  });

  it('F1: a replica whose takeover got no answer reads, and finds itself active', async () => {
    const world = new ReplicaWorld(1, 1);
    const [replica] = world.replicas;
    replica!.fate = onceLost('answer');
    await world.advance(TAKEOVER_MS);
    expect(world.given).toHaveLength(1);
    expect(world.store.position.revision).toBe(2);
  });

  it('F1: a takeover that never reached the directory is tried again', async () => {
    const world = new ReplicaWorld(1, 1);
    const [replica] = world.replicas;
    replica!.fate = onceLost('request');
    await world.advance(TAKEOVER_MS);
    expect(world.given).toHaveLength(1);
    expect(replica!.isConfirmed).toBe(true);
  });

  it('F1: fenced although it is active, it steps down and takes a higher epoch', async () => {
    const { world, active } = await worldWithActive();
    const before = active.epoch;
    world.fencedBelow = before + 1_000;
    await world.advance(TAKEOVER_MS * 2);
    expect(world.eventCounts.get('ended: outdated-epoch')).toBeGreaterThan(0);
    expect(world.confirmed[0]!.epoch).toBeGreaterThan(before + 1_000);
  });

  it('F1: many calls that are fenced at once raise the epoch once', async () => {
    const { world, active } = await worldWithActive();
    const before = active.epoch;
    for (let call = 0; call < 5; call++) void active.leadership!.fenced();
    await world.advance(10);
    expect(active.marks.epoch).toBe(before + 3_600);
  });

  it('F1: an unreadable epoch is not replaced by a guess', async () => {
    const world = new ReplicaWorld(1, 1);
    const key = world.keys.epoch('s/1');
    world.store.transact({ when: [], change: [{ kind: 'put', key, value: '{"epoch":"x"}' }] });
    await world.advance(TAKEOVER_MS);
    expect(world.given).toEqual([]);
    expect(world.eventCounts.get('directory-failed')).toBeGreaterThan(1);
    world.store.transact({ when: [], change: [{ kind: 'delete', key }] });
    await world.advance(TAKEOVER_MS);
    expect(world.given).toHaveLength(1);
  });
});

describe('confirmation', () => {
  it('F2: without the directory it ends a margin before the lease, and not later', async () => {
    const { world, active } = await worldWithActive();
    active.fate = cutOff;
    let lastMs = 0;
    const startMs = world.time.nowMs();
    for (let step = 0; step < 200; step++) {
      await world.advance(50);
      if (active.isConfirmed) lastMs = world.time.nowMs() - startMs;
    }
    expect(lastMs).toBeGreaterThan(LEASE_MS - MARGIN_MS - LEASE_MS / 3 - 100);
    expect(lastMs).toBeLessThan(LEASE_MS - MARGIN_MS);
  });

  for (const [what, kind] of [
    ['stopped', 'stop'],
    ['on a suspended machine', 'suspend'],
  ] as const) {
    it(`F2: a process that was ${what} is not confirmed when it wakes`, async () => {
      const { world, active, standby } = await worldWithActive();
      if (kind === 'stop') active.life.stop();
      else active.suspend();
      await world.advance(TAKEOVER_MS);
      expect(standby.isConfirmed).toBe(true);
      active.wake();
      expect(active.isConfirmed).toBe(false);
      await world.advance(TAKEOVER_MS);
      expect(world.eventCounts.get('ended: replaced')).toBe(1);
      expect(world.confirmed).toEqual([standby]);
    });
  }

  it('F2: a wall clock that is set back does not make it last', async () => {
    const { world, active } = await worldWithActive();
    active.fate = cutOff;
    active.life.jump(-3_600_000);
    await world.advance(LEASE_MS);
    expect(active.isConfirmed).toBe(false);
  });

  it('F2: after a lease that ended too early the new replica waits until the old one cannot be confirmed any more', async () => {
    const { world, active, standby } = await worldWithActive();
    world.store.loseLease(world.store.leaseIds.at(-1)!);
    active.life.stop(); // it does not notice
    await world.advance(LEASE_MS / 2);
    expect(standby.leadership).not.toBeNull();
    expect([active.isConfirmed, standby.isConfirmed]).toEqual([true, false]);
    await world.advance(LEASE_MS);
    expect([active.isConfirmed, standby.isConfirmed]).toEqual([false, true]);
  });

  it('F2: after a restored backup no replica is confirmed for a lease, and then one is', async () => {
    const { world, active, standby } = await worldWithActive();
    const backup = world.store.snapshot();
    active.kill();
    await world.advance(TAKEOVER_MS);
    expect(world.confirmed).toEqual([standby]);
    const newer = standby.epoch;
    world.store.restore(backup);
    world.restores++;
    active.start();
    await world.advance(TAKEOVER_MS * 2);
    expect(world.confirmed).toHaveLength(1);
    expect(world.confirmed[0]!.epoch).toBeGreaterThan(newer);
    expect(world.eventCounts.get('restored')).toBeGreaterThan(0);
  });

  it('F2: a process whose cycles hang gives its lease up, although its timers run', async () => {
    const { world, active, standby } = await worldWithActive();
    active.isCycling = false;
    await world.advance(TAKEOVER_MS * 2);
    expect(active.events).toContainEqual({ kind: 'stuck' });
    expect(world.confirmed).toEqual([standby]);
  });

  it('F2: waiting for listings is not hanging', async () => {
    const { world, active } = await worldWithActive();
    active.isCycling = false;
    active.isWaiting = true;
    await world.advance(10 * TAKEOVER_MS);
    expect(world.confirmed).toEqual([active]);
    expect(active.events).not.toContainEqual({ kind: 'stuck' });
  });
});

describe('adrift', () => {
  it('F3: without the directory a replica stays active, unconfirmed, and goes on when it is back', async () => {
    const { world, active, standby } = await worldWithActive();
    const { epoch } = active;
    standby.kill();
    active.fate = cutOff;
    await world.advance(600_000);
    expect([active.isConfirmed, active.leadership?.epoch]).toEqual([false, epoch]);
    active.fate = PROMPT;
    await world.advance(TAKEOVER_MS);
    // Its lease is long gone, and a retry would never find it again: it began a new session.
    expect([active.isConfirmed, active.epoch]).toEqual([true, epoch]);
    expect(active.events).toContainEqual({ kind: 'lease-lost' });
    expect(active.events).toContainEqual({ kind: 'resumed' });
    expect(world.given).toHaveLength(1);
  });

  it('F3: a replica that learns that another one is active ends', async () => {
    const { world, active, standby } = await worldWithActive();
    active.fate = cutOff;
    active.isCalling = false;
    await world.advance(TAKEOVER_MS);
    expect(standby.epoch).toBeGreaterThan(active.epoch);
    const { leadership } = active;
    active.fate = PROMPT;
    await world.advance(LEASE_MS);
    expect(await leadership!.ended).toEqual({ kind: 'replaced', replica: standby.name });
  });

  it('F3: a replica that was replaced meanwhile ends, even if its successor is gone', async () => {
    const { world, active, standby } = await worldWithActive();
    active.fate = cutOff;
    active.isCalling = false;
    await world.advance(TAKEOVER_MS);
    expect(standby.isConfirmed).toBe(true);
    const { leadership } = active;
    standby.kill();
    await world.advance(TAKEOVER_MS); // `active` is absent again, but the epoch is not its own
    active.fate = PROMPT;
    await world.advance(LEASE_MS);
    expect(await leadership!.ended).toEqual({ kind: 'replaced', replica: '' });
  });

  it('F3: a replica that starts while the directory is away does not become active', async () => {
    const world = new ReplicaWorld(1, 1);
    world.replicas[0]!.fate = cutOff;
    await world.advance(100 * LEASE_MS);
    expect(world.given).toEqual([]);
    world.replicas[0]!.fate = PROMPT;
    await world.advance(TAKEOVER_MS);
    expect(world.given).toHaveLength(1);
  });
});

describe('handover', () => {
  it('F2: after a release the other replica is active and confirmed at once', async () => {
    const { world, active, standby } = await worldWithActive();
    void active.terminate();
    await world.advance(100);
    expect(standby.isConfirmed).toBe(true);
    expect(standby.epoch).toBeGreaterThan(world.given[0]!.epoch);
    await world.advance(TAKEOVER_MS);
    expect(world.confirmed).toEqual([standby]);
  });

  it('F2: a replica that was not confirmed itself does not vouch for its successor', async () => {
    const { world, active, standby } = await worldWithActive();
    active.life.stop();
    world.store.loseLease(world.store.leaseIds.at(-1)!);
    await world.advance(100);
    expect(standby.leadership).not.toBeNull();
    void standby.terminate();
    await world.advance(100);
    standby.start();
    await world.advance(100);
    expect([active.isConfirmed, standby.leadership !== null, standby.isConfirmed]).toEqual([
      true,
      true,
      false,
    ]);
  });
});

describe('a restored directory', () => {
  it('F2: a release that is older than an epoch that this replica has seen counts for nothing', async () => {
    const { world, active, standby } = await worldWithActive();
    void active.terminate();
    let backup: StoreSnapshot | null = null;
    const isReleased = () => world.store.read(world.keys.epoch('s/1'))!.value.includes('"isReleased":true');
    await world.time.advance(100, () => {
      if (backup === null && isReleased()) backup = world.store.snapshot();
    });
    await world.advance(TAKEOVER_MS);
    expect(world.confirmed).toEqual([standby]);
    standby.life.stop(); // it does not notice
    world.store.restore(backup!);
    world.restores++;
    await world.advance(LEASE_MS / 2);
    expect(active.leadership).not.toBeNull();
    expect([standby.isConfirmed, active.isConfirmed]).toEqual([true, false]);
    await world.advance(LEASE_MS);
    expect([standby.isConfirmed, active.isConfirmed]).toEqual([false, true]);
  });
});

/** Random accidents. `FLOTILLA_SEED` and `FLOTILLA_HISTORIES` draw others. */
const FIRST_SEED = Number(process.env.FLOTILLA_SEED ?? 1);
const HISTORIES = Number(process.env.FLOTILLA_HISTORIES ?? 60);
const ACCIDENTS = 25;

describe('random accidents', () => {
  const totals = new Map<string, number>();
  const restoredHistories = { count: 0 };

  it(`F1, F2, F3: in ${HISTORIES} histories at most one replica is confirmed at any instant, and no epoch is given twice or lower`, async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + HISTORIES; seed++) {
      try {
        await runHistory(seed, totals, restoredHistories);
      } catch (error) {
        throw new Error(`FLOTILLA_SEED=${seed} FLOTILLA_HISTORIES=1: ${(error as Error).message}`, {
          cause: error,
        });
      }
    }
    for (const kind of [
      'took-over',
      'confirmed',
      'adrift',
      'lease-lost',
      'resumed',
      'restored',
      'ended: replaced',
      'ended: released',
      'stuck',
    ]) {
      expect(totals.get(kind) ?? 0, kind).toBeGreaterThan(HISTORIES / 20);
    }
    expect(restoredHistories.count).toBeGreaterThan(HISTORIES / 10);
  }, 600_000);
});

async function runHistory(
  seed: number,
  totals: Map<string, number>,
  restored: { count: number },
): Promise<void> {
  const random = new Random(seed);
  const world = new ReplicaWorld(seed, random.between(2, 3));
  // A wall clock that is set back while the machine is suspended deceives both clocks: not in one history.
  const setsClocks = random.chance(0.5);
  const isRestored = random.chance(0.4);
  let backup: StoreSnapshot | null = null;
  await world.advance(random.between(0, TAKEOVER_MS));
  for (let accident = 0; accident < ACCIDENTS; accident++) {
    const replica = random.pick(world.replicas);
    const forMs = random.between(10, 3 * LEASE_MS);
    const later = (run: () => void) => world.time.after(forMs, run);
    const { life } = replica;
    switch (random.below(13)) {
      case 0:
        replica.kill();
        replica.restartSoon();
        break;
      case 1:
        life.stop();
        later(() => life.resume());
        break;
      case 2:
        if (setsClocks) break;
        replica.suspend();
        later(() => replica.wake());
        break;
      case 3:
        replica.fate = cutOff;
        later(() => {
          replica.fate = PROMPT;
        });
        break;
      case 4:
      case 5: {
        const network = random.fork();
        replica.fate = () => ({
          requestMs: network.between(0, 3_000),
          answerMs: network.between(0, 1_500),
          ...(network.chance(0.3) ? { lost: network.chance(0.5) ? 'answer' : 'request' } : {}),
        });
        break;
      }
      case 6:
        if (world.store.leaseIds.length > 0) world.store.loseLease(random.pick(world.store.leaseIds));
        break;
      case 7:
        world.store.breakWatches();
        break;
      case 8:
        world.store.compact(world.store.position.revision);
        break;
      case 9:
        if (backup === null || random.chance(0.3)) backup = world.store.snapshot();
        else if (isRestored) {
          world.store.restore(backup, { isNewCluster: random.chance(0.3) });
          world.restores++;
        }
        break;
      case 10:
        void replica.terminate();
        break;
      case 11:
        replica.isCycling = false;
        later(() => {
          replica.isCycling = true;
        });
        break;
      case 12:
        if (setsClocks) life.jump(random.between(-100_000, 100_000));
        break;
    }
    await world.advance(random.between(0, 2 * LEASE_MS));
  }
  for (const replica of world.replicas) replica.fate = PROMPT;
  await world.advance(6 * TAKEOVER_MS);
  expect(world.confirmed.length, 'after the last accident one replica is confirmed').toBe(1);
  checkEpochs(world, isRestored && setsClocks);
  if (world.restores > 0) restored.count++;
  for (const [kind, count] of world.eventCounts) totals.set(kind, (totals.get(kind) ?? 0) + count);
}

/** A restored directory has forgotten epochs, and a clock that was wrong cannot replace them: then providers fence (F1). */
function checkEpochs({ given, restores }: ReplicaWorld, hasWrongClocks: boolean): void {
  if (restores > 0 && hasWrongClocks) return;
  for (const [index, { epoch, replica }] of given.entries()) {
    const before = given[index - 1];
    if (before !== undefined && epoch <= before.epoch) {
      throw new Error(`${replica} got epoch ${epoch} after ${before.replica} got ${before.epoch}`);
    }
  }
}
