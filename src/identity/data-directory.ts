/**
 * The first thing a shard does (rule I1): make sure that it is alone, then learn which life this is. Nothing else
 * is kept in the directory that a restart would need; the fleet is read back from the providers.
 */
import { assert } from '../base/assert.ts';
import { OpenDirectory } from './directory.ts';
import { DirectoryLock } from './directory-lock.ts';
import { advanceEpoch } from './epoch-file.ts';

export interface DataDirectoryOptions {
  /** Made, for its owner alone, if it is missing. */
  readonly path: string;
  /**
   * `--min-epoch N`: the epoch of this life is at least this, and an epoch file that cannot be read does not matter.
   * For one start, after the file was lost: with a flag that is left in place a second loss would repeat N.
   */
  readonly minEpoch?: number;
}

export class DataDirectory {
  readonly path: string;
  /** On the disk already; higher than that of every earlier life. */
  readonly epoch: number;
  readonly #directory: OpenDirectory;
  readonly #lock: DirectoryLock;
  #isClosed = false;

  /** By `openDataDirectory` only. */
  constructor(directory: OpenDirectory, lock: DirectoryLock, epoch: number) {
    this.path = directory.path;
    this.epoch = epoch;
    this.#directory = directory;
    this.#lock = lock;
  }

  /** Lets the next process in. A process that ends without it lets the next one in as well. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#lock.release();
    this.#directory.close();
  }
}

/**
 * Rejects with DataDirectoryHeldError, DataDirectoryUnusableError or EpochCorruptError, all of them
 * 'refuse-to-start'; then nothing is held.
 */
export async function openDataDirectory(options: DataDirectoryOptions): Promise<DataDirectory> {
  const { path, minEpoch = 0 } = options;
  assert(Number.isSafeInteger(minEpoch) && minEpoch >= 0, `${minEpoch} is not an epoch to start from`);
  const directory = OpenDirectory.open(path);
  let lock: DirectoryLock | null = null;
  try {
    lock = await DirectoryLock.take(directory);
    return new DataDirectory(directory, lock, advanceEpoch(directory, minEpoch));
  } catch (error) {
    await lock?.release();
    directory.close();
    throw error;
  }
}
