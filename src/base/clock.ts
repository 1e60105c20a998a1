/** Time is an argument of everything that decides; this is the only place where it comes from. */
export interface Clock {
  /** Wall-clock time in milliseconds since the epoch. */
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };

/** For durations: never jumps, has fractions of a millisecond, means nothing by itself. */
export type Stopwatch = () => number;

export const systemStopwatch: Stopwatch = () => performance.now();

/**
 * Wall-clock time as it was at the start, and from then on what has passed. Holds, back-offs and appointments are spans of
 * time: with a clock that somebody sets back by an hour they would all be an hour longer, and set forward all over at once.
 */
export function steadyClock(wall: Clock = systemClock, stopwatch: Stopwatch = systemStopwatch): Clock {
  const startMs = wall.nowMs() - stopwatch();
  return { nowMs: () => Math.floor(startMs + stopwatch()) };
}

export interface Timer {
  cancel(): void;
}

/** When things run. The simulator has one whose time is drawn from its seed. */
export interface Scheduler {
  after(delayMs: number, run: () => void): Timer;
  /** Resolves when whatever else was waiting for the thread has had its turn. */
  yield(): Promise<void>;
}

export const systemScheduler: Scheduler = {
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
  yield: () => new Promise((resolve) => setImmediate(resolve)),
};

/** A clock that moves only when told to: for tests and the simulator. */
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
