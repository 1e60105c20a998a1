/**
 * When cycles run (C1). An ordinary one every interval: it begins the listings, waits for them at most one interval, and
 * decides on what is then known. A woken one at once when something happened that a decision may answer; wake-ups
 * coalesce, and one that follows another waits for as long as that one took, so that a storm of wake-ups leaves half of
 * the thread to everybody else. Not longer: what comes meanwhile is more for the next one, which then takes longer still.
 */
import type { Clock, Scheduler, Stopwatch, Timer } from '../../base/clock.ts';
import type { CycleReport } from '../ports/observer.ts';

/** The rest after a cycle, however long that was. */
const REST_MS_MAX = 1_000;

export interface CycleLoopOptions {
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly stopwatch: Stopwatch;
  /** Begins listings; resolves when they are applied. */
  readonly reconcile: () => Promise<void>;
  readonly decide: (isOrdinary: boolean, reconcileMs: number) => CycleReport;
}

export class CycleLoop {
  readonly #options: CycleLoopOptions;
  #ordinaryTimer: Timer | null = null;
  #wokenTimer: Timer | null = null;
  #restUntil = 0;
  #isRunning = false;
  /** Of the ordinary cycle that waits for its listings; 0 if none does. */
  #waiting = 0;
  #ordinaryCount = 0;
  #afterCycle: (() => void)[] = [];

  constructor(options: CycleLoopOptions) {
    this.#options = options;
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
    this.#tellAfterCycle();
  }

  /** A woken cycle is wanted, as soon as may be. */
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
    // The listing of the interval before is still under way: it has had its interval.
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
    this.#tellAfterCycle();
  }

  #tellAfterCycle(): void {
    const waiting = this.#afterCycle;
    this.#afterCycle = [];
    for (const resolve of waiting) resolve();
  }
}
