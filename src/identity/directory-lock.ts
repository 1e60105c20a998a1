/**
 * One living process per data directory (docs/adr/0016). Locks are numbered files, each a second name of a
 * listening socket, and the highest number is the lock:
 *
 *   1. Ask the highest lock. Living: refuse to start.
 *   2. Listen at a name of our own, and link that to the next number. A link is made whole or not at all,
 *      and of two processes that link one number one fails: it begins again.
 *   3. Look again. If there is a higher number, what step 1 saw was old: take ours away and begin again.
 *
 * The highest lock is never taken away, not even when it is released (it then refuses calls, which is enough);
 * only its successor clears what is below. So the highest number never goes back, whoever made the next number has
 * seen the owner of this one dead, and no two owners live at the same time.
 */
import { randomBytes } from 'node:crypto';
import { linkSync, readdirSync, rmSync } from 'node:fs';
import type { OpenDirectory } from './directory.ts';
import { attempting, DataDirectoryHeldError, DataDirectoryUnusableError, unusable } from './errors.ts';
import { askLiveness, LockSocket } from './lock-socket.ts';

const LOCK = /^lock\.([1-9][0-9]{0,14})$/;
const CLAIM = /^claim\.[0-9a-f]{16}$/;

/** Every attempt but the last was lost to another starter, so a thousand are more starters than there are. */
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
    throw new DataDirectoryUnusableError(directory.path, 'lock it', 'too many processes try to at once');
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

/** False: what was seen is no longer so. Throws DataDirectoryHeldError if it lives. */
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

/** Whether the lock is ours; if not, nothing of it is left. */
function announce(directory: OpenDirectory, claim: string, lock: number): boolean {
  const lockFile = directory.file(`lock.${lock}`);
  return attempting(directory.path, 'lock it', () => {
    try {
      linkSync(directory.file(claim), lockFile);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Another starter was faster; or its owner found our claim in the moment before it listened.
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

/** Housekeeping: what cannot be cleared is in nobody's way, and the next owner tries again. */
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
