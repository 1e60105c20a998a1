/**
 * Makes X.509 certificates for tests: Node can read certificates but not write them, and a test should not depend on a
 * tool of the machine it runs on. DER needs only tag, length and content.
 */
import { generateKeyPairSync, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto';

export interface Authority {
  readonly name: string;
  readonly key: KeyObject;
  readonly pem: string;
  /** Certificates that a leaf presents besides its own. */
  readonly intermediates: string;
}

export interface Leaf {
  readonly certificate: string;
  readonly privateKey: string;
  /** As Node.js prints it. */
  readonly fingerprint256: string;
}

export interface LeafNames {
  readonly dns?: readonly string[];
  readonly ip?: readonly string[];
  readonly uri?: readonly string[];
}

const DAY_MS = 86_400_000;

/** Signed by `parent`, or by itself. */
export function makeAuthority(name = 'test authority', parent?: Authority, validMs = DAY_MS): Authority {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const basicConstraints = extension('551d13', true, der(0x30, der(0x01, Buffer.from([0xff]))));
  const issuer = parent ?? { name, key: privateKey };
  const pem = certificate(issuer.name, name, publicKey, issuer.key, [basicConstraints], validMs);
  const intermediates = parent === undefined ? '' : pem + parent.intermediates;
  return { name, key: privateKey, pem, intermediates };
}

/** `validMs` from now; negative: it has expired. */
export function issue(authority: Authority, names: LeafNames, validMs = DAY_MS): Leaf {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const alternatives = [
    ...(names.dns ?? []).map((name) => der(0x82, Buffer.from(name))),
    ...(names.uri ?? []).map((uri) => der(0x86, Buffer.from(uri))),
    ...(names.ip ?? []).map((ip) => der(0x87, Buffer.from(ip.split('.').map(Number)))),
  ];
  const subjectAlternatives = extension('551d11', false, der(0x30, ...alternatives));
  const leaf = certificate(authority.name, 'leaf', publicKey, authority.key, [subjectAlternatives], validMs);
  return {
    certificate: leaf + authority.intermediates,
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    fingerprint256: new X509Certificate(leaf).fingerprint256,
  };
}

function certificate(
  issuer: string,
  subject: string,
  publicKey: KeyObject,
  issuerKey: KeyObject,
  extensions: readonly Buffer[],
  validMs: number,
): string {
  const ecdsaWithSha256 = der(0x30, der(0x06, Buffer.from('2a8648ce3d040302', 'hex')));
  const serial = randomBytes(8);
  serial[0] = (serial[0]! & 0x7f) | 0x01; // positive, and no leading zero
  const toBeSigned = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    ecdsaWithSha256,
    nameOf(issuer),
    der(0x30, time(-3_600_000), time(validMs)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(0x30, ...extensions)),
  );
  const signature = Buffer.concat([Buffer.from([0]), sign('sha256', toBeSigned, issuerKey)]);
  const bytes = der(0x30, toBeSigned, ecdsaWithSha256, der(0x03, signature));
  const lines = bytes.toString('base64').match(/.{1,64}/g)!;
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

function nameOf(commonName: string): Buffer {
  const attribute = der(0x30, der(0x06, Buffer.from('550403', 'hex')), der(0x0c, Buffer.from(commonName)));
  return der(0x30, der(0x31, attribute));
}

function time(fromNowMs: number): Buffer {
  const text = new Date(Date.now() + fromNowMs).toISOString().replaceAll(/[-:T]/g, '').slice(0, 14);
  return der(0x18, Buffer.from(`${text}Z`));
}

function extension(oidHex: string, isCritical: boolean, value: Buffer): Buffer {
  const critical = isCritical ? [der(0x01, Buffer.from([0xff]))] : [];
  return der(0x30, der(0x06, Buffer.from(oidHex, 'hex')), ...critical, der(0x04, value));
}

function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const header =
    length < 0x80
      ? [tag, length]
      : length < 0x100
        ? [tag, 0x81, length]
        : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(header), content]);
}
