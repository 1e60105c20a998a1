import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseDeniedList } from '../../src/tls/denied.ts';
import { FileRotation } from '../../src/tls/file-rotation.ts';
import { pathsOf, type TlsFiles, UnusableTlsFileError } from '../../src/tls/files.ts';
import { readMaterial } from '../../src/tls/material.ts';
import { issue, makeAuthority } from './certificates.ts';

const authority = makeAuthority();
const NAMES = { dns: ['localhost'] };
const leaf = issue(authority, NAMES);

function filesWith(change: Partial<Record<keyof TlsFiles, string>> = {}): TlsFiles {
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-material-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const texts = {
    certificatePath: leaf.certificate,
    privateKeyPath: leaf.privateKey,
    caPath: authority.pem,
    ...change,
  };
  const files = { certificatePath: '', privateKeyPath: '', caPath: '' };
  for (const name of Object.keys(texts) as (keyof TlsFiles)[]) {
    files[name] = join(folder, name);
    writeFileSync(files[name], texts[name]);
  }
  return files;
}

const expired = issue(authority, NAMES, -1_000);

describe('the TLS files together', () => {
  for (const [because, change, file, why] of [
    ['the key is broken', { privateKeyPath: 'no key' }, 'privateKeyPath', /./],
    [
      'the key is another certificate’s',
      { privateKeyPath: issue(authority, NAMES).privateKey },
      'privateKeyPath',
      /does not match the certificate in .*certificatePath/,
    ],
    [
      'the certificate has expired',
      { certificatePath: expired.certificate, privateKeyPath: expired.privateKey },
      'certificatePath',
      /the certificate expired at \d{4}-.*Z/,
    ],
    ['there is no certificate', { certificatePath: 'nothing' }, 'certificatePath', /no certificate in PEM/],
    ['the CA file is empty', { caPath: '' }, 'caPath', /no certificate in PEM/],
    [
      'the CA has expired',
      { caPath: makeAuthority('old', undefined, -1_000).pem },
      'caPath',
      /the CA expired at/,
    ],
  ] as const) {
    it(`T14: are refused with the name of the file if ${because}`, () => {
      const files = filesWith(change);
      const read = () => readMaterial(files, Date.now());
      expect(read).toThrow(UnusableTlsFileError);
      expect(read).toThrow(`The TLS file ${files[file]} cannot be used: `);
      expect(read).toThrow(why);
    });
  }

  it('T14: stay in use while a new file is missing, and a failure that repeats counts once', () => {
    const files = filesWith();
    const rotation = new FileRotation(pathsOf(files), () => readMaterial(files, Date.now()));
    const { value } = rotation;
    rmSync(files.caPath);
    expect(rotation.check().kind).toBe('failed');
    expect([rotation.check().kind, rotation.failures, rotation.isFailing]).toEqual(['same', 1, true]);
    expect(rotation.value).toBe(value);
    writeFileSync(files.caPath, makeAuthority('next').pem + authority.pem);
    expect([rotation.check().kind, rotation.isFailing]).toEqual(['replaced', false]);
    expect(rotation.value.authorities.length).toBe(2);
  });
});

describe('the file of denied identities', () => {
  const digest = leaf.fingerprint256;

  it('T14: has identities and fingerprints, one on a line, and comments', () => {
    const list = parseDeniedList(
      `# why\r\n\r\nbigfleet://cluster/a b\n  sha256:${digest}  \nsha256:${digest.replaceAll(':', '').toLowerCase()}\nbigfleet://admin`,
    );
    expect([...list.identities]).toEqual(['bigfleet://cluster/a b', 'bigfleet://admin']);
    expect([...list.fingerprints]).toEqual([digest.replaceAll(':', '')]);
  });

  for (const line of ['prod-eu-1', 'bigfleet://cluster/', 'bigfleet://root', 'sha256:12', `sha1:${digest}`])
    it(`T14: is refused with the line ${line}`, () => {
      expect(() => parseDeniedList(`# first\n${line}\n`)).toThrow('line 2 is neither');
    });
});
