/**
 * Calls that have not settled, by number, and their watchdog. The thread that makes a call enforces its deadline; if
 * the thread is stuck or its answer was lost, the watchdog settles the call here shortly afterwards. It ends no thread.
 * An answer for a call that has settled is ignored.
 */
import { assert } from '../../base/assert.ts';
import type { Clock } from '../../base/clock.ts';
import type { ProviderAnswer } from '../../shard/ports/providers.ts';

/** Time for the thread's own timeout to arrive, and how often the watchdog runs. */
export const WATCHDOG_GRACE_MS = 1_000;
const WATCHDOG_INTERVAL_MS = 250;

/** Numbers repeat after this many calls, long after the first of them settled. */
const CALL_NUMBERS = 2 ** 32;

function doNothing(): void {}

interface OpenCall {
  readonly deadlineUnixMs: number;
  readonly settle: (answer: ProviderAnswer) => void;
  onSettled: () => void;
}

export class OpenCalls {
  readonly #clock: Clock;
  readonly #open = new Map<number, OpenCall>();
  #next = 1;
  #watchdog: NodeJS.Timeout | null = null;
  #whenEmpty: (() => void) | null = null;
  /** Calls that the watchdog settled. */
  overdueCount = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Registers a call and returns its number. */
  open(deadlineUnixMs: number, settle: (answer: ProviderAnswer) => void): number {
    const call = this.#next;
    this.#next = (call + 1) % CALL_NUMBERS;
    assert(!this.#open.has(call), 'more calls are open than there are numbers');
    this.#open.set(call, { deadlineUnixMs, settle, onSettled: doNothing });
    this.#watchdog ??= setInterval(() => this.#settleOverdue(), WATCHDOG_INTERVAL_MS);
    return call;
  }

  isOpen(call: number): boolean {
    return this.#open.has(call);
  }

  /** The call must be open. */
  whenSettled(call: number, onSettled: () => void): void {
    this.#open.get(call)!.onSettled = onSettled;
  }

  /** Does nothing if the call has settled already. */
  settle(call: number, answer: ProviderAnswer): void {
    const open = this.#open.get(call);
    if (open === undefined) return;
    this.#open.delete(call);
    if (this.#open.size === 0) this.#becomeEmpty();
    open.onSettled();
    open.settle(answer);
  }

  settleAll(answer: ProviderAnswer): void {
    for (const call of [...this.#open.keys()]) this.settle(call, answer);
  }

  /** Resolves when no call is open. */
  empty(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenEmpty = resolve;
    });
  }

  #becomeEmpty(): void {
    if (this.#watchdog !== null) clearInterval(this.#watchdog);
    this.#watchdog = null;
    this.#whenEmpty?.();
    this.#whenEmpty = null;
  }

  #settleOverdue(): void {
    const beforeMs = this.#clock.nowMs() - WATCHDOG_GRACE_MS;
    for (const [call, { deadlineUnixMs }] of [...this.#open]) {
      if (deadlineUnixMs > beforeMs) continue;
      this.overdueCount++;
      this.settle(call, { kind: 'timeout', detail: 'no answer arrived by the deadline' });
    }
  }
}
