/**
 * T14: the file of `--tls-denied`: identities and certificates that must not connect although the CA has signed them, one on
 * a line. It stands in for a revocation list, which Node.js can pass to OpenSSL but not read.
 *
 *   # a comment
 *   bigfleet://cluster/prod-eu-1
 *   sha256:9F:86:D0:81:88:4C:7D:65:9A:2F:EA:A0:C5:5A:D0:15:A3:BF:4F:1B:2B:0B:82:2C:D1:5D:6C:15:B0:F0:0A:08
 */
import { readFileSync, statSync } from 'node:fs';
import { UnusableTlsFileError } from './files.ts';

export interface DeniedList {
  /** `bigfleet://…`, as certificates carry them. */
  readonly identities: ReadonlySet<string>;
  /** SHA-256 of certificates: 64 digits in upper case. */
  readonly fingerprints: ReadonlySet<string>;
}

export const NO_ONE_DENIED: DeniedList = { identities: new Set(), fingerprints: new Set() };

/** Forty thousand lines of a hundred bytes, twenty for each of 2,000 clusters. */
const DENIED_BYTES_MAX = 4 * 1024 * 1024;

const IDENTITY = /^bigfleet:\/\/(?:(?:cluster|shard)\/.+|admin|readonly)$/;
const FINGERPRINT = /^sha256:((?:[0-9a-f]{2}:?){31}[0-9a-f]{2})$/i;

/** Throws UnusableTlsFileError if the file or any line of it cannot be used: a mistyped line would deny less than it says. */
export function readDeniedList(path: string): DeniedList {
  try {
    const { size } = statSync(path);
    if (size > DENIED_BYTES_MAX) {
      throw new Error(`it has ${size} bytes; the maximum is ${DENIED_BYTES_MAX}`);
    }
    return parseDeniedList(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new UnusableTlsFileError(path, (error as Error).message);
  }
}

export function parseDeniedList(text: string): DeniedList {
  const identities = new Set<string>();
  const fingerprints = new Set<string>();
  for (const [index, untrimmed] of text.split('\n').entries()) {
    const line = untrimmed.trim();
    if (line === '' || line.startsWith('#')) continue;
    const fingerprint = FINGERPRINT.exec(line)?.[1];
    if (fingerprint !== undefined) fingerprints.add(plain(fingerprint));
    else if (IDENTITY.test(line)) identities.add(line);
    else
      throw new Error(
        `line ${index + 1} is neither an identity like bigfleet://cluster/<id> nor sha256: and 64 hexadecimal digits`,
      );
  }
  return { identities, fingerprints };
}

/** `fingerprint256` is that of a certificate, with colons. Returns the line that denies it, or null. */
export function deniedBy(
  list: DeniedList,
  identities: readonly string[],
  fingerprint256: string,
): string | null {
  const identity = identities.find((each) => list.identities.has(each));
  if (identity !== undefined) return identity;
  return list.fingerprints.has(plain(fingerprint256)) ? `sha256:${fingerprint256}` : null;
}

function plain(fingerprint: string): string {
  return fingerprint.replaceAll(':', '').toUpperCase();
}
