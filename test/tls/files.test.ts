import { describe, expect, it } from 'vitest';
import { PartialTlsError, tlsFilesOf } from '../../src/tls/files.ts';

describe('the files of mutual TLS', () => {
  it('I4: takes all three TLS files or none, and names what is missing', () => {
    const all = { certificatePath: 'c', privateKeyPath: 'k', caPath: 'a' };
    expect(tlsFilesOf({})).toBeUndefined();
    expect(tlsFilesOf(all)).toEqual(all);
    expect(() => tlsFilesOf({ certificatePath: 'c' })).toThrow(PartialTlsError);
    expect(() => tlsFilesOf({ certificatePath: 'c', caPath: 'a' })).toThrow('private key');
  });
});
