/**
 * Strings from wire bytes. Keys of labels and resources repeat in every row, so short strings are cached: a lookup costs
 * less than making the string, memory holds it once, and it is fast as a property name. The cache is a direct-mapped
 * table: two strings with the same place replace each other, and the table never grows.
 */
import { hashBytes } from '../base/hash.ts';
import type { FrameReader } from './frame-reader.ts';

const PLACES = 4_096;
const REMEMBERED_BYTES_MAX = 64;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export class TextReader {
  readonly #texts: string[] = new Array(PLACES).fill('');

  /** A string that probably repeats. */
  common(reader: FrameReader, start: number, end: number): string {
    const length = end - start;
    if (length === 0) return '';
    if (length > REMEMBERED_BYTES_MAX) return this.once(reader, start, end);
    const { bytes } = reader;
    const place = hashBytes(bytes, start, end) & (PLACES - 1);
    const known = this.#texts[place]!;
    if (known.length === length && isSpelled(known, bytes, start)) return known;
    const text = this.once(reader, start, end);
    this.#texts[place] = text;
    return text;
  }

  /** A string that is not cached. Throws a MalformedFrameError for bytes that are not UTF-8. */
  once(reader: FrameReader, start: number, end: number): string {
    const { bytes } = reader;
    for (let at = start; at < end; at++) if (bytes[at]! >= 0x80) return decodeUtf8(reader, start, end);
    return reader.buffer.toString('latin1', start, end);
  }
}

/** True only for ASCII: other text differs in length, or no character equals its byte. */
function isSpelled(text: string, bytes: Uint8Array, start: number): boolean {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit !== bytes[start + index] || unit >= 0x80) return false;
  }
  return true;
}

function decodeUtf8(reader: FrameReader, start: number, end: number): string {
  try {
    return utf8.decode(reader.bytes.subarray(start, end));
  } catch {
    return reader.fail(start, 'a string that is not UTF-8');
  }
}
