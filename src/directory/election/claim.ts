/**
 * One transaction that puts `active`. If its answer is lost, the transaction has perhaps happened, and reading `active` tells:
 * lease and instance in it are of this attempt or not. A transaction that is executed still later finds its lease revoked or
 * expired, or its comparisons broken.
 */
import { isUnavailable } from '../errors.ts';
import type { Comparison, DirectoryEntry, Lease, Operation, Position } from '../port.ts';
import type { ReplicaOptions } from './options.ts';
import { readActive, writeRecord } from './records.ts';

export interface ClaimRequest {
  readonly lease: Lease;
  readonly epoch: number;
  /** Besides: `active` is absent. */
  readonly when: Comparison;
  /** Besides: put `active`. */
  readonly change: readonly Operation[];
}

export type ClaimOutcome =
  | { readonly kind: 'won'; readonly createRevision: number; readonly position: Position }
  | { readonly kind: 'lost'; readonly active: DirectoryEntry | null; readonly position: Position };

/** Rejects if the directory does not answer, not even the read: then the outcome stays unknown. */
export async function claim(options: ReplicaOptions, request: ClaimRequest): Promise<ClaimOutcome> {
  const { directory, keys, shard } = options;
  const { lease, epoch, when, change } = request;
  const key = keys.active(shard);
  const value = activeValue(options, epoch);
  try {
    const { succeeded, read, position } = await directory.transact({
      when: [{ kind: 'absent', key }, when],
      change: [{ kind: 'put', key, value, leaseId: lease.id }, ...change],
      elseRead: [key],
    });
    if (succeeded) return { kind: 'won', createRevision: position.revision, position };
    return outcomeOf(options, lease, read[0] ?? null, position);
  } catch (error) {
    if (!isUnavailable(error) || !error.mayHaveHappened) throw error;
    const { entry, position } = await directory.get(key);
    return outcomeOf(options, lease, entry, position);
  }
}

/** The entry of this process with this epoch. */
export function activeValue({ replica, instance, addresses }: ReplicaOptions, epoch: number): string {
  return writeRecord({ replica, instance, epoch, addresses });
}

/** Whether an entry is the one that this process put with this lease. */
export function isOwn({ instance }: ReplicaOptions, leaseId: number, entry: DirectoryEntry | null): boolean {
  return entry !== null && entry.leaseId === leaseId && readActive(entry.value)?.instance === instance;
}

function outcomeOf(
  options: ReplicaOptions,
  lease: Lease,
  entry: DirectoryEntry | null,
  position: Position,
): ClaimOutcome {
  // An earlier attempt with this lease, whose answer was lost, counts too.
  if (entry !== null && isOwn(options, lease.id, entry)) {
    return { kind: 'won', createRevision: entry.createRevision, position };
  }
  return { kind: 'lost', active: entry, position };
}

/** The key has what was read. */
export function unchanged(key: string, entry: DirectoryEntry | null): Comparison {
  // The value and not its revision: a restored directory gives revisions again.
  return entry === null ? { kind: 'absent', key } : { kind: 'equals', key, value: entry.value };
}
