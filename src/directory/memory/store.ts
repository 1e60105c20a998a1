/**
 * The store behind the in-memory directory: what a server of etcd keeps. Every key has its versions, so that a reader can page
 * at one revision, a watch can begin in the past, and both fail once that past was compacted.
 *
 * Tests and the simulator damage it on purpose: `compact`, `loseLease`, `breakWatches`, `snapshot` and `restore` (a backup).
 */
import type { Clock, Scheduler } from '../../base/clock.ts';
import { LeaseNotFoundError } from '../errors.ts';
import type {
  Comparison,
  DirectoryEntry,
  DirectoryEvent,
  Lease,
  Operation,
  Position,
  Transaction,
  TransactionAnswer,
  WatchListener,
} from '../port.ts';

/** `entry` is null for a deletion. */
interface Version {
  readonly modRevision: number;
  readonly entry: DirectoryEntry | null;
}

interface LiveLease {
  readonly ttlMs: number;
  expiresMs: number;
}

interface LiveWatch {
  readonly prefix: string;
  readonly listener: WatchListener;
}

/** A backup: the store as it was, without its watches. */
export interface StoreSnapshot {
  readonly revision: number;
  readonly compactedRevision: number;
  readonly versions: ReadonlyMap<string, readonly Version[]>;
  readonly leases: ReadonlyMap<number, number>;
}

export class CompactedError extends Error {}

export class MemoryStore {
  readonly #clock: Clock;
  readonly #scheduler: Scheduler;
  readonly #watches = new Set<LiveWatch>();
  readonly #versions = new Map<string, Version[]>();
  readonly #leases = new Map<number, LiveLease>();
  #clusterId = 'memory-1';
  #revision = 1;
  #compactedRevision = 0;
  #lastLeaseId = 0;

  constructor(clock: Clock, scheduler: Scheduler) {
    this.#clock = clock;
    this.#scheduler = scheduler;
  }

