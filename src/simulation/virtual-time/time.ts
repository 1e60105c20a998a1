/**
 * Virtual time: a heap of timers. Each runs at its own time, and all promises that it resolves settle before the next one
 * runs. The same timers in the same order give the same history.
 *
 * A *life* is the time of one process. When the process is killed, its timers never fire again and its pending answers never
 * arrive, as with a real process. While it is stopped, timers and answers wait, and all arrive at once when it resumes. Its
 * wall clock may be wrong; its timers are not.
 */
import { assert } from '../../base/assert.ts';
import type { Clock, Scheduler, Timer } from '../../base/clock.ts';
import type { Timers } from '../provider/timers.ts';

interface Appointment {
  readonly dueMs: number;
  readonly order: number;
  readonly run: () => void;
  isCancelled: boolean;
}

export interface Life extends Clock, Scheduler {
  readonly isOver: () => boolean;
  /** Resolves with the answer if the process is still alive. */
  observe<T>(answer: Promise<T>): Promise<T>;
  /** Runs now, when the process resumes, or never if it is dead. */
  receive(run: () => void): void;
  end(): void;
  /** Like SIGSTOP and SIGCONT. */
  stop(): void;
  resume(): void;
  readonly isStopped: () => boolean;
  /** How often the process was stopped. */
  readonly stopCount: () => number;
  /** The last stop that ended, in true time; null if there was none. */
  readonly lastStop: () => { readonly fromMs: number; readonly toMs: number } | null;
  /** True time, whatever the wall clock says. */
  readonly uptimeMs: () => number;
  /** Moves only the wall clock. */
  jump(byMs: number): void;
  readonly skewMs: () => number;
}

/** Limit on timers at one instant. A history has a few hundred. */
const STANDING_MAX = 20_000;

export class VirtualTime implements Clock, Scheduler {
  readonly #heap: Appointment[] = [];
  #nowMs: number;
  #order = 0;

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, run: () => void): Timer {
    assert(!Number.isNaN(delayMs), 'a delay is a number');
    const dueMs = this.#nowMs + Math.max(0, delayMs);
    const appointment: Appointment = { dueMs, order: this.#order++, run, isCancelled: false };
    push(this.#heap, appointment);
    return {
      cancel: () => {
        appointment.isCancelled = true;
      },
    };
  }

  yield(): Promise<void> {
    return new Promise((resolve) => this.after(0, resolve));
  }

  /** For a simulated provider. */
  timers(): Timers {
    return {
      nowMs: () => this.#nowMs,
      after: (delayMs, run) => {
        const timer = this.after(delayMs, run);
        return () => timer.cancel();
      },
    };
  }

  life(): Life {
    let isOver = false;
    let skewMs = 0;
    let waiting: (() => void)[] | null = null;
    let stopCount = 0;
    let stoppedMs = 0;
    let lastStop: { fromMs: number; toMs: number } | null = null;
    const receive = (run: () => void) => {
      if (isOver) return;
      if (waiting === null) run();
      else waiting.push(run);
    };
    return {
      nowMs: () => this.#nowMs + skewMs,
      after: (delayMs, run) => {
        let isCancelled = false;
        const timer = this.after(delayMs, () => receive(() => isCancelled || run()));
        return {
          cancel: () => {
            isCancelled = true;
            timer.cancel();
          },
        };
      },
      yield: () => new Promise((resolve) => this.after(0, () => receive(resolve))),
      observe: (answer) => new Promise((resolve) => answer.then((value) => receive(() => resolve(value)))),
      receive,
      isOver: () => isOver,
      end: () => {
        isOver = true;
      },
      stop: () => {
        if (waiting === null) stoppedMs = this.#nowMs;
        waiting ??= [];
        stopCount++;
      },
      resume: () => {
        if (waiting !== null) lastStop = { fromMs: stoppedMs, toMs: this.#nowMs };
        const late = waiting ?? [];
        waiting = null;
        for (const run of late) this.after(0, () => receive(run));
      },
      isStopped: () => waiting !== null,
      stopCount: () => stopCount,
      lastStop: () => lastStop,
      uptimeMs: () => this.#nowMs,
      jump: (byMs) => {
        skewMs += byMs;
      },
      skewMs: () => skewMs,
    };
  }

  /** Runs every timer that is due in the next `byMs`. `look` is called after each and may throw. */
  async advance(byMs: number, look: () => void = () => {}): Promise<void> {
    const untilMs = this.#nowMs + byMs;
    let standing = 0;
    for (;;) {
      const next = this.#heap[0];
      if (next === undefined || next.dueMs > untilMs) break;
      pop(this.#heap);
      if (next.isCancelled) continue;
      standing = next.dueMs > this.#nowMs ? 0 : standing + 1;
      assert(standing < STANDING_MAX, 'virtual time does not advance: timers start each other without end');
      this.#nowMs = next.dueMs;
      next.run();
      await settled();
      look();
    }
    this.#nowMs = untilMs;
  }
}

/** Resolves when no promise can make progress. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function isBefore(a: Appointment, b: Appointment): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}

function push(heap: Appointment[], appointment: Appointment): void {
  let at = heap.length;
  heap.push(appointment);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!isBefore(appointment, heap[parent]!)) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = appointment;
}

function pop(heap: Appointment[]): void {
  const last = heap.pop()!;
  const count = heap.length;
  if (count === 0) return;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= count) break;
    if (child + 1 < count && isBefore(heap[child + 1]!, heap[child]!)) child++;
    if (!isBefore(heap[child]!, last)) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = last;
}
