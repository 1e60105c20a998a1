/** The values of `active` and `epoch`: JSON with a version, so that replicas of two releases can read each other. */
import { ShardError } from '../../base/errors.ts';

const VERSION = 1;
/** A record has four short fields and a few addresses. A longer value is not parsed: JSON takes many times its length in memory. */
const RECORD_CHARS_MAX = 8_192;

/** The active replica of a shard. */
export interface ActiveRecord {
  /** The name of the replica, for people. */
  readonly replica: string;
  /** Each process draws its own: a replica that restarted is another one. */
  readonly instance: string;
  readonly epoch: number;
  readonly addresses: readonly string[];
}

/** The highest epoch that was given, and to whom. */
export interface EpochRecord {
  readonly epoch: number;
  readonly instance: string;
  /** The longest lease that this instance was confirmed by. */
  readonly ttlMs: number;
  /** The instance gave the epoch up itself, and was not confirmed any more when it wrote this. */
  readonly isReleased: boolean;
}

export class RecordCorruptError extends ShardError {
  readonly code = 'directory_record_corrupt';
  readonly next = 'retry-next-cycle';

  constructor(key: string) {
    super(
      `The directory has a value that no replica wrote, at ${key}. Epochs must never repeat, so this replica does not ` +
        'become active. Restore the value, or delete the key: the next epoch is then at least the Unix time in seconds.',
    );
  }
}

export function writeRecord(record: object): string {
  return JSON.stringify({ version: VERSION, ...record });
}

/** null if it is not what a replica writes. A newer version may have more fields. */
export function readActive(value: string): ActiveRecord | null {
  const fields = recordFields(value);
  const { replica, instance, epoch, addresses } = fields;
  if (typeof replica !== 'string' || typeof instance !== 'string' || !isEpoch(epoch)) return null;
  const list = Array.isArray(addresses) ? addresses.filter((address) => typeof address === 'string') : [];
  return { replica, instance, epoch, addresses: list };
}

/** Throws RecordCorruptError. */
export function readEpoch(key: string, value: string): EpochRecord {
  const { epoch, instance, ttlMs, isReleased } = recordFields(value);
  if (!isEpoch(epoch) || typeof instance !== 'string' || typeof ttlMs !== 'number') {
    throw new RecordCorruptError(key);
  }
  return { epoch, instance, ttlMs, isReleased: isReleased === true };
}

/** None if the value is no JSON object, or too long to be a record. */
export function recordFields(value: string, charsMax = RECORD_CHARS_MAX): Record<string, unknown> {
  if (value.length > charsMax) return {};
  try {
    const parsed: unknown = JSON.parse(value);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function isEpoch(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}
