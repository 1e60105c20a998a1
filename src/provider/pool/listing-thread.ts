/**
 * The main thread's side of the listing thread. The thread lists several providers at a time, each at most once, and
 * returns only what the inventory does not know (workers/list.ts); the columns are moved, not copied. A first listing
 * comes in parts: the thread keeps the answer until the last part was requested, until it is dropped, or until the
 * thread has waited too long.
 */
import { type Clock, systemClock } from '../../base/clock.ts';
import { giveBack } from '../../listing/give-back.ts';
import type { ListAnswer, Listing, ListRequest, ProviderFailure } from '../../shard/ports/providers.ts';
import { within } from './call-queues.ts';

/** An answer may arrive at the deadline and is then decoded and compared: two seconds at 500,000 machines. */
export const LISTING_WATCHDOG_GRACE_MS = 10_000;

/** A request to the thread. */
export type ListTask = WholeListTask | PartTask;

export interface WholeListTask {
  readonly kind: 'list';
  readonly provider: number;
  readonly sinceRevision: Uint8Array;
  readonly isFullAfterLoss?: boolean;
  readonly wantsAllRows?: boolean;
  readonly deadlineUnixMs: number;
}

/** `next`: the next part of this provider's open listing. `drop`: no more parts of it will be requested. */
export interface PartTask {
  readonly kind: 'next' | 'drop';
  readonly provider: number;
}

/** Where the thread spent the time of a listing. */
export interface ListTimings {
  /** Until the whole answer had arrived. */
  readonly transferMs: number;
  readonly decodeMs: number;
  readonly compareMs: number;
}

/** The thread's reply. */
export interface ListTaskAnswer {
  readonly answer: Omit<Listing, 'durationMs' | 'next' | 'release'> | ProviderFailure;
  /** The answer is a part, and the thread keeps the rest. */
  readonly hasMore: boolean;
  /** Of all parts so far. */
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
  /** Providers with a request open in the thread, each with the function that settles it here. */
  readonly #open = new Map<number, (end: ListEnd) => void>();
  #whenEmpty: (() => void) | null = null;
  #isClosed = false;

  constructor(options: ListingThreadOptions) {
    this.#options = options;
  }

  list({
    provider,
    sinceRevision,
    isFullAfterLoss = false,
    wantsAllRows = false,
    deadlineUnixMs,
  }: ListRequest): Promise<ListAnswer> {
    const leftMs = Math.max(0, deadlineUnixMs - this.#options.clock.nowMs());
    const task = {
      kind: 'list',
      provider,
      // A copy: a view would clone the whole buffer behind it.
      sinceRevision: sinceRevision.slice(),
      isFullAfterLoss,
      wantsAllRows,
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
    // The watchdog settled the previous request, which still occupies the thread: a second would only add to it.
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
      // Delete before settling: the caller may request the next part at once.
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
          else if (isSettled) this.#drop(provider); // the watchdog settled it: no caller is left
          close({ answer, hasMore });
        },
        () => close(failure('worker_lost', 'the listing thread died before it finished')),
      );
    });
  }

  /** The thread may release the answer. If the thread died, its memory is gone already. */
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
