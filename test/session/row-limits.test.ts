import { expect, it } from 'vitest';
import { MalformedFrameError } from '../../src/session/errors.ts';
import { ROW_REQUIREMENTS_MAX, ROW_SPREADS_MAX } from '../../src/session/limits.ts';
import { RowDecoder } from '../../src/session/row-decoder.ts';
import { encode } from '../../src/wire/codec.ts';

for (const [part, max] of [
  ['spread', ROW_SPREADS_MAX],
  ['requirements', ROW_REQUIREMENTS_MAX],
] as const) {
  it(`T1: a row has at most ${max} ${part}; one more refuses it`, () => {
    const decoder = new RowDecoder();
    const decodeRow = (count: number) => {
      const bytes = encode('CapacityNeed', { [part]: Array.from({ length: count }, () => ({})) });
      decoder.open(bytes);
      return decoder.decode(0, bytes.length);
    };
    expect(decodeRow(max)[part]).toHaveLength(max);
    expect(() => decodeRow(max + 1)).toThrow(MalformedFrameError);
  });
}
