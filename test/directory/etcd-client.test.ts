/** What only a real etcd shows: members that die, hang or lose their leader, TLS, and a restored backup. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Scheduler, systemClock, systemScheduler, systemUptime } from '../../src/base/clock.ts';
import { Random } from '../../src/base/random.ts';
import { Candidacy } from '../../src/directory/election/candidacy.ts';
import { Lineage } from '../../src/directory/election/marks.ts';
import type { ReplicaEvent } from '../../src/directory/election/options.ts';
import { writeRecord } from '../../src/directory/election/records.ts';
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

const succeeds = (call: Promise<unknown>) =>
  call.then(
    () => true,
    () => false,
  );

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

  it('a call to a member that hangs ends at its deadline, and has perhaps happened: only a read tells', async () => {
    const patient = connect({ addresses: [server.address] });
    const hasty = connect({ addresses: [server.address], callTimeoutMs: 300 });
    server.pause();
    const failure = await hasty
      .transact(put('/x/1', '1'))
      .catch((error: unknown) => error)
      .finally(() => server.unpause());
    expect((failure as DirectoryUnavailableError).mayHaveHappened).toBe(true);
    const { entry } = await patient.get('/x/1');
    expect([undefined, '1']).toContain(entry?.value);
  });

  it('a quiet watch is not over, and one on a member that hangs is', async () => {
    const timers: (() => void)[] = [];
    /** Time passes for the watch when the test says so. */
    const scheduler: Scheduler = {
      after: (_delayMs, run) => {
        timers.push(run);
        return { cancel: () => {} };
      },
      yield: systemScheduler.yield,
    };
    const directory = connect({ addresses: [server.address], scheduler, silenceMsMax: 3 });
    const { position } = await directory.get('/q');
    const seen: string[] = [];
    directory.watch('/q/', position.revision, {
      onEvents: () => seen.push('event'),
      onGap: (gap) => seen.push(gap),
    });
    await directory.transact(put('/q/1', '1'));
    await until(() => seen.length === 1);
    for (let third = 0; third < 4; third++) {
      timers.pop()!();
      // etcd's sign of progress: two of them missing end the watch.
      await new Promise((resolve) => setTimeout(resolve, 400));
    }
    await directory.transact(put('/q/1', '2'));
    await until(() => seen.length === 2);
    expect(seen).toEqual(['event', 'event']);
    server.pause();
    for (let third = 0; third < 3; third++) timers.pop()!();
    server.unpause();
    expect(seen).toEqual(['event', 'event', 'silent']);
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

  it('F1, F2: of two candidates one is confirmed; it survives a restart of etcd, and hands over', async () => {
    const keys = new FleetKeys('etcd');
    const events: ReplicaEvent['kind'][] = [];
    const leaseMs = 20_000;
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
        marginMs: 1_000,
        marks: new MemoryMarks(),
        clocks: { wall: systemClock, uptime: systemUptime },
        scheduler: systemScheduler,
        cycleMsMax: 600_000,
        isWaiting: () => false,
        onEvent: ({ kind }) => events.push(kind),
      });
      closers.push(() => candidacy.close());
      return { directory, candidacy };
    };
    // The replica before these two gave its epoch up, so that no test waits for a lease.
    const record = { epoch: 1, instance: 'former', ttlMs: leaseMs, isReleased: true };
    await until(() => succeeds(connect({ addresses: [server.address] }).get('/x')));
    await connect({ addresses: [server.address] }).transact(put(keys.epoch('a/b'), writeRecord(record)));
    const candidates = [stand('a'), stand('b')];
    const first = await Promise.race(
      candidates.map(async ({ directory, candidacy }, index) => ({
        index,
        directory,
        leadership: await candidacy.whenActive,
      })),
    );
    await until(() => first.leadership.isConfirmed);
    await until(() => events.includes('standby'));
    expect(events.filter((kind) => kind === 'took-over')).toHaveLength(1);
    await server.kill();
    await server.resume();
    await until(() => succeeds(first.directory.get('/x')));
    await until(() => succeeds(candidates[1 - first.index]!.directory.get('/x')));
    expect(first.leadership.isConfirmed).toBe(true);
    await first.leadership.release();
    expect(first.leadership.isConfirmed).toBe(false);
    const second = await candidates[1 - first.index]!.candidacy.whenActive;
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
