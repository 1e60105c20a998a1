/**
 * The controls of people (C4, H2) for all replicas of a shard: kill switch, dry run and pauses are in the directory too, so that a takeover
 * does not turn them off.
 *
 * Each record carries a *stamp*: the epoch of the replica that wrote it, and a count. Every replica follows the directory and keeps the
 * newest record in its data directory. So a takeover finds it also after the directory lost everything or went back in time. The switches
 * are then the stricter of the record and the process's own settings. What a person tells the active replica counts as it is, and is written.
 */
import type { Timer } from '../base/clock.ts';
import { ShardError } from '../base/errors.ts';
import { unchanged } from '../directory/election/claim.ts';
import type { Leadership } from '../directory/election/leadership.ts';
import { type ReplicaOptions, retryMsOf } from '../directory/election/options.ts';
import {
  CONTROLS_BYTES_MAX,
  type Controls,
  type ControlsRecord,
  isNewer,
  NO_CONTROLS,
  readControls,
  type SharedControls,
  stricterOf,
  writeControls,
} from './records.ts';
import { untilAnswered } from './until-answered.ts';

export type ControlsEvent =
  | ({ readonly kind: 'controls-taken' | 'controls-written' } & Controls)
  /** The data directory of this replica cannot keep them. */
  | { readonly kind: 'controls-not-kept'; readonly detail: string };

/** A person waits for the answer to a command, and the pause takes effect only then. */
const ANSWER_MS_MAX = 3_000;

/** The data directory. Both may throw a ShardError. */
export interface ControlsHome {
  readControls(): string | null;
  writeControls(text: string): void;
}

export class ControlsTooLargeError extends ShardError {
  readonly code = 'controls_too_large';
  readonly next = 'reject-input';

  constructor(bytes: number) {
    super(
      `all controls together take ${bytes} bytes, and the directory keeps ${CONTROLS_BYTES_MAX}. ` +
        'Lift some, or give shorter reasons',
    );
  }
}

/** A pause may have been in force, so the replica does not start without it. */
export class ControlsUnreadableError extends ShardError {
  readonly code = 'controls_unreadable';
  readonly next = 'refuse-to-start';

  constructor() {
    super(
      'The controls in the data directory are not what a shard writes, or take more than ' +
        `${CONTROLS_BYTES_MAX} bytes, which is what the directory keeps. The replica did not start, because a pause may ` +
        'have been in force. Start the shard without --directory and lift some, or delete the file `controls`.',
    );
  }
}

interface KeeperOptions
  extends Pick<ReplicaOptions, 'directory' | 'keys' | 'shard' | 'leaseMs' | 'scheduler'> {
  readonly controlsHome: ControlsHome;
}

export class ControlsKeeper {
  readonly #options: KeeperOptions;
  readonly #onEvent: (event: ControlsEvent) => void;
  /** The newest that this replica knows. */
  #current: ControlsRecord;
  /** The last value that was seen in the directory. */
  #followed = '';
  /** The directory may not have `#current` yet. */
  #isUnwritten = false;
  /** This replica is active, and `#current` is its own. */
  #isTaken = false;
  #writing: Promise<void> | null = null;
  #timer: Timer | null = null;
  #isClosed = false;

  /** Throws a ShardError if the data directory has controls that cannot be read. */
  constructor(options: KeeperOptions, onEvent: (event: ControlsEvent) => void) {
    this.#options = options;
    this.#onEvent = onEvent;
    const kept = options.controlsHome.readControls();
    const record = kept === null ? NO_CONTROLS : readControls(kept);
    if (record === null) throw new ControlsUnreadableError();
    this.#current = record;
  }

  /** Whether the directory has what counts here, as far as this replica knows. */
  get areShared(): boolean {
    return !this.#isUnwritten;
  }

