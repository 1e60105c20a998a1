/**
 * Each provider belongs to one shard of the fleet. The first shard that starts with a provider puts its name into `partitions/`; another
 * shard with the same provider does not start. Otherwise both would give the same machines away.
 */
import { ShardError } from '../base/errors.ts';
import { isUnavailable } from '../directory/errors.ts';
import type { FleetKeys } from '../directory/keys.ts';
import type { Directory } from '../directory/port.ts';
import { readShardOf, writeRecord } from './records.ts';

export interface PartitionProvider {
  readonly name: string;
  readonly address: string;
}

export class PartitionTakenError extends ShardError {
  readonly code = 'partition_taken';
  readonly next = 'refuse-to-start';

  constructor(provider: string, owner: string, shard: string, key: string) {
    super(
      `Provider ${provider} belongs to shard ${owner === '' ? '(unreadable)' : owner}: the directory says so at ${key}. ` +
        `Two shards with one provider would give its machines away twice, so shard ${shard} did not start. Remove the ` +
        'provider from one of the two shards, give it another name, or delete the key if it does not belong to the other ' +
        'shard any more.',
    );
  }
}

/** Rejects with PartitionTakenError, or with the directory's errors. It may be repeated. */
export async function claimPartitions(
  directory: Directory,
  keys: FleetKeys,
  shard: string,
  providers: readonly PartitionProvider[],
): Promise<void> {
  for (const { name, address } of providers) {
    const key = keys.partition(name);
    const owner = await ownerOf(directory, key, writeRecord({ shard, address }));
    if (owner !== null && owner !== shard) throw new PartitionTakenError(name, owner, shard, key);
  }
}

/** Puts the value if there is none. null: it was put. */
async function ownerOf(directory: Directory, key: string, value: string): Promise<string | null> {
  try {
    const { succeeded, read } = await directory.transact({
      when: [{ kind: 'absent', key }],
      change: [{ kind: 'put', key, value }],
      elseRead: [key],
    });
    return succeeded || read[0] == null ? null : readShardOf(read[0].value);
  } catch (error) {
    if (!isUnavailable(error) || !error.mayHaveHappened) throw error;
    const { entry } = await directory.get(key);
    if (entry === null) throw error;
    return readShardOf(entry.value);
  }
}
