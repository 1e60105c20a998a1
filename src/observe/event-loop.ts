/**
 * How long the main thread keeps others waiting. Sessions, health and metrics share it with the decision: what cannot be
 * answered for a second is a second in which a dead shard and a busy one look alike. Measured in windows, so that what
 * is shown is of the last seconds and two scrapers do not disturb each other.
 *
 * A window ends by a timer, and after a long delay that timer may run before the probe has noticed the delay. So the next
 * window begins first, and the ended one is read a little later: a delay at the border is in one of them, or in both.
 */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

export interface LoopDelay {
  readonly medianSeconds: number;
  readonly p99Seconds: number;
  readonly maxSeconds: number;
}

/** The probe is a timer of this period; what is late beyond it is delay. */
const PROBE_MS = 10;
const WINDOW_MS = 10_000;
/** Enough for the probe of the ended window to have come once more, and that of the next one to have begun. */
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

  /** Of the last whole window. */
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
