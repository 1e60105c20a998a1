/**
 * Reads the machine id, state and instance type from a node update. A resync of two thousand operators brings
 * half a million updates at once; as decoded messages they would take seconds and a gigabyte. The reader
 * skips unknown fields and leaves other frames to the ordinary decoder.
 */
import { INSTANCE_TYPE_KEY } from '../catalogue/hardware.ts';

/** Fields of ShardMessage. */
export const ShardFrame = { Ack: 1, BootstrapRequest: 2, Reclaim: 3, NodeState: 4, Capacity: 5 } as const;

/**
 * The only field of ShardMessage in a frame, or 0 if the frame does not have exactly one: such a frame is for the
 * ordinary decoder.
 */
export function onlyFieldOf(frame: Uint8Array): number {
  if (frame.length < 2 || (frame[0]! & 7) !== LENGTH_DELIMITED) return 0;
  cursor.open(frame, 1, frame.length);
  const length = cursor.varint();
  return !cursor.isBroken && cursor.at + length === frame.length ? frame[0]! >> 3 : 0;
}

const LENGTH_DELIMITED = 2;
const INSTANCE_TYPE_BYTES = Buffer.from(INSTANCE_TYPE_KEY);

/** Reused for every update. */
export class NodeSighting {
  machineId = '';
  clusterId = '';
  state = 0;
  /** '' if the node has no such label. */
  instanceType = '';

  /** For a frame whose only field is a NodeStateUpdate. Returns false if it is malformed. */
  read(frame: Buffer): boolean {
    this.machineId = '';
    this.clusterId = '';
    this.state = 0;
    this.instanceType = '';
    const fields = cursor;
    fields.open(frame, 1, frame.length);
    fields.varint(); // the length, which onlyFieldOf has checked
    while (fields.at < fields.end && !fields.isBroken) {
      const tag = fields.varint();
      if ((tag & 7) !== LENGTH_DELIMITED) {
        const value = fields.scalar(tag & 7);
        if (tag >> 3 === 4) this.state = value;
        continue;
      }
      const length = fields.varint();
      const start = fields.at;
      fields.skip(length);
      if (fields.isBroken) break;
      if (tag >> 3 === 2) this.machineId = textOf(frame, start, fields.at);
      else if (tag >> 3 === 3) this.clusterId = textOf(frame, start, fields.at);
      else if (tag >> 3 === 9) this.#readLabel(frame, start, fields.at);
    }
    return !fields.isBroken && this.machineId !== '';
  }

  /** A map entry with key (1) and value (2) in this order, as every encoder writes it. */
  #readLabel(frame: Buffer, start: number, end: number): void {
    const keyEnd = start + 2 + INSTANCE_TYPE_BYTES.length;
    if (frame[start] !== 0x0a || frame[start + 1] !== INSTANCE_TYPE_BYTES.length) return;
    if (frame[keyEnd] !== 0x12) return;
    if (frame.compare(INSTANCE_TYPE_BYTES, 0, INSTANCE_TYPE_BYTES.length, start + 2, keyEnd) !== 0) return;
    const value = labelValue;
    value.open(frame, keyEnd + 1, end);
    const length = value.varint();
    if (!value.isBroken && value.at + length === end) this.instanceType = textOf(frame, value.at, end);
  }
}

function textOf(frame: Buffer, start: number, end: number): string {
  return frame.toString('utf8', start, end);
}

class Cursor {
  at = 0;
  end = 0;
  isBroken = false;
  #bytes: Uint8Array = new Uint8Array(0);

  open(bytes: Uint8Array, at: number, end: number): void {
    this.#bytes = bytes;
    this.at = at;
    this.end = end;
    this.isBroken = false;
  }

  /** Values above 2^32 lose their upper bits; lengths and states are smaller. */
  varint(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.at >= this.end) break;
      const byte = this.#bytes[this.at++]!;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    this.isBroken = true;
    return 0;
  }

  scalar(wireType: number): number {
    if (wireType === 0) return this.varint();
    if (wireType === 1) this.skip(8);
    else if (wireType === 5) this.skip(4);
    else this.isBroken = true;
    return 0;
  }

  skip(count: number): void {
    this.at += count;
    if (this.at > this.end) this.isBroken = true;
  }
}

const cursor = new Cursor();
const labelValue = new Cursor();
