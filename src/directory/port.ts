/**
 * The directory: a small, strongly consistent store that the replicas of all shards share, with leases and watches. All
 * agreement between processes is its agreement. Two implementations pass one suite of tests: `etcd` for production, and
 * `memory` for tests and the simulator.
 *
 * Every write has a *revision*, one number for the whole store that only grows. A call that fails rejects with one of the errors
 * in errors.ts, and ends by its deadline.
 */

export interface DirectoryEntry {
  readonly key: string;
  readonly value: string;
  /** The revision that put the key first since it was last absent. Another one means another key of the same name. */
  readonly createRevision: number;
  readonly modRevision: number;
  /** 0: the key stays until it is deleted. */
  readonly leaseId: number;
}

/** Where the store stood when it answered. It tells a store that went back in time from one that did not (lineage.ts). */
export interface Position {
  readonly clusterId: string;
  readonly revision: number;
}

export interface GetAnswer {
  readonly entry: DirectoryEntry | null;
  readonly position: Position;
}

export interface RangeAnswer {
  /** In the order of their keys' bytes. */
  readonly entries: readonly DirectoryEntry[];
  /** All entries are of this one revision, however many pages were read. */
  readonly position: Position;
}

export type Comparison =
  | { readonly kind: 'absent'; readonly key: string }
  | { readonly kind: 'created-at'; readonly key: string; readonly createRevision: number }
  | { readonly kind: 'modified-at'; readonly key: string; readonly modRevision: number }
  | { readonly kind: 'equals'; readonly key: string; readonly value: string };

export type Operation =
  | { readonly kind: 'put'; readonly key: string; readonly value: string; readonly leaseId?: number }
  | { readonly kind: 'delete'; readonly key: string };

/** All operations at one revision if every comparison holds, else none. */
export interface Transaction {
  readonly when: readonly Comparison[];
  readonly change: readonly Operation[];
  /** Keys that are read, at the same revision, if a comparison does not hold. */
  readonly elseRead?: readonly string[];
}

export interface TransactionAnswer {
  readonly succeeded: boolean;
  /** Of `elseRead`, in its order; empty if the transaction succeeded. */
  readonly read: readonly (DirectoryEntry | null)[];
  readonly position: Position;
}

export interface Lease {
  readonly id: number;
  /** What the store granted, at least what was asked for. */
  readonly ttlMs: number;
}

export type DirectoryEvent =
  | { readonly kind: 'put'; readonly entry: DirectoryEntry }
  | { readonly kind: 'delete'; readonly key: string; readonly modRevision: number };

/** Why events may be missing: the watch is over, and only a new reading shows what is there. */
export type WatchGap = 'compacted' | 'disconnected' | 'silent' | 'too-large';

export interface WatchListener {
  /** All events of one revision or of several whole ones. */
  onEvents(events: readonly DirectoryEvent[]): void;
  /** Once, and nothing after it. */
  onGap(gap: WatchGap, detail: string): void;
}

export interface Watch {
  /** The listener is not called any more. */
  close(): void;
}

export interface Directory {
  /** Linearizable: it sees every write that was answered before this call. */
  get(key: string): Promise<GetAnswer>;
  /** All keys that begin with the prefix. Linearizable, and paged at one revision. */
  range(prefix: string): Promise<RangeAnswer>;
  /** Sent once. If its answer is lost (`mayHaveHappened`), read before you decide. */
  transact(transaction: Transaction): Promise<TransactionAnswer>;
  /** Events of keys that begin with the prefix, after the revision. */
  watch(prefix: string, afterRevision: number, listener: WatchListener): Watch;
  grantLease(ttlMs: number): Promise<Lease>;
  /** Resolves with the time to live from the moment at which the store handled the request. Rejects with LeaseNotFoundError. */
  keepAlive(leaseId: number): Promise<{ readonly ttlMs: number }>;
  /** Deletes the lease with its keys. A lease that is gone already is no failure. */
  revokeLease(leaseId: number): Promise<void>;
  /** Ends all watches and refuses further calls. */
  close(): void;
}
