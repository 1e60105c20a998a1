/**
 * The protobuf wire format, read in place: tags, varints, lengths, and how to step over what is not known.
 * Every read is checked against the end of the message it is in, so that a length that promises more than
 * there is names its offset instead of reading a neighbour.
 */
import { MalformedAnswerError } from './errors.ts';

export const WIRE_VARINT = 0;
export const WIRE_FIXED64 = 1;
export const WIRE_BYTES = 2;
export const WIRE_GROUP_START = 3;
export const WIRE_GROUP_END = 4;
export const WIRE_FIXED32 = 5;

/** protobuf's own limit in every implementation that has one. */
const GROUP_DEPTH_MAX = 100;
const VARINT_BYTES_MAX = 10;

export class WireReader {
  bytes: Uint8Array = new Uint8Array();
  view: DataView = new DataView(new ArrayBuffer(0));
  /** Offset of the next byte. */
  at = 0;
  /** For error texts: the machine being read, null outside of a listing. */
  row: number | null = null;
  /** Set by `entry`. */
  keyStart = 0;
  keyEnd = 0;
  valueStart = 0;
  valueEnd = 0;

  /** Always a bare Uint8Array: a Buffer has another hidden class, and reads of both would be slower. */
  open(bytes: Uint8Array): void {
    this.bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
    this.row = null;
  }

  /** The low 32 bits of a varint, unsigned: what int32, enums, tags and lengths are made of. */
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

  tag(end: number): number {
    const from = this.at;
    const tag = this.varint32(end);
    // A tag has 32 bits: five bytes of which the last holds four.
    if (this.at - from > 5 || (this.at - from === 5 && this.bytes[this.at - 1]! > 0x0f)) {
      return this.fail(from, 'a tag of more than 32 bits');
    }
    if (tag >>> 3 === 0) return this.fail(from, 'field number 0');
    return tag;
  }

  /** Reads a length and gives the offset where that field ends. */
  lengthEnd(end: number): number {
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

  /** Steps over a field whose tag has just been read. */
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
        this.fail(from, 'the end of a group that was never begun');
        return;
      default:
        this.fail(from, `wire type ${tag & 7}, which does not exist`);
    }
  }

  /** Reads a map entry of strings; what is missing is empty, and of repeated parts the last counts. */
  entry(start: number, end: number): void {
    const { bytes } = this;
    // Nearly all are key, then value, each shorter than 128 bytes.
    if (end - start >= 4 && bytes[start] === 0x0a && bytes[start + 1]! < 0x80) {
      const valueTag = start + 2 + bytes[start + 1]!;
      if (valueTag + 2 <= end && bytes[valueTag] === 0x12 && valueTag + 2 + bytes[valueTag + 1]! === end) {
        if (bytes[valueTag + 1]! < 0x80) {
          this.keyStart = start + 2;
          this.keyEnd = valueTag;
          this.valueStart = valueTag + 2;
          this.valueEnd = end;
          return;
        }
      }
    }
    this.#unusualEntry(start, end);
  }

  fail(offset: number, what: string): never {
    throw new MalformedAnswerError(offset, this.row, what);
  }

  #unusualEntry(start: number, end: number): void {
    this.keyStart = this.keyEnd = this.valueStart = this.valueEnd = end;
    this.at = start;
    while (this.at < end) {
      const tag = this.tag(end);
      if (tag === 0x0a) {
        this.keyEnd = this.lengthEnd(end);
        this.keyStart = this.at;
        this.at = this.keyEnd;
      } else if (tag === 0x12) {
        this.valueEnd = this.lengthEnd(end);
        this.valueStart = this.at;
        this.at = this.valueEnd;
      } else this.skip(tag, end);
    }
  }

  #advance(count: number, end: number): void {
    if (end - this.at < count)
      this.fail(this.at, `${count} bytes are wanted where ${end - this.at} are left`);
    this.at += count;
  }

  /** Without recursion: nesting is a stack of field numbers with a named depth. */
  #skipGroup(outermost: number, end: number): void {
    const open = [outermost];
    while (open.length > 0) {
      const from = this.at;
      const tag = this.tag(end);
      if ((tag & 7) === WIRE_GROUP_END) {
        if (open.pop() !== tag >>> 3) this.fail(from, 'the end of another group than the one that is open');
      } else if ((tag & 7) === WIRE_GROUP_START) {
        if (open.length === GROUP_DEPTH_MAX) this.fail(from, `groups nested deeper than ${GROUP_DEPTH_MAX}`);
        open.push(tag >>> 3);
      } else this.skip(tag, end);
    }
  }
}
