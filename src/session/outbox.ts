/**
 * What one session has yet to be told. Nothing here is a queue of machine states: a machine that changed is a mark, and its
 * newest state is read and encoded when the stream can take a frame (O6). So a reader that stops costs a mark per machine,
 * and when it reads again it ends with the newest state of each. Frames come in this order:
 *
 *   acks            counted: 'hello', then 'rollup'
 *   control         bootstrap requests and reclaims, never dropped, in order
 *   changed         machines that changed, by slot
 *   resync          the cluster's machines at the time of Hello (O1), those left out that went with `changed`
 *   departures      last words on machines that left (O4)
 *   hints           one for each profile (O5)
 */
import type { CapacityHint, ShardForOperators } from '../shard/ports/operators.ts';
import type { Departures } from './departures.ts';
import { encodeHint, encodeNode } from './encode.ts';
import { CONTROL_FRAMES_MAX } from './limits.ts';

export type OutboxShard = Pick<ShardForOperators, 'boundSlots' | 'readNode'>;

/** The same for every session. */
export interface AckFrames {
  readonly hello: Buffer;
  readonly rollup: Buffer;
}

interface ControlFrame {
  /** Encoded when it is written. */
  readonly encode: () => Buffer;
  /** False if nobody waits for what it asks any more. */
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
  /** Slots that went out as changes while the resync is under way. */
  readonly #ahead = new Set<number>();
  readonly #hints = new Map<string, CapacityHint>();

  constructor(clusterId: string, shard: OutboxShard, acks: () => AckFrames, departures: Departures) {
    this.#clusterId = clusterId;
    this.#shard = shard;
    this.#acks = acks;
    this.#departures = departures;
  }

  /** Frames to be written, as far as they are known. */
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

  /** False if there is no room: the reader has not read for so long that the session must end. */
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

  /** The next ack or control frame, null if there is none: these do not wait for their turn. */
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

  /** Null if the machine is none of this cluster's any more: its last word is among the departures. */
  #encodeSlot(slot: number): Buffer | null {
    const node = this.#shard.readNode(slot, this.#clusterId);
    return node === null ? null : encodeNode(node);
  }
}

const RESYNCED = new Uint32Array(0);
