/**
 * A copy of the keys below a prefix that follows the directory. After any gap in the watch it reads everything again at one
 * revision and watches from there: no event of before and after a gap is ever combined.
 */
import type { Scheduler, Timer } from '../base/clock.ts';
import { ShardError } from '../base/errors.ts';
import type { Directory, DirectoryEntry, DirectoryEvent, Position, Watch, WatchGap } from './port.ts';

export interface MirrorListener {
  /** The copy is whole, as of this moment of the directory. */
  onRead?(position: Position): void;
  /** Something changed, by an event or by a reading. */
  onChange?(): void;
  onGap?(gap: WatchGap | 'unreadable', detail: string): void;
}

export interface MirrorOptions {
  readonly directory: Directory;
  readonly prefix: string;
  readonly scheduler: Scheduler;
  /** Wait after a failed reading; at most a quarter of a lease. */
  readonly retryMs: number;
  readonly listener?: MirrorListener;
}

export class Mirror {
  readonly #options: MirrorOptions;
  #entries = new Map<string, DirectoryEntry>();
  #watch: Watch | null = null;
  #timer: Timer | null = null;
  #isWhole = false;
  #isClosed = false;

  constructor(options: MirrorOptions) {
    this.#options = options;
    void this.#read();
  }

  /** Whether the copy was read and no gap was noticed since. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** The last known entry. It may be old: decide with a read or a transaction. */
  get(key: string): DirectoryEntry | null {
    return this.#entries.get(key) ?? null;
  }

  get entries(): readonly DirectoryEntry[] {
    return [...this.#entries.values()];
  }

  close(): void {
    this.#isClosed = true;
    this.#isWhole = false;
    this.#timer?.cancel();
    this.#watch?.close();
  }

  async #read(): Promise<void> {
    const { directory, prefix, scheduler, retryMs, listener } = this.#options;
    try {
      const { entries, position } = await directory.range(prefix);
      if (this.#isClosed) return;
      this.#entries = new Map(entries.map((entry) => [entry.key, entry]));
      this.#isWhole = true;
      this.#watch = directory.watch(prefix, position.revision, {
        onEvents: (events) => this.#apply(events),
        onGap: (gap, detail) => this.#reread(gap, detail),
      });
      listener?.onRead?.(position);
      listener?.onChange?.();
    } catch (error) {
      if (!(error instanceof ShardError)) throw error;
      if (this.#isClosed) return;
      listener?.onGap?.('unreadable', error.message);
      this.#timer = scheduler.after(retryMs, () => void this.#read());
    }
  }

  #apply(events: readonly DirectoryEvent[]): void {
    for (const event of events) {
      if (event.kind === 'put') this.#entries.set(event.entry.key, event.entry);
      else this.#entries.delete(event.key);
    }
    this.#options.listener?.onChange?.();
  }

  #reread(gap: WatchGap, detail: string): void {
    const { scheduler, retryMs, listener } = this.#options;
    this.#isWhole = false;
    this.#watch = null;
    listener?.onGap?.(gap, detail);
    // A directory that refuses watches at once must not be read without pause.
    this.#timer = scheduler.after(gap === 'compacted' ? 0 : retryMs, () => void this.#read());
  }
}
