import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestText, isDigestText } from '../../src/base/digest-text.ts';
import { sha256Hex } from '../../src/base/sha256.ts';

const expected = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const bytesOf = (text: string) => new TextEncoder().encode(text);

describe('SHA-256', () => {
  for (const [text, hex] of [
    ['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    ['abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
    [
      'abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq',
      '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
    ],
  ] as const) {
    it(`gives the published digest of ${JSON.stringify(text)}`, () => {
      expect(sha256Hex(bytesOf(text), 0, text.length)).toBe(hex);
    });
  }

  it('agrees with node at every length around the ends of blocks, and at 64 KiB', () => {
    const bytes = Uint8Array.from({ length: 65_536 }, (_, index) => (index * 31 + (index >> 8)) & 0xff);
    for (const length of [...Array(260).keys(), 65_535, 65_536]) {
      expect(sha256Hex(bytes, 0, length), `${length} bytes`).toBe(expected(bytes.subarray(0, length)));
    }
  });

  it('reads exactly its range, whatever came before', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 300 }),
        fc.uint8Array({ maxLength: 70 }),
        fc.uint8Array({ maxLength: 70 }),
        (bytes, before, after) => {
          const all = Uint8Array.of(...before, ...bytes, ...after);
          const end = before.length + bytes.length;
          expect(sha256Hex(all, before.length, end)).toBe(expected(bytes));
        },
      ),
    );
  });
});

describe('T4: a digest as text', () => {
  it('T4: is `sha256:` and 64 hex digits', () => {
    const text = digestText(bytesOf('abc'), 0, 3);
    expect(text).toBe('sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(isDigestText(text)).toBe(true);
  });

  for (const [text, why] of [
    ['sha256:', 'no digits'],
    [`sha256:${'a'.repeat(63)}`, 'one digit too few'],
    [`sha256:${'a'.repeat(65)}`, 'one digit too many'],
    [`sha256:${'A'.repeat(64)}`, 'capitals'],
    [`SHA256:${'a'.repeat(64)}`, 'another prefix'],
    [`sha256:${'g'.repeat(64)}`, 'not hex'],
    [`sha256:${'a'.repeat(64)}\n`.slice(1), 'a digit less and a line break'],
  ] as const) {
    it(`T4: is not ${JSON.stringify(text.slice(0, 12))}…: ${why}`, () => {
      expect(isDigestText(text)).toBe(false);
    });
  }
});
