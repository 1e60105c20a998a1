/**
 * The protobuf wire format, read in place: tags, varints, lengths, and how to skip unknown fields. Decoders of
 * large messages extend it and add their own error and fields, so they route, hash and compare bytes without making
 * objects first. Every read stays within the message that contains it: a length that runs past the end is an error
 * with its offset, never a read of the neighbouring field.
 *
 * The reader is stricter than protobuf's own libraries in one point: a tag has at most 32 bits and a length at most
 * 31. No encoder writes longer ones.
 */
export const WIRE_VARINT = 0;
export const WIRE_FIXED64 = 1;
export const WIRE_BYTES = 2;
export const WIRE_GROUP_START = 3;
export const WIRE_GROUP_END = 4;
export const WIRE_FIXED32 = 5;

/** The limit of every protobuf implementation that has one. */
const GROUP_DEPTH_MAX = 100;
const VARINT_BYTES_MAX = 10;
const NO_BYTES = new Uint8Array();

export abstract class ProtobufReader {
  bytes: Uint8Array = new Uint8Array();
  view: DataView = new DataView(new ArrayBuffer(0));
  /** Offset of the next byte. */
  at = 0;

  /** Throws the error of the message that is being read; `what` is a noun phrase, found at `offset`. */
  abstract fail(offset: number, what: string): never;

  /** Always a bare Uint8Array: a Buffer has another hidden class, and reads of both would be slower. */
  open(bytes: Uint8Array): void {
    this.bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
  }

  /** Drops the reference to the bytes. */
  close(): void {
    this.open(NO_BYTES);
  }

  /** The low 32 bits of a varint, unsigned: tags, lengths and enums. */
  varint32(end: number): number {
    const { bytes } = this;
    const from = this.at;
    let at = from;
    let value = 0;
    for (let shift = 0; at < end; shift += 7) {
      const byte = bytes[at++]!;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        this.at = at;
        return value >>> 0;
      }
      if (at - from === VARINT_BYTES_MAX) return this.fail(from, 'a varint of more than 10 bytes');
    }
    return this.fail(from, 'a varint that does not end');
  }

  /** The same, signed: int32. */
  int32(end: number): number {
    return this.varint32(end) | 0;
  }

  tag(end: number): number {
    const from = this.at;
    // Nearly all: the first 15 fields.
    if (from < end) {
      const first = this.bytes[from]!;
      if (first < 0x80 && first > 7) {
        this.at = from + 1;
        return first;
      }
    }
    return this.#unusualTag(end);
  }

  /** Reads a length and returns the offset where that field ends. */
  lengthEnd(end: number): number {
    const from = this.at;
    // Nearly all: shorter than 128 bytes.
    if (from < end) {
      const first = this.bytes[from]!;
      if (first < 0x80 && first < end - from) {
        this.at = from + 1;
        return from + 1 + first;
      }
    }
    return this.#unusualLengthEnd(end);
  }

  /** Skips a field whose tag has just been read. */
  skip(tag: number, end: number): void {
    const from = this.at;
    switch (tag & 7) {
      case WIRE_VARINT:
        this.varint32(end);
        return;
      case WIRE_FIXED64:
        this.#advance(8, end);
        return;
      case WIRE_BYTES:
        this.at = this.lengthEnd(end);
        return;
      case WIRE_GROUP_START:
        this.#skipGroup(tag >>> 3, end);
        return;
      case WIRE_FIXED32:
        this.#advance(4, end);
        return;
      case WIRE_GROUP_END:
        this.fail(from, 'the end of a group that never began');
        return;
      default:
        this.fail(from, `wire type ${tag & 7}, which does not exist`);
    }
  }

  #unusualTag(end: number): number {
    const from = this.at;
    const tag = this.varint32(end);
    // A tag has 32 bits: five bytes of which the last holds four.
    if (this.at - from > 5 || (this.at - from === 5 && this.bytes[this.at - 1]! > 0x0f)) {
      return this.fail(from, 'a tag of more than 32 bits');
    }
    if (tag >>> 3 === 0) return this.fail(from, 'field number 0');
    return tag;
  }

  #unusualLengthEnd(end: number): number {
    const from = this.at;
    const length = this.varint32(end);
    if (this.at - from > 5 || (this.at - from === 5 && this.bytes[this.at - 1]! > 0x07)) {
      return this.fail(from, 'a length of more than 31 bits');
    }
    if (length > end - this.at) {
      return this.fail(from, `a length of ${length} bytes where ${end - this.at} are left`);
    }
    return this.at + length;
  }

  #advance(count: number, end: number): void {
    const left = end - this.at;
    if (left < count) this.fail(this.at, `a field of ${count} bytes where ${left} are left`);
    this.at += count;
  }

  /** No recursion: the open groups are a stack of field numbers with a named depth. */
  #skipGroup(outermost: number, end: number): void {
    const open = [outermost];
    while (open.length > 0) {
      const from = this.at;
      const tag = this.tag(end);
      if ((tag & 7) === WIRE_GROUP_END) {
        if (open.pop() !== tag >>> 3) this.fail(from, 'the end of another group than the open one');
      } else if ((tag & 7) === WIRE_GROUP_START) {
        if (open.length === GROUP_DEPTH_MAX) this.fail(from, `groups nested deeper than ${GROUP_DEPTH_MAX}`);
        open.push(tag >>> 3);
      } else this.skip(tag, end);
    }
  }
}
