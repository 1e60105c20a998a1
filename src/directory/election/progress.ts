/**
 * Whether the replica still does its work. A process whose cycles hang must lose its lease; a timer that renews it regardless
 * would keep it active for ever. Waiting for listings is not hanging.
 */
import type { Stopwatch } from '../../base/clock.ts';

export class CycleProgress {
  readonly #uptime: Stopwatch;
  readonly #silenceMsMax: number;
  readonly #isWaiting: () => boolean;
  #endedMs: number;

  constructor(uptime: Stopwatch, silenceMsMax: number, isWaiting: () => boolean) {
    this.#uptime = uptime;
    this.#silenceMsMax = silenceMsMax;
    this.#isWaiting = isWaiting;
    this.#endedMs = uptime();
  }

  cycleEnded(): void {
    this.#endedMs = this.#uptime();
  }

  isStuck(): boolean {
    if (this.#isWaiting()) this.cycleEnded(); // its cycles are due only after the wait
    return this.#uptime() - this.#endedMs > this.#silenceMsMax;
  }
}
