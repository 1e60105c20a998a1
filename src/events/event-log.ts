/**
 * The main thread's end of the history. Recording an event costs the bytes of its record; once a second, or when 64 KiB are
 * together, the bytes go to the thread that writes them. A disk that is slow or full fills that thread's queue, which has a
 * limit: events beyond it are lost, counted, and the history says so. No cycle waits for any of it.
 */
import { Worker } from 'node:worker_threads';
import { type Clock, systemClock } from '../base/clock.ts';
import { ShardError } from '../base/errors.ts';
import { NO_EVENT } from '../machine/event.ts';
import type { EventReader, EventsPage, EventsQuery, NotedEvent } from '../shard/ports/events.ts';
import type { FromHistory, HistorySetup, ToHistory } from './messages.ts';
import { NO_PATTERNS, type PatternCounts } from './patterns.ts';
import { EventEncoder } from './record.ts';

/** About 700 events, and 5 ms of the thread that compresses them. */
const BATCH_BYTES = 65_536;
const FLUSH_MS = 1_000;
/** Of events that the thread has not written: a minute and a half of the busiest shard, 700,000 events. */
const UNWRITTEN_BYTES_MAX = 67_108_864;
const RESTART_MS = 5_000;
const CLOSE_MS_MAX = 3_000;
/** A search of a whole gigabyte takes seconds; one that takes longer than this hangs. */
const SEARCH_MS_MAX = 60_000;
/** A page that many readers have open asks every few seconds. */
const SEARCHES_MAX = 64;

export class HistoryUnreadableError extends ShardError {
  readonly code: string;
  readonly next: 'retry-next-cycle' | 'reject-input';

  constructor(why: string, code = 'history_unreadable') {
    super(code === 'history_unreadable' ? `The history cannot be read now: ${why}. Try again.` : why);
    this.code = code;
    this.next = code === 'history_unreadable' ? 'retry-next-cycle' : 'reject-input';
  }
}

export interface HistoryCounts {
  readonly recorded: number;
  readonly written: number;
  readonly lost: number;
  readonly bytes: number;
  /** Of the oldest event that is kept; 0 before the first. */
  readonly beginsAtMs: number;
  readonly isFailing: boolean;
  readonly patterns: PatternCounts;
}

export interface EventLogOptions extends HistorySetup {
  /** The present epoch: it changes when a standby becomes active. */
  readonly epoch: () => number;
  /** The program of the thread. */
  readonly program: string;
  readonly onFailing: (why: string) => void;
  readonly onRecovered: () => void;
  readonly clock?: Clock;
  readonly unwrittenBytesMax?: number;
}

interface OpenSearch {
  readonly resolve: (page: EventsPage) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

export class EventLog implements EventReader {
  readonly #options: EventLogOptions;
  readonly #clock: Clock;
  readonly #unwrittenMax: number;
  readonly #encoder = new EventEncoder();
  readonly #searches = new Map<number, OpenSearch>();
  readonly #timer: NodeJS.Timeout;
  #thread: Worker;
  #restart: NodeJS.Timeout | null = null;
  /** Handed to the thread and not written yet. */
  #unwrittenBytes = 0;
  #unwrittenCount = 0;
  #lostBefore = 0;
  #recorded = 0;
  #written = 0;
  #lost = 0;
  #bytes = 0;
  #beginsAtMs = 0;
  #isFailing = false;
  #patterns: PatternCounts = NO_PATTERNS;
  #lastSearch = 0;
  #isClosed = false;
  #onClosed: () => void = () => {};

  constructor(options: EventLogOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#unwrittenMax = options.unwrittenBytesMax ?? UNWRITTEN_BYTES_MAX;
    this.#thread = this.#start();
    this.#timer = setInterval(() => this.flush(), FLUSH_MS).unref();
  }

  get counts(): HistoryCounts {
    return {
      recorded: this.#recorded,
      written: this.#written,
      lost: this.#lost,
      bytes: this.#bytes,
      beginsAtMs: this.#beginsAtMs,
      isFailing: this.#isFailing,
      patterns: this.#patterns,
    };
  }

