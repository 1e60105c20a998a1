/** The values of `controls`, `replicas/<replica>` and `partitions/<provider>` in the directory. */
import { recordFields, writeRecord } from '../directory/election/records.ts';

/** C4: what every replica of the shard must obey, whichever is active. */
export interface Controls {
  readonly isPaused: boolean;
  readonly isDryRun: boolean;
}

/** A running replica. */
export interface ReplicaRecord {
  readonly replica: string;
  readonly instance: string;
  readonly addresses: readonly string[];
  readonly role: 'standby' | 'active';
  readonly isReady: boolean;
  readonly version: string;
  /** How old the inventory was when the record was written. */
  readonly lagSeconds: number;
}

export interface PartitionRecord {
  readonly shard: string;
  /** Of the provider, for people. */
  readonly address: string;
}

export { writeRecord };

/** What cannot be read counts as on: a lost kill switch would be worse than a needless one. */
export function readControls(value: string): Controls {
  const { isPaused, isDryRun } = recordFields(value);
  return { isPaused: isPaused !== false, isDryRun: isDryRun !== false };
}

export function stricterOf(a: Controls, b: Controls): Controls {
  return { isPaused: a.isPaused || b.isPaused, isDryRun: a.isDryRun || b.isDryRun };
}

/** null if it is not what a replica writes. */
export function readReplica(value: string): ReplicaRecord | null {
  const { replica, instance, addresses, role, isReady, version, lagSeconds } = recordFields(value);
  if (typeof replica !== 'string' || typeof instance !== 'string') return null;
  return {
    replica,
    instance,
    addresses: Array.isArray(addresses) ? addresses.filter((address) => typeof address === 'string') : [],
    role: role === 'active' ? 'active' : 'standby',
    isReady: isReady === true,
    version: typeof version === 'string' ? version : '',
    lagSeconds: typeof lagSeconds === 'number' ? lagSeconds : 0,
  };
}

/** '' if it is not what a shard writes. */
export function readPartitionShard(value: string): string {
  const { shard } = recordFields(value);
  return typeof shard === 'string' ? shard : '';
}
