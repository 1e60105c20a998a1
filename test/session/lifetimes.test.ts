import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import type { ChannelCredentials } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { SimulatedOperator } from '../../src/simulation/operators/operator.ts';
import { issue, makeAuthority } from '../tls/certificates.ts';
import { rawConnection } from './hostile-client.ts';
import { inspect } from './inspector.ts';
import type { Operator } from './operator.ts';
import { closeAfterwards, type Rig, startRig } from './rig.ts';
import { as, authority, clientCredentials, filesOf, folder, SERVER, tlsRig } from './tls-rig.ts';

const QUICK = { tlsCheckIntervalMs: 20, lifetimeSweepMs: 20 };
const HOUR_MS = 3_600_000;

function greeted(rig: Rig, clusterId: string, credentials?: ChannelCredentials): Promise<Operator> {
  const own = credentials ?? as(`bigfleet://cluster/${clusterId}`);
  return rig.connect({ clusterId, credentials: own }).greeted();
}

/** The session still answers. */
async function goesOn(operator: Operator, clusterId: string): Promise<void> {
  const acks = operator.acks('hello');
  operator.hello(clusterId);
  await operator.receives(() => operator.acks('hello') > acks);
}

const endedConnections = ({ events }: Rig) => events.filter(({ kind }) => kind === 'connection_ended');

describe('certificates of open connections', () => {
  it('T14: an expired certificate ends its session with the reason, and another cluster’s goes on', async () => {
    const rig = await tlsRig(QUICK);
    const leaf = issue(authority, { uri: ['bigfleet://cluster/prod-eu-1'] }, 4_000);
    const east = await greeted(rig, 'east');
    const expiring = await greeted(rig, 'prod-eu-1', clientCredentials(leaf));
    await expect.poll(() => expiring.ended, { timeout: 15_000 }).not.toBe(null);
    const { code, details } = await expiring.endedWith();
    expect(code).toBe('UNAUTHENTICATED');
    expect(details).toMatch(
      /^The certificate of cluster "prod-eu-1" expired at .*Z\. Connect with a new one\./,
    );
    expect(rig.server.counters.connectionsEnded).toEqual({ age: 0, expired: 1, untrusted: 0, denied: 0 });
    expect(endedConnections(rig)).toEqual([
      { kind: 'connection_ended', reason: 'expired', peer: expect.any(String), detail: details },
    ]);
    await goesOn(east, 'east');
    await expect.poll(() => rig.server.held('connection')).toBe(1);
    expect(rig.shard.closed).toEqual(['prod-eu-1']);
  });

  it('T14: a CA that was replaced ends the sessions of the old one, not those of an intermediate of the new one', async () => {
    const root = makeAuthority('new root');
    const intermediate = makeAuthority('new intermediate', root);
    const rig = await tlsRig(QUICK);
    const old = await greeted(rig, 'old');
    writeFileSync(rig.files.caPath, authority.pem + root.pem);
    await expect.poll(() => rig.events.map(({ kind }) => kind)).toContain('tls_reloaded');
    const leaf = issue(intermediate, { uri: ['bigfleet://cluster/new'] });
    const recent = await greeted(rig, 'new', clientCredentials(leaf));
    await goesOn(old, 'old'); // both CAs are in the file
    writeFileSync(rig.files.caPath, root.pem);
    const { code, details } = await old.endedWith();
    expect(code).toBe('UNAUTHENTICATED');
    expect(details).toContain('The certificate of cluster "old" is not signed by the shard\'s present CA.');
    expect(rig.server.counters.connectionsEnded.untrusted).toBe(1);
    await goesOn(recent, 'new');
  });

  it('T14: a denied identity loses its session and gets no other until the file no longer has it', async () => {
    const denied = join(folder(), 'denied');
    writeFileSync(denied, '# compromised\n');
    const rig = await tlsRig({ ...QUICK, tlsDeniedPath: denied });
    const leaf = issue(authority, { uri: ['bigfleet://cluster/west'] });
    const east = await greeted(rig, 'east');
    const west = await greeted(rig, 'west', clientCredentials(leaf));
    appendFileSync(denied, 'bigfleet://cluster/west\n');
    const ended = await west.endedWith();
    expect(ended.code).toBe('UNAUTHENTICATED');
    expect(ended.details).toContain('The shard denies cluster "west"');
    const again = rig.connect({ clusterId: 'west', credentials: clientCredentials(leaf) });
    expect(await again.endedWith()).toEqual(ended);
    expect(rig.server.counters.connectionsEnded.denied).toBe(2);
    await goesOn(east, 'east');
    writeFileSync(denied, '');
    await expect.poll(() => rig.events.filter(({ kind }) => kind === 'tls_reloaded').length).toBe(2);
    await greeted(rig, 'west', clientCredentials(leaf));
  });

  it('T14: a denied fingerprint ends one certificate; the cluster connects with another', async () => {
    const denied = join(folder(), 'denied');
    writeFileSync(denied, '');
    const rig = await tlsRig({ ...QUICK, tlsDeniedPath: denied });
    const leaf = issue(authority, { uri: ['bigfleet://cluster/west'] });
    const west = await greeted(rig, 'west', clientCredentials(leaf));
    writeFileSync(denied, `sha256:${leaf.fingerprint256.toLowerCase()}\n`);
    expect((await west.endedWith()).code).toBe('UNAUTHENTICATED');
    await greeted(rig, 'west');
  });

  it('T14: a reader of needs is refused as well', async () => {
    const denied = join(folder(), 'denied');
    writeFileSync(denied, 'bigfleet://readonly\n');
    const { server } = await tlsRig({ tlsDeniedPath: denied });
    expect((await inspect(server.address, {}, as('bigfleet://readonly'))).code).toBe('UNAUTHENTICATED');
    expect((await inspect(server.address, {}, as('bigfleet://admin'))).code).toBe('OK');
  });

  it('T14: every handshake checks the certificate; no session is resumed', async () => {
    const { server } = await tlsRig();
    const leaf = issue(authority, { uri: ['bigfleet://cluster/east'] });
    const [host, port] = server.address.split(':');
    const options = { host: host!, port: Number(port), ca: authority.pem, ALPNProtocols: ['h2'] };
    let session: Buffer | undefined;
    const dial = () =>
      new Promise<boolean>((resolve, reject) => {
        const socket = connectTls({
          ...options,
          cert: leaf.certificate,
          key: leaf.privateKey,
          ...(session === undefined ? {} : { session }),
        });
        socket.on('error', reject);
        socket.on('session', (ticket) => {
          session = ticket;
        });
        // The server's first HTTP/2 frame comes after its tickets.
        socket.once('data', () => {
          resolve(socket.isSessionReused());
          socket.destroy();
        });
        socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
      });
    expect(await dial()).toBe(false);
    expect(await dial()).toBe(false);
  });
});

