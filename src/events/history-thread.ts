/**
 * What the thread of the history does: it writes blocks in the order in which they come, retries while the disk refuses one,
 * and answers searches meanwhile.
 */
import { ShardError } from '../base/errors.ts';
import { blockOf } from './block.ts';
import type { FromHistory, HistorySetup, ToHistory } from './messages.ts';
import { Patterns } from './patterns.ts';
import { eventsIn } from './record.ts';
import { search } from './search.ts';
import { EventStore } from './store.ts';

const RETRY_MS = 1_000;
const PATTERNS_MS = 60_000;

export class HistoryThread {
  readonly #setup: HistorySetup;
  readonly #post: (message: FromHistory) => void;
  #store: EventStore | null = null;
  readonly #waiting: Extract<ToHistory, { kind: 'append' }>[] = [];
  readonly #patterns = new Patterns();
  #retry: NodeJS.Timeout | null = null;

  constructor(setup: HistorySetup, post: (message: FromHistory) => void) {
    this.#setup = setup;
    this.#post = post;
    const patterns = () => post({ kind: 'patterns', patterns: this.#patterns.counts(Date.now()) });
    setInterval(patterns, PATTERNS_MS).unref();
  }

  take(message: ToHistory): void {
    if (message.kind === 'append') {
      this.#waiting.push(message);
      if (this.#retry === null) this.#write();
    } else if (message.kind === 'search') void this.#search(message.id, message.query);
    else {
      this.#write();
      this.#store?.close();
      this.#post({ kind: 'closed' });
    }
  }

  #write(): void {
    this.#retry = null;
    try {
      for (let batch = this.#waiting[0]; batch !== undefined; batch = this.#waiting[0]) {
        const { events, epoch } = batch;
        const store = this.#open();
        const told = eventsIn(events.bytes, epoch);
        store.append(blockOf(events, epoch, told));
        this.#waiting.shift();
        for (const event of told) this.#patterns.note(event);
        const { bytes, beginsAtMs } = store;
        const { count, maxMs } = events;
        const patterns = this.#patterns.counts(maxMs);
        this.#post({ kind: 'written', recordBytes: events.bytes.length, count, bytes, beginsAtMs, patterns });
      }
    } catch (error) {
      this.#post({ kind: 'failing', why: (error as Error).message });
      this.#retry = setTimeout(() => this.#write(), RETRY_MS);
    }
  }

  async #search(id: number, query: Extract<ToHistory, { kind: 'search' }>['query']): Promise<void> {
    try {
      const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));
      this.#post({ kind: 'found', id, page: await search(this.#open(), query, nextTurn) });
    } catch (error) {
      const code = error instanceof ShardError ? error.code : 'history_unreadable';
      this.#post({ kind: 'refused', id, code, why: (error as Error).message });
    }
  }

  /** Throws the system's error; the next call tries again. */
  #open(): EventStore {
    this.#store ??= new EventStore(this.#setup.folder, this.#setup.bytesMax);
    return this.#store;
  }
}
