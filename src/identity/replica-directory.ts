/**
 * The data directory of a replica, whose epochs come from the shared directory of its fleet. It remembers the highest epoch that
 * the replica has seen, in the epoch file of I1, so that an epoch never repeats even if the fleet's directory forgets. It also remembers
 * how far that directory had come, to notice one that was restored:
 *
 *   position   `flotilla-position CLUSTER REVISION`; a line that cannot be read counts as none
 */
import type { Stopwatch } from '../base/clock.ts';
import { AdminFolder } from './admin-folder.ts';
import { readControlsFile, writeControlsFile } from './controls-file.ts';
import { locked } from './data-directory.ts';
import type { OpenDirectory } from './directory.ts';
import type { DirectoryLock } from './directory-lock.ts';
import { readEpoch, readIfThere, writeEpoch } from './epoch-file.ts';
import { attempting } from './errors.ts';

export interface SeenPosition {
  readonly clusterId: string;
  readonly revision: number;
}

const POSITION_FILE = 'position';
const POSITION_LINE = /^flotilla-position ([0-9a-z-]{1,32}) ([0-9]{1,16})\n$/;

/** The position comes with every answer, and each write waits for the disk. A lost minute only makes a restore harder to notice. */
const POSITION_WRITE_MS = 60_000;

export class ReplicaDirectory {
  readonly path: string;
  readonly #directory: OpenDirectory;
  readonly #lock: DirectoryLock;
  readonly #stopwatch: Stopwatch;
  #epoch: number;
  #position: SeenPosition | null;
  #writtenMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  /** By `openReplicaDirectory` only. */
  constructor(directory: OpenDirectory, lock: DirectoryLock, stopwatch: Stopwatch, epoch: number) {
    this.path = directory.path;
    this.#directory = directory;
    this.#lock = lock;
    this.#stopwatch = stopwatch;
    this.#epoch = epoch;
    this.#position = readPosition(directory);
  }

  /** The highest epoch seen. */
  get epoch(): number {
    return this.#epoch;
  }

  get position(): SeenPosition | null {
    return this.#position;
  }

  /** Returns once it is on the disk; lower ones change nothing. Throws DataDirectoryUnusableError. */
  raiseEpoch(epoch: number): void {
    if (epoch <= this.#epoch) return;
    writeEpoch(this.#directory, epoch);
    this.#epoch = epoch;
  }

  /** Writes a change of the cluster at once, and other changes once a minute. A write that fails is tried again next time. */
  notePosition(position: SeenPosition): void {
    const isOther = position.clusterId !== this.#position?.clusterId;
    this.#position = position;
    const nowMs = this.#stopwatch();
    if (!isOther && nowMs - this.#writtenMs < POSITION_WRITE_MS) return;
    try {
      this.#directory.replaceFile(
        POSITION_FILE,
        `flotilla-position ${position.clusterId} ${position.revision}\n`,
      );
      this.#writtenMs = nowMs;
    } catch {
      // A full disk must not keep a replica from being confirmed.
      this.#writtenMs = Number.NEGATIVE_INFINITY;
    }
  }

  /** H2, H1: as in a data directory without replicas. */
  readControls(): string | null {
    return readControlsFile(this.#directory);
  }

  writeControls(text: string): void {
    writeControlsFile(this.#directory, text);
  }

  openAdminFolder(): AdminFolder {
    return AdminFolder.open(this.path);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#lock.release();
    this.#directory.close();
  }
}

/** Rejects as `openDataDirectory` does. `minEpoch`: as there, and the next epoch is higher than it. */
export function openReplicaDirectory(
  path: string,
  stopwatch: Stopwatch,
  minEpoch = 0,
): Promise<ReplicaDirectory> {
  return locked(
    path,
    (directory, lock) =>
      new ReplicaDirectory(directory, lock, stopwatch, Math.max(readEpoch(directory, minEpoch), minEpoch)),
  );
}

function readPosition(directory: OpenDirectory): SeenPosition | null {
  const text = attempting(directory.path, 'read the position of the directory', () =>
    readIfThere(directory.file(POSITION_FILE)),
  );
  const [, clusterId, revision] = POSITION_LINE.exec(text ?? '') ?? [];
  return clusterId === undefined ? null : { clusterId, revision: Number(revision) };
}
