/** What only a real etcd shows: members that die, hang or lose their leader, TLS, and a restored backup. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, systemScheduler, systemUptime } from '../../src/base/clock.ts';
import { Random } from '../../src/base/random.ts';
import { Candidacy } from '../../src/directory/election/candidacy.ts';
import { Lineage } from '../../src/directory/election/marks.ts';
import type { ReplicaEvent } from '../../src/directory/election/options.ts';
import { DirectoryUnavailableError } from '../../src/directory/errors.ts';
import { EtcdDirectory } from '../../src/directory/etcd/directory.ts';
import { FleetKeys } from '../../src/directory/keys.ts';
import { issue, makeAuthority } from '../tls/certificates.ts';
import { EtcdServer } from './etcd-server.ts';
import { MemoryMarks } from './replica-world.ts';
import { until } from './until.ts';

const random = new Random(Date.now());
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function connect(
  options: Partial<ConstructorParameters<typeof EtcdDirectory>[0]> & { addresses: readonly string[] },
) {
  const directory = new EtcdDirectory({
    clock: systemClock,
    scheduler: systemScheduler,
    random,
    callTimeoutMs: 20_000,
    silenceMsMax: 60_000,
    reconnectMsMax: 100,
    ...options,
  });
  closers.push(() => directory.close());
  return directory;
}

const put = (key: string, value: string) => ({ when: [], change: [{ kind: 'put', key, value }] }) as const;

describe('members of etcd', () => {
  let server: EtcdServer;
  beforeAll(async () => {
    server = await EtcdServer.start();
  }, 360_000);
  afterAll(() => server?.close());

  it('a dead member does not hide a living one, and a transaction is not sent twice', async () => {
    const dead = '127.0.0.1:1';
    const directory = connect({ addresses: [dead, server.address] });
    expect((await directory.get('/none')).entry).toBeNull();
    const other = connect({ addresses: [dead, server.address] });
    const failure = await other.transact(put('/t', '1')).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(DirectoryUnavailableError);
    // The next call goes to the other member.
    expect((await other.transact(put('/t', '2'))).succeeded).toBe(true);
  });

  it('a member that hangs costs a call its deadline, and a watch its silence; afterwards both work again', async () => {
    const directory = connect({ addresses: [server.address], callTimeoutMs: 300, silenceMsMax: 600 });
    await until(() =>
      directory.get('/x').then(
        () => true,
        () => false,
      ),
    );
    const gaps: string[] = [];
    const { position } = await directory.get('/x');
    directory.watch('/x/', position.revision, { onEvents: () => {}, onGap: (gap) => gaps.push(gap) });
    // A watch of a quiet prefix is not over: etcd answers that it is there.
    const other = connect({ addresses: [server.address] });
    let otherEvents = 0;
    other.watch('/x/', position.revision, {
      onEvents: () => otherEvents++,
      onGap: (gap) => gaps.push(`other ${gap}`),
    });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(gaps).toEqual([]);
    server.pause();
    try {
      const failure = await directory.transact(put('/x/1', '1')).catch((error: unknown) => error);
      expect((failure as DirectoryUnavailableError).mayHaveHappened).toBe(true);
      await until(() => gaps.length > 0);
    } finally {
      server.unpause();
    }
    expect(['silent', 'disconnected']).toContain(gaps[0]);
    // Only a read tells whether the transaction happened whose answer was lost.
    let value: string | undefined;
    await until(() =>
      directory.get('/x/1').then(
        ({ entry }) => {
          value = entry?.value;
          return true;
        },
        () => false,
      ),
    );
    if (value === undefined) await directory.transact(put('/x/1', '1'));
    await until(() => otherEvents === 1);
    expect(gaps).toHaveLength(1);
  });

  it('F2: a restored backup is noticed by its revision', async () => {
    const directory = connect({ addresses: [server.address] });
    const lineage = new Lineage(new MemoryMarks());
    const look = async () => {
      const before = lineage.highest;
      return lineage.answered(before, (await directory.get('/b')).position);
    };
    const answers = async () =>
      until(() =>
        directory.get('/b').then(
          () => true,
          () => false,
        ),
      );
    await directory.transact(put('/b', '1'));
    await server.kill('SIGTERM');
    server.backUp();
    await server.resume();
    await answers();
    expect(await look()).toBe(false);
    await directory.transact(put('/b', '2'));
    expect(await look()).toBe(false);
    await server.kill();
    await server.resume();
    await answers();
    expect(await look()).toBe(false); // a restart alone is none
    await server.kill();
    server.restore();
    await server.resume();
    await answers();
    expect(await look()).toBe(true);
    expect(await look()).toBe(false);
  }, 120_000);

  it('F1, F2: of two candidates one is confirmed; it hands over at once, and survives a restart of etcd', async () => {
    const keys = new FleetKeys('etcd');
    const events: ReplicaEvent['kind'][] = [];
    const marginMs = 1_000;
    const leaseMs = 3_000;
    const stand = (replica: string) => {
      const directory = connect({
        addresses: [server.address],
        callTimeoutMs: leaseMs / 3,
        silenceMsMax: leaseMs,
      });
      const candidacy = new Candidacy({
        directory,
        keys,
        shard: 'a/b',
        replica,
        instance: `${replica}-${random.uint32()}`,
        addresses: [],
        leaseMs,
        marginMs,
        marks: new MemoryMarks(),
        clocks: { wall: systemClock, uptime: systemUptime },
        scheduler: systemScheduler,
        cycleMsMax: 600_000,
        isWaiting: () => false,
        onEvent: ({ kind }) => events.push(kind),
      });
      closers.push(() => candidacy.close());
      return candidacy;
    };
    const candidates = [stand('a'), stand('b')];
    const first = await Promise.race(
      candidates.map(async (candidacy, index) => ({ index, leadership: await candidacy.whenActive })),
    );
    const other = candidates[1 - first.index]!;
    await until(() => first.leadership.isConfirmed);
    expect(events).toContain('standby');
    expect(events.filter((kind) => kind === 'took-over')).toHaveLength(1);
    await server.kill();
    await server.resume();
    await until(() => first.leadership.isConfirmed);
    await first.leadership.release();
    expect(first.leadership.isConfirmed).toBe(false);
    const second = await other.whenActive;
    closers.push(() => second.release());
    expect(second.epoch).toBeGreaterThan(first.leadership.epoch);
    await until(() => second.isConfirmed);
  }, 120_000);
});

describe('a member without a leader', () => {
  it('ends the watch and refuses reads', async () => {
    const [left, lost] = await EtcdServer.startCluster(2);
    closers.push(() => left!.close());
    closers.push(() => lost!.close());
    const directory = connect({ addresses: [left!.address] });
    await until(() =>
      directory.get('/x').then(
        () => true,
        () => false,
      ),
    );
    const gaps: string[] = [];
    directory.watch('/x/', 1, { onEvents: () => {}, onGap: (_gap, detail) => gaps.push(detail) });
    await lost!.kill();
    await until(() => gaps.length > 0);
    expect(gaps[0]).toMatch(/no leader/);
    await expect(directory.get('/x')).rejects.toBeInstanceOf(DirectoryUnavailableError);
  }, 120_000);
});

describe('TLS', () => {
  it('connects with a certificate of the CA, and not without', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'flotilla-etcd-tls-'));
    closers.push(() => rmSync(folder, { recursive: true, force: true }));
    const authority = makeAuthority();
    const write = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const caPath = write('ca.pem', authority.pem);
    const filesOf = (name: string, leaf: ReturnType<typeof issue>) => ({
      certificatePath: write(`${name}.pem`, leaf.certificate),
      privateKeyPath: write(`${name}.key`, leaf.privateKey),
      caPath,
    });
    const server = await EtcdServer.start({
      tls: filesOf('server', issue(authority, { ip: ['127.0.0.1'] })),
    });
    closers.push(() => server.close());
    const tls = filesOf('client', issue(authority, { uri: ['bigfleet://shard/a'] }));
    const directory = connect({ addresses: [server.address], tls });
    expect((await directory.transact(put('/secret', '1'))).succeeded).toBe(true);
    const stranger = connect({ addresses: [server.address], callTimeoutMs: 2_000 });
    await expect(stranger.get('/secret')).rejects.toBeInstanceOf(DirectoryUnavailableError);
  }, 120_000);
});
