/**
 * A replica that is not active waits until `active` is absent, and then tries to put it (F1): one transaction that also gives it
 * an epoch, higher than every epoch that was given or seen. It needs the directory for this: a replica that starts while the
 * directory is away waits.
 */
import type { Timer } from '../../base/clock.ts';
import { ShardError } from '../../base/errors.ts';
import { Mirror } from '../mirror.ts';
import type { Position } from '../port.ts';
import { claim, unchanged } from './claim.ts';
import { Leadership } from './leadership.ts';
import { Lineage, restoredText } from './marks.ts';
import { type ReplicaOptions, retryMsOf } from './options.ts';
import { type EpochRecord, readActive, readEpoch, writeRecord } from './records.ts';

export interface CandidacyOptions extends ReplicaOptions {
  /** An active replica whose ordinary cycles do not end for longer than this, plus a lease, gives its lease up. */
  readonly cycleMsMax: number;
  /** While this holds no cycle is expected: the replica waits for listings. */
  readonly isWaiting: () => boolean;
  /** After each change of the copy of the shard's keys, until `close`; also while this replica is active. */
  readonly onShardKeys?: (copy: Pick<Mirror, 'get' | 'entries'>) => void;
}

export class Candidacy {
  /** Resolves when this replica is active. Rejects if its data directory cannot keep the epoch. */
  readonly whenActive: Promise<Leadership>;
  readonly #options: CandidacyOptions;
  readonly #lineage: Lineage;
  readonly #mirror: Mirror;
  #timer: Timer | null = null;
  #isTaking = false;
  #isOver = false;
  /** The directory was restored, so what it says about released epochs may be old. */
  #isDoubtful = false;
  #activeReplica: string | null = null;
  #settle: { resolve: (leadership: Leadership) => void; reject: (error: unknown) => void } | null = null;

  constructor(options: CandidacyOptions) {
    this.#options = options;
    this.#lineage = new Lineage(options.marks);
    this.whenActive = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    const { directory, keys, shard, scheduler, leaseMs } = options;
    this.#mirror = new Mirror({
      directory,
      prefix: keys.shard(shard),
      scheduler,
      retryMs: retryMsOf(leaseMs),
      listener: {
        onChange: () => {
          options.onShardKeys?.(this.#mirror);
          this.#consider();
        },
        onGap: (gap, detail) => options.onEvent({ kind: 'directory-failed', detail: `${gap}: ${detail}` }),
      },
    });
  }

  /** Ends the wait, and the copy of the shard's keys. A transaction that is under way is undone: its lease is revoked. */
  close(): void {
    this.#isOver = true;
    this.#timer?.cancel();
    this.#mirror.close();
  }

  #consider(): void {
    const { keys, shard, onEvent } = this.#options;
    if (this.#isOver || this.#isTaking || !this.#mirror.isWhole) return;
    const entry = this.#mirror.get(keys.active(shard));
    if (entry === null) {
      void this.#attempt();
      return;
    }
    const record = readActive(entry.value);
    try {
      if (record !== null) this.#saw(record.epoch);
    } catch (error) {
      this.#fail(error);
      return;
    }
    const activeReplica = record?.replica ?? '';
    if (activeReplica !== this.#activeReplica) {
      this.#activeReplica = activeReplica;
      onEvent({ kind: 'standby', activeReplica });
    }
  }

  async #attempt(): Promise<void> {
    const { scheduler, leaseMs, onEvent } = this.#options;
    this.#isTaking = true;
    try {
      const leadership = await this.#take();
      if (leadership !== null) {
        this.#isOver = true;
        this.#settle!.resolve(leadership);
      }
    } catch (error) {
      if (!(error instanceof ShardError) || error.next !== 'retry-next-cycle') this.#fail(error);
      else onEvent({ kind: 'directory-failed', detail: error.message });
    } finally {
      this.#isTaking = false;
      if (!this.#isOver) {
        // The mirror may have shown the change already while the attempt was under way.
        this.#timer?.cancel();
        this.#timer = scheduler.after(retryMsOf(leaseMs), () => this.#consider());
      }
    }
  }

  /** null: another replica was faster, or the candidacy is over. */
  async #take(): Promise<Leadership | null> {
    const { directory, keys, shard, leaseMs, instance, marks, clocks } = this.#options;
    const lease = await directory.grantLease(leaseMs);
    let isWon = false;
    try {
      const epochKey = keys.epoch(shard);
      const before = this.#lineage.highest;
      const { entry, position } = await directory.get(epochKey);
      this.#note(before, position);
      const last = entry === null ? null : readEpoch(epochKey, entry.value);
      const isFresh = last?.isReleased === true && last.epoch >= marks.epoch && !this.#isDoubtful;
      if (last !== null) this.#saw(last.epoch);
      const epoch = Math.max(marks.epoch + 1, Math.floor(clocks.wall.nowMs() / 1_000));
      const record: EpochRecord = { epoch, instance, ttlMs: lease.ttlMs, isReleased: false };
      const epochValue = writeRecord(record);
      const beforeClaim = this.#lineage.highest;
      const outcome = await claim(this.#options, {
        lease,
        epoch,
        when: unchanged(epochKey, entry),
        change: [{ kind: 'put', key: epochKey, value: epochValue }],
      });
      this.#note(beforeClaim, outcome.position);
      if (outcome.kind === 'lost' || this.#isOver) return null;
      // On the disk before the first call carries it.
      marks.raiseEpoch(epoch);
      isWon = true;
      return new Leadership(this.#options, this.#lineage, {
        lease,
        record,
        createRevision: outcome.createRevision,
        // A replica that gave the epoch up said itself that it is not confirmed any more.
        waitsMs: isFresh ? 0 : Math.max(lease.ttlMs, last?.ttlMs ?? 0),
      });
    } finally {
      if (!isWon) await directory.revokeLease(lease.id).catch(() => {}); // it expires by itself
    }
  }

  /** The data directory cannot keep an epoch: without it this replica must not become active. */
  #fail(error: unknown): void {
    this.close();
    this.#settle!.reject(error);
  }

  #saw(epoch: number): void {
    if (epoch > this.#options.marks.epoch) this.#options.marks.raiseEpoch(epoch);
  }

  #note(before: Position | null, position: Position): void {
    if (!this.#lineage.answered(before, position)) return;
    this.#isDoubtful = true;
    this.#options.onEvent({ kind: 'restored', detail: restoredText(before, position) });
  }
}
