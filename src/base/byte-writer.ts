/**
 * A growing buffer that protobuf fields are appended to. A length stands before what it measures, so the
 * bytes that it will probably need are left free, and what follows is moved if it turns out otherwise: that
 * is rare, and a pass over everything just to measure it is not needed.
 */
import { assert } from './assert.ts';

const LENGTH_IN_ONE_BYTE_MAX = 0x7f;
/** The longest varint of a 32-bit length. */
const LENGTH_BYTES_MAX = 5;
const BYTES_MIN = 1024;

export class ByteWriter {
  #buffer: Buffer = Buffer.allocUnsafeSlow(BYTES_MIN);
  at = 0;

  /** Starts anew in a buffer of its own: what `take` gave before stays as it is. */
  open(bytesExpected: number): void {
    this.#buffer = Buffer.allocUnsafeSlow(Math.max(BYTES_MIN, bytesExpected));
    this.at = 0;
  }

  /** Starts anew in this memory, from `at` on; what does not fit there would move into a larger one. */
  openIn(memory: Buffer, at: number): void {
    this.#buffer = memory;
    this.at = at;
  }

  /** Starts anew in the same buffer: what `take` gave before is overwritten. */
  rewind(): void {
    this.at = 0;
  }

  /** What was written: a view, without a copy. */
  take(): Buffer {
    return this.#buffer.subarray(0, this.at);
  }

  /** Room for `count` more bytes; the writing methods below ask for theirs. */
  reserve(count: number): void {
    const needed = this.at + count;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length));
    this.#buffer.copy(grown, 0, 0, this.at);
    this.#buffer = grown;
  }

  varint(value: number): void {
    assert(value >= 0 && value <= 0xffff_ffff, 'only unsigned 32-bit varints are written here');
    this.reserve(varintBytes(value));
    let left = value;
    while (left > LENGTH_IN_ONE_BYTE_MAX) {
      this.#buffer[this.at++] = (left & 0x7f) | 0x80;
      left >>>= 7;
    }
    this.#buffer[this.at++] = left;
  }

  /** A tag below 128, which all of ours are. */
  tag(tag: number): void {
    this.reserve(1);
    this.#buffer[this.at++] = tag;
  }

  double(value: number): void {
    this.reserve(8);
    this.at = this.#buffer.writeDoubleLE(value, this.at);
  }

  raw(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.#buffer.set(bytes, this.at);
    this.at += bytes.length;
  }

  /** Leaves room for a length of as many bytes as it will probably need; `closeLength` fills it in. */
  openLength(lengthBytes = 1): number {
    this.reserve(lengthBytes);
    this.at += lengthBytes;
    return this.at;
  }

  /** `start` and `lengthBytes` as `openLength` gave and took them. */
  closeLength(start: number, lengthBytes = 1): void {
    let left = this.at - start;
    const needed = varintBytes(left);
    if (needed !== lengthBytes) {
      this.reserve(LENGTH_BYTES_MAX);
      this.#buffer.copyWithin(start + needed - lengthBytes, start, this.at);
      this.at += needed - lengthBytes;
    }
    let at = start - lengthBytes;
    for (; left > LENGTH_IN_ONE_BYTE_MAX; left >>>= 7) this.#buffer[at++] = (left & 0x7f) | 0x80;
    this.#buffer[at] = left;
  }

  /** A string field. Nearly all are short ASCII: a loop is cheaper than a call into the runtime's encoder. */
  text(tag: number, text: string): void {
    this.reserve(2 + LENGTH_BYTES_MAX + 3 * text.length); // a UTF-16 unit is at most three bytes of UTF-8
    const buffer = this.#buffer;
    buffer[this.at++] = tag;
    const start = ++this.at;
    for (let index = 0; index < text.length; index++) {
      const unit = text.charCodeAt(index);
      if (unit >= 0x80) {
        this.at = start + buffer.write(text, start);
        this.closeLength(start);
        return;
      }
      buffer[start + index] = unit;
    }
    this.at = start + text.length;
    this.closeLength(start);
  }
}

export function varintBytes(value: number): number {
  if (value <= LENGTH_IN_ONE_BYTE_MAX) return 1;
  return value < 1 << 14 ? 2 : value < 1 << 21 ? 3 : value < 1 << 28 ? 4 : 5;
}
