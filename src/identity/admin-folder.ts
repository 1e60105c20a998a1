/**
 * The folder of the admins' socket (H1), in the data directory. A process that may enter it may command the shard, so it belongs to the
 * shard's own user and has mode 0700, whatever the mode of the data directory is.
 */
import { chmodSync, closeSync, existsSync, lstatSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { attempting, DataDirectoryUnusableError } from './errors.ts';

const FOLDER = 'admin';
const SOCKET = 'socket';
const OWNER_ONLY = 0o700;
/** Bytes of sockaddr_un.sun_path less the closing zero: 108 on Linux, 104 elsewhere. */
const SOCKET_PATH_BYTES_MAX = 103;

export class AdminFolder {
  readonly path: string;
  readonly #fd: number;

  /** For the shard, which holds the lock of the data directory: creates the folder, and removes the socket of an earlier process. */
  static open(dataDirectory: string): AdminFolder {
    const path = join(resolve(dataDirectory), FOLDER);
    attempting(path, 'create the folder of the admin socket', () => {
      if (!existsSync(path)) mkdirSync(path, OWNER_ONLY);
      checkOwner(path);
      chmodSync(path, OWNER_ONLY); // the umask, or a person, may have changed it
      rmSync(join(path, SOCKET), { force: true });
    });
    return AdminFolder.#opened(path);
  }

  /** For a client. Throws DataDirectoryUnusableError if there is no such folder. */
  static find(dataDirectory: string): AdminFolder {
    return AdminFolder.#opened(join(resolve(dataDirectory), FOLDER));
  }

  static #opened(path: string): AdminFolder {
    return new AdminFolder(
      path,
      attempting(path, 'open the folder of the admin socket', () => openSync(path, 'r')),
    );
  }

  private constructor(path: string, fd: number) {
    this.path = path;
    this.#fd = fd;
  }

  get hasSocket(): boolean {
    return existsSync(join(this.path, SOCKET));
  }

  /** A path through /proc/self/fd is short however deep the folder lies. Valid until `close`. */
  get socketPath(): string {
    const direct = join(this.path, SOCKET);
    if (Buffer.byteLength(direct) <= SOCKET_PATH_BYTES_MAX) return direct;
    const viaDescriptor = `/proc/self/fd/${this.#fd}`;
    if (existsSync(viaDescriptor)) return `${viaDescriptor}/${SOCKET}`;
    throw new DataDirectoryUnusableError(
      this.path,
      'make the admin socket',
      `its path is too long for a socket without /proc (${SOCKET_PATH_BYTES_MAX} bytes)`,
    );
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** A folder, and no symbolic link to one, that belongs to this user. */
function checkOwner(path: string): void {
  const stat = lstatSync(path);
  const isOurs = process.getuid === undefined || stat.uid === process.getuid();
  if (stat.isDirectory() && isOurs) return;
  const why = stat.isDirectory() ? `it belongs to user ${stat.uid}` : 'it is not a directory';
  throw new DataDirectoryUnusableError(path, 'trust the folder of the admin socket', why);
}
