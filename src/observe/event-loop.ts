/**
 * Measures how long the main thread is blocked. Sessions, health checks and metrics share it with the decision, so while it
 * is blocked a busy shard looks like a dead one. It measures in windows of 10 s, so that values are recent and two scrapers
 * do not disturb each other.
 *
 * A timer ends each window, and after a long delay it may fire before the probe has recorded the delay. So the next window
 * starts first, and the old one is read a little later: a delay at the boundary is in one of them, or in both.
 */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

export interface LoopDelay {
  readonly medianSeconds: number;
  readonly p99Seconds: number;
  readonly maxSeconds: number;
}

/** The probe is a timer with this period; any time beyond it is delay. */
const PROBE_MS = 10;
const WINDOW_MS = 10_000;
/** Long enough for the old window's probe to fire once more, and for the next window's probe to start. */
const OVERLAP_MS = 5 * PROBE_MS;
const NANOSECONDS_PER_SECOND = 1e9;

export class EventLoopMonitor {
  readonly #timer: NodeJS.Timeout;
  readonly #onWindow: (delay: LoopDelay) => void;
  readonly #open = new Set<IntervalHistogram>();
  #current: IntervalHistogram;
  #last: LoopDelay = { medianSeconds: 0, p99Seconds: 0, maxSeconds: 0 };

  constructor(onWindow: (delay: LoopDelay) => void, windowMs = WINDOW_MS) {
    this.#onWindow = onWindow;
    this.#current = this.#begin();
    this.#timer = setInterval(() => this.#endWindow(), windowMs).unref();
  }

  /** The delay in the last complete window. */
  get last(): LoopDelay {
    return this.#last;
  }

  close(): void {
    clearInterval(this.#timer);
    for (const histogram of this.#open) histogram.disable();
    this.#open.clear();
  }

  #begin(): IntervalHistogram {
    const histogram = monitorEventLoopDelay({ resolution: PROBE_MS });
    histogram.enable();
    this.#open.add(histogram);
    return histogram;
  }

  #endWindow(): void {
    const ended = this.#current;
    this.#current = this.#begin();
    setTimeout(() => {
      if (!this.#open.delete(ended)) return; // closed meanwhile
      ended.disable();
      this.#last = delayOf(ended);
      this.#onWindow(this.#last);
    }, OVERLAP_MS).unref();
  }
}

function delayOf(histogram: IntervalHistogram): LoopDelay {
  const seconds = (nanoseconds: number) =>
    histogram.count === 0 ? 0 : Math.max(0, nanoseconds / NANOSECONDS_PER_SECOND - PROBE_MS / 1_000);
  return {
    medianSeconds: seconds(histogram.percentile(50)),
    p99Seconds: seconds(histogram.percentile(99)),
    maxSeconds: seconds(histogram.max),
  };
}
