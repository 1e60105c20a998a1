/**
 * The active replica. A timer of the main thread renews its lease every third of a lease and looks at `active`. A replica that is
 * not confirmed is *adrift*, not stopped (F3): the directory's absence alone must not stop a running fleet. It ends for good only
 * when it learns that it was replaced, or when it gives up itself.
 */
import type { Timer } from '../../base/clock.ts';
import type { Confirmation } from '../../base/confirmation.ts';
import { ShardError } from '../../base/errors.ts';
import { LeaseNotFoundError } from '../errors.ts';
import type { Comparison, DirectoryEntry, Lease, Position } from '../port.ts';
import type { CandidacyOptions } from './candidacy.ts';
import { activeValue, claim, isOwn } from './claim.ts';
import { type Lineage, restoredText } from './marks.ts';
import { instantOf } from './options.ts';
import { CycleProgress } from './progress.ts';
import { type EpochRecord, readActive, writeRecord } from './records.ts';
import { Sightings } from './sightings.ts';

export interface Takeover {
  readonly lease: Lease;
  readonly record: EpochRecord;
  readonly createRevision: number;
  readonly waitsMs: number;
}

export type LeadershipEnd =
  /** `replica` is active, or was: its epoch is newer. */
  | { readonly kind: 'replaced'; readonly replica: string }
  /** A provider knows a higher epoch, although `active` is this replica's: the directory was restored. */
  | { readonly kind: 'outdated-epoch' }
  | { readonly kind: 'released' };

/** Added to the highest seen epoch when a provider knows a higher one: an hour of epochs. */
const EPOCH_LEAP = 3_600;

export class Leadership {
  readonly epoch: number;
  readonly ended: Promise<LeadershipEnd>;
  readonly #options: CandidacyOptions;
  readonly #lineage: Lineage;
  readonly #sightings: Sightings;
  readonly #progress: CycleProgress;
  readonly #record: EpochRecord;
  #lease: Lease | null;
  #createRevision: number;
  #timer: Timer | null = null;
  #isRound = false;
  #isStuck = false;
  #wasConfirmed = false;
  #end: LeadershipEnd | null = null;
  #resolveEnded: (end: LeadershipEnd) => void = () => {};

  constructor(options: CandidacyOptions, lineage: Lineage, takeover: Takeover) {
    const { clocks, marginMs, cycleMsMax, leaseMs, isWaiting, onEvent } = options;
    this.#options = options;
    this.#lineage = lineage;
    this.#record = takeover.record;
    this.epoch = takeover.record.epoch;
    this.#lease = takeover.lease;
    this.#createRevision = takeover.createRevision;
    this.#sightings = new Sightings(clocks, marginMs, takeover.waitsMs, options.confirmation);
    this.#progress = new CycleProgress(clocks.uptime, cycleMsMax + leaseMs, isWaiting);
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    onEvent({ kind: 'took-over', epoch: this.epoch, waitsMs: takeover.waitsMs });
    this.#tick();
  }

  /** For the threads that send calls. */
  get confirmation(): Confirmation {
    return this.#sightings.confirmation;
  }

  get isConfirmed(): boolean {
    return this.#sightings.isConfirmed;
  }

  /** Since this replica saw itself active. */
  get sightingAgeMs(): number {
    return this.#sightings.ageMs;
  }

