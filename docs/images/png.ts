/**
 * Smaller PNGs of user interfaces: 256 colours instead of 16 million, one byte a pixel instead of three. A page has few colours
 * and shades of text between them, and the nearest of 256 is one that nobody tells apart. A picture of the dashboard shrinks to
 * about a third.
 *
 * Reads what Chromium writes, 8 bits of RGB or RGBA without interlacing, and nothing else.
 */
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const COLOURS_MAX = 256;
const TRUE_COLOUR = 2;
const TRUE_COLOUR_ALPHA = 6;
const PALETTE = 3;

interface Image {
  readonly width: number;
  readonly height: number;
  /** 0xRRGGBB by pixel, row by row. */
  readonly pixels: Uint32Array;
}

export function shrinkPng(png: Buffer): Buffer {
  const image = decode(png);
  const { palette, indexByColour } = paletteOf(image.pixels);
  return encode(image, palette, indexByColour);
}

export function decode(png: Buffer): Image {
  const parts: Buffer[] = [];
  let width = 0;
  let height = 0;
  let pixelBytes = 0;
  for (let at = SIGNATURE.length; at < png.length; ) {
    const bytes = png.readUInt32BE(at);
    const type = png.toString('latin1', at + 4, at + 8);
    const body = png.subarray(at + 8, at + 8 + bytes);
    if (type === 'IHDR') {
      [width, height] = [body.readUInt32BE(0), body.readUInt32BE(4)];
      const [bits, colourType, , , interlaced] = body.subarray(8);
      pixelBytes = colourType === TRUE_COLOUR ? 3 : colourType === TRUE_COLOUR_ALPHA ? 4 : 0;
      if (bits !== 8 || pixelBytes === 0 || interlaced !== 0)
        throw new Error('not a PNG as Chromium writes it');
    } else if (type === 'IDAT') parts.push(body);
    at += 12 + bytes;
  }
  const bytes = unfilter(inflateSync(Buffer.concat(parts)), width * pixelBytes, height, pixelBytes);
  const pixels = new Uint32Array(width * height);
  for (let pixel = 0; pixel < pixels.length; pixel++) {
    const at = pixel * pixelBytes;
    pixels[pixel] = (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!;
  }
  return { width, height, pixels };
}

/** Each row is stored as its difference from what a filter, named by the row's first byte, predicts. */
function unfilter(raw: Buffer, rowBytes: number, height: number, pixelBytes: number): Uint8Array {
  const bytes = new Uint8Array(rowBytes * height);
  for (let row = 0; row < height; row++) {
    const filter = raw[row * (rowBytes + 1)]!;
    for (let x = 0; x < rowBytes; x++) {
      const at = row * rowBytes + x;
      const left = x >= pixelBytes ? bytes[at - pixelBytes]! : 0;
      const above = row > 0 ? bytes[at - rowBytes]! : 0;
      const corner = row > 0 && x >= pixelBytes ? bytes[at - rowBytes - pixelBytes]! : 0;
      const predicted = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter]!;
      bytes[at] = raw[row * (rowBytes + 1) + 1 + x]! + predicted;
    }
  }
  return bytes;
}

function paeth(left: number, above: number, corner: number): number {
  const guess = left + above - corner;
  const [byLeft, byAbove, byCorner] = [left, above, corner].map((value) => Math.abs(guess - value)) as [
    number,
    number,
    number,
  ];
  if (byLeft <= byAbove && byLeft <= byCorner) return left;
  return byAbove <= byCorner ? above : corner;
}

/**
 * The most frequent colour first, and then, one by one, that whose pixels are worst off with the colours chosen so far. So text
 * has its shades, and a green dot of forty pixels stays green.
 */
function paletteOf(pixels: Uint32Array): { palette: number[]; indexByColour: Map<number, number> } {
  const counts = new Map<number, number>();
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const colours = [...counts.keys()];
  const nearest = new Uint16Array(colours.length);
  const distances = new Float64Array(colours.length).fill(Number.POSITIVE_INFINITY);
  const palette: number[] = [];
  while (palette.length < Math.min(COLOURS_MAX, colours.length)) {
    let worst = 0;
    let worstLoss = -1;
    for (const [at, colour] of colours.entries()) {
      const pixelCount = counts.get(colour)!;
      const loss = palette.length === 0 ? pixelCount : pixelCount * distances[at]!;
      if (loss > worstLoss) [worst, worstLoss] = [at, loss];
    }
    const chosen = colours[worst]!;
    for (const [at, colour] of colours.entries()) {
      const distance = distanceOf(colour, chosen);
      if (distance >= distances[at]!) continue;
      distances[at] = distance;
      nearest[at] = palette.length;
    }
    palette.push(chosen);
  }
  return { palette, indexByColour: new Map(colours.map((colour, at) => [colour, nearest[at]!])) };
}

function distanceOf(one: number, other: number): number {
  const red = (one >> 16) - (other >> 16);
  const green = ((one >> 8) & 255) - ((other >> 8) & 255);
  const blue = (one & 255) - (other & 255);
  return red * red + green * green + blue * blue;
}

function encode(
  { width, height, pixels }: Image,
  palette: readonly number[],
  indexByColour: ReadonlyMap<number, number>,
): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, PALETTE], 8);
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  const rows = Buffer.alloc(height * (width + 1)); // filter 0 before each row: equal indexes repeat, and that is enough
  for (let row = 0; row < height; row++)
    for (let x = 0; x < width; x++)
      rows[row * (width + 1) + 1 + x] = indexByColour.get(pixels[row * width + x]!)!;
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), body]);
  const framed = Buffer.alloc(named.length + 8);
  framed.writeUInt32BE(body.length, 0);
  framed.set(named, 4);
  framed.writeUInt32BE(crc32(named), named.length + 4);
  return framed;
}