  /** Records an event that happens now. Never throws and never waits. */
  note(event: NotedEvent): void {
    const atMs = this.#clock.nowMs();
    this.#recorded++;
    if (this.#isClosed || this.#unwrittenBytes + this.#encoder.bytes > this.#unwrittenMax) {
      this.flush(); // what is lost lies between two blocks
      this.#lost++;
      this.#lostBefore++;
      return;
    }
    if (this.#lostBefore > 0 && this.#encoder.count === 0)
      this.#encoder.add({ ...NO_EVENT, kind: 'events_lost', atMs, detail: lostWords(this.#lostBefore) });
    this.#encoder.add({ ...NO_EVENT, ...event, atMs });
    if (this.#encoder.bytes >= BATCH_BYTES) this.flush();
  }

  /** Hands what is recorded to the thread. */
  flush(): void {
    if (this.#encoder.count === 0 || this.#restart !== null) return;
    const events = this.#encoder.take(this.#lostBefore);
    this.#lostBefore = 0;
    this.#unwrittenBytes += events.bytes.length;
    this.#unwrittenCount += events.count;
    const { buffer } = events.bytes;
    this.#post({ kind: 'append', events, epoch: this.#options.epoch() }, [buffer]);
  }

  read(query: EventsQuery): Promise<EventsPage> {
    if (this.#isClosed || this.#restart !== null)
      return Promise.reject(new HistoryUnreadableError('its thread is not running'));
    if (this.#searches.size >= SEARCHES_MAX)
      return Promise.reject(new HistoryUnreadableError(`${SEARCHES_MAX} searches are under way`));
    this.flush(); // so that a reader sees what happened before it asked
    const id = ++this.#lastSearch;
    return new Promise((resolve, reject) => {
      const tooLong = new HistoryUnreadableError(`the search took longer than ${SEARCH_MS_MAX / 1_000} s`);
      const timer = setTimeout(() => this.#endSearch(id)?.reject(tooLong), SEARCH_MS_MAX).unref();
      this.#searches.set(id, { resolve, reject, timer });
      this.#post({ kind: 'search', id, query });
    });
  }

  /** Writes what is recorded, as far as the disk takes it within a few seconds. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.flush();
    this.#isClosed = true;
    clearInterval(this.#timer);
    if (this.#restart !== null) clearTimeout(this.#restart);
    const closed = new Promise<void>((resolve) => {
      this.#onClosed = resolve;
      setTimeout(resolve, CLOSE_MS_MAX).unref();
    });
    this.#post({ kind: 'close' });
    await closed;
    this.#rejectSearches('the shard is stopping');
    await this.#thread.terminate();
  }

  #start(): Worker {
    const { folder, bytesMax, program } = this.#options;
    const setup: HistorySetup = { folder, bytesMax };
    const thread = new Worker(program, { workerData: setup });
    thread.unref(); // the history never keeps a process alive
    thread.on('message', (message: FromHistory) => this.#take(message));
    thread.on('error', (error) => this.#failing(error.message));
    thread.once('exit', () => this.#ended());
    return thread;
  }

  /** The thread died: what it had not written is lost, and a new one takes its place. */
  #ended(): void {
    this.#onClosed();
    this.#rejectSearches('its thread ended');
    if (this.#isClosed) return;
    this.#lost += this.#unwrittenCount;
    this.#lostBefore += this.#unwrittenCount;
    this.#unwrittenBytes = this.#unwrittenCount = 0;
    this.#failing('the thread of the history ended');
    this.#restart = setTimeout(() => {
      this.#restart = null;
      this.#thread = this.#start();
    }, RESTART_MS).unref();
  }

  #take(message: FromHistory): void {
    switch (message.kind) {
      case 'written':
        this.#unwrittenBytes -= message.recordBytes;
        this.#unwrittenCount -= message.count;
        this.#written += message.count;
        this.#bytes = message.bytes;
        this.#beginsAtMs = message.beginsAtMs;
        this.#patterns = message.patterns;
        if (this.#isFailing) this.#options.onRecovered();
        this.#isFailing = false;
        break;
      case 'patterns':
        this.#patterns = message.patterns;
        break;
      case 'failing':
        this.#failing(message.why);
        break;
      case 'found':
        this.#endSearch(message.id)?.resolve(message.page);
        break;
      case 'refused':
        this.#endSearch(message.id)?.reject(new HistoryUnreadableError(message.why, message.code));
        break;
      case 'closed':
        this.#onClosed();
    }
  }

  #failing(why: string): void {
    if (!this.#isFailing) this.#options.onFailing(why);
    this.#isFailing = true;
  }

  #endSearch(id: number): OpenSearch | undefined {
    const search = this.#searches.get(id);
    this.#searches.delete(id);
    if (search !== undefined) clearTimeout(search.timer);
    return search;
  }

  #rejectSearches(why: string): void {
    for (const id of [...this.#searches.keys()]) this.#endSearch(id)?.reject(new HistoryUnreadableError(why));
  }

  #post(message: ToHistory, transfer: ArrayBuffer[] = []): void {
    this.#thread.postMessage(message, transfer);
  }
}

function lostWords(count: number): string {
  return count === 1 ? 'one event was not written' : `${count} events were not written`;
}
