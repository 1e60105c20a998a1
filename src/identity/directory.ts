/**
 * The data directory, held open. It is created for its owner alone if it is missing. A socket's path may have 107
 * bytes at most; a path through /proc/self/fd is short however deep the directory lies.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { attempting, DataDirectoryUnusableError } from './errors.ts';

const OWNER_ONLY = 0o700;
const OWNER_FILE = 0o600;
const WRITABLE_BY_OTHERS = 0o002;

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
      if ((mode & WRITABLE_BY_OTHERS) !== 0) {
        throw new DataDirectoryUnusableError(
          path,
          'trust it',
          `every user may write to it (mode ${(mode & 0o7777).toString(8)}); give the shard a directory with mode 700`,
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

  /** Throws DataDirectoryUnusableError if every path to it is too long. */
  socketPath(name: string): string {
    const direct = this.file(name);
    const viaDescriptor = `/proc/self/fd/${this.#fd}`;
    if (existsSync(viaDescriptor)) return `${viaDescriptor}/${name}`;
    // The system would cut a longer path silently, and two directories could share one lock.
    if (Buffer.byteLength(direct) <= SOCKET_PATH_BYTES_MAX) return direct;
    throw new DataDirectoryUnusableError(
      this.path,
      'lock it',
      `its path is too long for a socket without /proc (${SOCKET_PATH_BYTES_MAX} bytes with the file name)`,
    );
  }

  /** Makes renamed files in it last over a power failure. */
  sync(): void {
    fsyncSync(this.#fd);
  }

  /** A crash or a power failure at any point leaves either the old file or the new one. Throws the system's error. */
  replaceFile(name: string, content: string): void {
    const temporary = this.file(`${name}.tmp`);
    const fd = openSync(temporary, 'w', OWNER_FILE);
    try {
      writeFileSync(fd, content);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, this.file(name));
    this.sync(); // until now a power failure could undo the rename
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/**
 * Creates missing parents too. If a power failure removed a directory, the epoch would go with it, so each directory is
 * synced into its parent. (Node's own recursive mkdir never returns where it cannot create one, as in /proc.)
 */
function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  makeDirectory(parent);
  try {
    mkdirSync(path, OWNER_ONLY);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error; // another process was faster
  }
  const fd = openSync(parent, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
