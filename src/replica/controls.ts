/**
 * C4 for all replicas of a shard: kill switch and dry run are in the directory too, so that a takeover does not turn them off. The
 * replica that becomes active takes the stricter of the directory and its own settings. Settings that are reloaded at the active
 * replica are a person's decision: they count as they are, and are written.
 */
import type { Timer } from '../base/clock.ts';
import { ShardError } from '../base/errors.ts';
import type { Leadership } from '../directory/election/leadership.ts';
import { type ReplicaOptions, retryMsOf } from '../directory/election/options.ts';
import { type Controls, readControls, stricterOf, writeRecord } from './records.ts';

export type ControlsEvent = {
  readonly kind: 'controls-taken' | 'controls-written';
} & Controls;

type KeeperOptions = Pick<ReplicaOptions, 'directory' | 'keys' | 'shard' | 'leaseMs' | 'scheduler'>;

export class ControlsKeeper {
  readonly #options: KeeperOptions;
  readonly #onEvent: (event: ControlsEvent) => void;
  /** What is still to be written. */
  #wanted: Controls | null = null;
  #isWriting = false;
  #timer: Timer | null = null;
  #isClosed = false;

  constructor(options: KeeperOptions, onEvent: (event: ControlsEvent) => void) {
    this.#options = options;
    this.#onEvent = onEvent;
  }

  /** The controls to begin with. It waits for the directory; null: the replica ended meanwhile. */
  async takeOver(leadership: Leadership, own: Controls): Promise<Controls | null> {
    const { directory, keys, shard, leaseMs, scheduler } = this.#options;
    let hasEnded = false;
    void leadership.ended.then(() => {
      hasEnded = true;
    });
    while (!hasEnded && !this.#isClosed) {
      try {
        const { entry } = await directory.get(keys.controls(shard));
        const held = entry === null ? { isPaused: false, isDryRun: false } : readControls(entry.value);
        const controls = stricterOf(own, held);
        if (isOther(controls, own)) this.#onEvent({ kind: 'controls-taken', ...controls });
        if (entry === null || isOther(controls, held)) this.write(leadership, controls);
        return controls;
      } catch (error) {
        if (!(error instanceof ShardError)) throw error;
        await new Promise<void>((resolve) => scheduler.after(retryMsOf(leaseMs), resolve));
      }
    }
    return null;
  }

  /** Until the directory has answered; a later call replaces an earlier one. */
  write(leadership: Leadership, controls: Controls): void {
    this.#wanted = controls;
    if (!this.#isWriting) void this.#write(leadership);
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  async #write(leadership: Leadership): Promise<void> {
    const { directory, keys, shard, leaseMs, scheduler } = this.#options;
    const controls = this.#wanted;
    if (controls === null || this.#isClosed) return;
    this.#isWriting = true;
    try {
      const { succeeded } = await directory.transact({
        when: [leadership.guard()],
        change: [{ kind: 'put', key: keys.controls(shard), value: writeRecord(controls) }],
      });
      // Not if another replica is active by now, or this one resumes just now: then it is tried again.
      if (succeeded && this.#wanted === controls) this.#wanted = null;
      if (succeeded) this.#onEvent({ kind: 'controls-written', ...controls });
    } catch (error) {
      if (!(error instanceof ShardError)) throw error;
    } finally {
      this.#isWriting = false;
    }
    if (this.#wanted === null || this.#isClosed) return;
    this.#timer = scheduler.after(retryMsOf(leaseMs), () => void this.#write(leadership));
  }
}

function isOther(a: Controls, b: Controls): boolean {
  return a.isPaused !== b.isPaused || a.isDryRun !== b.isDryRun;
}
