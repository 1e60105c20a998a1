/** Samples once a minute. A sample that takes longer than that skips the next one. */
import type { SpendingSample } from '../shard/ports/spending.ts';
import type { InterruptionCounts } from './interruptions.ts';
import type { SpendingStore } from './store.ts';

const EVERY_MS = 60_000;

export interface SpendingSamplerOptions {
  readonly store: SpendingStore;
  readonly read: () => Promise<SpendingSample>;
  readonly interruptions?: InterruptionCounts;
  /** A sample could not be taken or written; the next is tried. */
  readonly onProblem: (detail: string) => void;
  readonly everyMs?: number;
}

export class SpendingSampler {
  readonly #options: SpendingSamplerOptions;
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | null = null;

  constructor(options: SpendingSamplerOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.sample(), options.everyMs ?? EVERY_MS);
    this.#timer.unref();
  }

  sample(): void {
    this.#running ??= this.#sample().finally(() => {
      this.#running = null;
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  async #sample(): Promise<void> {
    const { store, read, onProblem, interruptions } = this.#options;
    let taken: SpendingSample | null = null;
    try {
      const sample = await read();
      // Before the first listing there is nothing to know, and an empty sample would say that nothing costs anything.
      if (sample.rows.length === 0) return;
      taken = interruptions?.take(sample) ?? sample;
      await store.add(taken);
    } catch (error) {
      if (taken !== null) interruptions?.giveBack(taken);
      onProblem(
        `A sample of spending was not kept: ${(error as Error).message}. The samples before stay; the next is tried in a minute. ` +
          'Check space and rights of the data directory.',
      );
    }
  }
}
