/**
 * When hints run: with each cycle, and between two cycles while some are left over. O5 limits hints per second, so a cycle after a
 * large change cannot send all of them.
 */
import type { Clock, Scheduler, Timer } from '../../base/clock.ts';
import type { CapacityHints } from './hints.ts';

/** Hints that a cycle left over go out without waiting for the next cycle. */
const PACE_MS = 1_000;

export interface HintRunsOptions {
  readonly hints: CapacityHints;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly isStopping: () => boolean;
}

export class HintRuns {
  readonly #options: HintRunsOptions;
  #timer: Timer | null = null;

  constructor(options: HintRunsOptions) {
    this.#options = options;
  }

  run(nowMs: number): void {
    if (this.#timer !== null) return; // a run that is due within a second serves all cycles until then
    const { hints, clock, scheduler, isStopping } = this.#options;
    if (!hints.run(nowMs) || isStopping()) return;
    this.#timer = scheduler.after(PACE_MS, () => {
      this.#timer = null;
      this.run(clock.nowMs());
    });
  }

  stop(): void {
    this.#timer?.cancel();
  }
}
