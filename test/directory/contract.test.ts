/** What every directory does. The suite runs on the in-memory directory and on a real etcd. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock, systemScheduler } from '../../src/base/clock.ts';
import { Random } from '../../src/base/random.ts';
import {
  DirectoryLimitError,
  DirectoryUnavailableError,
  LeaseNotFoundError,
} from '../../src/directory/errors.ts';
import { EtcdDirectory } from '../../src/directory/etcd/directory.ts';
import { FleetKeys } from '../../src/directory/keys.ts';
import { MemoryDirectory } from '../../src/directory/memory/directory.ts';
import { MemoryStore } from '../../src/directory/memory/store.ts';
import { Mirror } from '../../src/directory/mirror.ts';
import type { Directory, DirectoryEvent, WatchGap } from '../../src/directory/port.ts';
import { EtcdServer } from './etcd-server.ts';
import { until } from './until.ts';

/** A running directory, and ways to damage it. */
interface Subject {
  connect(): Directory;
  compact(revision: number): Promise<void>;
  breakConnections(): Promise<void>;
  close(): Promise<void>;
}

function memorySubject(): Subject {
  const store = new MemoryStore(systemClock, systemScheduler);
  return {
    connect: () =>
      new MemoryDirectory({
        store,
        network: systemScheduler,
        scheduler: systemScheduler,
        callTimeoutMs: 2_000,
        pageSize: 7,
      }),
    compact: async (revision) => store.compact(revision),
    breakConnections: async () => store.breakWatches(),
    close: async () => {},
  };
}

async function etcdSubject(): Promise<Subject> {
  const server = await EtcdServer.start();
  const random = new Random(Date.now());
  return {
    connect: () =>
      new EtcdDirectory({
        addresses: [server.address],
        clock: systemClock,
        scheduler: systemScheduler,
        random,
        callTimeoutMs: 20_000,
        silenceMsMax: 30_000,
        reconnectMsMax: 100,
      }),
    compact: (revision) => server.compact(revision),
    breakConnections: async () => {
      await server.kill();
      await server.resume();
    },
    close: () => server.close(),
  };
}

