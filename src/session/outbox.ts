/**
 * The frames that one session has yet to write. O6: a slow reader costs at most one frame per key. So the outbox does not
 * queue machine states: it marks a changed machine, and reads and encodes its newest state when the stream can take a
 * frame. Frames leave in this order:
 *
 *   acks            counted: 'hello', then 'rollup'
 *   control         bootstrap requests and reclaims, in order, never dropped
 *   changed         machines that changed, by slot
 *   resync          O1: one update per machine bound at Hello, without those that `changed` has sent already
 *   departures      O4: the last updates of machines that left
 *   hints           O5: available capacity, one frame per profile
 */
import type { CapacityHint, ShardForOperators } from '../shard/ports/operators.ts';
import type { Departures } from './departures.ts';
import { encodeHint, encodeNode } from './encode.ts';
import { CONTROL_FRAMES_MAX } from './limits.ts';

export type OutboxShard = Pick<ShardForOperators, 'boundSlots' | 'readNode'>;

/** Encoded once for all sessions. */
export interface AckFrames {
  readonly hello: Buffer;
  readonly rollup: Buffer;
}

interface ControlFrame {
  /** Encoded when it is written. */
  readonly encode: () => Buffer;
  /** False if no caller waits for the answer any more. */
  readonly isWanted: () => boolean;
}

export class Outbox {
  readonly #clusterId: string;
  readonly #shard: OutboxShard;
  readonly #acks: () => AckFrames;
  readonly #departures: Departures;
  #helloAcks = 0;
  #rollupAcks = 0;
  #control: ControlFrame[] = [];
  #controlRead = 0;
  readonly #changed = new Set<number>();
  /** Null until the resync begins, empty when it is over. */
  #resync: Uint32Array | null = null;
  #resyncRead = 0;
  /** Slots that were sent as changes while the resync is running. */
  readonly #ahead = new Set<number>();
  readonly #hints = new Map<string, CapacityHint>();

  constructor(clusterId: string, shard: OutboxShard, acks: () => AckFrames, departures: Departures) {
    this.#clusterId = clusterId;
    this.#shard = shard;
    this.#acks = acks;
    this.#departures = departures;
  }

  /** Frames to write, as far as they are known. */
  get depth(): number {
    const control = this.#control.length - this.#controlRead;
    const resync = this.#resync === null ? 0 : this.#resync.length - this.#resyncRead;
    const acks = this.#helloAcks + this.#rollupAcks;
    return acks + control + this.#changed.size + resync + this.#departures.depth + this.#hints.size;
  }

  ackHello(): void {
    this.#helloAcks++;
  }

  ackRollups(count: number): void {
    this.#rollupAcks += count;
  }

  /** False if the outbox is full: the operator has stopped reading, and the session must end. */
  addControl(encode: () => Buffer, isWanted: () => boolean = () => true): boolean {
    if (this.#control.length >= CONTROL_FRAMES_MAX) {
      this.#control = this.#control.slice(this.#controlRead).filter((frame) => frame.isWanted());
      this.#controlRead = 0;
      if (this.#control.length >= CONTROL_FRAMES_MAX) return false;
    }
    this.#control.push({ encode, isWanted });
    return true;
  }

  changed(slot: number): void {
    this.#changed.add(slot);
  }

  hint(hint: CapacityHint): void {
    this.#hints.set(hint.fingerprint, hint);
  }

  /** The next ack or control frame, null if there is none. These do not wait for a write turn. */
  nextUrgent(): Buffer | null {
    if (this.#helloAcks > 0) {
      this.#helloAcks--;
      return this.#acks().hello;
    }
    if (this.#rollupAcks > 0) {
      this.#rollupAcks--;
      return this.#acks().rollup;
    }
    while (this.#controlRead < this.#control.length) {
      const frame = this.#control[this.#controlRead++]!;
      if (this.#controlRead === this.#control.length) {
        this.#control = [];
        this.#controlRead = 0;
      }
      if (frame.isWanted()) return frame.encode();
    }
    return null;
  }

  /** The next frame, null if there is none. */
  next(nowMs: number): Buffer | null {
    return (
      this.nextUrgent() ??
      this.#nextChanged() ??
      this.#nextOfResync() ??
      this.#departures.take(nowMs) ??
      this.#nextHint()
    );
  }

  #nextChanged(): Buffer | null {
    for (const slot of this.#changed) {
      this.#changed.delete(slot);
      if (this.#resync !== RESYNCED) this.#ahead.add(slot);
      const frame = this.#encodeSlot(slot);
      if (frame !== null) return frame;
    }
    return null;
  }

  #nextOfResync(): Buffer | null {
    this.#resync ??= this.#shard.boundSlots(this.#clusterId);
    while (this.#resyncRead < this.#resync.length) {
      const slot = this.#resync[this.#resyncRead++]!;
      const frame = this.#ahead.has(slot) ? null : this.#encodeSlot(slot);
      if (frame !== null) return frame;
    }
    if (this.#resync !== RESYNCED) {
      this.#resync = RESYNCED;
      this.#resyncRead = 0;
      this.#ahead.clear();
    }
    return null;
  }

  #nextHint(): Buffer | null {
    for (const [fingerprint, hint] of this.#hints) {
      this.#hints.delete(fingerprint);
      return encodeHint(hint);
    }
    return null;
  }

  /** Null if the machine left this cluster: its last update is among the departures. */
  #encodeSlot(slot: number): Buffer | null {
    const node = this.#shard.readNode(slot, this.#clusterId);
    return node === null ? null : encodeNode(node);
  }
}

const RESYNCED = new Uint32Array(0);