  get position(): Position {
    return { clusterId: this.#clusterId, revision: this.#revision };
  }

  get leaseIds(): readonly number[] {
    return [...this.#leases.keys()];
  }

  read(key: string, revision = this.#revision): DirectoryEntry | null {
    if (revision < this.#compactedRevision) throw new CompactedError();
    return this.#versions.get(key)?.findLast(({ modRevision }) => modRevision <= revision)?.entry ?? null;
  }

  readPrefix(prefix: string, revision = this.#revision): DirectoryEntry[] {
    const keys = [...this.#versions.keys()].filter((key) => key.startsWith(prefix));
    return keys.sort(compareBytes).flatMap((key) => this.read(key, revision) ?? []);
  }

  transact({ when, change, elseRead = [] }: Transaction): TransactionAnswer {
    if (!when.every((comparison) => this.#holds(comparison))) {
      const read = elseRead.map((key) => this.read(key));
      return { succeeded: false, read, position: this.position };
    }
    for (const operation of change) {
      const { leaseId = 0 } = operation.kind === 'put' ? operation : {};
      if (leaseId !== 0 && !this.#leases.has(leaseId)) throw new LeaseNotFoundError(leaseId);
    }
    this.#apply(change);
    return { succeeded: true, read: [], position: this.position };
  }

  grantLease(ttlMs: number): Lease {
    const id = ++this.#lastLeaseId;
    this.#leases.set(id, { ttlMs, expiresMs: this.#clock.nowMs() + ttlMs });
    this.#scheduler.after(ttlMs, () => this.#expire(id));
    return { id, ttlMs };
  }

  keepAlive(id: number): { readonly ttlMs: number } {
    const lease = this.#leases.get(id);
    if (lease === undefined) throw new LeaseNotFoundError(id);
    lease.expiresMs = this.#clock.nowMs() + lease.ttlMs;
    this.#scheduler.after(lease.ttlMs, () => this.#expire(id));
    return { ttlMs: lease.ttlMs };
  }

  /** Also the accident of a lease that ends before its time. */
  loseLease(id: number): void {
    if (!this.#leases.delete(id)) return;
    const held = this.readPrefix('').filter(({ leaseId }) => leaseId === id);
    this.#apply(held.map(({ key }) => ({ kind: 'delete', key })));
  }

  watch(prefix: string, afterRevision: number, listener: WatchListener): () => void {
    if (afterRevision + 1 < this.#compactedRevision) {
      listener.onGap('compacted', `revision ${afterRevision + 1} was compacted`);
      return () => {};
    }
    const watch: LiveWatch = { prefix, listener };
    const past = this.#eventsAfter(prefix, afterRevision);
    if (past.length > 0) listener.onEvents(past);
    this.#watches.add(watch);
    return () => this.#watches.delete(watch);
  }

  /** Revisions below this one cannot be read or watched any more. */
  compact(revision: number): void {
    this.#compactedRevision = Math.max(this.#compactedRevision, Math.min(revision, this.#revision));
    for (const [key, versions] of this.#versions) {
      const first = versions.findLastIndex(({ modRevision }) => modRevision <= this.#compactedRevision);
      if (first > 0) versions.splice(0, first);
      if (versions.length === 1 && versions[0]!.entry === null && first >= 0) this.#versions.delete(key);
    }
  }

  /** The connections of all watches break. */
  breakWatches(): void {
    const watches = [...this.#watches];
    this.#watches.clear();
    for (const { listener } of watches) listener.onGap('disconnected', 'the connection broke');
  }

  snapshot(): StoreSnapshot {
    return {
      revision: this.#revision,
      compactedRevision: this.#compactedRevision,
      versions: new Map([...this.#versions].map(([key, versions]) => [key, [...versions]])),
      leases: new Map([...this.#leases].map(([id, { ttlMs }]) => [id, ttlMs])),
    };
  }

  /** As a restart with the files of a backup: leases begin again. A restore into a new cluster gives it another id. */
  restore(snapshot: StoreSnapshot, { isNewCluster = false } = {}): void {
    this.#revision = snapshot.revision;
    this.#compactedRevision = snapshot.compactedRevision;
    this.#versions.clear();
    for (const [key, versions] of snapshot.versions) this.#versions.set(key, [...versions]);
    this.#leases.clear();
    for (const [id, ttlMs] of snapshot.leases) {
      this.#leases.set(id, { ttlMs, expiresMs: this.#clock.nowMs() + ttlMs });
      this.#scheduler.after(ttlMs, () => this.#expire(id));
    }
    if (isNewCluster) this.#clusterId = `memory-${Number(this.#clusterId.slice('memory-'.length)) + 1}`;
    this.breakWatches();
  }

  #holds(comparison: Comparison): boolean {
    const entry = this.read(comparison.key);
    switch (comparison.kind) {
      case 'absent':
        return entry === null;
      case 'created-at':
        return entry?.createRevision === comparison.createRevision;
      case 'modified-at':
        return entry?.modRevision === comparison.modRevision;
      case 'equals':
        return entry?.value === comparison.value;
    }
  }

  #apply(change: readonly Operation[]): void {
    const modRevision = this.#revision + 1;
    const events: DirectoryEvent[] = [];
    for (const operation of change) {
      const { key } = operation;
      const before = this.read(key);
      if (operation.kind === 'delete' && before === null) continue;
      const versions = this.#versions.get(key) ?? [];
      this.#versions.set(key, versions);
      if (operation.kind === 'delete') {
        versions.push({ modRevision, entry: null });
        events.push({ kind: 'delete', key, modRevision });
        continue;
      }
      const { value, leaseId = 0 } = operation;
      const entry = {
        key,
        value,
        createRevision: before?.createRevision ?? modRevision,
        modRevision,
        leaseId,
      };
      versions.push({ modRevision, entry });
      events.push({ kind: 'put', entry });
    }
    if (events.length === 0) return;
    this.#revision = modRevision;
    for (const { prefix, listener } of [...this.#watches]) {
      const matching = events.filter((event) => keyOf(event).startsWith(prefix));
      if (matching.length > 0) listener.onEvents(matching);
    }
  }

  #eventsAfter(prefix: string, afterRevision: number): DirectoryEvent[] {
    const events: DirectoryEvent[] = [];
    for (const [key, versions] of this.#versions) {
      if (!key.startsWith(prefix)) continue;
      for (const { modRevision, entry } of versions) {
        if (modRevision <= afterRevision) continue;
        events.push(entry === null ? { kind: 'delete', key, modRevision } : { kind: 'put', entry });
      }
    }
    return events.sort((a, b) => revisionOf(a) - revisionOf(b));
  }

  #expire(id: number): void {
    const lease = this.#leases.get(id);
    if (lease !== undefined && lease.expiresMs <= this.#clock.nowMs()) this.loseLease(id);
  }
}

function keyOf(event: DirectoryEvent): string {
  return event.kind === 'put' ? event.entry.key : event.key;
}

function revisionOf(event: DirectoryEvent): number {
  return event.kind === 'put' ? event.entry.modRevision : event.modRevision;
}

function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
