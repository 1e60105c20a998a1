/**
 * The audit log (C5): one JSON line per action that was executed, suppressed, dry-run or dropped. Taking a record costs
 * the caller a push; lines are made in slices and written asynchronously, so neither a dry run with a hundred thousand
 * actions nor a slow disk holds up the shard. A disk that is full is told (log, metric, and later a line in the file
 * itself that says how many records are missing) and tried again: losing the audit log must not stop the fleet.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { ShardError } from '../base/errors.ts';
import type { ActionRecord } from '../shard/ports/observer.ts';
import { auditLine, lostLine } from './audit-line.ts';
import type { Logger } from './log.ts';
import type { AuditCounts } from './scraped-metrics.ts';

export class AuditLogUnusableError extends ShardError {
  readonly code = 'audit_log_unusable';
  readonly next = 'refuse-to-start';

  constructor(path: string, why: string) {
    super(
      `The audit log ${path} cannot be opened: ${why}. ` +
        'Nothing was started; name a file that may be written with --audit-log, or leave it out.',
    );
  }
}

/** Some 80 MB of lines; a dry run of half a million actions comes to half of it in one cycle. */
const WAITING_RECORDS_MAX = 262_144;
/** About 5 ms of making lines. */
const RECORDS_PER_SLICE = 2_048;
const RETRY_AFTER_MS = 1_000;
const FILE_MODE = 0o640;

/** What is written to: a file that can be appended to. */
export type AuditFile = Pick<FileHandle, 'write' | 'close'>;

export interface AuditLogOptions {
  readonly path: string;
  readonly log: Logger;
  /** Default: the file system. */
  readonly openFile?: (path: string) => Promise<AuditFile>;
  readonly retryAfterMs?: number;
}

export class AuditLog {
  readonly #path: string;
  readonly #log: Logger;
  readonly #openFile: (path: string) => Promise<AuditFile>;
  readonly #retryAfterMs: number;
  #file: AuditFile;
  #waiting: ActionRecord[] = [];
  /** Bytes that a write left over: they end a line that is half in the file, so they go first. */
  #rest: Buffer = Buffer.alloc(0);
  #lostUntold = 0;
  #written = 0;
  #lost = 0;
  #isFailing = false;
  #running: Promise<void> | null = null;
  #isReopenWanted = false;
  #isClosed = false;
  #retryTimer: NodeJS.Timeout | null = null;

  private constructor(file: AuditFile, options: AuditLogOptions) {
    this.#file = file;
    this.#path = options.path;
    this.#log = options.log;
    this.#openFile = options.openFile ?? openForAppending;
    this.#retryAfterMs = options.retryAfterMs ?? RETRY_AFTER_MS;
  }

  /** Throws AuditLogUnusableError. */
  static async open(options: AuditLogOptions): Promise<AuditLog> {
    try {
      const file = await (options.openFile ?? openForAppending)(options.path);
      return new AuditLog(file, options);
    } catch (error) {
      throw new AuditLogUnusableError(options.path, (error as Error).message);
    }
  }

