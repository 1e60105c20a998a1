/** Buffers that are given back. */
import { describe, expect, it } from 'vitest';
import { giveBack } from '../../src/listing/give-back.ts';

describe('a large buffer that is given back', () => {
  it('is gone at once, with every view of it', () => {
    const buffer = new ArrayBuffer(1 << 21);
    const views = [new Uint8Array(buffer), new Float64Array(buffer, 8, 4)];
    giveBack(new Uint8Array(buffer, 16, 4));
    expect(buffer.byteLength).toBe(0);
    expect(views.map(({ length }) => length)).toEqual([0, 0]);
    giveBack(views[0] as Uint8Array); // twice does no harm
  });

  it('small and shared ones are left alone', () => {
    const small = new Uint8Array(100);
    const shared = new Uint8Array(new SharedArrayBuffer(1 << 21));
    giveBack(small);
    giveBack(shared);
    expect([small.length, shared.length]).toEqual([100, 1 << 21]);
  });
});
