/**
 * The first step of a start. I1: one running process per data directory, and an epoch higher than any before it. A restart
 * needs nothing else from the directory; the shard reads the fleet back from the providers.
 */
import { assert } from '../base/assert.ts';
import { AdminFolder } from './admin-folder.ts';
import { readControlsFile, writeControlsFile } from './controls-file.ts';
import { OpenDirectory } from './directory.ts';
import { DirectoryLock } from './directory-lock.ts';
import { advanceEpoch } from './epoch-file.ts';
import { readUsageFile, writeUsageFile } from './usage-file.ts';

export interface DataDirectoryOptions {
  /** Created for its owner alone if it is missing. */
  readonly path: string;
  /**
   * `--min-epoch N`: this start's epoch is at least N, and a corrupt epoch file is replaced. For one start, after the file
   * was lost: if the flag stayed in place, a second loss would repeat N.
   */
  readonly minEpoch?: number;
}

export class DataDirectory {
  readonly path: string;
  /** On the disk already; higher than that of every earlier start. */
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

  /** H2: the controls as the last process stored them; null if it stored none. Throws ControlsFileCorruptError. */
  readControls(): string | null {
    return readControlsFile(this.#directory);
  }

  /** Returns once they are on the disk. Throws DataDirectoryUnusableError. */
  writeControls(text: string): void {
    writeControlsFile(this.#directory, text);
  }

  /** H9: what the disruption budgets used; null if none was stored. Throws UsageFileCorruptError. */
  readUsage(): string | null {
    return readUsageFile(this.#directory);
  }

  /** Returns once it is on the disk. Throws DataDirectoryUnusableError. */
  writeUsage(text: string): void {
    writeUsageFile(this.#directory, text);
  }

  /** H1: the folder of the admins' socket, for the owner alone. Throws DataDirectoryUnusableError. */
  openAdminFolder(): AdminFolder {
    return AdminFolder.open(this.path);
  }

  /** Releases the lock. A process that ends without this call releases it too. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#lock.release();
    this.#directory.close();
  }
}

/**
 * Rejects with DataDirectoryHeldError, DataDirectoryUnusableError or EpochCorruptError, all of them
 * 'refuse-to-start', and then holds nothing.
 */
export async function openDataDirectory({
  path,
  minEpoch = 0,
}: DataDirectoryOptions): Promise<DataDirectory> {
  assert(Number.isSafeInteger(minEpoch) && minEpoch >= 0, `${minEpoch} is not an epoch to start from`);
  return locked(
    path,
    (directory, lock) => new DataDirectory(directory, lock, advanceEpoch(directory, minEpoch)),
  );
}

/** Locks the directory and hands it over. If that fails, nothing stays open. */
export async function locked<T>(
  path: string,
  use: (directory: OpenDirectory, lock: DirectoryLock) => T,
): Promise<T> {
  const directory = OpenDirectory.open(path);
  let lock: DirectoryLock | null = null;
  try {
    lock = await DirectoryLock.take(directory);
    return use(directory, lock);
  } catch (error) {
    await lock?.release();
    directory.close();
    throw error;
  }
}
