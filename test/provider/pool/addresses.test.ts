import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerCredentials } from '@grpc/grpc-js';
import { beforeEach, describe, expect, it } from 'vitest';
import { serveProvider } from '../../../src/simulation/provider/server.ts';
import { rig, seed } from '../../simulation/provider/fixture.ts';
import { issue, makeAuthority } from '../../tls/certificates.ts';
import { closeAfterwards, serve } from '../client/fixture.ts';
import { later, startPool, type TestPool } from './fixture.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'flotilla-pool-'));
  closeAfterwards({ close: () => rmSync(directory, { recursive: true }) });
});

async function kinds({ pool }: TestPool): Promise<string[]> {
  const answers = await Promise.all([
    pool.read({ ...later(), machineId: 'm' }),
    pool.list({ ...later(), sinceRevision: new Uint8Array(0) }),
  ]);
  return answers.map(({ kind }) => kind);
}

describe('threads dial', () => {
  it('a provider that asks for mutual TLS, with the files that its endpoint names', async () => {
    const authority = makeAuthority();
    const server = issue(authority, { ip: ['127.0.0.1'] });
    const pair = { cert_chain: Buffer.from(server.certificate), private_key: Buffer.from(server.privateKey) };
    const credentials = ServerCredentials.createSsl(Buffer.from(authority.pem), [pair], true);
    const { provider } = rig({}, [seed('m')]);
    const served = await serveProvider(provider, '127.0.0.1:0', { credentials, closeGraceMs: 50 });
    const { address } = closeAfterwards(served);
    const ours = issue(authority, { uri: ['bigfleet://shard/shard-1'] });
    const tls = {
      certificatePath: join(directory, 'cert.pem'),
      privateKeyPath: join(directory, 'key.pem'),
      caPath: join(directory, 'ca.pem'),
    };
    writeFileSync(tls.certificatePath, ours.certificate);
    writeFileSync(tls.privateKeyPath, ours.privateKey);
    writeFileSync(tls.caPath, authority.pem);
    expect(await kinds(startPool([], { endpoints: [{ name: 'p0', address, tls }] }))).toEqual([
      'accepted',
      'listed',
    ]);
    expect(await kinds(startPool([address]))).toEqual(['unavailable', 'unavailable']);
  });

  it('a UNIX socket and a gRPC target', async () => {
    const { provider } = rig({}, [seed('m')]);
    const address = `unix:${join(directory, 'provider.sock')}`;
    closeAfterwards(await serveProvider(provider, address, { closeGraceMs: 50 }));
    expect(await kinds(startPool([address]))).toEqual(['accepted', 'listed']);
    const { port } = await serve(provider);
    expect(await kinds(startPool([`ipv4:127.0.0.1:${port}`]))).toEqual(['accepted', 'listed']);
  });
});
