import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerCredentials } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TlsFiles } from '../../src/tls/files.ts';
import { type Authority, issue, type LeafNames, makeAuthority } from '../tls/certificates.ts';
import { CoordinatorState, TestCoordinator } from './coordinator.ts';
import { closeAfterwards, rig } from './fixture.ts';

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
  const { certificate, privateKey } = issue(authority, { uri: ['bigfleet://shard/shard-1'] });
  writeFileSync(files.certificatePath, certificate);
  writeFileSync(files.privateKeyPath, privateKey);
  writeFileSync(files.caPath, authority.pem);
});

afterEach(() => rmSync(directory, { recursive: true }));

/** A coordinator with a certificate for these names that requires ours, and a reporter that dials it by name. */
async function tlsRig(names: LeafNames) {
  const { certificate, privateKey } = issue(authority, names);
  const pair = { cert_chain: Buffer.from(certificate), private_key: Buffer.from(privateKey) };
  const credentials = ServerCredentials.createSsl(Buffer.from(authority.pem), [pair], true);
  const coordinator = closeAfterwards(await TestCoordinator.serve(new CoordinatorState(), { credentials }));
  return rig({ coordinator, coordinatorAddress: `localhost:${coordinator.port}`, tls: files });
}

describe('I4: mutual TLS towards the coordinator', () => {
  it('reports to one whose certificate is from our CA and for its host', async () => {
    const { state, reporter } = await tlsRig({ dns: ['localhost'] });
    await expect.poll(() => state.reports.length).toBeGreaterThan(0);
    await expect.poll(() => reporter.status().reportsAnswered).toBeGreaterThan(0);
  });

  for (const [what, names] of [
    ['for another host', { dns: ['elsewhere.example'] }],
    ['of a cluster', { dns: ['localhost'], uri: ['bigfleet://cluster/blue'] }],
  ] as const) {
    it(`sends nothing to one with a certificate ${what}`, async () => {
      const { coordinator, reporter } = await tlsRig(names);
      await expect.poll(() => reporter.status().failedInARow).toBeGreaterThan(2);
      expect(coordinator.callCount).toBe(0);
    });
  }

  it('a missing file fails the report and is named, and reports work once it exists', async () => {
    const whole = files;
    files = { ...files, privateKeyPath: join(directory, 'later.pem') };
    const { reporter, state } = await tlsRig({ dns: ['localhost'] });
    await expect.poll(() => reporter.status().lastFailure).toContain('later.pem');
    writeFileSync(files.privateKeyPath, readFileSync(whole.privateKeyPath));
    await expect.poll(() => state.reports.length).toBeGreaterThan(0);
  });
});
