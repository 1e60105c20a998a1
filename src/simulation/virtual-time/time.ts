/**
 * Time that a simulation moves: a heap of appointments, each run at its own moment, with everything that its promises
 * lead to run before the next one. The same appointments in the same order give the same history.
 *
 * A *life* is the time of one process. When the process is killed its timers never fire again and whatever it still
 * waits for never comes, as it is with a real one. While it is stopped everything waits for it, and it all comes at once
 * when it goes on. Its wall clock may be wrong; its timers are not.
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
  /** A promise's answer, if the process lives to see it. */
  observe<T>(answer: Promise<T>): Promise<T>;
  /** Something reaches the process: at once, when it goes on, or never. */
  receive(run: () => void): void;
  end(): void;
  /** As by SIGSTOP and SIGCONT. */
  stop(): void;
  goOn(): void;
  readonly isStopped: () => boolean;
  /** How often it was stopped. */
  readonly stopCount: () => number;
  /** Moves the wall clock, and nothing else. */
  jump(byMs: number): void;
  readonly skewMs: () => number;
}

/** Appointments at one moment: a history has a few hundred at the most. */
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
        waiting ??= [];
        stopCount++;
      },
      goOn: () => {
        const late = waiting ?? [];
        waiting = null;
        for (const run of late) this.after(0, () => receive(run));
      },
      isStopped: () => waiting !== null,
      stopCount: () => stopCount,
      jump: (byMs) => {
        skewMs += byMs;
      },
      skewMs: () => skewMs,
    };
  }

  /** Runs everything that falls due in the next `byMs`; `look` is called after each, and may throw. */
  async advance(byMs: number, look: () => void = () => {}): Promise<void> {
    const untilMs = this.#nowMs + byMs;
    let standing = 0;
    for (;;) {
      const next = this.#heap[0];
      if (next === undefined || next.dueMs > untilMs) break;
      pop(this.#heap);
      if (next.isCancelled) continue;
      standing = next.dueMs > this.#nowMs ? 0 : standing + 1;
      assert(standing < STANDING_MAX, 'time passes: something leads to itself without end');
      this.#nowMs = next.dueMs;
      next.run();
      await settled();
      look();
    }
    this.#nowMs = untilMs;
  }
}

/** Resolves when every promise that can go on has gone on. */
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
