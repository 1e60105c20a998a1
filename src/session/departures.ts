/**
 * O4: the last word on each machine that left a cluster, kept until its operator has heard it. A reconnecting operator
 * is told of every machine that it has (O1), but nothing in that tells it which ones it no longer has.
 *
 * Writing a frame is not hearing it: a peer that died is noticed half a minute later, and what was written in between is
 * lost. So a frame that was written stays for a while, and is written again to a session that begins within it. Saying it
 * twice costs a frame; not saying it leaves a node behind that does not exist.
 *
 * By machine, oldest first. Encoded: half as large as the objects, and outside of the heap.
 */
import type { NodeState } from '../shard/ports/operators.ts';
import { encodeNode } from './encode.ts';
import { DEPARTURE_KEPT_MS, DEPARTURES_MAX, DEPARTURES_UNREAD_MAX } from './limits.ts';

interface Departure {
  readonly frame: Buffer;
  readonly atMs: number;
  /** When it was written; null: not yet. */
  writtenMs: number | null;
}

export class Departures {
  readonly #byMachine = new Map<string, Departure>();
  /** Machines whose frame is to be written. */
  readonly #unwritten = new Set<string>();
  /** How long after its writing a frame may still have been lost. */
  readonly #unsureMs: number;
  #hasReader = false;

  constructor(unsureMs: number) {
    this.#unsureMs = unsureMs;
  }

  /** Frames to be written. */
  get depth(): number {
    return this.#unwritten.size;
  }

  get size(): number {
    return this.#byMachine.size;
  }

  /** Beyond the limit the oldest is forgotten, but not what a session is still to be told (O3). */
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

  /** A new session: what may have been lost with the last one is to be written again. */
  reopen(nowMs: number): void {
    this.#hasReader = true;
    this.expire(nowMs);
    for (const [machineId, departure] of this.#byMachine) {
      departure.writtenMs = null;
      this.#unwritten.add(machineId);
    }
  }

  /** The cluster is away: from here on the limit is that of what is kept. */
  readerLeft(): void {
    this.#hasReader = false;
    for (const machineId of this.#byMachine.keys()) {
      if (this.#byMachine.size <= DEPARTURES_MAX) return;
      this.forget(machineId);
    }
  }

  /** The next frame to write, null if there is none. */
  take(nowMs: number): Buffer | null {
    for (const machineId of this.#unwritten) {
      this.#unwritten.delete(machineId);
      const departure = this.#byMachine.get(machineId)!;
      departure.writtenMs = nowMs;
      return departure.frame;
    }
    return null;
  }

  /** Forgets what is too old to matter, or was surely heard. */
  expire(nowMs: number): void {
    for (const [machineId, { atMs, writtenMs }] of this.#byMachine) {
      const isOld = nowMs - atMs >= DEPARTURE_KEPT_MS;
      if (isOld || (writtenMs !== null && nowMs - writtenMs >= this.#unsureMs)) this.forget(machineId);
    }
  }
}
