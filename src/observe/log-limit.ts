/**
 * Limits repeated events. In each window of 10 s the first 20 lines of an event are written, the rest are counted, and one
 * line gives their number. So half a million rejected machines are 20 lines and a number, and another event still stands
 * out. The limit is per event and level and applies to every event, so call sites need not care.
 */
import type { Clock } from '../base/clock.ts';

const WINDOW_MS = 10_000;
const LINES_PER_WINDOW_MAX = 20;
/** Event names are literals in the code, about a hundred; beyond this number they share one window. */
const EVENTS_MAX = 1_024;
const OTHER_EVENTS = 'other_events';

type Level = 'info' | 'warn' | 'error';

interface Window {
  readonly level: Level;
  readonly event: string;
  startMs: number;
  lineCount: number;
  suppressedCount: number;
}

export class RepeatLimit {
  readonly #clock: Clock;
  readonly #summarise: (level: Level, event: string, suppressedCount: number) => void;
  readonly #windows = new Map<string, Window>();
  #timer: NodeJS.Timeout | null = null;

  constructor(clock: Clock, summarise: (level: Level, event: string, suppressedCount: number) => void) {
    this.#clock = clock;
    this.#summarise = summarise;
  }

  /** Whether to write this line. */
  admits(level: Level, event: string): boolean {
    const nowMs = this.#clock.nowMs();
    const window = this.#windowOf(level, event, nowMs);
    // If the clock was set back by an hour, the window would stay open for an hour.
    if (nowMs - window.startMs >= WINDOW_MS || nowMs < window.startMs) this.#begin(window, nowMs);
    if (window.lineCount < LINES_PER_WINDOW_MAX) {
      window.lineCount++;
      return true;
    }
    window.suppressedCount++;
    this.#timer ??= setTimeout(() => this.flush(), WINDOW_MS).unref();
    return false;
  }

  /** Writes all summaries now, due or not. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    for (const window of this.#windows.values()) this.#begin(window, this.#clock.nowMs());
  }

  #windowOf(level: Level, event: string, nowMs: number): Window {
    const known = this.#windows.get(`${level} ${event}`);
    if (known !== undefined) return known;
    const isFull = this.#windows.size >= EVENTS_MAX;
    if (isFull && event !== OTHER_EVENTS) return this.#windowOf(level, OTHER_EVENTS, nowMs);
    const window: Window = { level, event, startMs: nowMs, lineCount: 0, suppressedCount: 0 };
    this.#windows.set(`${level} ${event}`, window);
    return window;
  }

  #begin(window: Window, nowMs: number): void {
    const { suppressedCount } = window;
    window.startMs = nowMs;
    window.lineCount = 0;
    window.suppressedCount = 0;
    if (suppressedCount > 0) this.#summarise(window.level, window.event, suppressedCount);
  }
}
