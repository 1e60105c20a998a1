import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerCredentials } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../src/base/clock.ts';
import { ProviderClient } from '../../../src/provider/client/client.ts';
import { FencingTokens } from '../../../src/provider/client/fencing.ts';
import { serveProvider } from '../../../src/simulation/provider/server.ts';
import type { TlsFiles } from '../../../src/tls/files.ts';
import { rig, seed } from '../../simulation/provider/fixture.ts';
import { type Authority, issue, type Leaf, type LeafNames, makeAuthority } from '../../tls/certificates.ts';
import { closeAfterwards } from './fixture.ts';

const OUR_NAMES: LeafNames = { uri: ['bigfleet://shard/shard-1'] };

let directory: string;
let files: TlsFiles;
let authority: Authority;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'flotilla-tls-'));
  files = {
    certificatePath: join(directory, 'cert.pem'),
    privateKeyPath: join(directory, 'key.pem'),
    caPath: join(directory, 'ca.pem'),
  };
  authority = makeAuthority();
  write(issue(authority, OUR_NAMES), authority);
});

afterEach(() => rmSync(directory, { recursive: true }));

function write(leaf: Leaf, from: Authority): void {
  writeFileSync(files.certificatePath, leaf.certificate);
  writeFileSync(files.privateKeyPath, leaf.privateKey);
  writeFileSync(files.caPath, from.pem);
}

/** A provider with a certificate for these names that requires a client certificate. */
async function serveTls(names: LeafNames, from = authority, validMs?: number): Promise<string> {
  const { certificate, privateKey } = issue(from, names, validMs);
  const pair = { cert_chain: Buffer.from(certificate), private_key: Buffer.from(privateKey) };
  const credentials = ServerCredentials.createSsl(Buffer.from(authority.pem), [pair], true);
  const { provider } = rig({}, [seed('m')]);
  const served = await serveProvider(provider, '127.0.0.1:0', { credentials, closeGraceMs: 50 });
  return closeAfterwards(served).address;
}

function dialTls(address: string, clock = new ManualClock(0)): ProviderClient {
  const limits = { callTimeoutMs: 5_000, readAttemptsMax: 1 };
  const endpoint = { name: 'p', address, tls: files };
  const wall = { nowMs: () => Date.now() + clock.nowMs() };
  return closeAfterwards(new ProviderClient(endpoint, FencingTokens.create('s', 1), { limits, clock: wall }));
}

/** The certificate names a host, so the client must dial by name. */
const byName = (address: string) => address.replace('127.0.0.1', 'localhost');

