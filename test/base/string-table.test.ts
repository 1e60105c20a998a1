import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteArena } from '../../src/base/byte-arena.ts';
import { StringTable, StringTableFullError } from '../../src/base/string-table.ts';

function smallTable(entriesMax = 64, bytesMax = 1 << 20): StringTable {
  return StringTable.create({ entriesMax, bytesMax, name: 'words' });
}

describe('a string table', () => {
  it('gives equal strings equal refs and counts every reference', () => {
    const table = smallTable();
    const first = table.intern('us-east-1a');
    const again = table.intern('us-east-1a');
    expect(again).toBe(first);
    expect(table.referenceCount(first)).toBe(2);
    expect(table.get(first)).toBe('us-east-1a');
    table.release(first);
    expect(table.find('us-east-1a')).toBe(first);
    table.release(first);
    expect(table.find('us-east-1a')).toBe(0);
    expect(table.referenceCount(first)).toBe(0);
    expect(table.count).toBe(0);
    expect(table.bytesUsed).toBe(0);
  });

  it('keeps the empty string as ref 0, without counting it', () => {
    const table = smallTable();
    expect(table.intern('')).toBe(0);
    table.release(0);
    table.retain(0);
    expect(table.get(0)).toBe('');
    expect(table.find('')).toBe(0);
    expect(table.count).toBe(0);
  });

  it('assigns dense refs and reuses released ones', () => {
    const table = smallTable();
    const refs = ['a', 'b', 'c'].map((text) => table.intern(text));
    expect(refs).toEqual([1, 2, 3]);
    table.release(2);
    expect(table.intern('d')).toBe(2);
    expect(table.intern('e')).toBe(4);
    expect(table.refLimit).toBe(5);
  });

  it('keeps strings of any length and script, also when interned from the middle of a buffer', () => {
    const table = smallTable();
    for (const text of ['é', '漢字', '🚢', 'x'.repeat(254), 'y'.repeat(255), 'z'.repeat(70_000), 'a\0b']) {
      const ref = table.intern(text);
      expect(table.get(ref)).toBe(text);
      const padded = new TextEncoder().encode(`<<${text}>>`);
      expect(table.findBytes(padded, 2, padded.length - 2)).toBe(ref);
      expect(table.equalsBytes(ref, padded, 2, padded.length - 2)).toBe(true);
      expect(table.equalsBytes(ref, padded, 1, padded.length - 2)).toBe(false);
      const copy = new Uint8Array(table.byteLength(ref) + 1);
      expect(table.copyBytes(ref, copy, 1)).toBe(copy.length);
      expect(new TextDecoder().decode(copy.subarray(1))).toBe(text);
    }
  });

  it('A0: orders refs by their UTF-8 bytes, not by UTF-16 units and not by number', () => {
    const table = smallTable();
    const texts = ['gpu-2', 'gpu-10', 'gpu-1', '', 'é', 'z', '\u{1F6A2}', '\uFF5E', 'gpu'];
    const refs = new Map(texts.map((text) => [text, table.intern(text)]));
    const sorted = [...texts].sort((a, b) => table.compare(refs.get(a)!, refs.get(b)!));
    expect(sorted).toEqual([...texts].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
    expect(sorted.indexOf('gpu-10')).toBeLessThan(sorted.indexOf('gpu-2'));
  });

  for (const [what, table] of [
    ['entries', smallTable(2)],
    ['bytes', smallTable(64, 16)],
  ] as const) {
    it(`refuses a string when its ${what} run out, and changes nothing`, () => {
      const one = table.intern('one');
      const two = table.intern('two');
      const before = [table.count, table.bytesUsed, table.refLimit];
      expect(() => table.intern('a third, longer one')).toThrow(StringTableFullError);
      expect([table.count, table.bytesUsed, table.refLimit]).toEqual(before);
      expect(table.intern('two')).toBe(two);
      table.release(two);
      table.release(two);
      table.release(one);
      expect(table.get(table.intern('new'))).toBe('new');
    });
  }

  it('asserts that a released or retained string is held', () => {
    const table = smallTable();
    const ref = table.intern('once');
    table.release(ref);
    expect(() => table.release(ref)).toThrow(/held/);
    expect(() => table.retain(17)).toThrow(/held/);
  });

  it('is read-only for another thread that attaches it', () => {
    const table = smallTable();
    const ref = table.intern('shared');
    const reader = StringTable.attach(structuredClone(table.share()));
    expect(reader.find('shared')).toBe(ref);
    expect(reader.get(ref)).toBe('shared');
    table.release(ref);
    expect(reader.find('shared')).toBe(0);
    expect(reader.get(ref)).toBe('');
    expect(() => reader.intern('mine')).toThrow(/only read/);
  });

  it('agrees with a map of counts, whatever is interned, retained and released', () => {
    let fullHits = 0;
    let reuses = 0;
    const text = fc.oneof(
      fc.constantFrom('a', 'b', 'ab', 'ba', 'aa', 'x'.repeat(300)),
      fc.string({ unit: 'binary', maxLength: 12 }),
    );
    const step = fc.tuple(fc.constantFrom('intern', 'intern', 'retain', 'release', 'release'), text);
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
        const table = smallTable(12);
        const counts = new Map<string, number>();
        const refsSeen = new Set<number>();
        for (const [what, word] of steps) {
          const held = counts.get(word) ?? 0;
          const ref = table.find(word);
          expect(ref !== 0).toBe(held > 0);
          if (what === 'intern' && word !== '') {
            if (held === 0 && counts.size === 12) {
              fullHits++;
              expect(() => table.intern(word)).toThrow(StringTableFullError);
              continue;
            }
            const got = table.intern(word);
            if (held === 0 && refsSeen.has(got)) reuses++;
            refsSeen.add(got);
            counts.set(word, held + 1);
          } else if (held > 0 && what === 'retain') {
            table.retain(ref);
            counts.set(word, held + 1);
          } else if (held > 0 && what === 'release') {
            table.release(ref);
            if (held === 1) counts.delete(word);
            else counts.set(word, held - 1);
          }
        }
        expect(table.count).toBe(counts.size);
        for (const [word, count] of counts) {
          const ref = table.find(word);
          expect(table.get(ref)).toBe(word);
          expect(table.referenceCount(ref)).toBe(count);
          for (let left = count; left > 0; left--) table.release(ref);
        }
        expect([table.count, table.bytesUsed]).toEqual([0, 0]);
      }),
      { numRuns: 300 },
    );
    expect(fullHits).toBeGreaterThan(10);
    expect(reuses).toBeGreaterThan(10);
  });
});

