/**
 * The data directory as an open file: made if it is missing, for its owner alone, and held open so that sockets
 * inside can be named however deep it lies. A socket's path may have 107 bytes, but a path through
 * /proc/self/fd is short, wherever it leads.
 */
import { closeSync, existsSync, fstatSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { attempting, DataDirectoryUnusableError } from './errors.ts';

const OWNER_ONLY = 0o700;
const WRITABLE_BY_ANYBODY = 0o002;

/** Bytes of sockaddr_un.sun_path less the closing zero: 108 on Linux, 104 elsewhere. */
const SOCKET_PATH_BYTES_MAX = 103;

export class OpenDirectory {
  readonly path: string;
  readonly #fd: number;

  /** Throws DataDirectoryUnusableError. */
  static open(givenPath: string): OpenDirectory {
    const path = resolve(givenPath);
    attempting(path, 'create it', () => makeDirectory(path));
    const fd = attempting(path, 'open it', () => openSync(path, 'r'));
    try {
      const { mode } = attempting(path, 'look at it', () => fstatSync(fd));
      if ((mode & WRITABLE_BY_ANYBODY) !== 0) {
        throw new DataDirectoryUnusableError(
          path,
          'trust it',
          `everybody may write to it (mode ${(mode & 0o7777).toString(8)}); give the shard a directory with mode 700`,
        );
      }
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    return new OpenDirectory(path, fd);
  }

  private constructor(path: string, fd: number) {
    this.path = path;
    this.#fd = fd;
  }

  file(name: string): string {
    return join(this.path, name);
  }

  /** Throws DataDirectoryUnusableError if there is no path that is short enough. */
  socketPath(name: string): string {
    const direct = this.file(name);
    const viaDescriptor = `/proc/self/fd/${this.#fd}`;
    if (existsSync(viaDescriptor)) return `${viaDescriptor}/${name}`;
    // Longer paths would be cut without a word, and two directories could share one lock.
    if (Buffer.byteLength(direct) <= SOCKET_PATH_BYTES_MAX) return direct;
    throw new DataDirectoryUnusableError(
      this.path,
      'lock it',
      `its path is too long for a socket without /proc (${SOCKET_PATH_BYTES_MAX} bytes with the file name)`,
    );
  }

  /** Until then a rename inside may be undone by a power failure. */
  sync(): void {
    fsyncSync(this.#fd);
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/**
 * With the parents that are missing. A directory that a power failure takes away takes the epoch with it, so each is
 * synced into its parent. (Node's own recursive mkdir never returns where a directory cannot be made, as in /proc.)
 */
function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  makeDirectory(parent);
  try {
    mkdirSync(path, OWNER_ONLY);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error; // another starter was faster
  }
  const fd = openSync(parent, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
