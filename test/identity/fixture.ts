/** Directories and processes that are removed and ended with the test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach } from 'vitest';

const HOLDER = fileURLToPath(new URL('holder.mjs', import.meta.url));
const STARTS = fileURLToPath(new URL('starts.mjs', import.meta.url));
const FAULTS = new URL('faults.mjs', import.meta.url).href;

const directories: string[] = [];
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

/** A directory that every user may read, so that a process of another user can, too. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'flotilla-identity-'));
  chmodSync(directory, 0o755);
  directories.push(directory);
  return directory;
}

export interface Said {
  readonly epoch?: number;
  readonly callCount?: number;
  readonly code?: string;
  readonly next?: string;
  readonly message?: string;
}

export interface Holder {
  readonly child: ChildProcess;
  /** Its answer; null if it died before. */
  readonly said: Promise<Said | null>;
  readonly exited: Promise<void>;
}

export interface HolderOptions {
  readonly minEpoch?: number;
  readonly fault?: string;
  readonly uid?: number;
}

export function startHolder(path: string, options: HolderOptions = {}): Holder {
  const { minEpoch = 0, fault, uid } = options;
  const flags = fault === undefined ? [] : ['--import', FAULTS];
  const child = track(
    spawn(process.execPath, [...flags, HOLDER, path, String(minEpoch)], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, FAULT: fault },
      ...(uid === undefined ? {} : { uid, gid: uid }),
    }),
  );
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const lines = createInterface(child.stdout!);
  const said = new Promise<Said | null>((resolve) => {
    lines.once('line', (line) => resolve(JSON.parse(line) as Said));
    lines.once('close', () => resolve(null));
  });
  return { child, said, exited };
}

/** Opens the directory in a process, and closes it again. */
export async function openOnce(path: string, options: HolderOptions = {}): Promise<Said | null> {
  const holder = startHolder(path, options);
  const said = await holder.said;
  holder.child.stdin!.end();
  await holder.exited;
  return said;
}

/**
 * Opens the directory, and closes it again, each time that it is called: for many starts without a fault, which may share one
 * process. Not in the process of the tests, which has sockets in common with the programs that it starts.
 */
export function healthyStarts(path: string): () => Promise<Said> {
  const child = track(spawn(process.execPath, [STARTS], { stdio: ['pipe', 'pipe', 'inherit'] }));
  const answers = createInterface(child.stdout)[Symbol.asyncIterator]();
  return async () => {
    child.stdin.write(`${path}\n`);
    const { value, done } = await answers.next();
    if (done === true) throw new Error('the process that opens directories has ended');
    return JSON.parse(value) as Said;
  };
}

export function track<Child extends ChildProcess>(child: Child): Child {
  children.push(child);
  return child;
}