describe('a byte arena', () => {
  it('splits large free blocks when untouched bytes run out, and never allocates overlapping blocks', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 700 })), { maxLength: 200 }),
        (steps) => {
          const arena = ByteArena.create(4096);
          const held: { address: number; content: Uint8Array }[] = [];
          steps.forEach(([isStore, size], index) => {
            if (isStore) {
              const content = new Uint8Array(size).fill(index);
              const address = arena.store(content, 0, size);
              if (address !== 0) held.push({ address, content });
            } else if (held.length > 0) {
              arena.free(held.splice(size % held.length, 1)[0]!.address);
            }
            for (const { address, content } of held)
              expect(arena.equals(address, content, 0, content.length)).toBe(true);
          });
          for (const { address } of held) arena.free(address);
          expect(arena.bytesUsed).toBe(0);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('reuses every block: an arena can be filled and emptied any number of times', () => {
    const arena = ByteArena.create(4_096);
    let blocksAtFirst = 0;
    for (let round = 0; round < 5; round++) {
      const addresses: number[] = [];
      for (;;) {
        const address = arena.store(new Uint8Array(29), 0, 29);
        if (address === 0) break;
        addresses.push(address);
      }
      if (round === 0) blocksAtFirst = addresses.length;
      expect([addresses.length, new Set(addresses).size]).toEqual([blocksAtFirst, blocksAtFirst]);
      for (const address of addresses) arena.free(address);
    }
    expect(blocksAtFirst).toBeGreaterThan(100);
  });

  it('uses free blocks of a larger size for a smaller one when no other memory is left', () => {
    const arena = ByteArena.create(1000);
    const large = arena.store(new Uint8Array(900), 0, 900);
    expect(large).not.toBe(0);
    expect(arena.store(new Uint8Array(200), 0, 200)).toBe(0);
    arena.free(large);
    const small = Array.from({ length: 4 }, () => arena.store(new Uint8Array(200), 0, 200));
    expect(small).not.toContain(0);
    expect(new Set(small).size).toBe(4);
  });
});

