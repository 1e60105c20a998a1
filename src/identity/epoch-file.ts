/**
 * The epoch: a number that grows with every start of this shard. It is part of every fencing token, so it must never
 * repeat or go back, not even after a power failure. The file is one line that ends with a digest of the rest, so the
 * shard detects a cut or edited file instead of reading a smaller number.
 *
 *   flotilla-epoch 7 2f6c0e8b1d5a9374
 */
import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { assert } from '../base/assert.ts';
import type { OpenDirectory } from './directory.ts';
import { attempting, EpochCorruptError } from './errors.ts';

const FILE = 'epoch';

/** The longest valid line has 49 bytes; a larger file is refused unread. */
const FILE_BYTES_MAX = 128;
const LINE = /^flotilla-epoch ([1-9][0-9]{0,15}) ([0-9a-f]{16})\n$/;

/**
 * Returns the epoch of this start once it is on the disk: one more than the last, and at least `minEpoch`. Only the
 * holder of the directory's lock may call it. Throws DataDirectoryUnusableError, and EpochCorruptError unless `minEpoch`
 * replaces the file.
 */
export function advanceEpoch(directory: OpenDirectory, minEpoch: number): number {
  const last = readEpoch(directory, minEpoch);
  const epoch = Math.max(last + 1, minEpoch);
  if (!Number.isSafeInteger(epoch)) {
    throw new EpochCorruptError(directory.file(FILE), 'its number is too large to add one to');
  }
  writeEpoch(directory, epoch);
  return epoch;
}

/** 0 if there is no file, or if the file is corrupt and `minEpoch` replaces it. */
export function readEpoch(directory: OpenDirectory, minEpoch: number): number {
  const text = attempting(directory.path, 'read its epoch file', () => readIfThere(directory.file(FILE)));
  if (text === null) return 0;
  const [, digits = '', digest = ''] = LINE.exec(text) ?? [];
  const epoch = Number(digits);
  if (digits !== '' && Number.isSafeInteger(epoch) && digest === digestOf(digits)) return epoch;
  if (minEpoch > 0) return 0;
  const why = text === '' ? 'it is empty' : 'its content is not what a shard wrote';
  throw new EpochCorruptError(directory.file(FILE), why);
}

/** null if there is no such file. */
export function readIfThere(path: string): string | null {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    return fstatSync(fd).size > FILE_BYTES_MAX ? 'too long to be ours' : readFileSync(fd, 'latin1');
  } finally {
    closeSync(fd);
  }
}

/** A crash at any point leaves either the old file or the new one. */
export function writeEpoch(directory: OpenDirectory, epoch: number): void {
  assert(Number.isSafeInteger(epoch) && epoch > 0, `${epoch} is not an epoch`);
  const line = `flotilla-epoch ${epoch} ${digestOf(String(epoch))}\n`;
  attempting(directory.path, `write epoch ${epoch}`, () => directory.replaceFile(FILE, line));
}

function digestOf(digits: string): string {
  return createHash('sha256').update(`flotilla-epoch ${digits}`).digest('hex').slice(0, 16);
}
