/**
 * Certificate, private key and CA, read and checked together. OpenSSL would accept a CA file without certificates, and a
 * certificate that has expired; each would fail only at the next handshake.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { type TlsFiles, UnusableTlsFileError } from './files.ts';

export interface TlsMaterial {
  readonly options: SecureContextOptions;
  /** The first of the certificate file. */
  readonly certificate: X509Certificate;
  /** All of the CA file. */
  readonly authorities: readonly X509Certificate[];
}

const TLS_VERSION = 'TLSv1.3';

/** Throws UnusableTlsFileError, with the file that is to blame. */
export function readMaterial(files: TlsFiles, nowMs: number): TlsMaterial {
  const { certificatePath, privateKeyPath, caPath } = files;
  const cert = readFile(certificatePath);
  const key = readFile(privateKeyPath);
  const ca = readFile(caPath);
  const [certificate] = certificatesOf(certificatePath, cert);
  const authorities = certificatesOf(caPath, ca);
  const privateKey = orUnusable(privateKeyPath, () => createPrivateKey(key));
  if (!certificate!.checkPrivateKey(privateKey)) {
    throw new UnusableTlsFileError(
      privateKeyPath,
      `the private key does not match the certificate in ${certificatePath}`,
    );
  }
  if (expiryMs(certificate!) <= nowMs) {
    throw new UnusableTlsFileError(certificatePath, `the certificate expired at ${expiryText(certificate!)}`);
  }
  if (authorities.every((authority) => expiryMs(authority) <= nowMs)) {
    throw new UnusableTlsFileError(caPath, `the CA expired at ${expiryText(authorities[0]!)}`);
  }
  const options: SecureContextOptions = { cert, key, ca, minVersion: TLS_VERSION };
  orUnusable(certificatePath, () => createSecureContext(options));
  return { options, certificate: certificate!, authorities };
}

export function expiryMs({ validTo }: X509Certificate): number {
  return Date.parse(validTo);
}

export function expiryText(certificate: X509Certificate): string {
  return new Date(expiryMs(certificate)).toISOString();
}

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

function certificatesOf(path: string, pem: Buffer): X509Certificate[] {
  const blocks = pem.toString('latin1').match(PEM_CERTIFICATE);
  if (blocks === null) throw new UnusableTlsFileError(path, 'it has no certificate in PEM format');
  return blocks.map((block) => orUnusable(path, () => new X509Certificate(block)));
}

function readFile(path: string): Buffer {
  return orUnusable(path, () => readFileSync(path));
}

function orUnusable<Value>(path: string, make: () => Value): Value {
  try {
    return make();
  } catch (error) {
    throw new UnusableTlsFileError(path, (error as Error).message);
  }
}
