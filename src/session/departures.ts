/**
 * O4: the last update of each machine that left a cluster is kept until the operator has received it. The resync of a
 * reconnecting operator (O1: one update per bound machine) cannot show which machines it no longer has.
 *
 * A written frame is not a received one: the shard notices a dead peer half a minute later, and frames written in between
 * are lost. So a written frame stays for a while, and a session that begins in that time gets it again. A repeat costs one
 * frame; a lost update would leave a node that does not exist.
 *
 * Ordered by machine, oldest first. Frames are stored encoded: half the size of the objects, and outside of the heap.
 */
import type { NodeState } from '../shard/ports/operators.ts';
import { encodeNode } from './encode.ts';
import { DEPARTURE_KEPT_MS, DEPARTURES_MAX, DEPARTURES_UNREAD_MAX } from './limits.ts';

interface Departure {
  readonly frame: Buffer;
  readonly atMs: number;
  /** Null: not written yet. */
  writtenMs: number | null;
}

export class Departures {
  readonly #byMachine = new Map<string, Departure>();
  /** Machines whose frame has not been written. */
  readonly #unwritten = new Set<string>();
  /** For this long after it was written, a frame may have been lost. */
  readonly #unsureMs: number;
  #hasReader = false;

  constructor(unsureMs: number) {
    this.#unsureMs = unsureMs;
  }

  /** Frames not written yet. */
  get depth(): number {
    return this.#unwritten.size;
  }

  get size(): number {
    return this.#byMachine.size;
  }

  /** Beyond the limit the oldest is forgotten. O3: not while a live session has yet to receive it. */
  add(node: NodeState, nowMs: number): void {
    const { machineId } = node;
    this.forget(machineId);
    this.#byMachine.set(machineId, { frame: encodeNode(node), atMs: nowMs, writtenMs: null });
    this.#unwritten.add(machineId);
    if (this.#byMachine.size <= DEPARTURES_MAX) return;
    const oldest = this.#byMachine.keys().next().value!;
    const isAwaited = this.#hasReader && this.#unwritten.has(oldest);
    if (!isAwaited || this.#byMachine.size > DEPARTURES_UNREAD_MAX) this.forget(oldest);
  }

  /** The cluster has the machine again. */
  forget(machineId: string): void {
    this.#byMachine.delete(machineId);
    this.#unwritten.delete(machineId);
  }

  /** A new session: writes again every frame that may have been lost with the last one. */
  reopen(nowMs: number): void {
    this.#hasReader = true;
    this.expire(nowMs);
    for (const [machineId, departure] of this.#byMachine) {
      departure.writtenMs = null;
      this.#unwritten.add(machineId);
    }
  }

  /** The session ended: from now on the smaller limit applies. */
  readerLeft(): void {
    this.#hasReader = false;
    for (const machineId of this.#byMachine.keys()) {
      if (this.#byMachine.size <= DEPARTURES_MAX) return;
      this.forget(machineId);
    }
  }

  /** The next frame to write; null if there is none. */
  take(nowMs: number): Buffer | null {
    for (const machineId of this.#unwritten) {
      this.#unwritten.delete(machineId);
      const departure = this.#byMachine.get(machineId)!;
      departure.writtenMs = nowMs;
      return departure.frame;
    }
    return null;
  }

  /** Forgets frames that are too old, or were certainly received. */
  expire(nowMs: number): void {
    for (const [machineId, { atMs, writtenMs }] of this.#byMachine) {
      const isOld = nowMs - atMs >= DEPARTURE_KEPT_MS;
      if (isOld || (writtenMs !== null && nowMs - writtenMs >= this.#unsureMs)) this.forget(machineId);
    }
  }
}