  /**
   * Holds for as long as this replica is the active one: for transactions that only the active replica may make. It compares the value,
   * which has the instance, and not the revision: a restored directory gives revisions again, perhaps to another replica's entry.
   */
  guard(): Comparison {
    return { kind: 'equals', key: this.#activeKey, value: activeValue(this.#options, this.epoch) };
  }

  /** After every ordinary cycle. */
  cycleEnded(): void {
    this.#progress.cycleEnded();
  }

  /** A provider refused a call of this epoch. Resolves when the reason is known as far as it can be. */
  async fenced(): Promise<void> {
    const { directory, marks } = this.#options;
    if (this.#end !== null) return;
    this.#sightings.broken(this.#options.leaseMs);
    try {
      const { entry } = await directory.get(this.#activeKey);
      if (this.#end !== null) return; // many calls are fenced at once
      if (!this.#isMine(entry)) {
        this.#finish({ kind: 'replaced', replica: replicaIn(entry) });
        return;
      }
    } catch (error) {
      if (!(error instanceof ShardError)) throw error;
      // The process that fenced this one is newer. The directory, once it answers, tells the next start who is active.
      this.#finish({ kind: 'replaced', replica: '' });
      return;
    }
    marks.raiseEpoch(Math.max(marks.epoch, this.epoch) + EPOCH_LEAP);
    this.#finish({ kind: 'outdated-epoch' });
    await this.#giveUp(false);
  }

  /**
   * The handover: call it when all actions have ended. Another replica can take over as soon as the directory answered. It
   * is confirmed at once if this one was, since then no other replica is, and this one ends that before it says so.
   */
  async release(): Promise<void> {
    if (this.#end !== null) return;
    const { isConfirmed } = this;
    this.#finish({ kind: 'released' });
    await this.#giveUp(isConfirmed);
  }

  #tick(): void {
    if (this.#end !== null) return;
    const { scheduler, leaseMs } = this.#options;
    this.#timer = scheduler.after(leaseMs / 3, () => this.#tick());
    this.#noteConfirmation('no sighting of its own entry for a lease');
    if (!this.#isRound) void this.#round();
  }

  async #round(): Promise<void> {
    const { onEvent } = this.#options;
    const isStuck = this.#progress.isStuck();
    if (isStuck && !this.#isStuck) onEvent({ kind: 'stuck' });
    this.#isStuck = isStuck;
    if (isStuck) return;
    this.#isRound = true;
    try {
      if (this.#lease === null) await this.#resume();
      else await this.#look(this.#lease);
    } catch (error) {
      if (!(error instanceof ShardError)) throw error;
      if (error instanceof LeaseNotFoundError) this.#loseLease();
      else onEvent({ kind: 'directory-failed', detail: error.message });
    } finally {
      this.#isRound = false;
      this.#noteConfirmation('it is active for less than a lease');
    }
  }

  async #look(lease: Lease): Promise<void> {
    const { directory, clocks } = this.#options;
    const startedAt = instantOf(clocks);
    const { ttlMs } = await directory.keepAlive(lease.id);
    const before = this.#lineage.highest;
    const { entry, position } = await directory.get(this.#activeKey);
    if (this.#end !== null) return;
    this.#note(before, position);
    if (this.#isMine(entry)) this.#sightings.seen(startedAt, ttlMs);
    else if (entry === null || readActive(entry.value)?.instance === this.#options.instance)
      this.#loseLease();
    else this.#finish({ kind: 'replaced', replica: replicaIn(entry) });
  }

  /** A session that is lost is never repaired: the next one begins with a new lease and a new transaction. */
  #loseLease(): void {
    if (this.#end !== null) return;
    this.#sightings.broken(this.#options.leaseMs);
    this.#lease = null;
    this.#options.onEvent({ kind: 'lease-lost' });
  }

  /**
   * Puts `active` again if no other replica was active since: `epoch` still has the value that this process wrote. The epoch then is
   * still the highest, and this process its only holder.
   */
  async #resume(): Promise<void> {
    const { directory, keys, shard, leaseMs, onEvent } = this.#options;
    const epochKey = keys.epoch(shard);
    const lease = await directory.grantLease(leaseMs);
    let isWon = false;
    try {
      const before = this.#lineage.highest;
      const outcome = await claim(this.#options, {
        lease,
        epoch: this.epoch,
        when: { kind: 'equals', key: epochKey, value: writeRecord(this.#record) },
        change: [],
      });
      if (this.#end !== null) return;
      this.#note(before, outcome.position);
      if (outcome.kind === 'won') {
        isWon = true;
        this.#lease = lease;
        this.#createRevision = outcome.createRevision;
        onEvent({ kind: 'resumed' });
        return;
      }
      const { active } = outcome;
      if (active !== null && readActive(active.value)?.instance !== this.#options.instance) {
        this.#finish({ kind: 'replaced', replica: replicaIn(active) });
        return;
      }
      const { entry } = await directory.get(epochKey);
      if (entry?.value !== writeRecord(this.#record)) this.#finish({ kind: 'replaced', replica: '' });
    } finally {
      if (!isWon) await directory.revokeLease(lease.id).catch(() => {}); // it expires by itself
    }
  }

  get #activeKey(): string {
    const { keys, shard } = this.#options;
    return keys.active(shard);
  }

  #isMine(entry: DirectoryEntry | null): boolean {
    return (
      entry !== null &&
      this.#lease !== null &&
      entry.createRevision === this.#createRevision &&
      isOwn(this.#options, this.#lease.id, entry)
    );
  }

  #note(before: Position | null, position: Position): void {
    if (!this.#lineage.answered(before, position)) return;
    this.#sightings.broken(this.#options.leaseMs);
    this.#options.onEvent({ kind: 'restored', detail: restoredText(before, position) });
  }

  #noteConfirmation(detail: string): void {
    const { isConfirmed } = this;
    if (this.#end !== null || isConfirmed === this.#wasConfirmed) return;
    this.#wasConfirmed = isConfirmed;
    this.#options.onEvent(isConfirmed ? { kind: 'confirmed' } : { kind: 'adrift', detail });
  }

  #finish(end: LeadershipEnd): void {
    if (this.#end !== null) return;
    this.#end = end;
    this.#sightings.confirmation.clear();
    this.#timer?.cancel();
    this.#resolveEnded(end);
  }

  /** Failures are not reported: the lease expires by itself, and then nothing says that it was released. */
  async #giveUp(isReleased: boolean): Promise<void> {
    const { directory } = this.#options;
    const lease = this.#lease;
    if (lease === null) return;
    if (isReleased) await this.#sayReleased().catch(() => {});
    await directory.revokeLease(lease.id).catch(() => {});
  }

  #sayReleased(): Promise<unknown> {
    const { directory, keys, shard } = this.#options;
    const epoch = keys.epoch(shard);
    return directory.transact({
      when: [this.guard(), { kind: 'equals', key: epoch, value: writeRecord(this.#record) }],
      change: [
        { kind: 'delete', key: this.#activeKey },
        { kind: 'put', key: epoch, value: writeRecord({ ...this.#record, isReleased: true }) },
      ],
    });
  }
}

function replicaIn(entry: DirectoryEntry | null): string {
  return entry === null ? '' : (readActive(entry.value)?.replica ?? '');
}