  /** A standby: the directory has this value now. An older one, of a restored directory, changes nothing. */
  follow(value: string): void {
    if (value === this.#followed) return;
    this.#followed = value;
    const record = readControls(value);
    if (record === null || !isNewer(record, this.#current)) return;
    this.#current = record;
    this.#keep();
  }

  /** The controls to begin with. It waits for the directory; null: the replica ended meanwhile. */
  async takeOver(leadership: Leadership, settings: () => Controls): Promise<SharedControls | null> {
    const { directory, keys, shard } = this.#options;
    return untilAnswered(leadership, { ...this.#options, isClosed: () => this.#isClosed }, async () => {
      const { entry } = await directory.get(keys.controls(shard));
      const own = settings(); // a reload may have changed them meanwhile
      const held = this.#heldBy(entry?.value ?? null);
      const controls = { ...stricterOf(own, held), pauses: held.pauses };
      if (isOther(controls, own)) this.#onEvent({ kind: 'controls-taken', ...switchesOf(controls) });
      // With this epoch, so that no record of a former replica is newer.
      this.#isTaken = true;
      this.#become(leadership, controls);
      return controls;
    });
  }

  /** C4: settings of the active replica were reloaded. One that is just taking over will read them. */
  switched(leadership: Leadership, switches: Controls): void {
    if (this.#isTaken) this.#become(leadership, { ...switches, pauses: this.#current.pauses });
  }

  /**
   * H2: the pauses in force are these. Rejects, and changes nothing, if they cannot be kept here. Else it resolves when the directory has
   * answered once, and goes on writing until the directory has them.
   */
  async pausesChanged(leadership: Leadership, pauses: string): Promise<void> {
    const record = this.#next(leadership, { ...this.#current, pauses });
    const text = writeControls(record);
    const bytes = Buffer.byteLength(text);
    if (bytes > CONTROLS_BYTES_MAX) throw new ControlsTooLargeError(bytes);
    this.#options.controlsHome.writeControls(text);
    this.#current = record;
    this.#isUnwritten = true;
    const { scheduler } = this.#options;
    await Promise.race([
      this.#writeNewest(leadership),
      new Promise<void>((resolve) => scheduler.after(ANSWER_MS_MAX, resolve)),
    ]);
  }

  /** The directory was restored, or lost this replica's entry: it may have older controls. */
  writeAgain(leadership: Leadership): void {
    if (!this.#isTaken) return;
    this.#isUnwritten = true;
    void this.#write(leadership);
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  /** What nobody can read counts as on: a lost kill switch would be worse than a needless one. */
  #heldBy(value: string | null): SharedControls {
    const read = value === null ? NO_CONTROLS : readControls(value);
    if (read === null) return { isPaused: true, isDryRun: true, pauses: this.#current.pauses };
    return isNewer(read, this.#current) ? read : this.#current;
  }

  #become(leadership: Leadership, controls: SharedControls): void {
    this.#current = this.#next(leadership, controls);
    this.#keep();
    this.#isUnwritten = true;
    void this.#write(leadership);
  }

  #next({ epoch }: Leadership, { isPaused, isDryRun, pauses }: SharedControls): ControlsRecord {
    const { epoch: before, number } = this.#current;
    return { isPaused, isDryRun, pauses, epoch, number: before === epoch ? number + 1 : 1 };
  }

  /** A disk that is full must keep no replica from following, or from becoming active. */
  #keep(): void {
    try {
      this.#options.controlsHome.writeControls(writeControls(this.#current));
    } catch (error) {
      if (!(error instanceof ShardError)) throw error;
      this.#onEvent({ kind: 'controls-not-kept', detail: error.message });
    }
  }

  /** An attempt that is under way has the record before the newest. */
  async #writeNewest(leadership: Leadership): Promise<void> {
    await this.#writing;
    await this.#write(leadership);
  }

  /** One attempt at a time; resolves after it, and another one follows if the directory does not have the newest record yet. */
  #write(leadership: Leadership): Promise<void> {
    this.#writing ??= this.#attempt(leadership).finally(() => {
      this.#writing = null;
      this.#timer?.cancel();
      if (!this.#isUnwritten || this.#isClosed) return;
      const { scheduler, leaseMs } = this.#options;
      this.#timer = scheduler.after(retryMsOf(leaseMs), () => void this.#write(leadership));
    });
    return this.#writing;
  }

  async #attempt(leadership: Leadership): Promise<void> {
    const { directory, keys, shard } = this.#options;
    if (this.#isClosed) return;
    const key = keys.controls(shard);
    try {
      const { entry } = await directory.get(key);
      const record = this.#current;
      const held = entry === null ? null : readControls(entry.value);
      if (held !== null && isNewer(held, record)) return; // another replica is active, as this one will learn
      // What was read must still be there: a write whose answer was lost may arrive after a newer one.
      const { succeeded } = await directory.transact({
        when: [leadership.guard(), unchanged(key, entry)],
        change: [{ kind: 'put', key, value: writeControls(record) }],
      });
      // Not if another replica is active by now, or this one resumes just now: then it is tried again.
      if (!succeeded) return;
      if (this.#current === record) this.#isUnwritten = false;
      this.#onEvent({ kind: 'controls-written', ...switchesOf(record) });
    } catch (error) {
      if (!(error instanceof ShardError)) throw error;
    }
  }
}

function switchesOf({ isPaused, isDryRun }: Controls): Controls {
  return { isPaused, isDryRun };
}

function isOther(a: Controls, b: Controls): boolean {
  return a.isPaused !== b.isPaused || a.isDryRun !== b.isDryRun;
}
