/** Shrinking pictures: pixels are read as they were written, and up to 256 colours are kept exactly. */
import { crc32, deflateSync, inflateSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decode, shrinkPng } from '../../docs/images/png.ts';

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

function chunk(type: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), body]);
  const framed = Buffer.alloc(named.length + 8);
  framed.writeUInt32BE(body.length, 0);
  framed.set(named, 4);
  framed.writeUInt32BE(crc32(named), named.length + 4);
  return framed;
}

/** Bytes of RGB rows as each of the five filters would write them. */
function filtered(rgb: Uint8Array, width: number, filters: readonly number[]): Buffer {
  const rowBytes = 3 * width;
  const rows = filters.map((filter, row) => {
    const out = Buffer.alloc(rowBytes + 1);
    out[0] = filter;
    for (let x = 0; x < rowBytes; x++) {
      const at = row * rowBytes + x;
      const left = x >= 3 ? rgb[at - 3]! : 0;
      const above = row > 0 ? rgb[at - rowBytes]! : 0;
      const corner = x >= 3 && row > 0 ? rgb[at - rowBytes - 3]! : 0;
      const guess = left + above - corner;
      const byDistance = [left, above, corner].sort((a, b) => Math.abs(guess - a) - Math.abs(guess - b));
      const predicted = [0, left, above, Math.floor((left + above) / 2), byDistance[0]!][filter]!;
      out[x + 1] = rgb[at]! - predicted;
    }
    return out;
  });
  return Buffer.concat(rows);
}

function pngOf(rgb: Uint8Array, width: number, filters: readonly number[]): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(filters.length, 4);
  header.set([8, 2], 8);
  const data = deflateSync(filtered(rgb, width, filters));
  return Buffer.concat([
    Buffer.from(SIGNATURE),
    chunk('IHDR', header),
    chunk('IDAT', data.subarray(0, 5)),
    chunk('IDAT', data.subarray(5)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function coloursOf(rgb: Uint8Array): number[] {
  return Array.from({ length: rgb.length / 3 }, (_, pixel) => {
    const [red, green, blue] = rgb.subarray(3 * pixel, 3 * pixel + 3) as unknown as [number, number, number];
    return (red << 16) | (green << 8) | blue;
  });
}

/** The pixels of a palette PNG. */
function shownBy(png: Buffer): number[] {
  const bodies = new Map<string, Buffer>();
  for (let at = SIGNATURE.length; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const body = png.subarray(at + 8, at + 8 + png.readUInt32BE(at));
    expect(png.readUInt32BE(at + 8 + body.length)).toBe(crc32(png.subarray(at + 4, at + 8 + body.length)));
    bodies.set(png.toString('latin1', at + 4, at + 8), body);
  }
  const width = bodies.get('IHDR')!.readUInt32BE(0);
  const palette = coloursOf(bodies.get('PLTE')!);
  const rows = inflateSync(bodies.get('IDAT')!);
  return [...rows].filter((_, at) => at % (width + 1) !== 0).map((index) => palette[index]!);
}

const images = fc.integer({ min: 1, max: 9 }).chain((width) =>
  fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 9 }).chain((filters) => {
    const bytes = 3 * width * filters.length;
    return fc.record({
      width: fc.constant(width),
      filters: fc.constant(filters),
      rgb: fc.uint8Array({ minLength: bytes, maxLength: bytes }),
    });
  }),
);

describe('a picture', () => {
  it('is read as it was written, whatever filters its rows have, and keeps up to 256 colours exactly', () => {
    fc.assert(
      fc.property(images, ({ width, filters, rgb }) => {
        const png = pngOf(rgb, width, filters);
        expect([...decode(png).pixels]).toEqual(coloursOf(rgb));
        expect(shownBy(shrinkPng(png))).toEqual(coloursOf(rgb));
      }),
    );
  });

  it('with more colours is shown in similar ones', () => {
    const rgb = Uint8Array.from({ length: 3 * 64 * 64 }, (_, at) => {
      const pixel = Math.floor(at / 3);
      return [4 * (pixel % 64), 4 * Math.floor(pixel / 64), 128][at % 3]!;
    });
    const wanted = coloursOf(rgb);
    const shown = shownBy(shrinkPng(pngOf(rgb, 64, Array(64).fill(1) as number[])));
    const worst = Math.max(
      ...shown.map((colour, pixel) => Math.abs((colour >> 16) - (wanted[pixel]! >> 16))),
    );
    expect(new Set(shown).size).toBe(256);
    expect(worst).toBeLessThanOrEqual(16);
  });
});
