import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boundedDetail, DETAIL_CHARS_MAX } from '../../src/base/outside-text.ts';

describe('text from outside', () => {
  it('a detail is one bounded line without control characters, whatever the peer sent', () => {
    let cutCount = 0;
    const pieces = fc.constantFrom(
      'x',
      'é',
      '😀',
      '\ud83d',
      '\udc00',
      '\n',
      '\u001b[2J',
      '\u2028',
      '\u200b',
      '\0',
    );
    const texts = fc.array(pieces, { maxLength: 900, size: 'max' }).map((all) => all.join(''));
    fc.assert(
      fc.property(texts, (text) => {
        const detail = boundedDetail(text);
        expect(detail.length).toBeLessThanOrEqual(DETAIL_CHARS_MAX);
        expect(detail).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u);
        if (detail.endsWith('…')) cutCount++;
      }),
    );
    expect(cutCount).toBeGreaterThan(5);
  });
});
