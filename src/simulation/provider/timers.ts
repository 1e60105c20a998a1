/**
 * Time for a simulated provider: real timers when it serves over gRPC, virtual ones in tests and in the
 * simulator, where an hour of drains takes microseconds and always runs the same way.
 */
import { assert } from '../../base/assert.ts';
import type { Clock } from '../../base/clock.ts';

export interface Timers extends Clock {
  /** Runs `run` once, at least `delayMs` from now. The returned function cancels it. */
  after(delayMs: number, run: () => void): () => void;
}

/** The limit of setTimeout. A longer delay is cut to it, so callers must check the clock when they wake. */
const DELAY_MS_MAX = 2 ** 31 - 1;

/** Real time. The timers do not keep a process alive; its server does. */
export const systemTimers: Timers = {
  nowMs: () => Date.now(),
  after(delayMs, run) {
    const timer = setTimeout(run, Math.min(Math.max(0, Math.ceil(delayMs)), DELAY_MS_MAX));
    timer.unref();
    return () => clearTimeout(timer);
  },
};

interface Appointment {
  readonly dueMs: number;
  readonly order: number;
  readonly run: () => void;
  cancelled: boolean;
}

/** Time that moves only with `advance`. Callbacks run in order of due time, then of registration. */
export class VirtualTimers implements Timers {
  #nowMs: number;
  #nextOrder = 0;
  /** Sorted by (dueMs, order). The list is short: each user keeps one timer, for its earliest event. */
  readonly #waiting: Appointment[] = [];

  constructor(startMs = 0) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, run: () => void): () => void {
    const appointment: Appointment = {
      dueMs: this.#nowMs + Math.max(0, delayMs),
      order: this.#nextOrder++,
      run,
      cancelled: false,
    };
    let place = this.#waiting.length;
    while (place > 0 && this.#waiting[place - 1]!.dueMs > appointment.dueMs) place--;
    this.#waiting.splice(place, 0, appointment);
    return () => {
      appointment.cancelled = true;
    };
  }

  /** Moves time forward and runs every due callback at its own time. */
  advance(byMs: number): void {
    assert(byMs >= 0, `time only moves forward, not by ${byMs} ms`);
    const untilMs = this.#nowMs + byMs;
    for (;;) {
      const next = this.#waiting[0];
      if (next === undefined || next.dueMs > untilMs) break;
      this.#waiting.shift();
      if (next.cancelled) continue;
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.run();
    }
    this.#nowMs = untilMs;
  }

  get waitingCount(): number {
    let count = 0;
    for (const appointment of this.#waiting) if (!appointment.cancelled) count++;
    return count;
  }
}
