/**
 * When cycles run. C1: an ordinary cycle runs every interval, a woken one at once when a change may need a decision. An
 * ordinary cycle starts the listings, waits for them at most one interval, and decides on the known fleet. Wake-ups
 * coalesce, and a woken cycle waits for as long as the cycle before it took, so that a storm of wake-ups leaves half of
 * the thread to other work. It waits no longer than that: changes would pile up, and the next cycle would take longer.
 */
import type { Clock, Scheduler, Stopwatch, Timer } from '../../base/clock.ts';
import type { CycleReport } from '../ports/observer.ts';

/** Longest rest after a cycle. */
const REST_MS_MAX = 1_000;

export interface CycleLoopOptions {
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly stopwatch: Stopwatch;
  /** Starts listings; resolves when they are applied. */
  readonly reconcile: () => Promise<void>;
  readonly decide: (isOrdinary: boolean, reconcileMs: number) => CycleReport;
}

export class CycleLoop {
  readonly #options: CycleLoopOptions;
  #ordinaryTimer: Timer | null = null;
  #wokenTimer: Timer | null = null;
  #restUntil = 0;
  #isRunning = false;
  /** Number of the ordinary cycle that waits for its listings; 0 = none. */
  #waiting = 0;
  #ordinaryCount = 0;
  #afterCycle: (() => void)[] = [];

  constructor(options: CycleLoopOptions) {
    this.#options = options;
  }

  /** An ordinary cycle waits for its listings, and follows them. */
  get isListing(): boolean {
    return this.#waiting !== 0;
  }

  start(): void {
    this.#isRunning = true;
    this.#tick();
  }

  stop(): void {
    this.#isRunning = false;
    this.#ordinaryTimer?.cancel();
    this.#wokenTimer?.cancel();
    this.#wokenTimer = this.#ordinaryTimer = null;
    this.#resolveAfterCycle();
  }

  /** Asks for a woken cycle as soon as possible. */
  wake(): void {
    if (!this.#isRunning || this.#wokenTimer !== null) return;
    const { scheduler, stopwatch } = this.#options;
    this.#wokenTimer = scheduler.after(Math.max(0, this.#restUntil - stopwatch()), () => {
      this.#wokenTimer = null;
      this.#decide(false, 0);
    });
  }

  /** Resolves after the next cycle. */
  nextCycle(): Promise<void> {
    if (!this.#isRunning) return Promise.resolve();
    return new Promise((resolve) => this.#afterCycle.push(resolve));
  }

  #tick(): void {
    const { intervalMs, scheduler, stopwatch, reconcile } = this.#options;
    // The listing of the interval before is still under way; a cycle waits one interval at most.
    if (this.#waiting !== 0) this.#decideOrdinary(this.#waiting, intervalMs);
    this.#ordinaryTimer = scheduler.after(intervalMs, () => this.#tick());
    const number = ++this.#ordinaryCount;
    this.#waiting = number;
    const beganMs = stopwatch();
    void reconcile().then(() => this.#decideOrdinary(number, stopwatch() - beganMs));
  }

  #decideOrdinary(number: number, reconcileMs: number): void {
    if (!this.#isRunning || this.#waiting !== number) return;
    this.#waiting = 0;
    this.#decide(true, reconcileMs);
  }

  #decide(isOrdinary: boolean, reconcileMs: number): void {
    const { stopwatch } = this.#options;
    const beganMs = stopwatch();
    this.#options.decide(isOrdinary, reconcileMs);
    const endedMs = stopwatch();
    this.#restUntil = endedMs + Math.min(REST_MS_MAX, endedMs - beganMs);
    this.#resolveAfterCycle();
  }

  #resolveAfterCycle(): void {
    const waiting = this.#afterCycle;
    this.#afterCycle = [];
    for (const resolve of waiting) resolve();
  }
}
