/** The PEM files of mutual TLS: all three or none, and a check whether they changed. */
import { statSync } from 'node:fs';
import { ShardError } from '../base/errors.ts';

/** Paths of PEM files. The thread that dials or listens reads them, and again when they change. */
export interface TlsFiles {
  readonly certificatePath: string;
  readonly privateKeyPath: string;
  readonly caPath: string;
}

export class PartialTlsError extends ShardError {
  readonly code = 'partial_tls';
  readonly next = 'refuse-to-start';

  constructor(certificatePath: string, privateKeyPath: string, caPath: string) {
    const missing = [
      certificatePath === '' ? 'certificate' : '',
      privateKeyPath === '' ? 'private key' : '',
      caPath === '' ? 'CA' : '',
    ].filter((name) => name !== '');
    super(
      `Mutual TLS needs a certificate, a private key and a CA; missing here: ${missing.join(' and ')}. ` +
        'Give all three, or none for plaintext.',
    );
  }
}

export class UnusableCertificateError extends ShardError {
  readonly code = 'unusable_certificate';
  readonly next = 'refuse-to-start';

  constructor(files: TlsFiles, why: string) {
    super(
      `The TLS files ${files.certificatePath}, ${files.privateKeyPath} and ${files.caPath} cannot be used: ${why}. ` +
        'No connection uses them. Replace them with a matching certificate, key and CA.',
    );
  }
}

/** The files from the three settings; undefined if none is set. Throws PartialTlsError for one or two. */
export function tlsFilesOf(paths: {
  readonly certificatePath?: string;
  readonly privateKeyPath?: string;
  readonly caPath?: string;
}): TlsFiles | undefined {
  const { certificatePath = '', privateKeyPath = '', caPath = '' } = paths;
  const set = [certificatePath, privateKeyPath, caPath].filter((path) => path !== '').length;
  if (set === 0) return undefined;
  if (set < 3) throw new PartialTlsError(certificatePath, privateKeyPath, caPath);
  return { certificatePath, privateKeyPath, caPath };
}

/** Changes when any of the files changes. A file may be missing for a moment while it is replaced. */
export function versionOf(files: TlsFiles): string {
  const paths = [files.certificatePath, files.privateKeyPath, files.caPath];
  return paths
    .map((path) => statSync(path, { throwIfNoEntry: false }))
    .map((file) => (file === undefined ? 'none' : `${file.ino}/${file.mtimeMs}/${file.size}`))
    .join(' ');
}