describe('the age of connections', () => {
  it('T14: ends every connection between 0.8 and 1.2 of the age, and none before', async () => {
    const rig = await startRig({ lifetimeSweepMs: 20 });
    const operators = await Promise.all(
      Array.from({ length: 20 }, (_, index) => rig.greeted(`cluster-${index}`)),
    );
    rig.shard.clock.advance(0.799 * HOUR_MS);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(rig.server.sessionCount).toBe(20);
    rig.shard.clock.advance(0.402 * HOUR_MS);
    for (const operator of operators) {
      const { code, details } = await operator.endedWith();
      expect([code, details]).toEqual(['UNAVAILABLE', expect.stringContaining('maximum age')]);
    }
    expect(rig.server.counters.connectionsEnded.age).toBe(20);
    await expect.poll(() => rig.server.held('connection')).toBe(0);
    expect(endedConnections(rig)).toEqual([]); // this happens all the time
  });

  it('T14: never cuts a connection while a blob is awaited on it', async () => {
    const rig = await startRig({ lifetimeSweepMs: 20 });
    const east = await rig.greeted('east');
    const west = await rig.greeted('west');
    const ask = { requirements: [], timeoutMs: 60_000 };
    const answer = rig.server.requestBlob({ ...ask, clusterId: 'east' });
    const asked = () => east.received.find(({ bootstrapRequest }) => bootstrapRequest)?.bootstrapRequest;
    await east.receives(() => asked() !== undefined);
    rig.shard.clock.advance(2 * HOUR_MS);
    await west.endedWith();
    rig.shard.clock.advance(HOUR_MS);
    await goesOn(east, 'east');
    // What would keep the connection for ever is left to the next session.
    expect(await rig.server.requestBlob({ ...ask, clusterId: 'east' })).toEqual({ kind: 'no_session' });
    const userData = Buffer.from('blob');
    east.send({ bootstrapResponse: { requestId: asked()!.requestId, userData, ttlSeconds: 1 } });
    expect(await answer).toMatchObject({ kind: 'blob' });
    expect((await east.endedWith()).code).toBe('UNAVAILABLE');
  });

  it('T14: a denied identity is cut off even while a blob is awaited', async () => {
    const denied = join(folder(), 'denied');
    writeFileSync(denied, '');
    const rig = await tlsRig({ ...QUICK, tlsDeniedPath: denied });
    const west = await greeted(rig, 'west');
    const answer = rig.server.requestBlob({ clusterId: 'west', requirements: [], timeoutMs: 60_000 });
    rig.shard.clock.advance(2 * HOUR_MS);
    await expect.poll(() => rig.server.counters.connectionsEnded.age).toBe(1);
    writeFileSync(denied, 'bigfleet://cluster/west\n');
    expect((await west.endedWith()).code).toBe('UNAUTHENTICATED');
    expect(await answer).toEqual({ kind: 'no_session' });
  });

  it('T14: a peer that ignores the end of its connection loses it', async () => {
    const { server, shard } = await startRig({ lifetimeSweepMs: 20 });
    const socket = rawConnection(server.address).resume();
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])); // SETTINGS
    await expect.poll(() => [server.held('connection'), server.held('handshake')]).toEqual([1, 0]);
    shard.clock.advance(2 * HOUR_MS);
    await expect.poll(() => server.counters.connectionsEnded.age).toBe(1);
    shard.clock.advance(10_000);
    await expect.poll(() => server.held('connection')).toBe(0);
  });

  it('T14: an operator reconnects, and is told of its machines again', async () => {
    const rig = await startRig({ lifetimeSweepMs: 20 });
    const operator = new SimulatedOperator({ address: rig.server.address, clusterId: 'east' });
    closeAfterwards(() => operator.close());
    await operator.connect();
    for (let count = 1; count <= 3; count++) {
      rig.shard.clock.advance(2 * HOUR_MS);
      await operator.waitFor('an ending', () => operator.endings.length === count);
      await operator.waitFor('another session', () => operator.isConnected);
    }
    expect(rig.shard.opened.length).toBe(4);
    await expect.poll(() => rig.server.held('connection')).toBe(1);
  });

  it('T14: comes before the certificate expires, so that expiry cuts no blob', async () => {
    const rig = await tlsRig({ lifetimeSweepMs: 20 });
    const leaf = issue(authority, { uri: ['bigfleet://cluster/east'] }, 600_000);
    const east = await greeted(rig, 'east', clientCredentials(leaf));
    rig.shard.clock.advance(500_000);
    await goesOn(east, 'east');
    rig.shard.clock.advance(60_000);
    expect((await east.endedWith()).code).toBe('UNAVAILABLE');
  });
});

