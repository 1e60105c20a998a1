import { writeFileSync } from 'node:fs';
import { connect as connectTls } from 'node:tls';
import { ChannelCredentials } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { INSPECTIONS_PER_IDENTITY_MAX } from '../../src/session/limits.ts';
import { startOperatorServer } from '../../src/session/server.ts';
import type { NeedsReader } from '../../src/shard/ports/view.ts';
import { UnusableTlsFileError } from '../../src/tls/files.ts';
import { identityOf } from '../../src/tls/identity.ts';
import { issue, makeAuthority } from '../tls/certificates.ts';
import { FakeShard } from './fake-shard.ts';
import { rawConnection } from './hostile-client.ts';
import { inspect, VIEW } from './inspector.ts';
import { NO_NEEDS } from './rig.ts';
import { as, authority, clientCredentials, filesOf, SERVER, tlsRig } from './tls-rig.ts';

/** More than a connection buffers: a reader that stops must stop the shard. */
const MANY = 1_000;
const MANY_NEEDS: Pick<NeedsReader, 'inspectNeeds'> = {
  inspectNeeds: async () => ({
    header: { cycle: 1, computedAtMs: 0, totalNeeds: MANY, unmetNeeds: 0 },
    pages: (async function* () {
      for (let index = 0; index < MANY; index++) yield [{ ...VIEW, group: 'g'.repeat(4_000) }];
    })(),
  }),
};

describe('limits per identity', () => {
  it('T11: one certificate leaves connections for the others, and its places come back', async () => {
    const { server, connect } = await tlsRig({ limits: { connection: { identity: 3 } } });
    const credentials = as('bigfleet://cluster/hostile');
    const operators = Array.from({ length: 3 }, () => connect({ credentials }));
    await expect.poll(() => server.held('stream')).toBe(3);
    const refused = connect({ credentials });
    await expect.poll(() => server.counters.refused.connection_identity).toBeGreaterThan(0);
    await connect({ clusterId: 'east', credentials: as('bigfleet://cluster/east') }).greeted();
    for (const operator of [...operators, refused]) operator.close();
    await expect.poll(() => server.held('connection')).toBe(1);
    expect([server.held('stream'), server.held('handshake')]).toEqual([1, 0]);
  });

  it('T11: connections that never begin TLS are closed after the deadline', async () => {
    const { server, connect } = await tlsRig({ handshakeTimeoutMs: 2_000 });
    const sockets = Array.from({ length: 10 }, () => rawConnection(server.address).resume());
    await expect.poll(() => server.counters.refused.handshake_timeout).toBe(10);
    await expect.poll(() => sockets.every(({ closed }) => closed)).toBe(true);
    expect([server.held('connection'), server.held('handshake')]).toEqual([0, 0]);
    await connect({ clusterId: 'east', credentials: as('bigfleet://cluster/east') }).greeted();
  });

  it('T15: readers that never read use up the places of their own identity, and are ended', async () => {
    const { server } = await tlsRig({ needs: MANY_NEEDS, inspectionWriteMs: 2_000 });
    let resume = () => {};
    const resumed = new Promise<void>((resolve) => {
      resume = resolve;
    });
    const readonly = as('bigfleet://readonly');
    const stuck = Array.from({ length: INSPECTIONS_PER_IDENTITY_MAX }, () =>
      inspect(server.address, {}, readonly, (count) => (count === 1 ? resumed : true)),
    );
    await expect.poll(() => server.held('reader')).toBe(INSPECTIONS_PER_IDENTITY_MAX);
    const ninth = await inspect(server.address, {}, readonly);
    expect([ninth.code, ninth.details]).toEqual([
      'RESOURCE_EXHAUSTED',
      'The shard has 8 readers of needs per identity, its maximum. Retry later.',
    ]);
    const other = await inspect(server.address, {}, as('bigfleet://admin'));
    expect([other.code, other.frames.length]).toEqual(['OK', 1 + MANY]);
    await expect.poll(() => server.counters.refused.reader_timeout).toBe(INSPECTIONS_PER_IDENTITY_MAX);
    expect(server.held('reader')).toBe(0);
    resume();
    for (const { code, details } of await Promise.all(stuck)) {
      expect(code).toBe('DEADLINE_EXCEEDED');
      expect(details).toContain('took no needs for 2000 ms');
    }
    expect((await inspect(server.address, {}, readonly)).code).toBe('OK');
  });
});