describe('I4: mutual TLS towards providers', () => {
  it('calls a provider whose certificate is from our CA and for its host', async () => {
    const address = await serveTls({ dns: ['localhost'] });
    expect(await dialTls(byName(address)).get({ machineId: 'm' })).toMatchObject({ kind: 'answered' });
  });

  it('accepts an address as host name if the certificate is for that address', async () => {
    const address = await serveTls({ ip: ['127.0.0.1'] });
    expect(await dialTls(address).get({ machineId: 'm' })).toMatchObject({ kind: 'answered' });
  });

  it('refuses a certificate for another address', async () => {
    for (const names of [{ ip: ['127.0.0.2'] }, { dns: ['localhost'] }]) {
      const address = await serveTls(names);
      expect(await dialTls(address).get({ machineId: 'm' }), JSON.stringify(names)).toMatchObject({
        kind: 'unavailable',
      });
    }
  });

  for (const [what, names] of [
    ['for another host', { dns: ['elsewhere.example'] }],
    ['of a cluster, although its host is right', { dns: ['localhost'], uri: ['bigfleet://cluster/blue'] }],
    ['of a cluster in mixed case', { dns: ['localhost'], uri: ['BigFleet://Cluster/blue'] }],
    [
      'of a cluster among other names',
      { dns: ['localhost'], uri: ['https://x.example/a,b', 'bigfleet://cluster/b'] },
    ],
  ] as const) {
    it(`refuses a certificate ${what}`, async () => {
      const address = await serveTls(names);
      const outcome = await dialTls(byName(address)).get({ machineId: 'm' });
      expect(outcome).toMatchObject({ kind: 'unavailable' });
    });
  }

  it('refuses a certificate from another CA', async () => {
    const address = await serveTls({ dns: ['localhost'] }, makeAuthority('stranger'));
    expect(await dialTls(byName(address)).get({ machineId: 'm' })).toMatchObject({ kind: 'unavailable' });
  });

  it('a provider refuses our certificate if it is from another CA', async () => {
    const address = await serveTls({ dns: ['localhost'] });
    const stranger = makeAuthority('stranger');
    write(issue(stranger, OUR_NAMES), authority);
    expect(await dialTls(byName(address)).get({ machineId: 'm' })).toMatchObject({ kind: 'unavailable' });
  });

  it('refuses a plaintext provider', async () => {
    const { provider } = rig({}, [seed('m')]);
    const served = closeAfterwards(await serveProvider(provider, '127.0.0.1:0', { closeGraceMs: 50 }));
    const outcome = await dialTls(byName(served.address)).get({ machineId: 'm' });
    expect(outcome).toMatchObject({ kind: 'unavailable' });
    expect(provider.ledger.count('get')).toBe(0);
  });

  it('a missing file fails the call and is named, and calls work once it exists', async () => {
    const address = await serveTls({ dns: ['localhost'] });
    rmSync(files.privateKeyPath);
    const client = dialTls(byName(address));
    const outcome = await client.get({ machineId: 'm' });
    expect(outcome).toMatchObject({ kind: 'other', detail: expect.stringContaining(files.privateKeyPath) });
    write(issue(authority, OUR_NAMES), authority);
    expect(await client.get({ machineId: 'm' })).toMatchObject({ kind: 'answered' });
  });

  it('picks up a rotated certificate without a restart, and keeps the old pair while half of it is replaced', async () => {
    const clock = new ManualClock(0);
    const first = await serveTls({ dns: ['localhost'] });
    const client = dialTls(byName(first), clock);
    expect(await client.get({ machineId: 'm' })).toMatchObject({ kind: 'answered' });

    const next = issue(authority, OUR_NAMES);
    writeFileSync(files.certificatePath, next.certificate); // its key is not written yet
    clock.advance(11_000);
    expect(await client.get({ machineId: 'm' })).toMatchObject({ kind: 'answered' });
    writeFileSync(files.privateKeyPath, next.privateKey);
    clock.advance(11_000);
    expect(await client.get({ machineId: 'm' })).toMatchObject({ kind: 'answered' });

    // To prove that the files are read again: a certificate that the provider does not trust.
    write(issue(makeAuthority('stranger'), OUR_NAMES), authority);
    clock.advance(11_000);
    expect(await client.get({ machineId: 'm' })).toMatchObject({ kind: 'unavailable' });
  });

  it('T14: checks the certificate of a provider again after the age of a connection', async () => {
    const clock = new ManualClock(0);
    const address = await serveTls({ dns: ['localhost'] }, authority, 3_000);
    const client = dialTls(byName(address), clock);
    expect(await client.get({ machineId: 'm' })).toMatchObject({ kind: 'answered' });
    await new Promise((resolve) => setTimeout(resolve, 3_100));
    clock.advance(0.79 * 3_600_000);
    expect(await client.get({ machineId: 'm' })).toMatchObject({ kind: 'answered' });
    clock.advance(0.42 * 3_600_000);
    expect(await client.get({ machineId: 'm' })).toMatchObject({ kind: 'unavailable' });
  });

  it('loses no call to a rotation, however many are in flight', async () => {
    const clock = new ManualClock(0);
    const client = dialTls(byName(await serveTls({ dns: ['localhost'] })), clock);
    const kinds: string[] = [];
    let isOver = false;
    const callers = Array.from({ length: 32 }, async () => {
      while (!isOver) kinds.push((await client.get({ machineId: 'm' })).kind);
    });
    for (let rotation = 1; rotation <= 5; rotation++) {
      const before = kinds.length;
      await expect.poll(() => kinds.length).toBeGreaterThan(before + 100);
      write(issue(authority, OUR_NAMES), authority);
      clock.advance(11_000);
    }
    isOver = true;
    await Promise.all(callers);
    expect(new Set(kinds)).toEqual(new Set(['answered']));
  });
});
