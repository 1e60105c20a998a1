/**
 * The entry of a running replica in the directory, with a lease of its own. It is for people and for other replicas to look at: no
 * decision depends on it.
 */
import type { Scheduler, Stopwatch, Timer } from '../base/clock.ts';
import { ShardError } from '../base/errors.ts';
import { LeaseNotFoundError } from '../directory/errors.ts';
import type { Directory } from '../directory/port.ts';
import { type ReplicaRecord, readReplica, writeRecord } from './records.ts';

/** What changes all the time, the lag, is written as often as this. */
const REFRESH_MS = 60_000;

export interface RegistrationOptions {
  readonly directory: Directory;
  readonly key: string;
  readonly instance: string;
  readonly leaseMs: number;
  readonly scheduler: Scheduler;
  readonly uptime: Stopwatch;
  readonly record: () => ReplicaRecord;
  /** Another running process has the same name. */
  readonly onNameTaken: () => void;
}

export class Registration {
  readonly #options: RegistrationOptions;
  #leaseId = 0;
  #writtenMs = 0;
  #written = '';
  /** Since when another process has the name; null: none has. */
  #takenSinceMs: number | null = null;
  #timer: Timer | null = null;
  #isRound = false;
  #isClosed = false;

  constructor(options: RegistrationOptions) {
    this.#options = options;
    this.#tick();
  }

  /** Something changed that others should see soon. */
  update(): void {
    if (!this.#isRound && !this.#isClosed) void this.#round();
  }

  /** The entry is gone when this resolves, if the directory answers. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    const leaseId = this.#leaseId;
    if (leaseId !== 0) await this.#options.directory.revokeLease(leaseId).catch(() => {}); // it expires by itself
  }

  #tick(): void {
    const { scheduler, leaseMs } = this.#options;
    if (this.#isClosed) return;
    this.#timer = scheduler.after(leaseMs / 3, () => this.#tick());
    this.update();
  }

  async #round(): Promise<void> {
    this.#isRound = true;
    try {
      if (this.#leaseId === 0) await this.#begin();
      else await this.#renew();
    } catch (error) {
      if (!(error instanceof ShardError)) throw error;
      // The election reports a directory that does not answer. A lost lease is replaced in the next round.
      if (error instanceof LeaseNotFoundError) this.#leaseId = 0;
    } finally {
      this.#isRound = false;
    }
  }

  async #begin(): Promise<void> {
    const { directory, key, instance, leaseMs, uptime, onNameTaken } = this.#options;
    const { entry } = await directory.get(key);
    const holder = entry === null ? null : readReplica(entry.value);
    if (holder !== null && holder.instance !== instance) {
      // At first it is most likely the process before this one, whose lease ends soon.
      this.#takenSinceMs ??= uptime();
      if (uptime() - this.#takenSinceMs > 2 * leaseMs) onNameTaken();
      return;
    }
    this.#takenSinceMs = null;
    const lease = await directory.grantLease(leaseMs);
    if (this.#isClosed) await directory.revokeLease(lease.id);
    else {
      this.#leaseId = lease.id;
      await this.#write();
    }
  }

  async #renew(): Promise<void> {
    const { directory, uptime } = this.#options;
    await directory.keepAlive(this.#leaseId);
    const isDue = uptime() - this.#writtenMs >= REFRESH_MS;
    if (isDue || this.#written !== this.#facts()) await this.#write();
  }

  async #write(): Promise<void> {
    const { directory, key, record, uptime } = this.#options;
    const facts = this.#facts();
    await directory.transact({
      when: [],
      change: [{ kind: 'put', key, value: writeRecord(record()), leaseId: this.#leaseId }],
    });
    this.#written = facts;
    this.#writtenMs = uptime();
  }

  /** Without the lag: it alone is no reason to write. */
  #facts(): string {
    return JSON.stringify({ ...this.#options.record(), lagSeconds: 0 });
  }
}
