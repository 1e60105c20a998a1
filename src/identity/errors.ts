/** Why a shard does not start on its data directory. Each needs a person; each says what that person can do. */
import { ShardError } from '../base/errors.ts';

export class DataDirectoryHeldError extends ShardError {
  readonly code = 'data_directory_held';
  readonly next = 'refuse-to-start';

  /** `holder` is what the living process says of itself; '' if it does not answer at the moment. */
  constructor(path: string, holder: string) {
    super(
      `The data directory ${path} belongs to a living process${holder === '' ? '' : ` (${holder})`}. ` +
        'Two shards with one identity would undo each other, so this one was not started. ' +
        'End the other one first, or give this one a directory of its own.',
    );
  }
}

export class DataDirectoryUnusableError extends ShardError {
  readonly code = 'data_directory_unusable';
  readonly next = 'refuse-to-start';

  constructor(path: string, attempt: string, why: string) {
    super(
      `The data directory ${path} cannot be used: could not ${attempt}, because ${why}. ` +
        'Without it no epoch can be kept, so nothing was started.',
    );
  }
}

export class EpochCorruptError extends ShardError {
  readonly code = 'epoch_corrupt';
  readonly next = 'refuse-to-start';

  constructor(path: string, why: string) {
    super(
      `The epoch file ${path} cannot be trusted: ${why}. An epoch that was used before would be refused by ` +
        'providers, or worse, accepted, so nothing was started. Find the highest epoch that this shard has used ' +
        '(its log, its metrics) and start once with --min-epoch N, where N is higher.',
    );
  }
}

const WHY_BY_CODE: Readonly<Record<string, string>> = {
  EACCES: 'this user has no right to',
  EPERM: 'this user has no right to, or the file system does not support it',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: "this user's disk quota is used up",
  ENOTDIR: 'a part of the path is not a directory',
  EEXIST: 'there is something else of that name',
  EISDIR: 'there is a directory of that name',
  ENOENT: 'a part of the path does not exist',
  ENAMETOOLONG: 'the path is too long',
  ELOOP: 'the path has too many symbolic links',
  EMFILE: 'this process may not open more files',
  ENFILE: 'this machine has no more files to open',
  EIO: 'the disk has failed',
  ENOTSUP: 'the file system has no sockets or no hard links; use a local one',
  EOPNOTSUPP: 'the file system has no sockets or no hard links; use a local one',
};

/** Any failure of the operating system, as a ShardError that names what was tried. */
export function unusable(path: string, attempt: string, error: unknown): DataDirectoryUnusableError {
  const { code = '', message = '' } = error as NodeJS.ErrnoException;
  const why = WHY_BY_CODE[code];
  return new DataDirectoryUnusableError(path, attempt, why === undefined ? message : `${why} (${code})`);
}

/** Runs a step and names it if it fails. */
export function attempting<T>(path: string, attempt: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw error instanceof ShardError ? error : unusable(path, attempt, error);
  }
}
