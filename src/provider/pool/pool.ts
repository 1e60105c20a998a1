/**
 * The shard's providers, called from worker threads that live as long as the shard: a pool for calls and reads, and one
 * thread for listings, so that neither a call nor a read ever waits behind 400 MB.
 *
 *   const pool = new ProviderPool({ endpoints, fencing, inventory: inventory.share() });
 *   const answer = await pool.call({ kind: 'drain', provider: 0, machineId, deadlineUnixMs, graceSeconds: 600 });
 *   await pool.close({ graceMs: 10_000 });
 *
 * Every promise settles, whatever a provider or a thread does, and none rejects because of either. Reasons: docs/adr/0018.
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
export const READ_SLOTS_DEFAULT = 64;
/**
 * 16 MiB: 18,000 machines, which the listing thread decodes in about 40 ms and the main thread applies in as long. Larger
 * parts overlap less, smaller ones are more messages.
 */
export const LISTING_PART_BYTES_DEFAULT = 16 * 1024 ** 2;
/** Providers are numbered by a byte in the inventory. */
const PROVIDERS_MAX = 256;

export interface WorkerLost {
  readonly thread: 'calls' | 'list';
  /** Why, if the thread said so. */
  readonly detail: string;
}

export interface ProviderPoolOptions {
  readonly endpoints: readonly ProviderEndpoint[];
  readonly fencing: SharedFencing;
  /** `Inventory.share()`: what listings are compared with. */
  readonly inventory: object;
  /** Threads for calls and reads; default: available cores − 1, at least 1. */
  readonly threads?: number;
  /** Calls under way at most; further ones wait. */
  readonly executeConcurrency?: number;
  /** Reads under way at most. */
  readonly readSlots?: number;
  /** A first listing that is larger is handed over in parts of about this size. */
  readonly listingPartBytes?: number;
  readonly limits?: Partial<CallLimits>;
  /** What deadlines are given in. Threads, and gRPC in them, go by the wall's: it is converted when a call leaves. */
  readonly clock?: Clock;
  /** A thread died and was replaced. */
  readonly onWorkerLost?: (lost: WorkerLost) => void;
  readonly onListed?: (provider: number, timings: ListTimings) => void;
  readonly files?: WorkerFiles;
}

export class ProviderPool implements ProviderPort {
  readonly names: readonly string[];
  readonly threadCount: number;
  readonly #calls: Threads;
  readonly #listing: Threads;
  readonly #callQueues: CallQueues;
  readonly #listings: ListingThread;
  readonly #onWorkerLost: (lost: WorkerLost) => void;
  #workerRestarts = 0;
  #closing: Promise<void> | null = null;

  constructor(options: ProviderPoolOptions) {
    const { endpoints, fencing, limits = {}, inventory, files = workerFiles() } = options;
    const { executeConcurrency = EXECUTE_CONCURRENCY_DEFAULT, readSlots = READ_SLOTS_DEFAULT } = options;
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
    // This thread first: its listing is what a shard that starts waits for.
    this.#listing = new Threads({
      file: files.list,
      threads: 1,
      // While one provider is slow to answer the others are listed.
      tasksPerThread: endpoints.length,
      setup: listSetup,
      onLost: () => this.#noteLost('list', this.#listing),
    });
    this.#calls = new Threads({
      file: files.calls,
      threads,
      // A batch is a task and holds one call at least: with so many no batch ever waits for a thread.
      tasksPerThread: Math.ceil((executeConcurrency + readSlots) / threads),
      setup,
      onLost: () => this.#noteLost('calls', this.#calls),
      onMessage: (message) => this.#callQueues.receive(message as Uint8Array),
    });
    this.#callQueues = new CallQueues({
      threads,
      executeConcurrency,
      readSlots,
      clock,
      run: (message) => this.#calls.run(message, [message.buffer]),
    });
    this.#listings = new ListingThread({
      clock,
      run: (task) => this.#listing.run(task, []),
      onListed: options.onListed ?? (() => {}),
    });
  }

  /** Threads that died and were replaced. */
  get workerRestarts(): number {
    return this.#workerRestarts;
  }

  /** Calls and reads that have not settled. */
  get openCount(): number {
    return this.#callQueues.open.size;
  }

  /** Those of them that found no slot yet. */
  get waitingCount(): number {
    return this.#callQueues.waitingCount;
  }

  /** Calls whose thread did not even say that their deadline had passed. */
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
    return this.#listings.list(request);
  }

  /** Makes no more calls, lets those under way end within the grace, then ends the threads. */
  close({ graceMs }: { readonly graceMs: number }): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  async #close(graceMs: number): Promise<void> {
    await Promise.all([this.#callQueues.close(graceMs), this.#listings.close(graceMs)]);
    await Promise.all([this.#calls.close(), this.#listing.close()]);
  }

  #noteLost(thread: WorkerLost['thread'], threads: Threads): void {
    this.#workerRestarts++;
    // Piscina tells the reason to the thread's tasks, after this.
    setImmediate(() => this.#onWorkerLost({ thread, detail: threads.lastError }));
  }

  #checkProvider(provider: number): void {
    assert(this.names[provider] !== undefined, `there is no provider ${provider}`);
  }
}
