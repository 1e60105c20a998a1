/**
 * Reads the machine id, state and instance type from a node update. A resync of two thousand operators brings
 * half a million updates at once; as decoded messages they would take seconds and a gigabyte. The reader
 * skips unknown fields and leaves other frames to the ordinary decoder.
 */
import { FrameCursor, LENGTH_DELIMITED } from '../../operator-kit/shard-frame.ts';
import { INSTANCE_TYPE_KEY } from '../catalogue/hardware.ts';

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

const cursor = new FrameCursor();
const labelValue = new FrameCursor();
