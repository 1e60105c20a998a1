/**
 * State that outlives the process: one file of lines, each a digest and a JSON value. A later line replaces an earlier one
 * about the same machine, so a change costs one line. When the file has grown to twice its contents, the log is rewritten
 * to a second file, which then takes the place of the first in one step. A crash leaves the old file or the new one.
 *
 *   9f86d081 {"provider":"rack-a","version":1}
 *   3c9909af {"machine":"m-1","facts":{"state":5,…}}
 *   88d4266f {"machine":"m-1","marks":{"shard-0":"7.112"}}
 *
 * A last line that is cut off belongs to a change that no caller was told about: it is dropped. Any other line whose digest is
 * wrong means that the file was damaged, and the provider does not start.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, open, readFile, rename } from 'node:fs/promises';
import { ShardError } from '../base/errors.ts';
import { OpenDirectory } from '../identity/directory.ts';
import { DirectoryLock } from '../identity/directory-lock.ts';
import { DataDirectoryHeldError } from '../identity/errors.ts';
import type { StringMap } from './cloud.ts';
import { UnusableStateError } from './errors.ts';
import type { MachineFacts } from './record.ts';

/** About one machine: its facts (null: it is gone), or its marks. */
export type StateEntry =
  | { readonly machine: string; readonly facts: MachineFacts | null }
  | { readonly machine: string; readonly marks: StringMap };

export interface StateStore {
  /** The last write failed, and none has succeeded since. */
  readonly isFailing: boolean;
  append(entry: StateEntry): void;
  /** Resolves when everything appended before is stored. Rejects if it cannot be; `append` it again then. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** For tests and demonstrations: nothing outlives the process. */
export const IN_MEMORY: StateStore = {
  isFailing: false,
  append: () => {},
  flush: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

const FILE = 'provider-state.jsonl';
const TEMPORARY_FILE = `${FILE}.tmp`;
const OWNER_ONLY = 0o600;
const VERSION = 1;
/** A smaller file is not worth rewriting. */
const REWRITE_BYTES_MIN = 1 << 20;
const REWRITE_LINES_PER_WRITE = 1_000;

export class StateLog implements StateStore {
  readonly #directory: OpenDirectory;
  readonly #lock: DirectoryLock;
  readonly #header: string;
  readonly #everything: () => Iterable<StateEntry>;
  #file: FileHandle | null = null;
  #pending: StateEntry[] = [];
  #writing: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;
  #bytes = 0;
  #rewriteAt = 0;
  /** The last write failed: what the file ends with is unknown. */
  #isDamaged = false;

  /**
   * Opens the directory, locks it against a second process, and returns what was stored, oldest first. `everything` is all
   * that is worth storing now, for a rewrite. Throws UnusableStateError.
   */
  static async open(
    path: string,
    provider: string,
    everything: () => Iterable<StateEntry>,
  ): Promise<{ readonly log: StateLog; readonly entries: readonly StateEntry[] }> {
    let directory: OpenDirectory | null = null;
    let lock: DirectoryLock | null = null;
    try {
      directory = OpenDirectory.open(path);
      lock = await DirectoryLock.take(directory);
      const header = lineOf({ provider, version: VERSION });
      const entries = await readEntries(directory.file(FILE), header);
      return { log: new StateLog(directory, lock, header, everything), entries };
    } catch (error) {
      await lock?.release();
      directory?.close();
      if (error instanceof UnusableStateError) throw error;
      if (error instanceof DataDirectoryHeldError)
        throw new UnusableStateError(path, 'another running process uses it');
      const isSystem = error instanceof ShardError || (error as NodeJS.ErrnoException).code !== undefined;
      if (!isSystem) throw error;
      throw new UnusableStateError(path, (error as Error).message);
    }
  }

  private constructor(
    directory: OpenDirectory,
    lock: DirectoryLock,
    header: string,
    everything: () => Iterable<StateEntry>,
  ) {
    this.#directory = directory;
    this.#lock = lock;
    this.#header = header;
    this.#everything = everything;
  }

  get isFailing(): boolean {
    return this.#isDamaged;
  }

  append(entry: StateEntry): void {
    this.#pending.push(entry);
  }

  /** Changes that come while a write is under way share the next. */
  flush(): Promise<void> {
    if (this.#pending.length === 0 && !this.#isDamaged) return this.#writing;
    this.#next ??= this.#writing
      .catch(() => {}) // its callers have been told
      .then(() => {
        this.#next = null;
        this.#writing = this.#write();
        this.#writing.catch(() => {}); // `flush` returns the same promise
        return this.#writing;
      });
    return this.#next;
  }

  async close(): Promise<void> {
    try {
      await this.flush();
    } finally {
      await this.#file?.close();
      await this.#lock.release();
      this.#directory.close();
    }
  }

  async #write(): Promise<void> {
    const text = this.#pending.map(lineOf).join('');
    this.#pending = [];
    try {
      if (this.#file === null || this.#isDamaged || this.#bytes > this.#rewriteAt) await this.#rewrite(text);
      else {
        await this.#file.appendFile(text);
        await this.#file.datasync();
        this.#bytes += Buffer.byteLength(text);
      }
      this.#isDamaged = false;
    } catch (error) {
      this.#isDamaged = true;
      throw new Error(`The provider cannot store its state: ${(error as Error).message}`);
    }
  }

  /** `text` comes last: it may announce a change that is made once it is stored. */
  async #rewrite(text: string): Promise<void> {
    const temporary = this.#directory.file(TEMPORARY_FILE);
    const file = await open(temporary, 'w', OWNER_ONLY);
    try {
      await file.appendFile(this.#header);
      let lines: string[] = [];
      for (const entry of this.#everything()) {
        lines.push(lineOf(entry));
        if (lines.length < REWRITE_LINES_PER_WRITE) continue;
        await file.appendFile(lines.join(''));
        lines = [];
      }
      await file.appendFile(lines.join('') + text);
      await file.sync();
      await rename(temporary, this.#directory.file(FILE));
      this.#directory.sync();
      this.#bytes = (await file.stat()).size;
    } catch (error) {
      await file.close();
      throw error;
    }
    await this.#file?.close();
    this.#file = file;
    this.#rewriteAt = Math.max(REWRITE_BYTES_MIN, 2 * this.#bytes);
  }
}

function lineOf(value: object): string {
  const json = JSON.stringify(value);
  return `${digestOf(json)} ${json}\n`;
}

function digestOf(json: string): string {
  return createHash('sha256').update(json).digest('hex').slice(0, 8);
}

async function readEntries(path: string, header: string): Promise<StateEntry[]> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  if (text === '') return [];
  const lines = text.split('\n');
  lines.pop(); // what follows the last line break: nothing, or a line that is cut off
  const values = lines.map((line) => storedIn(line));
  // A torn write may end in the middle of several lines: only what follows the last good line is dropped.
  while (values.at(-1) === null) values.pop();
  const bad = values.indexOf(null);
  if (bad >= 0) throw new UnusableStateError(path, `line ${bad + 1} is damaged`);
  if (`${lines[0]}\n` !== header) {
    throw new UnusableStateError(path, 'it belongs to a provider of another name, or to another version');
  }
  return values.slice(1) as StateEntry[];
}

/** Null for a line that this module has not written. */
function storedIn(line: string): object | null {
  const json = line.slice(9);
  return line[8] === ' ' && line.slice(0, 8) === digestOf(json) ? (JSON.parse(json) as object) : null;
}
