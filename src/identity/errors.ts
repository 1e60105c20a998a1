/** Why a shard does not start on its data directory. Each error needs a person, and says what that person can do. */
import { ShardError } from '../base/errors.ts';

export class DataDirectoryHeldError extends ShardError {
  readonly code = 'data_directory_held';
  readonly next = 'refuse-to-start';

  /** `holder` is what the other process says about itself; '' if it does not answer now. */
  constructor(path: string, holder: string) {
    super(
      `Another running process${holder === '' ? '' : ` (${holder})`} holds the data directory ${path}. ` +
        'Two shards with one identity would undo each other’s work, so this one did not start. ' +
        'Stop the other process first, or give this shard its own directory with --data-dir.',
    );
  }
}

export class DataDirectoryUnusableError extends ShardError {
  readonly code = 'data_directory_unusable';
  readonly next = 'refuse-to-start';

  constructor(path: string, attempt: string, why: string) {
    super(
      `The shard cannot use the data directory ${path}: it could not ${attempt}, because ${why}. ` +
        'It keeps its epoch there, so it did not start. ' +
        'Remove the cause, or choose another directory with --data-dir.',
    );
  }
}

export class EpochCorruptError extends ShardError {
  readonly code = 'epoch_corrupt';
  readonly next = 'refuse-to-start';

  constructor(path: string, why: string) {
    super(
      `The shard cannot trust the epoch file ${path}: ${why}. Providers would refuse a repeated epoch or, ` +
        'worse, accept it, so the shard did not start. Find the highest epoch that this shard has used ' +
        '(in its log or metrics) and start once with --min-epoch N, where N is higher.',
    );
  }
}

export class ControlsFileCorruptError extends ShardError {
  readonly code = 'controls_file_corrupt';
  readonly next = 'refuse-to-start';

  constructor(path: string, why: string) {
    super(
      `The shard cannot trust the file of its controls ${path}: ${why}. A pause may have been in force, so the shard did not ` +
        'start. Look at the file, then delete it, start the shard and give the commands again.',
    );
  }
}

/** The shard starts all the same. */
export class UsageFileCorruptError extends ShardError {
  readonly code = 'usage_file_corrupt';
  readonly next = 'reject-input';

  constructor(path: string, why: string) {
    super(`The shard cannot trust ${path}: ${why}.`);
  }
}

const WHY_BY_CODE: Readonly<Record<string, string>> = {
  EACCES: 'this user is not allowed to',
  EPERM: 'this user is not allowed to, or the file system does not support it',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: "this user's disk quota is used up",
  ENOTDIR: 'a part of the path is not a directory',
  EEXIST: 'something else has that name',
  EISDIR: 'a directory has that name',
  ENOENT: 'a part of the path does not exist',
  ENAMETOOLONG: 'the path is too long',
  ELOOP: 'the path has too many symbolic links',
  EMFILE: 'this process has reached its limit of open files',
  ENFILE: 'this machine has reached its limit of open files',
  EIO: 'the disk has failed',
  ENOTSUP: 'the file system has no sockets or no hard links; use a local one',
  EOPNOTSUPP: 'the file system has no sockets or no hard links; use a local one',
};

/** A failure of the operating system, as a ShardError that names the step that failed. */
export function unusable(path: string, attempt: string, error: unknown): DataDirectoryUnusableError {
  const { code = '', message = '' } = error as NodeJS.ErrnoException;
  const why = WHY_BY_CODE[code];
  return new DataDirectoryUnusableError(path, attempt, why === undefined ? message : `${why} (${code})`);
}

/** Runs a step, and names it in the error if it fails. */
export function attempting<T>(path: string, attempt: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw error instanceof ShardError ? error : unusable(path, attempt, error);
  }
}
