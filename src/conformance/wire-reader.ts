/**
 * Steps through the fields of an encoded message without decoding it, to find the machines of a listing.
 * Every step checks the bounds, so truncated or corrupt bytes cause an error and never a hang.
 */
import { ShardError } from '../base/errors.ts';

export class MalformedMessageError extends ShardError {
  readonly code = 'conformance_malformed_message';
  readonly next = 'reject-input';

  constructor(offset: number, what: string) {
    super(`The message is malformed at byte ${offset}: ${what}. The suite rejected the whole answer.`);
  }
}

export const WireType = { Varint: 0, Fixed64: 1, Bytes: 2, GroupStart: 3, GroupEnd: 4, Fixed32: 5 } as const;

const VARINT_BYTES_MAX = 10;

export class WireReader {
  readonly bytes: Buffer;
  offset: number;
  readonly end: number;

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.bytes = bytes;
    this.offset = start;
    this.end = end;
  }

  get hasMore(): boolean {
    return this.offset < this.end;
  }

  /** The lowest 32 bits, enough for tags, lengths and enum numbers. */
  uint32(): number {
    let value = 0;
    for (let count = 0; count < VARINT_BYTES_MAX; count++) {
      if (this.offset >= this.end) throw new MalformedMessageError(this.offset, 'it ends within a number');
      const byte = this.bytes[this.offset++]!;
      if (count < 5) value |= (byte & 0x7f) << (7 * count);
      if (byte < 0x80) return value >>> 0;
    }
    throw new MalformedMessageError(this.offset, 'a number of more than 10 bytes');
  }

  /** Skips a length-delimited field and returns its start; its end is then `offset`. */
  passBytes(): number {
    const byteLength = this.uint32();
    const start = this.offset;
    this.#pass(byteLength);
    return start;
  }

  text(): string {
    const start = this.passBytes();
    return this.bytes.toString('utf8', start, this.offset);
  }

  skip(wireType: number): void {
    switch (wireType) {
      case WireType.Varint:
        this.uint32();
        break;
      case WireType.Fixed64:
        this.#pass(8);
        break;
      case WireType.Bytes:
        this.passBytes();
        break;
      case WireType.Fixed32:
        this.#pass(4);
        break;
      case WireType.GroupStart: // fields within a group are not fields of this message
        this.#skipGroup();
        break;
      default:
        throw new MalformedMessageError(this.offset, `wire type ${wireType}`);
    }
  }

  /** Counts the depth instead of recursing: input must not decide the depth of the stack. */
  #skipGroup(): void {
    for (let depth = 1; depth > 0; ) {
      const wireType = this.uint32() & 7;
      if (wireType === WireType.GroupStart) depth++;
      else if (wireType === WireType.GroupEnd) depth--;
      else this.skip(wireType);
    }
  }

  #pass(byteLength: number): void {
    if (byteLength > this.end - this.offset) {
      throw new MalformedMessageError(
        this.offset,
        `it announces ${byteLength} bytes, but ${this.end - this.offset} are left`,
      );
    }
    this.offset += byteLength;
  }
}
