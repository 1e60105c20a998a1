/**
 * Listings: one thread of their own, where several providers may be listed at a time, each at most once. The answer is
 * what the inventory did not know (workers/list.ts); its columns are moved, not copied. A first listing comes in parts: the
 * thread keeps the answer until the last of them was asked for, until it is told that nobody will, or until it has waited
 * too long.
 */
import { type Clock, systemClock } from '../../base/clock.ts';
import { giveBack } from '../../listing/give-back.ts';
import type { ListAnswer, Listing, ListRequest, ProviderFailure } from '../../shard/ports/providers.ts';
import { within } from './call-queues.ts';

/** A listing that arrives just in time is then decoded and compared: two seconds at 500,000 machines. */
export const LISTING_WATCHDOG_GRACE_MS = 10_000;

/** What the thread is asked. */
export type ListTask = WholeListTask | PartTask;

export interface WholeListTask {
  readonly kind: 'list';
  readonly provider: number;
  readonly sinceRevision: Uint8Array;
  readonly deadlineUnixMs: number;
}

/** For the next part of the listing that this provider has begun; or it is told that nobody will ask for that. */
export interface PartTask {
  readonly kind: 'next' | 'drop';
  readonly provider: number;
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
  readonly answer: Omit<Listing, 'durationMs' | 'next' | 'release'> | ProviderFailure;
  /** This was a part, and the thread keeps the rest. */
  readonly hasMore: boolean;
  /** Of the listing so far. */
  readonly timings: ListTimings;
}

type ListEnd = Pick<ListTaskAnswer, 'answer' | 'hasMore'>;

export interface ListingThreadOptions {
  readonly clock: Clock;
  readonly run: (task: ListTask) => Promise<unknown>;
  readonly onListed: (provider: number, timings: ListTimings) => void;
}

export class ListingThread {
  readonly #options: ListingThreadOptions;
  /** Providers whose listing, or part of one, has not ended in the thread, with what ends its wait here. */
  readonly #open = new Map<number, (end: ListEnd) => void>();
  #whenEmpty: (() => void) | null = null;
  #isClosed = false;

  constructor(options: ListingThreadOptions) {
    this.#options = options;
  }

  list({ provider, sinceRevision, deadlineUnixMs }: ListRequest): Promise<ListAnswer> {
    const leftMs = Math.max(0, deadlineUnixMs - this.#options.clock.nowMs());
    const task = {
      kind: 'list',
      provider,
      // Copied: a view would take the whole buffer behind it along.
      sinceRevision: sinceRevision.slice(),
      deadlineUnixMs: systemClock.nowMs() + leftMs,
    } as const;
    return this.#answerTo(task, leftMs, performance.now());
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
      settle(failure('timeout', 'the shard shut down before the listing arrived'));
    }
  }

  async #answerTo(task: ListTask, leftMs: number, startedMs: number): Promise<ListAnswer> {
    const { provider } = task;
    const { answer, hasMore } = await this.#run(task, leftMs);
    const durationMs = performance.now() - startedMs;
    if (answer.kind !== 'listed') return { ...answer, durationMs };
    let isKept = hasMore;
    const release = () => {
      giveBack(answer.rows.bytes);
      if (isKept) this.#drop(provider);
      isKept = false;
    };
    if (!hasMore) return { ...answer, durationMs, release };
    const next = () => {
      isKept = false;
      return this.#answerTo({ kind: 'next', provider }, 0, startedMs);
    };
    return { ...answer, durationMs, release, next };
  }

  #run(task: ListTask, leftMs: number): Promise<ListEnd> {
    const { provider } = task;
    if (this.#isClosed) return refuse('the shard is shutting down and starts no more listings');
    // The one before ran into the watchdog and still holds the thread: a second would only hold it longer.
    if (this.#open.has(provider)) return refuse('the previous listing has not finished yet');
    return new Promise((resolve) => {
      let isSettled = false;
      const settle = (end: ListEnd) => {
        isSettled = true;
        resolve(end);
      };
      this.#open.set(provider, settle);
      const watchdog = setTimeout(
        () => settle(failure('timeout', 'no listing arrived by the deadline')),
        leftMs + LISTING_WATCHDOG_GRACE_MS,
      );
      // Open no more before anybody hears of it: who does may ask for the next part at once.
      const close = (end: ListEnd) => {
        clearTimeout(watchdog);
        this.#open.delete(provider);
        settle(end);
        if (this.#open.size === 0) this.#whenEmpty?.();
      };
      this.#options.run(task).then(
        (result) => {
          const { answer, hasMore, timings } = result as ListTaskAnswer;
          if (!hasMore) this.#options.onListed(provider, timings);
          else if (isSettled) this.#drop(provider); // nobody waits for it any more
          close({ answer, hasMore });
        },
        () => close(failure('worker_lost', 'the listing thread died before it finished')),
      );
    });
  }

  /** The thread may give the answer back. If it died, that is done already. */
  #drop(provider: number): void {
    if (!this.#isClosed) this.#options.run({ kind: 'drop', provider }).catch(() => {});
  }
}

function failure(kind: ProviderFailure['kind'], detail: string): ListEnd {
  return { answer: { kind, detail }, hasMore: false };
}

function refuse(detail: string): Promise<ListEnd> {
  return Promise.resolve(failure('unavailable', detail));
}
