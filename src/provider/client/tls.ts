/**
 * Our side of mutual TLS towards providers: TLS 1.3, the provider's certificate from our CA, for the host
 * we dialled, and not that of a cluster. All parties share a CA, so without the last check any operator's
 * certificate that happens to carry a host name could stand in for a provider and be handed bootstrap blobs.
 */
import { readFileSync, statSync } from 'node:fs';
import { checkServerIdentity, createSecureContext, type PeerCertificate } from 'node:tls';
import { ChannelCredentials } from '@grpc/grpc-js';
import { ShardError } from '../../base/errors.ts';
import type { TlsFiles } from './endpoint.ts';

export class UnusableCertificateError extends ShardError {
  readonly code = 'unusable_certificate';
  readonly next = 'refuse-to-start';

  constructor(files: TlsFiles, why: string) {
    super(
      `The TLS files ${files.certificatePath}, ${files.privateKeyPath} and ${files.caPath} cannot be used: ${why}. ` +
        'No provider is called with them; put a matching certificate, key and CA there.',
    );
  }
}

export class WrongServerIdentityError extends ShardError {
  readonly code = 'wrong_server_identity';
  readonly next = 'reject-input';

  constructor(host: string) {
    super(
      `The server at ${host} presented the certificate of a cluster (bigfleet://cluster/…), not of a provider. ` +
        'The connection was refused and nothing was sent.',
    );
  }
}

/** Alternative names are `TYPE:value` separated by commas; values with commas inside are quoted. */
const CLUSTER_SAN = /(?:^|,\s*)URI:"?bigfleet:\/\/cluster(?:\/|"|,|$)/i;

export function verifyProviderIdentity(host: string, certificate: PeerCertificate): Error | undefined {
  const mismatch = checkServerIdentity(host, certificate);
  if (mismatch !== undefined) return mismatch;
  if (CLUSTER_SAN.test(certificate.subjectaltname ?? '')) return new WrongServerIdentityError(host);
  return undefined;
}

export function loadCredentials(files: TlsFiles): ChannelCredentials {
  try {
    const context = createSecureContext({
      cert: readFileSync(files.certificatePath),
      key: readFileSync(files.privateKeyPath),
      ca: readFileSync(files.caPath),
      minVersion: 'TLSv1.3',
    });
    return ChannelCredentials.createFromSecureContext(context, {
      checkServerIdentity: verifyProviderIdentity,
    });
  } catch (error) {
    throw new UnusableCertificateError(files, (error as Error).message);
  }
}

/** Changes when any of the files does. A file that is being replaced may be missing for a moment. */
export function versionOf(files: TlsFiles): string {
  const paths = [files.certificatePath, files.privateKeyPath, files.caPath];
  return paths
    .map((path) => statSync(path, { throwIfNoEntry: false }))
    .map((file) => (file === undefined ? 'none' : `${file.ino}/${file.mtimeMs}/${file.size}`))
    .join(' ');
}
