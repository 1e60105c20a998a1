import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { SessionRefusedError } from '../../src/operator-kit/errors.ts';
import { PartialTlsError, UnusableTlsFileError } from '../../src/tls/files.ts';
import { authority, filesOf, folder, tlsRig } from '../session/tls-rig.ts';
import { issue, makeAuthority } from '../tls/certificates.ts';
import { need, operatorOf } from './stage.ts';

const certificateOf = (...uri: string[]) => filesOf(issue(authority, { uri }));

describe('an operator with TLS', () => {
  it('speaks for the cluster that its certificate names', async () => {
    const { server, shard } = await tlsRig();
    const { operator } = operatorOf(server.address, { tls: certificateOf('bigfleet://cluster/blue') });
    operator.setNeeds([need('a')]);
    await operator.start();
    await operator.acknowledged();
    expect(shard.groupsOf('blue')).toEqual(['a']);
  });

  for (const [name, uris, reason] of [
    ['of another cluster', ['bigfleet://cluster/red'], 'for cluster "red", but Hello names cluster "blue"'],
    ['without an identity', [], 'carries no bigfleet:// URI'],
  ] as const) {
    it(`and a certificate ${name} is refused with the reason and the remedy, and closes`, async () => {
      const { server } = await tlsRig();
      const { operator, sessions } = operatorOf(server.address, { tls: certificateOf(...uris) });
      const started = operator.start();
      await expect(started).rejects.toThrow(SessionRefusedError);
      await expect(started).rejects.toMatchObject({
        status: status.PERMISSION_DENIED,
        next: 'refuse-to-start',
        message: expect.stringContaining(reason),
      });
      await expect(started).rejects.toThrow(/has closed\. Use a certificate whose only bigfleet:\/\/ URI/);
      await operator.close();
      expect(sessions).toEqual([]);
    });
  }

  it('T14: that the shard denies later keeps trying, and connects when it is no longer denied', async () => {
    const denied = join(folder(), 'denied');
    writeFileSync(denied, '');
    const { server } = await tlsRig({ tlsDeniedPath: denied, tlsCheckIntervalMs: 5, lifetimeSweepMs: 5 });
    const tls = certificateOf('bigfleet://cluster/blue');
    const { operator, endings, sessions } = operatorOf(server.address, { tls });
    await operator.start();
    writeFileSync(denied, 'bigfleet://cluster/blue\n');
    await expect.poll(() => endings.length).toBeGreaterThan(1);
    expect(endings.at(-1)).toBeInstanceOf(SessionRefusedError);
    expect(endings.at(-1)!.message).toMatch(/UNAUTHENTICATED: .* tries again in \d+ ms/);
    writeFileSync(denied, '');
    await expect.poll(() => sessions.length).toBe(2);
  });

  it('and another CA than the shard names the fault of the certificate, and keeps trying', async () => {
    const { server } = await tlsRig();
    const tls = certificateOf('bigfleet://cluster/blue');
    writeFileSync(tls.caPath, makeAuthority().pem);
    const { operator, endings } = operatorOf(server.address, { tls });
    const started = operator.start();
    await expect.poll(() => endings.length).toBeGreaterThan(0);
    expect(endings[0]!.message).toMatch(/UNAVAILABLE: .*(certificate|signature)/i);
    await operator.close();
    await started;
  });

  it('and files that cannot be used rejects at once, and names the file', async () => {
    const tls = certificateOf('bigfleet://cluster/blue');
    writeFileSync(tls.privateKeyPath, issue(authority, { uri: [] }).privateKey);
    const { operator } = operatorOf('127.0.0.1:1', { tls });
    const started = operator.start();
    await expect(started).rejects.toThrow(UnusableTlsFileError);
    await expect(started).rejects.toThrow(tls.privateKeyPath);
    expect(() => operatorOf('127.0.0.1:1', { tls: { ...tls, caPath: '' } })).toThrow(PartialTlsError);
  });
});
