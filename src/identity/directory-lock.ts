/**
 * One running process per data directory (docs/adr/0016). Lock files are numbered; each is a hard link to a
 * listening socket, and the highest number is the lock:
 *
 *   1. Connect to the highest lock. If its owner is alive, refuse to start.
 *   2. Listen at a name of our own, and link that name to the next number. A link is atomic: of two processes
 *      that link the same number one fails, and begins again.
 *   3. Read the directory again. If there is a higher number, step 1 saw an old lock: remove ours and begin again.
 *
 * A process never removes the highest lock, not even when it releases it (the closed socket refuses connections, which
 * is enough); its successor removes the lower ones. So the highest number never goes back, the process that made a
 * number has seen the owner of the one before it dead, and two owners never run at the same time.
 */
import { randomBytes } from 'node:crypto';
import { linkSync, readdirSync, rmSync } from 'node:fs';
import type { OpenDirectory } from './directory.ts';
import { attempting, DataDirectoryHeldError, DataDirectoryUnusableError, unusable } from './errors.ts';
import { askLiveness, LockSocket } from './lock-socket.ts';

const LOCK = /^lock\.([1-9][0-9]{0,14})$/;
const CLAIM = /^claim\.[0-9a-f]{16}$/;

/** An attempt fails only if another process won it; a thousand processes do not start at once. */
const ATTEMPT_COUNT_MAX = 1_000;

export class DirectoryLock {
  readonly #socket: LockSocket;

  /** Throws DataDirectoryHeldError or DataDirectoryUnusableError. */
  static async take(directory: OpenDirectory): Promise<DirectoryLock> {
    for (let attemptCount = 0; attemptCount < ATTEMPT_COUNT_MAX; attemptCount++) {
      const newest = newestLock(directory);
      if (newest > 0 && !(await isDead(directory, newest))) continue;
      const claim = `claim.${randomBytes(8).toString('hex')}`;
      const socket = await listenAt(directory, claim);
      let isOurs = false;
      try {
        isOurs = announce(directory, claim, newest + 1);
      } finally {
        if (!isOurs) await socket.close();
      }
      if (!isOurs) continue;
      await clearBelow(directory, newest + 1);
      return new DirectoryLock(socket);
    }
    throw new DataDirectoryUnusableError(
      directory.path,
      'lock it',
      'too many processes are trying to lock it at once',
    );
  }

  private constructor(socket: LockSocket) {
    this.#socket = socket;
  }

  release(): Promise<void> {
    return this.#socket.close();
  }
}

function namesIn(directory: OpenDirectory): string[] {
  return attempting(directory.path, 'read it', () => readdirSync(directory.path));
}

function newestLock(directory: OpenDirectory): number {
  let newest = 0;
  for (const name of namesIn(directory)) newest = Math.max(newest, Number(LOCK.exec(name)?.[1] ?? 0));
  return newest;
}

/** False: the lock has changed since it was read. Throws DataDirectoryHeldError if its owner is alive. */
async function isDead(directory: OpenDirectory, lock: number): Promise<boolean> {
  const liveness = await askLiveness(directory.socketPath(`lock.${lock}`)).catch((error: unknown) => {
    throw unusable(directory.path, `ask who holds lock.${lock}`, error);
  });
  if (liveness.kind === 'living') throw new DataDirectoryHeldError(directory.path, liveness.holder);
  return liveness.kind === 'dead';
}

async function listenAt(directory: OpenDirectory, claim: string): Promise<LockSocket> {
  try {
    return await LockSocket.listen(directory.socketPath(claim));
  } catch (error) {
    throw unusable(directory.path, 'make a socket in it', error);
  }
}

/** Returns whether the lock is ours; if not, it leaves no file behind. */
function announce(directory: OpenDirectory, claim: string, lock: number): boolean {
  const lockFile = directory.file(`lock.${lock}`);
  return attempting(directory.path, 'lock it', () => {
    try {
      linkSync(directory.file(claim), lockFile);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Another process was faster, or it removed our claim in the moment before the socket listened.
      if (code === 'EEXIST' || code === 'ENOENT') return false;
      throw error;
    } finally {
      rmSync(directory.file(claim), { force: true });
    }
    if (newestLock(directory) === lock) return true;
    rmSync(lockFile, { force: true });
    return false;
  });
}

/** Housekeeping: a file that cannot be removed does no harm, and the next owner tries again. */
async function clearBelow(directory: OpenDirectory, lock: number): Promise<void> {
  try {
    for (const name of readdirSync(directory.path)) {
      if (await isLeftOver(directory, name, lock)) rmSync(directory.file(name), { force: true });
    }
  } catch {}
}

async function isLeftOver(directory: OpenDirectory, name: string, lock: number): Promise<boolean> {
  const number = LOCK.exec(name)?.[1];
  if (number !== undefined) return Number(number) < lock;
  if (!CLAIM.test(name)) return false;
  const liveness = await askLiveness(directory.socketPath(name));
  return liveness.kind === 'dead';
}
