/**
 * A growing buffer to which protobuf fields are appended. A length stands before the bytes that it counts, so the
 * writer leaves as many bytes for it as it will probably need, and moves the content if the guess was wrong. That is
 * rare, and cheaper than a first pass that only measures.
 */
import { assert } from './assert.ts';

const LENGTH_IN_ONE_BYTE_MAX = 0x7f;
/** The longest varint of a 32-bit length. */
const LENGTH_BYTES_MAX = 5;
const BYTES_MIN = 1024;

export class ByteWriter {
  #buffer: Buffer = Buffer.allocUnsafeSlow(BYTES_MIN);
  at = 0;

  /** Starts over in a new buffer: earlier results of `take` stay valid. */
  open(bytesExpected: number): void {
    this.#buffer = Buffer.allocUnsafeSlow(Math.max(BYTES_MIN, bytesExpected));
    this.at = 0;
  }

  /** Starts over in this memory, at `at`; if it is too small, the writer moves to a larger buffer. */
  openIn(memory: Buffer, at: number): void {
    this.#buffer = memory;
    this.at = at;
  }

  /** Starts over in the same buffer: later writes overwrite earlier results of `take`. */
  rewind(): void {
    this.at = 0;
  }

  /** A view of the written bytes, not a copy. */
  take(): Buffer {
    return this.#buffer.subarray(0, this.at);
  }

  /** Makes room for `count` more bytes. The writing methods below call it themselves. */
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

  /** One byte: every tag of ours is below 128. */
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

  /** Leaves `lengthBytes` bytes for a length, a guess that `closeLength` corrects. Returns where the content starts. */
  openLength(lengthBytes = 1): number {
    this.reserve(lengthBytes);
    this.at += lengthBytes;
    return this.at;
  }

  /** `start` is what `openLength` returned, `lengthBytes` what it was given. */
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
