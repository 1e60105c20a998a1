/**
 * Time for a simulated provider, as an argument: real timers when it serves over gRPC, virtual ones in
 * tests and in a simulator, where an hour of drains passes in a microsecond and always the same way.
 */
import { assert } from '../../base/assert.ts';
import type { Clock } from '../../base/clock.ts';

export interface Timers extends Clock {
  /** Runs `run` once, at least `delayMs` from now; the returned function takes it back. */
  after(delayMs: number, run: () => void): () => void;
}

/** setTimeout's own limit; a longer delay is cut to it, and whoever wakes early looks at the clock. */
const DELAY_MS_MAX = 2 ** 31 - 1;

/** Real time. Its timers do not keep a process alive: the server that needs them does. */
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

/** Time that moves only when told to. Callbacks run in the order of their due times, then of asking. */
export class VirtualTimers implements Timers {
  #nowMs: number;
  #nextOrder = 0;
  /** Sorted by (dueMs, order). Few are ever waiting: users keep one timer for their earliest event. */
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

  /** Moves time on, running what falls due on the way, each at its own moment. */
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
