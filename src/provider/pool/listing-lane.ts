/**
 * Listings: one thread of their own, where several providers may be listed at a time, each at most once. The answer is
 * what the inventory did not know (workers/list.ts); its columns are moved, not copied.
 */
import { type Clock, systemClock } from '../../base/clock.ts';
import type { ListAnswer, Listing, ListRequest, ProviderFailure } from '../../shard/ports/providers.ts';
import { giveBack } from '../give-back.ts';
import { within } from './call-lanes.ts';

/** A listing that arrives just in time is then decoded and compared: two seconds at 500,000 machines. */
export const LISTING_WATCHDOG_GRACE_MS = 10_000;

/** What the thread is asked. */
export interface ListTask {
  readonly provider: number;
  readonly sinceRevision: Uint8Array;
  readonly deadlineUnixMs: number;
}

/** Where the time of a listing went, in the thread. */
export interface ListTimings {
  /** Until the whole answer was there. */
  readonly transferMs: number;
  readonly decodeMs: number;
  readonly compareMs: number;
}

/** What the thread says. */
export interface ListTaskAnswer {
  readonly answer: Omit<Listing, 'durationMs' | 'release'> | ProviderFailure;
  readonly timings: ListTimings;
}

export interface ListingLaneOptions {
  readonly clock: Clock;
  readonly run: (task: ListTask) => Promise<unknown>;
  readonly onListed: (provider: number, timings: ListTimings) => void;
}

export class ListingLane {
  readonly #options: ListingLaneOptions;
  /** Providers whose listing has not ended in the thread, with what ends its wait here. */
  readonly #open = new Map<number, (failure: ProviderFailure) => void>();
  #whenEmpty: (() => void) | null = null;
  #isClosed = false;

  constructor(options: ListingLaneOptions) {
    this.#options = options;
  }

  async list({ provider, sinceRevision, deadlineUnixMs }: ListRequest): Promise<ListAnswer> {
    const startedMs = performance.now();
    // Copied: a view would take the whole buffer behind it along.
    const task = { provider, sinceRevision: sinceRevision.slice(), deadlineUnixMs };
    const answer = await this.#run(task);
    const durationMs = performance.now() - startedMs;
    if (answer.kind !== 'listed') return { ...answer, durationMs };
    return { ...answer, durationMs, release: () => giveBack(answer.rows.bytes) };
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    if (this.#open.size > 0) {
      const empty = new Promise<void>((resolve) => {
        this.#whenEmpty = resolve;
      });
      await within(empty, graceMs);
    }
    for (const settle of this.#open.values()) {
      settle({ kind: 'timeout', detail: 'the shard ended before the listing came' });
    }
  }

  #run(task: ListTask): Promise<ListTaskAnswer['answer']> {
    const { provider } = task;
    if (this.#isClosed) return refuse('the shard is ending and lists no more');
    // The one before ran into the watchdog and still holds the thread: a second would only hold it longer.
    if (this.#open.has(provider)) return refuse('the listing before has not ended yet');
    return new Promise((resolve) => {
      this.#open.set(provider, resolve);
      const leftMs = Math.max(0, task.deadlineUnixMs - this.#options.clock.nowMs());
      const watchdog = setTimeout(
        () => resolve({ kind: 'timeout', detail: 'no listing came until after the deadline' }),
        leftMs + LISTING_WATCHDOG_GRACE_MS,
      );
      this.#options
        .run({ ...task, deadlineUnixMs: systemClock.nowMs() + leftMs })
        .then((result) => {
          const { answer, timings } = result as ListTaskAnswer;
          this.#options.onListed(provider, timings);
          resolve(answer);
        })
        .catch(() =>
          resolve({ kind: 'worker_lost', detail: 'the thread that lists died before it was done' }),
        )
        .finally(() => {
          clearTimeout(watchdog);
          this.#open.delete(provider);
          if (this.#open.size === 0) this.#whenEmpty?.();
        });
    });
  }
}

function refuse(detail: string): Promise<ProviderFailure> {
  return Promise.resolve({ kind: 'unavailable', detail });
}
