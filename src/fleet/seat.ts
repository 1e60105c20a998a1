/**
 * F8: one of the active replicas is the coordinator. It holds a key with a lease of its own. Nothing waits for it, so it needs no
 * confirmation: each of its writes is guarded by its key, and fails once another replica holds it.
 */
import type { Clock, Scheduler, Timer } from '../base/clock.ts';
import { ShardError } from '../base/errors.ts';
import { LeaseNotFoundError } from '../directory/errors.ts';
import type { FleetKeys } from '../directory/keys.ts';
import type { Comparison, Directory, DirectoryEntry } from '../directory/port.ts';
import { type CoordinatorRecord, readCoordinator, readTerm, writeRecord } from '../replica/records.ts';
import type { FleetCopy } from './copy.ts';

export interface SeatOptions {
  readonly directory: Directory;
  readonly keys: FleetKeys;
  readonly copy: FleetCopy;
  readonly scheduler: Scheduler;
  readonly wall: Clock;
  readonly leaseMs: number;
  readonly self: () => Omit<CoordinatorRecord, 'term'>;
  /** Only an active replica may be the coordinator. */
  readonly isCandidate: () => boolean;
  readonly onEvent: (event: SeatEvent) => void;
}

export type SeatEvent =
  | { readonly kind: 'coordinator_elected'; readonly term: number }
  | { readonly kind: 'coordinator_resigned'; readonly term: number };

interface Seat {
  readonly term: number;
  readonly leaseId: number;
  readonly createRevision: number;
}

export class CoordinatorSeat {
  readonly #options: SeatOptions;
  #seat: Seat | null = null;
  /** Granted for a claim whose outcome is not known yet; 0: none. */
  #leaseId = 0;
  #timer: Timer | null = null;
  #isClosed = false;

  constructor(options: SeatOptions) {
    this.#options = options;
    this.#tick();
  }

  /** null: this replica is not the coordinator, as far as it knows. */
  get term(): number | null {
    return this.#seat?.term ?? null;
  }

  /** What a transaction compares that must fail once another replica is the coordinator. */
  guard(): Comparison | null {
    if (this.#seat === null) return null;
    const { createRevision } = this.#seat;
    return { kind: 'created-at', key: this.#options.keys.coordinator, createRevision };
  }

  /** Another replica can be elected at once, if the directory answers. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#giveUp();
  }

  #tick(): void {
    const { scheduler, leaseMs } = this.#options;
    void this.#round()
      .catch((error: unknown) => {
        if (!(error instanceof ShardError)) throw error;
        if (error instanceof LeaseNotFoundError) this.#forget();
      })
      .finally(() => {
        if (!this.#isClosed) this.#timer = scheduler.after(leaseMs / 3, () => this.#tick());
      });
  }

  async #round(): Promise<void> {
    const { directory, copy, keys, isCandidate } = this.#options;
    if (!isCandidate()) return this.#giveUp();
    if (this.#seat !== null) {
      await directory.keepAlive(this.#seat.leaseId);
      // A directory that was restored may have lost the key, or have the one of another replica.
      const { entry } = await directory.get(keys.coordinator);
      if (entry?.createRevision !== this.#seat.createRevision) this.#forget();
      return;
    }
    const isVacant = this.#leaseId !== 0 || copy.coordinator() === null;
    if (copy.isWhole && isVacant) await this.#claim();
  }

  async #claim(): Promise<void> {
    const { directory, keys, leaseMs, wall, self } = this.#options;
    const { entry } = await directory.get(keys.coordinator);
    if (entry !== null) return this.#found(entry);
    const { entry: last } = await directory.get(keys.term);
    if (this.#leaseId === 0) this.#leaseId = (await directory.grantLease(leaseMs)).id;
    else await directory.keepAlive(this.#leaseId);
    const term = Math.max(Math.floor(wall.nowMs() / 1_000), (last === null ? 0 : readTerm(last.value)) + 1);
    const unchanged: Comparison =
      last === null
        ? { kind: 'absent', key: keys.term }
        : { kind: 'modified-at', key: keys.term, modRevision: last.modRevision };
    await directory.transact({
      when: [{ kind: 'absent', key: keys.coordinator }, unchanged],
      change: [
        {
          kind: 'put',
          key: keys.coordinator,
          value: writeRecord({ ...self(), term }),
          leaseId: this.#leaseId,
        },
        { kind: 'put', key: keys.term, value: writeRecord({ term }) },
      ],
    });
    const { entry: now } = await directory.get(keys.coordinator);
    if (now !== null) await this.#found(now);
  }

  /** A replica is the coordinator: this one, if it is the entry of its last claim. */
  async #found(entry: DirectoryEntry): Promise<void> {
    const record = readCoordinator(entry.value);
    const isOwn = entry.leaseId === this.#leaseId && record?.instance === this.#options.self().instance;
    if (!isOwn || record === null) return this.#giveUp();
    const { term } = record;
    this.#seat = { term, leaseId: entry.leaseId, createRevision: entry.createRevision };
    this.#options.onEvent({ kind: 'coordinator_elected', term });
  }

  /** The lease ends by itself if the directory does not answer. */
  async #giveUp(): Promise<void> {
    const leaseId = this.#leaseId;
    this.#forget();
    if (leaseId !== 0) await this.#options.directory.revokeLease(leaseId).catch(() => {});
  }

  #forget(): void {
    const seat = this.#seat;
    this.#seat = null;
    this.#leaseId = 0;
    if (seat !== null) this.#options.onEvent({ kind: 'coordinator_resigned', term: seat.term });
  }
}