describe('a rotation that fails', () => {
  it('T14: is logged with the file and the reason, counted once, and the last good files stay', async () => {
    const rig = await tlsRig(QUICK);
    const { files, server, events } = rig;
    const good = server.tlsStatus!;
    expect([good.isFailing, good.reloadFailures]).toEqual([false, 0]);
    writeFileSync(files.privateKeyPath, '-----BEGIN PRIVATE KEY-----\nbroken\n-----END PRIVATE KEY-----\n');
    const failures = () => events.flatMap((event) => (event.kind === 'tls_reload_failed' ? [event] : []));
    await expect.poll(() => failures().length).toBe(1);
    expect(failures()[0]!.path).toBe(files.privateKeyPath);
    expect(failures()[0]!.detail).toContain(`The TLS file ${files.privateKeyPath} cannot be used`);
    await greeted(rig, 'east');
    expect(server.tlsStatus).toEqual({ ...good, isFailing: true, reloadFailures: 1 });
    expect(failures().length).toBe(1);
    const next = issue(authority, SERVER, 2 * 86_400_000);
    writeFileSync(files.certificatePath, next.certificate);
    writeFileSync(files.privateKeyPath, next.privateKey);
    await expect.poll(() => server.tlsStatus!.isFailing).toBe(false);
    expect(server.tlsStatus!.files[0]!.expiresMs).toBeGreaterThan(good.files[0]!.expiresMs);
  });

  it('T14: a mistake in the denied identities leaves those in force that were read before', async () => {
    const denied = join(folder(), 'denied');
    writeFileSync(denied, 'bigfleet://cluster/west\n');
    const rig = await tlsRig({ ...QUICK, tlsDeniedPath: denied });
    writeFileSync(denied, 'bigfleet://cluster/east\nwest\n');
    await expect.poll(() => rig.server.tlsStatus!.reloadFailures).toBe(1);
    const failed = rig.events.find(({ kind }) => kind === 'tls_reload_failed');
    expect(failed).toMatchObject({ path: denied, detail: expect.stringContaining('line 2 is neither') });
    await greeted(rig, 'east');
    const west = rig.connect({ clusterId: 'west', credentials: as('bigfleet://cluster/west') });
    expect((await west.endedWith()).code).toBe('UNAUTHENTICATED');
  });

  it('T14: says when the certificate and the CA expire', async () => {
    const files = filesOf(issue(authority, SERVER, HOUR_MS));
    writeFileSync(files.caPath, authority.pem + makeAuthority('short', undefined, HOUR_MS / 2).pem);
    const { server } = await tlsRig({ tls: files });
    const leftMs = server.tlsStatus!.files.map(({ file, expiresMs }) => [file, expiresMs - Date.now()]);
    expect(leftMs).toEqual([
      ['certificate', expect.closeTo(HOUR_MS, -5)],
      ['ca', expect.closeTo(HOUR_MS / 2, -5)],
    ]);
  });
});
