/**
 * Images: the content of several tables at one moment, copied into one shared buffer for another thread. Each table gives
 * views of its own memory, which costs nothing; copying the views is a series of block copies and builds no object per
 * row. The copy has the same fields as the original and can be posted: its columns stay shared.
 *
 * An image is a tree of plain objects. Typed arrays are copied into the buffer; a list of u32 arrays becomes one array;
 * everything else (numbers, texts, lists of texts) is small and stays as it is.
 */

export type Column = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array;
/** One column, whole or in consecutive parts. */
export type Pieces = Uint32Array | readonly Uint32Array[];

const ALIGN_BYTES = 8;

/** Bytes of buffer that `copyImage` needs for this image. */
export function imageBytes(image: unknown): number {
  if (isColumn(image)) return aligned(image.byteLength);
  if (isPieces(image)) return aligned(image.reduce((sum, piece) => sum + piece.byteLength, 0));
  if (typeof image !== 'object' || image === null || Array.isArray(image)) return 0;
  return Object.values(image).reduce((sum: number, part) => sum + imageBytes(part), 0);
}

/** A copy of the image with every column in `buffer`; null if it does not fit. */
export function copyImage<T>(image: T, buffer: SharedArrayBuffer): T | null {
  if (imageBytes(image) > buffer.byteLength) return null;
  return new ImageCopier(buffer).copy(image) as T;
}

/** The pieces as one array. */
export function joined(pieces: Pieces): Uint32Array {
  if (pieces instanceof Uint32Array) return pieces;
  const whole = new Uint32Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

class ImageCopier {
  readonly #buffer: SharedArrayBuffer;
  #offset = 0;

  constructor(buffer: SharedArrayBuffer) {
    this.#buffer = buffer;
  }

  copy(image: unknown): unknown {
    if (isColumn(image)) return this.#copyColumn(image);
    if (isPieces(image)) return this.#copyPieces(image);
    if (typeof image !== 'object' || image === null || Array.isArray(image)) return image;
    return Object.fromEntries(Object.entries(image).map(([name, part]) => [name, this.copy(part)]));
  }

  #copyColumn(column: Column): Column {
    const start = this.#take(column.byteLength);
    const Kind = column.constructor as new (
      buffer: SharedArrayBuffer,
      start: number,
      length: number,
    ) => Column;
    const copy = new Kind(this.#buffer, start, column.length);
    copy.set(column);
    return copy;
  }

  #copyPieces(pieces: readonly Uint32Array[]): Uint32Array {
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    const copy = new Uint32Array(this.#buffer, this.#take(length * 4), length);
    let at = 0;
    for (const piece of pieces) {
      copy.set(piece, at);
      at += piece.length;
    }
    return copy;
  }

  #take(bytes: number): number {
    const start = this.#offset;
    this.#offset += aligned(bytes);
    return start;
  }
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGN_BYTES) * ALIGN_BYTES;
}

function isColumn(value: unknown): value is Column {
  return ArrayBuffer.isView(value);
}

function isPieces(value: unknown): value is readonly Uint32Array[] {
  return Array.isArray(value) && value[0] instanceof Uint32Array;
}
