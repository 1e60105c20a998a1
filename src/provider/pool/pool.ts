/**
 * Calls the shard's providers from worker threads that live as long as the shard: a pool for calls and reads, and one
 * listing thread, so that no call or read waits behind a listing of 400 MB.
 *
 *   const pool = new ProviderPool({ endpoints, fencing, inventory: inventory.share() });
 *   const answer = await pool.call({ kind: 'drain', provider: 0, machineId, deadlineUnixMs, graceSeconds: 600 });
 *   await pool.close({ graceMs: 10_000 });
 *
 * Every promise resolves, whatever a provider or a thread does; none rejects because of either (docs/adr/0018).
 */
import { availableParallelism } from 'node:os';
import { assert } from '../../base/assert.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import type {
  ListAnswer,
  ListRequest,
  ProviderAnswer,
  ProviderCall,
  ProviderPort,
  ProviderRead,
} from '../../shard/ports/providers.ts';
import type { ProviderEndpoint } from '../client/endpoint.ts';
import type { SharedFencing } from '../client/fencing.ts';
import type { CallLimits } from '../client/limits.ts';
import { CallQueues } from './call-queues.ts';
import { ListingThread, type ListTimings } from './listing-thread.ts';
import { type CallsSetup, type ListSetup, type WorkerFiles, workerFiles } from './setup.ts';
import { Threads } from './threads.ts';

export const EXECUTE_CONCURRENCY_DEFAULT = 256;
export const READ_SLOTS_MIN = 64;
/**
 * 16 MiB: 18,000 machines. The listing thread decodes them in about 40 ms, and the main thread applies them in the same
 * time. With larger parts the two threads overlap less; smaller parts cost more messages.
 */
export const LISTING_PART_BYTES_DEFAULT = 16 * 1024 ** 2;
/** The inventory stores a provider's number in one byte. */
const PROVIDERS_MAX = 256;

export interface WorkerLost {
  readonly thread: 'calls' | 'list';
  /** The thread's error, if it reported one. */
  readonly detail: string;
}

export interface ProviderPoolOptions {
  readonly endpoints: readonly ProviderEndpoint[];
  readonly fencing: SharedFencing;
  /** `Inventory.share()`, for the comparison of listings. */
  readonly inventory: object;
  /** Threads for calls and reads; default: available cores − 1, at least 1. */
  readonly threads?: number;
  /** Maximum calls in flight; further ones wait. */
  readonly executeConcurrency?: number;
  /** Maximum reads in flight. */
  readonly readSlots?: number;
  /** The thread hands over a larger first listing in parts of about this size. */
  readonly listingPartBytes?: number;
  readonly limits?: Partial<CallLimits>;
  /** The clock of the deadlines. Threads use the wall clock, so the pool converts a deadline when the call leaves. */
  readonly clock?: Clock;
  /** A thread died and was replaced. */
  readonly onWorkerLost?: (lost: WorkerLost) => void;
  readonly onListed?: (provider: number, timings: ListTimings) => void;
  readonly files?: WorkerFiles;
}

export class ProviderPool implements ProviderPort {
  readonly names: readonly string[];
  readonly threadCount: number;
  readonly #callThreads: Threads;
  readonly #listThreads: Threads;
  readonly #callQueues: CallQueues;
  readonly #listingThread: ListingThread;
  readonly #onWorkerLost: (lost: WorkerLost) => void;
  #workerRestarts = 0;
  #closing: Promise<void> | null = null;

  constructor(options: ProviderPoolOptions) {
    const { endpoints, fencing, limits = {}, inventory, files = workerFiles() } = options;
    const { executeConcurrency = EXECUTE_CONCURRENCY_DEFAULT } = options;
    // An acknowledged call needs a few reads, so many calls need many reads.
    const readSlots = options.readSlots ?? Math.max(READ_SLOTS_MIN, executeConcurrency);
    const partBytes = options.listingPartBytes ?? LISTING_PART_BYTES_DEFAULT;
    const threads = options.threads ?? Math.max(1, availableParallelism() - 1);
    const clock = options.clock ?? systemClock;
    assert(endpoints.length >= 1 && endpoints.length <= PROVIDERS_MAX, `1 to ${PROVIDERS_MAX} providers`);
    for (const count of [threads, executeConcurrency, readSlots, partBytes]) {
      assert(Number.isInteger(count) && count >= 1, `${count} is not a number of threads, slots or bytes`);
    }
    this.names = endpoints.map(({ name }) => name);
    this.threadCount = threads;
    this.#onWorkerLost = options.onWorkerLost ?? (() => {});
    const setup: CallsSetup = { endpoints, fencing, limits };
    const listSetup: ListSetup = { ...setup, inventory, partBytes };
    // The listing thread first: a starting shard waits for its first listing.
    this.#listThreads = new Threads({
      file: files.list,
      threads: 1,
      // All providers at once: a slow one must not delay the others.
      tasksPerThread: endpoints.length,
      setup: listSetup,
      onLost: () => this.#noteLost('list', this.#listThreads),
    });
    this.#callThreads = new Threads({
      file: files.calls,
      threads,
      // A task is a batch of at least one call: with this many tasks no batch waits for a thread.
      tasksPerThread: Math.ceil((executeConcurrency + readSlots) / threads),
      setup,
      onLost: () => this.#noteLost('calls', this.#callThreads),
      onMessage: (message) => this.#callQueues.receive(message as Uint8Array),
    });
    this.#callQueues = new CallQueues({
      threads,
      executeConcurrency,
      readSlots,
      clock,
      run: (message) => this.#callThreads.run(message, [message.buffer]),
    });
    this.#listingThread = new ListingThread({
      clock,
      run: (task) => this.#listThreads.run(task, []),
      onListed: options.onListed ?? (() => {}),
    });
  }

  /** Threads that died and that Piscina replaced. */
  get workerRestarts(): number {
    return this.#workerRestarts;
  }

  /** Calls and reads that have not settled. */
  get openCount(): number {
    return this.#callQueues.open.size;
  }

  /** Those of them without a slot. */
  get waitingCount(): number {
    return this.#callQueues.waitingCount;
  }

  /** Calls whose thread did not even report the passed deadline. */
  get overdueCount(): number {
    return this.#callQueues.open.overdueCount;
  }

  call({ kind, ...request }: ProviderCall): Promise<ProviderAnswer> {
    this.#checkProvider(request.provider);
    return this.#callQueues.send(kind, request);
  }

  read(read: ProviderRead): Promise<ProviderAnswer> {
    this.#checkProvider(read.provider);
    return this.#callQueues.send('get', read);
  }

  list(request: ListRequest): Promise<ListAnswer> {
    this.#checkProvider(request.provider);
    return this.#listingThread.list(request);
  }

  /** Makes no more calls, gives those in flight the grace to finish, then ends the threads. */
  close({ graceMs }: { readonly graceMs: number }): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  async #close(graceMs: number): Promise<void> {
    await Promise.all([this.#callQueues.close(graceMs), this.#listingThread.close(graceMs)]);
    await Promise.all([this.#callThreads.close(), this.#listThreads.close()]);
  }

  #noteLost(thread: WorkerLost['thread'], threads: Threads): void {
    this.#workerRestarts++;
    // Piscina rejects the thread's tasks with the reason after this event.
    setImmediate(() => this.#onWorkerLost({ thread, detail: threads.lastError }));
  }

  #checkProvider(provider: number): void {
    assert(this.names[provider] !== undefined, `there is no provider ${provider}`);
  }
}