for (const [name, start] of [
  ['memory', async () => memorySubject()],
  ['etcd', etcdSubject],
] as const) {
  describe(`the directory: ${name}`, () => {
    let subject: Subject;
    let directory: Directory;
    const closers: (() => void)[] = [];
    let testCount = 0;
    /** Each test has keys of its own. */
    let root = '';

    beforeAll(async () => {
      subject = await start();
    }, 360_000);
    afterAll(() => subject?.close());
    beforeEach(() => {
      directory = subject.connect();
      closers.push(() => directory.close());
      root = `/test/${++testCount}/`;
    });
    afterEach(() => {
      for (const close of closers.splice(0)) close();
    });

    const put = (key: string, value: string, leaseId = 0) =>
      directory.transact({ when: [], change: [{ kind: 'put', key: root + key, value, leaseId }] });
    const valueAt = async (key: string) => (await directory.get(root + key)).entry?.value ?? null;

    it('gives each write a higher revision, and keeps the one that created a key', async () => {
      const first = await put('a', '1');
      const second = await put('a', '2 ö 💡');
      expect(second.position.revision).toBeGreaterThan(first.position.revision);
      expect(second.position.clusterId).toBe(first.position.clusterId);
      const { entry, position } = await directory.get(`${root}a`);
      expect(entry).toEqual({
        key: `${root}a`,
        value: '2 ö 💡',
        createRevision: first.position.revision,
        modRevision: second.position.revision,
        leaseId: 0,
      });
      expect(position).toEqual(second.position);
      await directory.transact({ when: [], change: [{ kind: 'delete', key: `${root}a` }] });
      expect(await valueAt('a')).toBeNull();
      const third = await put('a', '3');
      expect((await directory.get(`${root}a`)).entry!.createRevision).toBe(third.position.revision);
    });

    it('changes all or nothing, by what it compares', async () => {
      const { position } = await put('there', 'x');
      const key = `${root}there`;
      const comparisons = [
        [{ kind: 'absent', key: `${root}missing` }, true],
        [{ kind: 'absent', key }, false],
        [{ kind: 'created-at', key, createRevision: position.revision }, true],
        [{ kind: 'created-at', key, createRevision: position.revision - 1 }, false],
        [{ kind: 'modified-at', key, modRevision: position.revision }, true],
        [{ kind: 'modified-at', key, modRevision: position.revision + 1 }, false],
        [{ kind: 'equals', key, value: 'x' }, true],
        [{ kind: 'equals', key, value: 'y' }, false],
        [{ kind: 'equals', key: `${root}missing`, value: '' }, false],
      ] as const;
      for (const [index, [comparison, holds]] of comparisons.entries()) {
        const answer = await directory.transact({
          when: [{ kind: 'absent', key: `${root}missing` }, comparison],
          change: [
            { kind: 'put', key: `${root}done/${index}`, value: 'yes' },
            { kind: 'put', key: `${root}also/${index}`, value: 'yes' },
          ],
          elseRead: [key, `${root}missing`],
        });
        expect(answer.succeeded, comparison.kind).toBe(holds);
        expect(answer.read.map((entry) => entry?.value ?? null)).toEqual(holds ? [] : ['x', null]);
        expect([await valueAt(`done/${index}`), await valueAt(`also/${index}`)]).toEqual(
          holds ? ['yes', 'yes'] : [null, null],
        );
      }
    });

    it('of many transactions on one absent key lets one succeed', async () => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          directory.transact({
            when: [{ kind: 'absent', key: `${root}one` }],
            change: [{ kind: 'put', key: `${root}one`, value: `${index}` }],
          }),
        ),
      );
      const winners = answers.flatMap(({ succeeded }, index) => (succeeded ? [`${index}`] : []));
      expect(winners).toEqual([await valueAt('one')]);
    });

    it('reads a prefix at one revision in the order of its keys, whatever is written meanwhile', async () => {
      const names = Array.from({ length: 40 }, (_, index) => `p/${String(index).padStart(3, '0')}`);
      for (const name of names) await put(name, 'old');
      await put('p0', 'a neighbour that does not belong to it');
      const reading = directory.range(`${root}p/`);
      const writing = (async () => {
        for (const name of names.toReversed()) await put(name, 'new');
      })();
      const { entries, position } = await reading;
      await writing;
      expect(entries.map(({ key }) => key)).toEqual(names.map((name) => root + name));
      // Later pages would show newer values if they were not of the first page's revision.
      expect(entries.filter(({ modRevision }) => modRevision > position.revision)).toEqual([]);
    });

    it('reads more than one page and more than one answer holds', async () => {
      const large = 'x'.repeat(900_000);
      for (let index = 0; index < 6; index++) await put(`large/${index}`, large);
      const { entries } = await directory.range(`${root}large/`);
      expect(entries.map(({ value }) => value.length)).toEqual(Array.from({ length: 6 }, () => 900_000));
      await directory.transact({
        when: [],
        change: entries.map(({ key }) => ({ kind: 'delete', key })),
      });
    });

    it('refuses a transaction that etcd would refuse, before it is sent', async () => {
      const change = Array.from(
        { length: 101 },
        (_, index) => ({ kind: 'put', key: `${root}${index}`, value: '' }) as const,
      );
      await expect(directory.transact({ when: [], change })).rejects.toBeInstanceOf(DirectoryLimitError);
      expect((await directory.transact({ when: [], change: change.slice(0, 100) })).succeeded).toBe(true);
      await expect(put('big', 'é'.repeat(600_000))).rejects.toBeInstanceOf(DirectoryLimitError);
    });

    it('keeps keys apart whose parts contain separators', async () => {
      const keys = new FleetKeys(`f/${testCount}`);
      const tricky = ['a', 'a/active', 'a%2Factive', 'a/', '%', 'ä b?#', '..'];
      for (const shard of tricky) {
        await directory.transact({
          when: [],
          change: [{ kind: 'put', key: keys.active(shard), value: shard }],
        });
      }
      for (const shard of tricky) {
        const { entries } = await directory.range(keys.shard(shard));
        expect(entries.map(({ value }) => value)).toEqual([shard]);
      }
    });

    it('deletes the keys of a lease when it is revoked, and only those', async () => {
      const lease = await directory.grantLease(5_000);
      expect(lease.ttlMs).toBeGreaterThanOrEqual(5_000);
      await put('leased', 'x', lease.id);
      await put('plain', 'x');
      expect((await directory.get(`${root}leased`)).entry!.leaseId).toBe(lease.id);
      expect((await directory.keepAlive(lease.id)).ttlMs).toBe(lease.ttlMs);
      await directory.revokeLease(lease.id);
      expect([await valueAt('leased'), await valueAt('plain')]).toEqual([null, 'x']);
      await directory.revokeLease(lease.id); // a second time is no failure
    });

    it('says that a lease is not found, and puts nothing with it', async () => {
      const lease = await directory.grantLease(60_000);
      await directory.revokeLease(lease.id);
      await expect(directory.keepAlive(lease.id)).rejects.toBeInstanceOf(LeaseNotFoundError);
      await expect(put('late', 'x', lease.id)).rejects.toBeInstanceOf(LeaseNotFoundError);
      expect(await valueAt('late')).toBeNull();
    });

    it('ends a lease that is not kept alive', async () => {
      const [kept, left] = [await directory.grantLease(60_000), await directory.grantLease(1_000)];
      await put('kept', 'x', kept.id);
      await put('left', 'x', left.id);
      await until(async () => {
        await directory.keepAlive(kept.id);
        return (await valueAt('left')) === null;
      });
      expect(await valueAt('kept')).toBe('x');
    });

    it('shows a watch every event after its revision, once and in order, and none of its neighbours', async () => {
      const { position } = await put('w/a', '0');
      await put('w/a', '1');
      const seen: string[] = [];
      const watch = directory.watch(`${root}w/`, position.revision, {
        onEvents: (events) => seen.push(...events.map(textOf)),
        onGap: (gap) => seen.push(gap),
      });
      await put('w/b', '2');
      await put('w0', 'outside');
      await directory.transact({
        when: [],
        change: [
          { kind: 'delete', key: `${root}w/a` },
          { kind: 'put', key: `${root}w/c`, value: '3' },
        ],
      });
      await until(() => seen.length >= 4);
      expect(seen).toEqual(['a=1', 'b=2', '-a', 'c=3']);
      watch.close();
      await put('w/d', '4');
      const other = directory.watch(`${root}w/`, position.revision, {
        onEvents: (events) => events.some((event) => textOf(event) === 'd=4') && seen.push('done'),
        onGap: () => {},
      });
      await until(() => seen.includes('done'));
      other.close();
      expect(seen.slice(4)).toEqual(['done']);
    });

    it('ends a watch whose revision was compacted, and never shows it the rest', async () => {
      const { position } = await put('w/a', '0');
      for (let index = 0; index < 5; index++) await put('w/a', `${index}`);
      await subject.compact((await directory.get(`${root}w/a`)).position.revision);
      const seen: (string | WatchGap)[] = [];
      directory.watch(`${root}w/`, position.revision, {
        onEvents: (events) => seen.push(...events.map(textOf)),
        onGap: (gap) => seen.push(gap),
      });
      await until(() => seen.length > 0);
      expect(seen).toEqual(['compacted']);
    });

    it('a mirror reads everything again after a gap, so it misses no deletion', async () => {
      await put('m/stays', '1');
      await put('m/goes', '1');
      const gaps: string[] = [];
      const mirror = new Mirror({
        directory,
        prefix: `${root}m/`,
        scheduler: systemScheduler,
        retryMs: 200,
        listener: { onGap: (gap) => gaps.push(gap) },
      });
      closers.push(() => mirror.close());
      await until(() => mirror.entries.length === 2);
      await put('m/stays', '2');
      await until(() => mirror.get(`${root}m/stays`)?.value === '2'); // the watch is there
      await subject.breakConnections();
      const deletion = { when: [], change: [{ kind: 'delete', key: `${root}m/goes` }] } as const;
      await until(() =>
        directory.transact(deletion).then(
          () => true,
          () => false,
        ),
      );
      await until(
        async () =>
          await put('m/new', '2').then(
            () => true,
            () => false,
          ),
      );
      await subject.compact((await directory.get(root)).position.revision);
      await until(() => mirror.isWhole && mirror.get(`${root}m/new`) !== null);
      expect(mirror.entries.map(({ key }) => key.slice(root.length)).sort()).toEqual(['m/new', 'm/stays']);
      expect(gaps.length).toBeGreaterThan(0);
    });

    it('refuses calls after it was closed, and says that nothing happened', async () => {
      directory.close();
      const error = await put('closed', 'x').catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(DirectoryUnavailableError);
      expect((error as DirectoryUnavailableError).mayHaveHappened).toBe(false);
    });

    function textOf(event: DirectoryEvent): string {
      const nameOf = (key: string) => key.slice(`${root}w/`.length);
      if (event.kind === 'delete') return `-${nameOf(event.key)}`;
      return `${nameOf(event.entry.key)}=${event.entry.value}`;
    }
  });
}
