/**
 * A client of a MemoryStore: one process's connection to it. Requests and answers take the time that `fate` gives them, and may
 * be lost; then the call fails at its deadline, as a call over a network does. Nothing here reads a clock or draws a number of
 * its own, so a history replays from its seed.
 */
import type { Scheduler } from '../../base/clock.ts';
import { DirectoryLimitError, DirectoryUnavailableError } from '../errors.ts';
import { checkTransaction, RANGE_BYTES_MAX } from '../limits.ts';
import type {
  Directory,
  DirectoryEntry,
  DirectoryEvent,
  GetAnswer,
  Lease,
  RangeAnswer,
  Transaction,
  TransactionAnswer,
  Watch,
  WatchGap,
  WatchListener,
} from '../port.ts';
import { CompactedError, type MemoryStore } from './store.ts';

/** Delays of a call's request and answer. A lost request is never executed; a lost answer comes after the execution. */
export interface Fate {
  readonly requestMs: number;
  readonly answerMs: number;
  readonly lost?: 'request' | 'answer';
}

export type DirectoryCall =
  | 'get'
  | 'range'
  | 'transact'
  | 'watch'
  | 'grantLease'
  | 'keepAlive'
  | 'revokeLease';

export interface MemoryDirectoryOptions {
  readonly store: MemoryStore;
  /** The network's time: it passes while the process is stopped. */
  readonly network: Scheduler;
  /** The process's time. Answers wait while it is stopped. */
  readonly scheduler: Scheduler;
  readonly callTimeoutMs: number;
  readonly fate?: (call: DirectoryCall) => Fate;
  /** Entries on a page of `range`. */
  readonly pageSize?: number;
}

const PROMPT: Fate = { requestMs: 0, answerMs: 0 };

/** As etcd: leases have whole seconds. */
const LEASE_UNIT_MS = 1_000;

export class MemoryDirectory implements Directory {
  readonly #options: MemoryDirectoryOptions;
  readonly #watches = new Set<Watch>();
  #isClosed = false;

  constructor(options: MemoryDirectoryOptions) {
    this.#options = options;
  }

  get(key: string): Promise<GetAnswer> {
    return this.#call('get', (store) => ({ entry: store.read(key), position: store.position }));
  }

  async range(prefix: string): Promise<RangeAnswer> {
    for (;;) {
      try {
        return await this.#pages(prefix);
      } catch (error) {
        if (!(error instanceof CompactedError)) throw error;
      }
    }
  }

  async transact(transaction: Transaction): Promise<TransactionAnswer> {
    checkTransaction(transaction);
    return this.#call('transact', (store) => store.transact(transaction));
  }

  watch(prefix: string, afterRevision: number, listener: WatchListener): Watch {
    const { store, network, scheduler, fate = () => PROMPT } = this.#options;
    const { requestMs, answerMs, lost } = fate('watch');
    let leave = () => {};
    let isOpen = true;
    const watch: Watch = {
      close: () => {
        isOpen = false;
        this.#watches.delete(watch);
        leave();
      },
    };
    const deliver = (run: () => void) =>
      network.after(answerMs, () => scheduler.after(0, () => isOpen && run()));
    const end = (gap: WatchGap, detail: string) => {
      watch.close();
      listener.onGap(gap, detail);
    };
    this.#watches.add(watch);
    if (lost !== undefined || this.#isClosed) {
      scheduler.after(this.#options.callTimeoutMs, () => isOpen && end('disconnected', 'no answer'));
      return watch;
    }
    const remote: WatchListener = {
      onEvents: (events: readonly DirectoryEvent[]) => deliver(() => listener.onEvents(events)),
      onGap: (gap, detail) => deliver(() => end(gap, detail)),
    };
    network.after(requestMs, () => {
      if (isOpen) leave = store.watch(prefix, afterRevision, remote);
    });
    return watch;
  }

  grantLease(ttlMs: number): Promise<Lease> {
    const wholeMs = Math.ceil(ttlMs / LEASE_UNIT_MS) * LEASE_UNIT_MS;
    return this.#call('grantLease', (store) => store.grantLease(wholeMs));
  }

  keepAlive(leaseId: number): Promise<{ readonly ttlMs: number }> {
    return this.#call('keepAlive', (store) => store.keepAlive(leaseId));
  }

  revokeLease(leaseId: number): Promise<void> {
    return this.#call('revokeLease', (store) => store.loseLease(leaseId));
  }

  close(): void {
    this.#isClosed = true;
    for (const watch of [...this.#watches]) watch.close();
  }

  async #pages(prefix: string): Promise<RangeAnswer> {
    const { pageSize = 1_000 } = this.#options;
    const entries: DirectoryEntry[] = [];
    let bytes = 0;
    const { position, keys, first } = await this.#call('range', (store) => {
      const all = store.readPrefix(prefix);
      return {
        position: store.position,
        keys: all.map(({ key }) => key),
        first: all.slice(0, pageSize),
      };
    });
    for (let page = first; ; ) {
      for (const entry of page) bytes += Buffer.byteLength(entry.key) + Buffer.byteLength(entry.value);
      if (bytes > RANGE_BYTES_MAX)
        throw new DirectoryLimitError(`The keys below ${prefix}, in bytes,`, bytes, RANGE_BYTES_MAX);
      entries.push(...page);
      const next = keys.slice(entries.length, entries.length + pageSize);
      if (next.length === 0) return { entries, position };
      page = await this.#call('range', (store) =>
        next.flatMap((key) => store.read(key, position.revision) ?? []),
      );
    }
  }

  /** Executes in the store's time; the answer reaches the process when it runs. */
  #call<T>(name: DirectoryCall, execute: (store: MemoryStore) => T): Promise<T> {
    const { store, network, scheduler, callTimeoutMs, fate = () => PROMPT } = this.#options;
    return new Promise((resolve, reject) => {
      if (this.#isClosed) {
        reject(new DirectoryUnavailableError(name, 'the connection is closed', false));
        return;
      }
      const { requestMs, answerMs, lost } = fate(name);
      const deadline = scheduler.after(callTimeoutMs, () =>
        reject(new DirectoryUnavailableError(name, `no answer in ${callTimeoutMs} ms`, true)),
      );
      if (lost === 'request') return;
      network.after(requestMs, () => {
        const settle = outcomeOf(() => execute(store), resolve, reject);
        if (lost === 'answer') return;
        network.after(answerMs, () =>
          scheduler.after(0, () => {
            deadline.cancel();
            settle();
          }),
        );
      });
    });
  }
}

/** Executes now; what it returns tells the caller later. */
function outcomeOf<T>(
  execute: () => T,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
): () => void {
  try {
    const value = execute();
    return () => resolve(value);
  } catch (error) {
    return () => reject(error);
  }
}