describe('identity on TLS', () => {
  it('lets the certificate of a cluster open that cluster’s session', async () => {
    const { connect, events } = await tlsRig();
    await connect({ clusterId: 'east', credentials: as('bigfleet://cluster/east') }).greeted();
    expect(events.map(({ kind }) => kind)).toEqual(['session_opened']);
  });

  for (const [because, uris, text] of [
    [
      'is another cluster’s',
      ['bigfleet://cluster/west'],
      'is for cluster "west", but Hello names cluster "east"',
    ],
    ['is a readonly certificate', ['bigfleet://readonly'], 'is for role readonly'],
    ['is an admin’s', ['bigfleet://admin'], 'is for role admin'],
    ['is a shard’s', ['bigfleet://shard/east'], 'is for shard "east"'],
    ['has no bigfleet:// URI', ['https://example.com'], 'carries no bigfleet:// URI'],
    ['names two', ['bigfleet://cluster/east', 'bigfleet://cluster/west'], 'carries 2 bigfleet:// URIs'],
    [
      'names a cluster and an admin',
      ['bigfleet://cluster/east', 'BIGFLEET://admin'],
      'carries 2 bigfleet:// URIs',
    ],
    ['names an empty cluster', ['bigfleet://cluster/'], 'is not a known identity'],
    ['hides the name in another', ['https://x/,URI:bigfleet://cluster/east'], 'carries no bigfleet:// URI'],
  ] as const) {
    it(`refuses a session with PERMISSION_DENIED, a counter and an event if the certificate ${because}`, async () => {
      const { connect, server, shard, events } = await tlsRig();
      const operator = connect({ clusterId: 'east', credentials: as(...uris) });
      const { code, details } = await operator.endedWith();
      expect(code).toBe('PERMISSION_DENIED');
      expect(details).toMatch(new RegExp(text));
      expect(server.counters.identityRejections).toBe(1);
      expect(events).toEqual([
        { kind: 'identity_rejected', clusterId: 'east', peer: expect.any(String), detail: details },
      ]);
      expect(shard.opened).toEqual([]);
    });
  }

  it('keeps a cluster’s session when another certificate claims the cluster', async () => {
    const { connect } = await tlsRig();
    const rightful = await connect({
      clusterId: 'east',
      credentials: as('bigfleet://cluster/east'),
    }).greeted();
    await connect({ clusterId: 'east', credentials: as('bigfleet://cluster/west') }).endedWith();
    rightful.hello('east');
    await rightful.receives(() => rightful.acks('hello') === 2);
  });

  it('opens no session without a client certificate, or with one of another authority', async () => {
    const { connect, server } = await tlsRig();
    const stranger = issue(makeAuthority('another authority'), { uri: ['bigfleet://cluster/east'] });
    const plaintext = ChannelCredentials.createInsecure();
    for (const credentials of [clientCredentials(null), clientCredentials(stranger), plaintext]) {
      const { code } = await connect({ clusterId: 'east', credentials }).endedWith();
      // In TLS 1.3 a client may send before it learns of the refusal; its library chooses the status.
      expect(['UNAVAILABLE', 'INTERNAL', 'CANCELLED', 'UNKNOWN']).toContain(code);
    }
    expect(server.counters.framesIn.hello).toBe(0);
    expect(server.counters.sessionsInstalled).toBe(0);
  });

  it('requires TLS 1.3', async () => {
    const { server } = await tlsRig();
    const leaf = issue(authority, { uri: ['bigfleet://cluster/east'] });
    const [host, port] = server.address.split(':');
    const attempt = (maxVersion: 'TLSv1.2' | 'TLSv1.3') =>
      new Promise<string>((resolve) => {
        const socket = connectTls(
          {
            host: host!,
            port: Number(port),
            ca: authority.pem,
            cert: leaf.certificate,
            key: leaf.privateKey,
            maxVersion,
            ALPNProtocols: ['h2'],
          },
          () => {
            resolve(socket.getProtocol()!);
            socket.destroy();
          },
        );
        socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      });
    expect(await attempt('TLSv1.3')).toBe('TLSv1.3');
    expect(await attempt('TLSv1.2')).toMatch(/PROTOCOL_VERSION|ECONNRESET/);
  });

  it('lets only readonly and admin certificates read needs', async () => {
    const { server } = await tlsRig();
    for (const uri of ['bigfleet://readonly', 'bigfleet://admin']) {
      const { code, frames } = await inspect(server.address, {}, as(uri));
      expect([code, frames.length]).toEqual(['OK', 1]);
    }
    const { code, details } = await inspect(server.address, {}, as('bigfleet://cluster/east'));
    expect(code).toBe('PERMISSION_DENIED');
    expect(details).toContain('requires role readonly or admin');
    expect(server.counters.identityRejections).toBe(1);
  });

  it('loads a rotated certificate without a restart, and keeps the old pair while the new one is half written', async () => {
    const { files, server, connect } = await tlsRig({ tlsCheckIntervalMs: 20 });
    const serialOf = () =>
      new Promise<string>((resolve, reject) => {
        const leaf = issue(authority, { uri: ['bigfleet://cluster/east'] });
        const [host, port] = server.address.split(':');
        const socket = connectTls(
          {
            host: host!,
            port: Number(port),
            ca: authority.pem,
            cert: leaf.certificate,
            key: leaf.privateKey,
            ALPNProtocols: ['h2'],
          },
          () => {
            resolve(socket.getPeerCertificate().serialNumber);
            socket.destroy();
          },
        );
        socket.on('error', reject);
      });
    const old = await connect({ clusterId: 'old', credentials: as('bigfleet://cluster/old') }).greeted();
    const first = await serialOf();
    const next = issue(authority, SERVER);
    writeFileSync(files.privateKeyPath, next.privateKey);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await serialOf()).toBe(first);
    writeFileSync(files.certificatePath, next.certificate);
    await expect.poll(serialOf, { interval: 50 }).not.toBe(first);
    old.hello('old'); // its connection is still open
    await old.receives(() => old.acks('hello') === 2);
    await connect({ clusterId: 'new', credentials: as('bigfleet://cluster/new') }).greeted();
  });

  it('refuses to start with files that cannot be used', async () => {
    const files = filesOf(issue(authority, SERVER));
    writeFileSync(files.privateKeyPath, issue(authority, SERVER).privateKey);
    const start = startOperatorServer({
      listen: '127.0.0.1:0',
      shard: new FakeShard(),
      needs: NO_NEEDS,
      tls: files,
    });
    await expect(start).rejects.toBeInstanceOf(UnusableTlsFileError);
  });
});

describe('the names of a certificate', () => {
  const read = (subjectaltname: string) =>
    identityOf({ getAuthContext: () => ({ sslPeerCertificate: { subjectaltname } as never }) });

  it('may contain commas and quotes', () => {
    expect(read('DNS:a, URI:bigfleet://cluster/east, IP Address:127.0.0.1')).toEqual({
      kind: 'cluster',
      clusterId: 'east',
    });
    expect(read('URI:"bigfleet://cluster/a, b"')).toEqual({ kind: 'cluster', clusterId: 'a, b' });
    expect(read('DNS:"x, URI:bigfleet://admin"')).toContain('no bigfleet://');
    expect(read('DNS:"x\\", URI:bigfleet://admin"')).toContain('no bigfleet://');
    expect(read('')).toContain('no bigfleet://');
  });
});
