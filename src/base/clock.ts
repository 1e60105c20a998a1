/** Code that decides takes the time as an argument; this module is the only source of it. */
export interface Clock {
  /** Wall-clock time in milliseconds since the epoch. */
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };

/** For durations in milliseconds, with fractions. It never jumps; only differences of two readings mean something. */
export type Stopwatch = () => number;

export const systemStopwatch: Stopwatch = () => performance.now();

/** As systemStopwatch, but with one origin for all threads of the process. */
export const systemUptime: Stopwatch = () => Number(process.hrtime.bigint()) / 1e6;

/**
 * Wall-clock time at the start plus the time elapsed since. Holds, back-offs and due times are spans: if the system clock
 * is set back by an hour they must not last an hour longer, and if it is set forward they must not all end at once.
 */
export function steadyClock(wall: Clock = systemClock, stopwatch: Stopwatch = systemStopwatch): Clock {
  const startMs = wall.nowMs() - stopwatch();
  return { nowMs: () => Math.floor(startMs + stopwatch()) };
}

export interface Timer {
  cancel(): void;
}

/** Decides when callbacks run. The simulator has one whose delays are drawn from its seed. */
export interface Scheduler {
  after(delayMs: number, run: () => void): Timer;
  /** Resolves after the events that were already waiting for the thread. */
  yield(): Promise<void>;
}

export const systemScheduler: Scheduler = {
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
  yield: () => new Promise((resolve) => setImmediate(resolve)),
};

/** A clock that the caller moves: for tests and the simulator. */
export class ManualClock implements Clock {
  #nowMs: number;

  constructor(startMs = 0) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  advance(byMs: number): void {
    this.#nowMs += byMs;
  }
}
