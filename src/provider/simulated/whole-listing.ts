/** A listing of a whole fleet as a message that is written as it is sent: measured first, then machine by machine into its frame. */
import { assert } from '../../base/assert.ts';
import { ByteWriter, varintBytes } from '../../base/byte-writer.ts';
import type { OutgoingMessage } from '../../wire/outgoing-message.ts';

/** Records of machines, in two parts each. They stay as they are until the message is written. */
export interface RecordParts {
  ownBytesOf(row: number): number;
  appendOwn(row: number, writer: ByteWriter): void;
  shapeOf(row: number): Uint8Array;
}

export class WholeListing implements OutgoingMessage {
  readonly byteLength: number;
  readonly #rows: Uint32Array;
  readonly #parts: RecordParts;
  readonly #end: Uint8Array;

  /** `end` is what comes after the machines. */
  constructor(rows: Uint32Array, parts: RecordParts, end: Uint8Array) {
    this.#rows = rows;
    this.#parts = parts;
    this.#end = end;
    this.byteLength = this.#measure();
  }

  copy(into: Buffer, at: number): number {
    assert(at + this.byteLength <= into.length, 'a listing is copied into memory that is large enough');
    const parts = this.#parts;
    const writer = new ByteWriter();
    writer.openIn(into, at);
    for (const row of this.#rows) {
      const shape = parts.shapeOf(row);
      writer.tag(0x0a);
      writer.varint(parts.ownBytesOf(row) + shape.length);
      parts.appendOwn(row, writer);
      writer.raw(shape);
    }
    writer.raw(this.#end);
    assert(writer.at === at + this.byteLength, 'a listing stays as it was measured until it is written');
    return this.byteLength;
  }

  #measure(): number {
    const parts = this.#parts;
    let bytes = this.#end.length;
    for (const row of this.#rows) {
      const record = parts.ownBytesOf(row) + parts.shapeOf(row).length;
      bytes += 1 + varintBytes(record) + record;
    }
    return bytes;
  }
}
