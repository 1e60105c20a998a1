/**
 * Which of the shard's messages a frame contains. Node states and hints come by the thousand after a reconnect, so a frame is
 * routed by its outermost tag, and only a receiver that wants the whole message decodes it.
 */
import { decode } from '../wire/codec.ts';
import type { ShardMessage } from '../wire/protocol.generated.ts';

/** Fields of ShardMessage. */
export const ShardFrame = { Ack: 1, BootstrapRequest: 2, Reclaim: 3, NodeState: 4, Capacity: 5 } as const;

export const LENGTH_DELIMITED = 2;

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

/** Null if the bytes are not a ShardMessage. */
export function shardMessageOf(frame: Buffer): ShardMessage | null {
  try {
    return decode('ShardMessage', frame);
  } catch {
    return null;
  }
}

/** Reads fields of a frame, without exceptions: a fault sets `isBroken`. */
export class FrameCursor {
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

const cursor = new FrameCursor();
