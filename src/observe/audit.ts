/**
 * The audit log. C5: one JSON line per action that was executed, suppressed, dry-run or dropped; H1: one per command of an admin. Recording costs the caller
 * one push. Lines are formatted in slices and written asynchronously, so neither a dry run with a hundred thousand actions
 * nor a slow disk delays the shard. If the disk is full, the audit log reports it (log, metric, and later a line in the
 * file with the number of lost records) and retries, because a broken audit log must not stop the fleet.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { ShardError } from '../base/errors.ts';
import { SharedTexts } from '../base/shared-texts.ts';
import type { ControlRecord } from '../shard/ports/controls.ts';
import { type AuditRecord, auditLine, controlLine, lostLine } from './audit-line.ts';
import type { Logger } from './log.ts';
import type { AuditCounts } from './scraped-metrics.ts';

export class AuditLogUnusableError extends ShardError {
  readonly code = 'audit_log_unusable';
  readonly next = 'refuse-to-start';

  constructor(path: string, why: string) {
    super(
      `Cannot open the audit log ${path}: ${why}. ` +
        'The shard was not started. Set --audit-log to a writable file, or remove the setting.',
    );
  }
}

/** About 80 MB of lines. Beyond it records are lost and counted. */
const WAITING_RECORDS_MAX = 262_144;
/** Formatting these takes about 5 ms. */
const RECORDS_PER_SLICE = 2_048;
/** T3: bytes, not records, bound a slice: 2,048 usual lines have 600 KB, 2,048 lines of the greatest length 512 MiB. */
const SLICE_CHARS_MAX = 1_048_576;
/** Of the distinct long texts in waiting records; later texts are cut. As much as WAITING_RECORDS_MAX short ones take. */
const WAITING_TEXT_CHARS_MAX = 67_108_864;
const RETRY_AFTER_MS = 1_000;
const FILE_MODE = 0o640;

/** A file opened for appending. */
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
  #waiting: (AuditRecord | ControlRecord)[] = [];
  readonly #texts = new SharedTexts(WAITING_TEXT_CHARS_MAX);
  /** Bytes that a partial write left over. They complete a line in the file, so they are written first. */
  #rest: Buffer = Buffer.alloc(0);
  #lostUnreported = 0;
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

  record(record: AuditRecord | ControlRecord): void {
    if (this.#isClosed || this.#waiting.length >= WAITING_RECORDS_MAX) {
      this.#lost++;
      this.#lostUnreported++;
      return;
    }
    this.#waiting.push('command' in record ? record : this.#texts.shareIn(record));
    // While writes fail, only the timer retries; otherwise every record would be an attempt.
    if (!this.#isFailing) void this.flush();
  }

  /** Resolves when all records so far are in the file, or a write has failed. */
  flush(): Promise<void> {
    this.#running ??= this.#run();
    return this.#running;
  }

  /** For log rotation: later records go to a new file of the same name. */
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
    // Wait one turn, so that the records of one burst are written together.
    await nextTurn();
    let isAccepted = true;
    // A failed write ends the run, unless a reopen was requested meanwhile.
    while (this.#isReopenWanted || (isAccepted && (this.#waiting.length > 0 || this.#rest.length > 0))) {
      if (this.#isReopenWanted) await this.#reopen();
      isAccepted = await this.#writeSlice();
    }
    // In the same turn as the last check of the queue, so that a later record starts a new run.
    this.#running = null;
  }

  /** False if the write failed. */
  async #writeSlice(): Promise<boolean> {
    let text = '';
    let recordCount = 0;
    while (
      recordCount < RECORDS_PER_SLICE &&
      recordCount < this.#waiting.length &&
      text.length < SLICE_CHARS_MAX
    ) {
      const record = this.#waiting[recordCount++]!;
      text += 'command' in record ? controlLine(record) : auditLine(record);
    }
    const last = this.#waiting[recordCount - 1];
    // Records were lost after all that still wait, so the note comes after the last of them.
    const unreported = last !== undefined && recordCount === this.#waiting.length ? this.#lostUnreported : 0;
    if (unreported > 0) text += lostLine(last!, unreported);
    const bytes = Buffer.concat([this.#rest, Buffer.from(text)]);
    if (bytes.length === 0) return true;
    const writtenBytes = await this.#writeAll(bytes);
    if (writtenBytes < bytes.length && writtenBytes <= this.#rest.length) {
      // No byte of the new lines was written: the next slice formats them again.
      this.#rest = bytes.subarray(writtenBytes, this.#rest.length);
      return false;
    }
    this.#waiting.splice(0, recordCount);
    if (this.#waiting.length === 0) this.#texts.clear();
    this.#written += recordCount;
    this.#lostUnreported -= unreported;
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
      next: `records are kept and retried; beyond ${WAITING_RECORDS_MAX} waiting records they are lost`,
    };
    if (!this.#isFailing) this.#log.error('audit_log_failing', what);
    this.#isFailing = true;
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    this.#retryTimer = setTimeout(() => void this.flush(), this.#retryAfterMs).unref();
  }

  #recovered(): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#log.info('audit_log_recovered', { path: this.#path, lost: this.#lostUnreported });
  }

  async #reopen(): Promise<void> {
    this.#isReopenWanted = false;
    // Complete a half-written line in the old file.
    if (this.#rest.length > 0) {
      const writtenBytes = await this.#writeAll(this.#rest);
      this.#rest = this.#rest.subarray(writtenBytes);
    }
    try {
      const file = await this.#openFile(this.#path);
      const old = this.#file;
      this.#file = file;
      // If that failed: opening completes the line if it is the same file, and a new file has none to complete.
      this.#rest = Buffer.alloc(0);
      await old.close().catch(() => {});
      this.#log.info('audit_log_reopened', { path: this.#path });
    } catch (error) {
      const next = 'the shard keeps writing to the old file';
      this.#log.error('audit_log_not_reopened', { path: this.#path, error: error as Error, next });
    }
  }
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Starts a new line if the file ends with half a line, which a killed process may have left. */
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
