/** A listing of the whole fleet that is encoded while it is sent: measured first, then written machine by machine into its frame. */
import { assert } from '../../base/assert.ts';
import { ByteWriter, varintBytes } from '../../base/byte-writer.ts';
import type { OutgoingMessage } from '../../wire/outgoing-message.ts';
import type { OwnParts } from './own-parts.ts';

export class WholeListing implements OutgoingMessage {
  readonly byteLength: number;
  readonly #rows: Uint32Array;
  readonly #own: OwnParts;
  readonly #shapeOf: (row: number) => Uint8Array;
  readonly #end: Uint8Array;

  /** A record is a machine's own part and its shape, which must not change before `copy`. `end` follows the last record. */
  constructor(rows: Uint32Array, own: OwnParts, shapeOf: (row: number) => Uint8Array, end: Uint8Array) {
    this.#rows = rows;
    this.#own = own;
    this.#shapeOf = shapeOf;
    this.#end = end;
    this.byteLength = this.#measure();
  }

  copy(into: Buffer, at: number): number {
    assert(at + this.byteLength <= into.length, 'the buffer is too small for the listing');
    const own = this.#own;
    const writer = new ByteWriter();
    writer.openIn(into, at);
    for (const row of this.#rows) {
      const shape = this.#shapeOf(row);
      writer.tag(0x0a);
      writer.varint(own.bytesOf(row) + shape.length);
      own.append(row, writer);
      writer.raw(shape);
    }
    writer.raw(this.#end);
    assert(writer.at === at + this.byteLength, 'the listing changed between measuring and writing');
    return this.byteLength;
  }

  #measure(): number {
    let bytes = this.#end.length;
    for (const row of this.#rows) {
      const record = this.#own.bytesOf(row) + this.#shapeOf(row).length;
      bytes += 1 + varintBytes(record) + record;
    }
    return bytes;
  }
}
