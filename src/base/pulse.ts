/**
 * Whether the main loop runs, in shared memory. A process can stand still for minutes: stopped, swapped out, or on a machine that
 * was suspended. Meanwhile another process may have taken over, and nothing in this one knows. So what it decided before is
 * dropped (X16).
 *
 * The time between two stalls is a *stretch*. An action belongs to the stretch in which it was decided, and the thread that sends
 * its call asks `isCurrent` in the moment of sending.
 *
 *   offset  bytes  meaning
 *   0       8      i64: number of the stretch
 *   8       8      i64, ms of uptime (one origin for all threads): the last beat of the main loop
 *   16      8      i64, ms of the wall clock: the same moment
 *   24      8      i64, ms: a longer time without a beat is a stall; never changes
 *
 * After a stall any thread may run first. If it is a sender, the last beat is too old. If it is the main thread, `beat` begins the
 * next stretch *before* it writes the time, and a sender reads the time before the stretch: one that sees the new beat also sees
 * the new stretch. Time that passed is the larger of both clocks': the uptime stands still while a machine is suspended, and the
 * wall clock may be set back.
 */
import { assert } from './assert.ts';
import { type Clock, type Stopwatch, systemClock, systemUptime } from './clock.ts';

export interface PulseClocks {
  readonly wall: Clock;
  readonly uptime: Stopwatch;
}

const BYTES = 4 * BigInt64Array.BYTES_PER_ELEMENT;
const STRETCH = 0;
const UPTIME = 1;
const WALL = 2;
const STALL_MS = 3;
const SYSTEM_CLOCKS: PulseClocks = { wall: systemClock, uptime: systemUptime };

export class Pulse {
  readonly shared: SharedArrayBuffer;
  readonly #words: BigInt64Array;
  readonly #clocks: PulseClocks;
  readonly #stallMs: number;

  /** In the main thread. */
  static create(stallMs: number, clocks: PulseClocks = SYSTEM_CLOCKS): Pulse {
    const shared = new SharedArrayBuffer(BYTES);
    new BigInt64Array(shared)[STALL_MS] = BigInt(stallMs);
    const pulse = new Pulse(shared, clocks);
    pulse.#write();
    return pulse;
  }

  /** In every other thread. */
  static open(shared: SharedArrayBuffer, clocks: PulseClocks = SYSTEM_CLOCKS): Pulse {
    return new Pulse(shared, clocks);
  }

  private constructor(shared: SharedArrayBuffer, clocks: PulseClocks) {
    assert(shared.byteLength === BYTES, 'a pulse is four i64');
    this.shared = shared;
    this.#words = new BigInt64Array(shared);
    this.#clocks = clocks;
    this.#stallMs = Number(this.#words[STALL_MS]);
    assert(this.#stallMs > 0, 'a stall takes time');
  }

  /** The present one. */
  get stretch(): number {
    return Number(Atomics.load(this.#words, STRETCH));
  }

  /** How often the main loop must beat: four times in a stall, so that a late timer is none. */
  get everyMs(): number {
    return this.#stallMs / 4;
  }

  /** By the main thread alone. Returns for how long it stood still, ms; 0 if that was no stall. */
  beat(): number {
    const passedMs = this.#passedMs();
    const stoodMs = passedMs > this.#stallMs ? passedMs : 0;
    if (stoodMs > 0) Atomics.add(this.#words, STRETCH, 1n);
    this.#write();
    return stoodMs;
  }

  /** Whether what was decided in this stretch may still be done. */
  isCurrent(stretch: number): boolean {
    return this.#passedMs() <= this.#stallMs && this.stretch === stretch;
  }

  #passedMs(): number {
    const { wall, uptime } = this.#clocks;
    const uptimeMs = Number(Atomics.load(this.#words, UPTIME));
    const wallMs = Number(Atomics.load(this.#words, WALL));
    return Math.max(uptime() - uptimeMs, wall.nowMs() - wallMs);
  }

  /** Rounded down: early is safe. A sender between the two writes sees the older wall clock. */
  #write(): void {
    const { wall, uptime } = this.#clocks;
    Atomics.store(this.#words, UPTIME, BigInt(Math.floor(uptime())));
    Atomics.store(this.#words, WALL, BigInt(Math.floor(wall.nowMs())));
  }
}
