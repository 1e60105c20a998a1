/** The PEM files of mutual TLS: all three or none. */
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

export class UnusableTlsFileError extends ShardError {
  readonly code = 'unusable_tls_file';
  readonly next = 'refuse-to-start';
  readonly path: string;

  constructor(path: string, why: string) {
    super(
      `The TLS file ${path} cannot be used: ${why}. It is not in use; what was read before stays in use. ` +
        'Replace the file: it is read again within 10 s.',
    );
    this.path = path;
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

export function pathsOf({ certificatePath, privateKeyPath, caPath }: TlsFiles): readonly string[] {
  return [certificatePath, privateKeyPath, caPath];
}
