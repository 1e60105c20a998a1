/**
 * Runs the author's functions, each with a time limit. The function of an operation that is Failed because its time was up may
 * still end: if it did what was asked after all, the machine is as it should be, and says so. Otherwise a machine that exists
 * and costs money would be Failed for ever.
 */
import type { Cloud, ProviderMachine } from './cloud.ts';
import { Refused } from './cloud.ts';
import { OperationTimedOutError } from './errors.ts';
import type { OperationName } from './operations.ts';
import type { Operation } from './record.ts';

export type Outcome =
  /** `hostRef` of a Create. */
  | { readonly kind: 'done'; readonly hostRef: string }
  | { readonly kind: 'refused'; readonly error: Refused }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'timed_out'; readonly reason: string };

export interface Job {
  readonly machine: ProviderMachine;
  readonly operation: Operation;
  /** Empty unless the operation is a Configure. */
  readonly bootstrapBlob: Uint8Array;
}

/** Called with the outcome; after `timed_out` a second time if the function ends after all. */
export type OnOutcome = (outcome: Outcome) => Promise<void>;

/** The longest delay of a timer: about 24 days. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export class Runner {
  readonly #cloud: Cloud;
  readonly #limitsMs: Readonly<Record<OperationName, number>>;
  readonly #running = new Set<{ readonly controller: AbortController; readonly settled: Promise<void> }>();
  #isClosed = false;

  constructor(cloud: Cloud, limitsMs: Readonly<Record<OperationName, number>>) {
    this.#cloud = cloud;
    this.#limitsMs = limitsMs;
  }

  /** Resolves when the first outcome has been taken. */
  run(job: Job, onOutcome: OnOutcome): Promise<void> {
    const { name, gracePeriodSeconds } = job.operation;
    const limitMs = Math.min(TIMER_MS_MAX, this.#limitsMs[name] + gracePeriodSeconds * 1_000);
    const controller = new AbortController();
    const result = this.#call(job, controller.signal);
    const settled = new Promise<void>((resolve, reject) => {
      const take = (outcome: Outcome) => {
        clearTimeout(timer);
        // A function that ends while the provider closes may have been aborted: the next process looks again.
        if (!this.#isClosed) onOutcome(outcome).then(resolve, reject);
        else resolve();
      };
      const timer = setTimeout(() => {
        const error = new OperationTimedOutError(limitMs);
        take({ kind: 'timed_out', reason: error.message });
        controller.abort(error);
      }, limitMs);
      void result.then(take);
    });
    const entry = { controller, settled };
    this.#running.add(entry);
    const forget = () => this.#running.delete(entry);
    settled.then(forget, forget);
    return settled;
  }

  /** Waits for running functions, then aborts those that are left and takes no more outcomes. */
  async close(graceMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const grace = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, graceMs);
    });
    await Promise.race([Promise.allSettled([...this.#running].map(({ settled }) => settled)), grace]);
    clearTimeout(timer);
    this.#isClosed = true;
    for (const { controller } of this.#running) controller.abort(new Error('the provider is closing'));
  }

  async #call(job: Job, signal: AbortSignal): Promise<Outcome> {
    try {
      return { kind: 'done', hostRef: await this.#callCloud(job, signal) };
    } catch (error) {
      if (error instanceof Refused) return { kind: 'refused', error };
      const reason = error instanceof Error ? error.message : String(error);
      return { kind: 'failed', reason: reason || 'no reason given' };
    }
  }

  async #callCloud({ machine, operation, bootstrapBlob }: Job, signal: AbortSignal): Promise<string> {
    const { name, id, attempt, gracePeriodSeconds } = operation;
    const order = { machine, operationId: id, attempt, signal };
    if (name === 'create') return this.#cloud.create!(order);
    if (name === 'configure')
      await this.#cloud.configure({ ...order, cluster: machine.cluster, bootstrapBlob });
    else if (name === 'drain') await this.#cloud.drain({ ...order, gracePeriodSeconds });
    else await this.#cloud.delete!(order);
    return '';
  }
}
