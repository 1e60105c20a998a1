/**
 * The file behind `--state`: a snapshot and the changes since, one record per line. A change is appended before
 * the provider answers; when the changes have outgrown the snapshot, a new file replaces the old one by
 * rename. So the file is whole at every moment, and a change costs one write.
 *
 *   line = 8 hex digits, CRC-32 of the rest · blank · record as JSON · newline
 *
 * A process that is killed while it writes leaves an incomplete last line. No answer has shown that change, so
 * it is dropped. Any other mistake means that the file was damaged, and the provider does not start. Written
 * data survives the process, not a power cut: the simulator does not wait for the disk with every call.
 */
import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { crc32 } from 'node:zlib';
import { type AfterFailure, ShardError } from '../../base/errors.ts';

export class StateFileError extends ShardError {
  readonly code = 'state_file_unusable';
  readonly next: AfterFailure;

  constructor(message: string, next: AfterFailure = 'refuse-to-start') {
    super(message);
    this.next = next;
  }
}

const NEWLINE = 0x0a;
const CHECKSUM_CHARS = 8;
/** A chunk of a snapshot: large enough that writing is not dominated by calls. */
const CHUNK_CHARS = 1 << 20;

export class StateFile {
  readonly path: string;
  #fd = -1;
  #inode = 0;
  #byteLength = 0;

  constructor(path: string) {
    this.path = path;
  }

  get byteLength(): number {
    return this.#byteLength;
  }

  /** Hands every record over, oldest first, and opens the file for appending. False: there is no file yet. */
  read(take: (record: unknown) => void): boolean {
    let bytes: Buffer;
    try {
      bytes = readFileSync(this.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw new StateFileError(this.#cannot('read', error));
    }
    let lineNumber = 1;
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      try {
        take(decodeLine(bytes.toString('utf8', start, end)));
      } catch (error) {
        throw new StateFileError(
          `State file ${this.path} is damaged in line ${lineNumber}: ${(error as Error).message}. ` +
            'The provider did not start and left the file as it is. Restore the file from a copy, or remove it to begin with a new fleet.',
        );
      }
      lineNumber++;
      start = end + 1;
    }
    try {
      this.#open();
      if (start < bytes.length) ftruncateSync(this.#fd, start);
    } catch (error) {
      throw new StateFileError(this.#cannot('open', error));
    }
    this.#byteLength = start;
    return true;
  }

  append(records: readonly unknown[]): void {
    const bytes = Buffer.from(records.map(encodeLine).join(''));
    this.#requireOwn();
    try {
      writeAll(this.#fd, bytes);
    } catch (error) {
      ftruncateSync(this.#fd, this.#byteLength); // a half-written line must not precede the next one
      throw new StateFileError(this.#cannot('write', error), 'stop');
    }
    this.#byteLength += bytes.length;
  }

  /** Replaces the whole content: the old one stays until the new one is complete. */
  replace(records: Iterable<unknown>): void {
    const draft = `${this.path}.new`;
    try {
      const fd = openSync(draft, 'w', 0o600);
      try {
        let chunk = '';
        for (const record of records) {
          chunk += encodeLine(record);
          if (chunk.length < CHUNK_CHARS) continue;
          writeAll(fd, Buffer.from(chunk));
          chunk = '';
        }
        writeAll(fd, Buffer.from(chunk));
        fsyncSync(fd);
      } finally {
        closeSync(fd);
      }
      renameSync(draft, this.path);
      this.close();
      this.#open();
      this.#byteLength = statSync(this.path).size;
    } catch (error) {
      throw new StateFileError(this.#cannot('write', error));
    }
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }

  #open(): void {
    this.#fd = openSync(this.path, 'a');
    this.#inode = statSync(this.path).ino;
  }

  /** Two providers on one file would each lose what the other did. */
  #requireOwn(): void {
    const now = statSync(this.path, { throwIfNoEntry: false });
    if (now?.ino === this.#inode && now.size === this.#byteLength) return;
    throw new StateFileError(
      `Another process changed or removed state file ${this.path}. This provider stops, so that it answers nothing that it cannot store. ` +
        'Give every provider its own --state file.',
      'stop',
    );
  }

  #cannot(verb: string, error: unknown): string {
    return `The provider cannot ${verb} state file ${this.path}: ${(error as Error).message}. It does not answer calls whose effect it cannot store.`;
  }
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

function encodeLine(record: unknown): string {
  const text = JSON.stringify(record);
  return `${checksum(text)} ${text}\n`;
}

function decodeLine(line: string): unknown {
  const text = line.slice(CHECKSUM_CHARS + 1);
  if (line.slice(0, CHECKSUM_CHARS) !== checksum(text)) throw new Error('the checksum is wrong');
  return JSON.parse(text);
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(CHECKSUM_CHARS, '0');
}