  get counts(): AuditCounts {
    return { written: this.#written, lost: this.#lost, isFailing: this.#isFailing };
  }

  record(record: ActionRecord): void {
    if (this.#isClosed || this.#waiting.length >= WAITING_RECORDS_MAX) {
      this.#lost++;
      this.#lostUntold++;
      return;
    }
    this.#waiting.push(record);
    // While the file fails, the timer tries; each record would otherwise be an attempt.
    if (!this.#isFailing) void this.flush();
  }

  /** Resolves when all that was recorded so far is in the file, or the file has just refused it. */
  flush(): Promise<void> {
    this.#running ??= this.#run();
    return this.#running;
  }

  /** After the file was moved away: what is recorded from now on goes to a new one of the same name. */
  reopen(): Promise<void> {
    this.#isReopenWanted = true;
    return this.flush();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    await this.flush();
    this.#isClosed = true;
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    const left = this.#waiting.length;
    this.#lost += left;
    if (left > 0) this.#log.error('audit_records_lost', { path: this.#path, records: left });
    await this.#file.close().catch(() => {});
  }

  async #run(): Promise<void> {
    // One turn later: records of one burst go out together.
    await nextTurn();
    let isAccepted = true;
    // A file that refuses ends the run, but not before it was opened anew if somebody asked for that meanwhile.
    while (this.#isReopenWanted || (isAccepted && (this.#waiting.length > 0 || this.#rest.length > 0))) {
      if (this.#isReopenWanted) await this.#reopen();
      isAccepted = await this.#writeSlice();
    }
    // Together with the last look at what waits: a record that comes later starts a run of its own.
    this.#running = null;
  }

  /** False if the file refused. */
  async #writeSlice(): Promise<boolean> {
    const records = this.#waiting.slice(0, RECORDS_PER_SLICE);
    const last = records.at(-1);
    // What was lost came after everything that still waits.
    const untold = last !== undefined && records.length === this.#waiting.length ? this.#lostUntold : 0;
    let text = '';
    for (const record of records) text += auditLine(record);
    if (untold > 0) text += lostLine(last!, untold);
    const bytes = Buffer.concat([this.#rest, Buffer.from(text)]);
    if (bytes.length === 0) return true;
    const writtenBytes = await this.#writeAll(bytes);
    if (writtenBytes < bytes.length && writtenBytes <= this.#rest.length) {
      // Nothing of the new lines is out: they are made again, together with what has come since.
      this.#rest = bytes.subarray(writtenBytes, this.#rest.length);
      return false;
    }
    this.#waiting.splice(0, records.length);
    this.#written += records.length;
    this.#lostUntold -= untold;
    this.#rest = bytes.subarray(writtenBytes);
    return writtenBytes === bytes.length;
  }

  async #writeAll(bytes: Buffer): Promise<number> {
    let offset = 0;
    try {
      while (offset < bytes.length) {
        const { bytesWritten } = await this.#file.write(bytes, offset);
        offset += bytesWritten;
      }
      this.#recovered();
    } catch (error) {
      this.#failed(error as NodeJS.ErrnoException);
    }
    return offset;
  }

  #failed(error: NodeJS.ErrnoException): void {
    const what = {
      path: this.#path,
      error,
      waiting: this.#waiting.length,
      next: 'records are kept and tried again; past the limit they are counted as lost',
    };
    if (!this.#isFailing) this.#log.error('audit_log_failing', what);
    this.#isFailing = true;
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    this.#retryTimer = setTimeout(() => void this.flush(), this.#retryAfterMs).unref();
  }

  #recovered(): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#log.info('audit_log_recovered', { path: this.#path, lost: this.#lostUntold });
  }

  async #reopen(): Promise<void> {
    this.#isReopenWanted = false;
    // A line that is half in the old file ends there.
    if (this.#rest.length > 0) {
      const writtenBytes = await this.#writeAll(this.#rest);
      this.#rest = this.#rest.subarray(writtenBytes);
    }
    try {
      const file = await this.#openFile(this.#path);
      const old = this.#file;
      this.#file = file;
      // If the old one still refused it, the new one ends the line if it is the same file, and has nothing to end if not.
      this.#rest = Buffer.alloc(0);
      await old.close().catch(() => {});
      this.#log.info('audit_log_reopened', { path: this.#path });
    } catch (error) {
      const next = 'the old file is used on';
      this.#log.error('audit_log_not_reopened', { path: this.#path, error: error as Error, next });
    }
  }
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A process that died may have left half a line: the next one must not continue it. */
async function openForAppending(path: string): Promise<FileHandle> {
  const file = await open(path, 'a+', FILE_MODE);
  try {
    const { size, isFile } = await file.stat().then((stat) => ({ size: stat.size, isFile: stat.isFile() }));
    if (isFile && size > 0) {
      const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
      if (buffer[0] !== '\n'.charCodeAt(0)) await file.write('\n');
    }
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}
