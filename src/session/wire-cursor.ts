/**
 * The protobuf wire format, read in place: operators' frames are routed, hashed and mostly forgotten, so nothing is made
 * of them before somebody needs it. Every read is checked against the end of the message that it is in.
 */
import { MalformedFrameError } from './errors.ts';

const VARINT_BYTES_MAX = 10;
/** protobuf's own limit in every implementation that has one. */
const GROUP_DEPTH_MAX = 100;
const GROUP_START = 3;
const GROUP_END = 4;

export class WireCursor {
  bytes: Uint8Array = new Uint8Array();
  view: DataView = new DataView(new ArrayBuffer(0));
  /** The same memory, for text. */
  buffer: Buffer = Buffer.alloc(0);
  /** Offset of the next byte. */
  at = 0;

  /** Always a bare Uint8Array: a Buffer has another hidden class, and reads of both would be slower. */
  open(bytes: Uint8Array): void {
    this.bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
  }

  /** Lets go of the bytes. */
  close(): void {
    this.open(NOTHING);
  }

  /** The low 32 bits of a varint, signed: what int32 and enums are. */
  int32(end: number): number {
    const { bytes } = this;
    const from = this.at;
    let value = 0;
    for (let shift = 0; this.at < end; shift += 7) {
      const byte = bytes[this.at++]!;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
      if (this.at - from === VARINT_BYTES_MAX) this.fail(from, 'a varint of more than 10 bytes');
    }
    return this.fail(from, 'a varint that does not end');
  }

  tag(end: number): number {
    const from = this.at;
    const first = this.bytes[from]!;
    if (from < end && first < 0x80 && first > 7) {
      this.at = from + 1;
      return first;
    }
    const tag = this.int32(end) >>> 0;
    if (tag >>> 3 === 0 || this.at - from > 5) this.fail(from, 'a tag that does not exist');
    return tag;
  }

  /** Reads a length and gives the offset where that field ends. */
  lengthEnd(end: number): number {
    const from = this.at;
    const length = this.int32(end);
    if (length < 0 || length > end - this.at || this.at - from > 5) {
      this.fail(from, `a length of ${length >>> 0} bytes where ${end - this.at} are left`);
    }
    return this.at + length;
  }

  /** Steps over a field whose tag has just been read. */
  skip(tag: number, end: number): void {
    switch (tag & 7) {
      case 0:
        this.int32(end);
        return;
      case 1:
        this.#advance(8, end);
        return;
      case 2:
        this.at = this.lengthEnd(end);
        return;
      case GROUP_START:
        this.#skipGroup(tag >>> 3, end);
        return;
      case 5:
        this.#advance(4, end);
        return;
      default:
        this.fail(this.at, `wire type ${tag & 7}, which has no place here`);
    }
  }

  fail(offset: number, what: string): never {
    throw new MalformedFrameError(offset, what);
  }

  #advance(count: number, end: number): void {
    if (end - this.at < count) this.fail(this.at, `the end, where ${count} more bytes are promised`);
    this.at += count;
  }

  /** Without recursion: nesting is a stack of field numbers with a named depth. */
  #skipGroup(outermost: number, end: number): void {
    const open = [outermost];
    while (open.length > 0) {
      const from = this.at;
      const tag = this.tag(end);
      if ((tag & 7) === GROUP_END) {
        if (open.pop() !== tag >>> 3) this.fail(from, 'the end of another group than the one that is open');
      } else if ((tag & 7) === GROUP_START) {
        if (open.length === GROUP_DEPTH_MAX) this.fail(from, `groups nested deeper than ${GROUP_DEPTH_MAX}`);
        open.push(tag >>> 3);
      } else this.skip(tag, end);
    }
  }
}

const NOTHING = new Uint8Array();
