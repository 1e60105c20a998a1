/**
 * From calls to batches. There are two call classes, executes and reads, each with its own slots, so a read never waits
 * behind an execute. A call without a slot waits here, in order. The calls of one event-loop turn leave together at its
 * end, one batch per thread. Answers return as the calls finish, so a call that hangs delays no other in its batch
 * (docs/adr/0018).
 */
import { type Clock, systemClock } from '../../base/clock.ts';
import type { ProviderAnswer, ProviderCall } from '../../shard/ports/providers.ts';
import { CallEncoder, type OutgoingCall } from './call-batch.ts';
import { OpenCalls } from './open-calls.ts';
import { decodeResults } from './result-batch.ts';

/** Smaller batches are not divided: another thread costs another message and wakes another core. */
const CALLS_PER_BATCH_MIN = 8;

/** Answers for calls that no thread answered. */
const LOST: ProviderAnswer = {
  kind: 'worker_lost',
  detail: 'the worker thread died before the provider answered',
};
const CLOSED: ProviderAnswer = {
  kind: 'unavailable',
  detail: 'the shard is shutting down and makes no more calls',
};
const CUT_SHORT: ProviderAnswer = {
  kind: 'timeout',
  detail: 'the shard shut down before the provider answered',
};

interface CallClass {
  readonly slots: number;
  readonly waiting: OutgoingCall[];
  inFlight: number;
}

export interface CallQueuesOptions {
  readonly threads: number;
  readonly executeConcurrency: number;
  readonly readSlots: number;
  readonly clock: Clock;
  /** Resolves when the batch has finished; rejects if its thread died. */
  readonly run: (message: Uint8Array<ArrayBuffer>) => Promise<unknown>;
}

export class CallQueues {
  readonly open: OpenCalls;
  readonly #options: CallQueuesOptions;
  readonly #executes: CallClass;
  readonly #reads: CallClass;
  readonly #encoder = new CallEncoder();
  #isFlushPlanned = false;
  #isClosed = false;

  constructor(options: CallQueuesOptions) {
    this.#options = options;
    this.open = new OpenCalls(options.clock);
    this.#executes = { slots: options.executeConcurrency, waiting: [], inFlight: 0 };
    this.#reads = { slots: options.readSlots, waiting: [], inFlight: 0 };
  }

  /** Calls and reads without a slot. */
  get waitingCount(): number {
    return this.#executes.waiting.length + this.#reads.waiting.length;
  }

  send(kind: OutgoingCall['kind'], request: Omit<ProviderCall, 'kind'>): Promise<ProviderAnswer> {
    if (this.#isClosed) return Promise.resolve(CLOSED);
    const callClass = kind === 'get' ? this.#reads : this.#executes;
    return new Promise((resolve) => {
      const call = this.open.open(request.deadlineUnixMs, resolve);
      callClass.waiting.push({ ...request, kind, call });
      this.#planFlush();
    });
  }

  /** A message of a thread: results of any of its batches. */
  receive(message: Uint8Array): void {
    for (const { call, answer } of decodeResults(message)) this.open.settle(call, answer);
  }

  /** Sends no more calls; waits for those in flight, at most for the grace. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    for (const callClass of [this.#executes, this.#reads]) {
      for (const { call } of callClass.waiting.splice(0)) this.open.settle(call, CLOSED);
    }
    await within(this.open.empty(), graceMs);
    this.open.settleAll(CUT_SHORT);
  }

  #planFlush(): void {
    if (this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    setImmediate(() => {
      this.#isFlushPlanned = false;
      this.#flush();
    });
  }

  #flush(): void {
    const calls = [...this.#admit(this.#reads), ...this.#admit(this.#executes)];
    if (calls.length === 0) return;
    const batchCount = Math.min(this.#options.threads, Math.ceil(calls.length / CALLS_PER_BATCH_MIN));
    const batchLength = Math.ceil(calls.length / batchCount);
    for (let start = 0; start < calls.length; start += batchLength) {
      this.#sendBatch(calls.slice(start, start + batchLength));
    }
  }

  #admit(callClass: CallClass): OutgoingCall[] {
    // A call whose deadline passed while it waited has settled; never send it.
    const live = callClass.waiting.splice(0).filter(({ call }) => this.open.isOpen(call));
    const admitted = live.splice(0, Math.max(0, callClass.slots - callClass.inFlight));
    callClass.waiting.push(...live);
    callClass.inFlight += admitted.length;
    for (const { call } of admitted) {
      this.open.whenSettled(call, () => {
        callClass.inFlight--;
        if (callClass.waiting.length > 0) this.#planFlush();
      });
    }
    return admitted;
  }

  #sendBatch(batch: readonly OutgoingCall[]): void {
    const numbers = batch.map(({ call }) => call);
    const wallAheadMs = systemClock.nowMs() - this.#options.clock.nowMs();
    // The results settle the calls. The promise of the batch adds nothing, and may resolve before them.
    this.#options.run(this.#encoder.encode(batch, wallAheadMs)).catch(() => {
      for (const call of numbers) this.open.settle(call, LOST);
    });
  }
}

/** Waits for a promise, at most this long. */
export async function within(promise: Promise<unknown>, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([promise, limit]);
  clearTimeout(timer);
}
