/** A rig with TLS: one authority, and certificates in files that a test can replace. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChannelCredentials } from '@grpc/grpc-js';
import type { OperatorServerOptions, ServedShard } from '../../src/session/server.ts';
import type { TlsFiles } from '../../src/tls/files.ts';
import { issue, type Leaf, type LeafNames, makeAuthority } from '../tls/certificates.ts';
import { closeAfterwards, type Rig, startRig } from './rig.ts';

export const authority = makeAuthority();
export const SERVER: LeafNames = { dns: ['localhost'], ip: ['127.0.0.1'], uri: ['bigfleet://shard/s-1'] };

export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'flotilla-tls-'));
  closeAfterwards(() => rmSync(path, { recursive: true }));
  return path;
}

export function filesOf(leaf: Leaf): TlsFiles {
  const path = folder();
  const files = {
    certificatePath: join(path, 'tls.crt'),
    privateKeyPath: join(path, 'tls.key'),
    caPath: join(path, 'ca.crt'),
  };
  writeFileSync(files.privateKeyPath, leaf.privateKey);
  writeFileSync(files.certificatePath, leaf.certificate);
  writeFileSync(files.caPath, authority.pem);
  return files;
}

export function clientCredentials(leaf: Leaf | null): ChannelCredentials {
  const [key, certificate] = leaf === null ? [null, null] : [leaf.privateKey, leaf.certificate];
  return ChannelCredentials.createSsl(
    Buffer.from(authority.pem),
    key === null ? null : Buffer.from(key),
    certificate === null ? null : Buffer.from(certificate),
  );
}

export const as = (...uri: string[]) => clientCredentials(issue(authority, { uri }));

export async function tlsRig(
  options: Partial<OperatorServerOptions & ServedShard> = {},
): Promise<Rig & { readonly files: TlsFiles }> {
  const files = options.tls ?? filesOf(issue(authority, SERVER));
  return { files, ...(await startRig({ tls: files, ...options })) };
}
