/**
 * How long the main thread keeps others waiting. Sessions, health and metrics share it with the decision: what cannot be
 * answered for a second is a second in which a dead shard and a busy one look alike. Measured in windows, so that what
 * is shown is of the last seconds and two scrapers do not disturb each other.
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
const NANOSECONDS_PER_SECOND = 1e9;

export class EventLoopMonitor {
  readonly #histogram: IntervalHistogram;
  readonly #timer: NodeJS.Timeout;
  readonly #onWindow: (delay: LoopDelay) => void;
  #last: LoopDelay = { medianSeconds: 0, p99Seconds: 0, maxSeconds: 0 };

  constructor(onWindow: (delay: LoopDelay) => void, windowMs = WINDOW_MS) {
    this.#onWindow = onWindow;
    this.#histogram = monitorEventLoopDelay({ resolution: PROBE_MS });
    this.#histogram.enable();
    this.#timer = setInterval(() => this.#endWindow(), windowMs).unref();
  }

  /** Of the last whole window. */
  get last(): LoopDelay {
    return this.#last;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#histogram.disable();
  }

  #endWindow(): void {
    const { count } = this.#histogram;
    const seconds = (nanoseconds: number) =>
      count === 0 ? 0 : Math.max(0, nanoseconds / NANOSECONDS_PER_SECOND - PROBE_MS / 1_000);
    this.#last = {
      medianSeconds: seconds(this.#histogram.percentile(50)),
      p99Seconds: seconds(this.#histogram.percentile(99)),
      maxSeconds: seconds(this.#histogram.max),
    };
    this.#histogram.reset();
    this.#onWindow(this.#last);
  }
}
