/**
 * Windows that open by a cron pattern in a time zone, and stay open for a time. croner knows the calendar: days of the week, the ends of
 * months, and the hours that a change of the clock skips or repeats.
 */
import { Cron } from 'croner';

/** Windows of one chain, each of which opens before the one before it closes. Beyond, the close is later than shown. */
const CHAINED_MAX = 100;
/** croner counts in seconds. */
const SECOND_MS = 1_000;

interface Span {
  /** The answers hold from here … */
  readonly fromMs: number;
  /** … to here. */
  readonly untilMs: number;
  readonly closesMs: number | null;
  readonly opensMs: number | null;
}

export class CronSchedule {
  readonly #cron: Cron;
  readonly #forMs: number;
  /** A cycle asks for each reclaim, and the answer changes twice a day. */
  #span: Span | null = null;

  /** Throws an Error for a pattern that is none, and for an unknown time zone. */
  constructor(pattern: string, forMs: number, timeZone: string) {
    new Intl.DateTimeFormat('en', { timeZone }); // croner would notice only later
    this.#cron = new Cron(pattern, { timezone: timeZone, mode: '5-part', paused: true });
    this.#forMs = forMs;
  }

  isOpenAt(nowMs: number): boolean {
    return this.#at(nowMs).closesMs !== null;
  }

  closesMs(nowMs: number): number | null {
    return this.#at(nowMs).closesMs;
  }

  opensMs(nowMs: number): number | null {
    return this.#at(nowMs).opensMs;
  }

  #at(nowMs: number): Span {
    if (this.#span === null || nowMs < this.#span.fromMs || nowMs >= this.#span.untilMs)
      this.#span = this.#spanAt(nowMs);
    return this.#span;
  }

  #spanAt(nowMs: number): Span {
    const opened = this.#next(nowMs - this.#forMs);
    if (opened === null || opened > nowMs)
      return { fromMs: nowMs, untilMs: opened ?? Number.POSITIVE_INFINITY, closesMs: null, opensMs: opened };
    let closesMs = opened + this.#forMs;
    for (let last = opened, chained = 0; chained < CHAINED_MAX; chained++) {
      const next = this.#next(last);
      if (next === null || next > closesMs) break;
      last = next;
      closesMs = next + this.#forMs;
    }
    return { fromMs: nowMs, untilMs: closesMs, closesMs, opensMs: this.#next(closesMs - SECOND_MS) };
  }

  /** Strictly later. */
  #next(afterMs: number): number | null {
    return this.#cron.nextRun(new Date(afterMs))?.getTime() ?? null;
  }
}