describe('T4: a table with a limit on the length of a text', () => {
  const LIMIT = 100;
  const limited = (bytesMax = 1 << 20) =>
    StringTable.create({ entriesMax: 64, bytesMax, name: 'groups', textBytesMax: LIMIT });
  const digestOf = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
  const LONG = `a-${'x'.repeat(LIMIT)}`;

  it('T4: holds a long text as its digest: full text, its bytes and the digest have one ref', () => {
    const table = limited();
    const ref = table.intern(LONG);
    const bytes = new TextEncoder().encode(`<${LONG}>`);
    expect(table.internBytes(bytes, 1, bytes.length - 1)).toBe(ref);
    expect(table.intern(digestOf(LONG))).toBe(ref);
    expect([
      table.find(LONG),
      table.find(digestOf(LONG)),
      table.findBytes(bytes, 1, bytes.length - 1),
    ]).toEqual([ref, ref, ref]);
    expect(table.get(ref)).toBe(digestOf(LONG));
    expect(table.shortened(LONG)).toBe(digestOf(LONG));
    expect(table.byteLength(ref)).toBe(71);
    expect(table.referenceCount(ref)).toBe(3);
  });

  it('T4: counts bytes, not characters, and holds a text of exactly the limit as it is', () => {
    const table = limited();
    const short = 'é'.repeat(LIMIT / 2);
    const long = `${short}x`;
    expect(table.get(table.intern(short))).toBe(short);
    expect(table.shortened(short)).toBe(short);
    expect(table.get(table.intern(long))).toBe(digestOf(long));
    expect(table.get(table.internWhole(long))).toBe(long);
  });

  it('T4: shows the whole text while a need has it, and the digest before and after', () => {
    const table = limited();
    const ref = table.intern(digestOf(LONG)); // a machine, found after a restart
    expect(table.internWhole(LONG)).toBe(ref); // its need, in two rows
    table.retainWhole(ref);
    expect([table.get(ref), table.shortText(ref)]).toEqual([LONG, digestOf(LONG)]);
    expect(table.wholeByteLength(ref)).toBe(LONG.length);
    expect([table.isNamed(ref, LONG), table.isNamed(ref, digestOf(LONG)), table.isNamed(ref, 'b')]).toEqual([
      true,
      true,
      false,
    ]);
    table.releaseWhole(ref);
    expect(table.get(ref)).toBe(LONG);
    table.releaseWhole(ref);
    expect(table.get(ref)).toBe(digestOf(LONG));
    expect(table.wholeByteLength(ref)).toBe(71);
    table.release(ref);
    expect([table.count, table.bytesUsed]).toEqual([0, 0]);
  });

  it('T4: orders by whole texts, where they are known, among short ones', () => {
    const table = limited();
    const texts = ['a', `a-${'x'.repeat(200)}`, 'b', `é${'x'.repeat(200)}`, 'z', '', `${'y'.repeat(300)}`];
    const refs = texts.map((text) => table.internWhole(text));
    const sorted = refs.toSorted((a, b) => table.compare(a, b)).map((ref) => table.get(ref));
    expect(sorted).toEqual(texts.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
  });

  it('T4: an image has the whole texts and the limit', () => {
    const table = limited();
    const ref = table.internWhole(LONG);
    table.internWhole('short');
    const copy = StringTable.restore(structuredClone(table.image()));
    expect(copy.get(ref)).toBe(LONG);
    expect(copy.internWhole(LONG)).toBe(ref);
    expect(copy.compare(ref, copy.find('short'))).toBeLessThan(0);
  });

  it('T4: refuses whole texts beyond its bytes and changes nothing; a repeated one costs none', () => {
    const table = limited(1_000);
    const ref = table.internWhole('x'.repeat(900));
    table.internWhole('x'.repeat(900));
    expect(() => table.internWhole('y'.repeat(200))).toThrow(
      /^The table of groups is full: all 100\d bytes of long texts are in use\. /,
    );
    expect(table.count).toBe(1);
    table.releaseWhole(ref);
    table.releaseWhole(ref);
    expect(table.count).toBe(0);
    table.internWhole('y'.repeat(200));
  });
});
