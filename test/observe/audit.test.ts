import {
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SharedTexts } from '../../src/base/shared-texts.ts';
import {
  type AuditFile,
  AuditLog,
  type AuditLogOptions,
  AuditLogUnusableError,
} from '../../src/observe/audit.ts';
import { type AuditRecord, auditLine, LINE_BYTES_MAX } from '../../src/observe/audit-line.ts';
import { createLogger } from '../../src/observe/log.ts';
import { auditRecord } from './records.ts';

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'flotilla-audit-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function auditAt(path: string, options: Partial<AuditLogOptions> = {}) {
  const lines: string[] = [];
  const sink = { write: (line: string) => void lines.push(line), flush: () => {}, drain: async () => {} };
  const log = createLogger({ level: 'info', format: 'json', sink });
  const audit = await AuditLog.open({ path, log, retryAfterMs: 5, ...options });
  onTestFinished(() => audit.close());
  const events = () => lines.map((line) => (JSON.parse(line) as { event: string }).event);
  return { audit, events };
}

const recordsIn = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
const machinesIn = (path: string) => recordsIn(readFileSync(path, 'utf8')).map(({ machine }) => machine);
const recordOf = (index: number): AuditRecord => auditRecord({ machineId: `m-${index}` });

describe('C5: the audit log', () => {
  it('is one JSON line per action', async () => {
    const path = join(directory(), 'audit.log');
    const { audit } = await auditAt(path);
    audit.record(auditRecord());
    audit.record(
      auditRecord({
        kind: 'Preempt',
        forClusterId: 'c-2',
        outcome: 'provider_error',
        detail: 'no\nroom',
        group: 'g',
      }),
    );
    await audit.flush();
    const [first, second] = recordsIn(readFileSync(path, 'utf8'));
    expect(first).toEqual({
      time: '2026-01-02T03:04:05.678Z',
      epoch: 3,
      cycle: 7,
      kind: 'Reclaim',
      machine: 'm-1',
      cluster: 'c-1',
      fingerprint: 'p=100|ipb=1|rpb=1|reqs=|spr=',
      group: '',
      reason: 'phase3.excess',
      grace_seconds: 600,
      outcome: 'success',
      duration: 1.25,
    });
    expect(second).toMatchObject({
      cluster: 'c-1',
      for_cluster: 'c-2',
      outcome: 'provider_error',
      detail: 'no\nroom',
    });
    expect(audit.counts).toEqual({ written: 2, lost: 0, isFailing: false });
  });

  it('appends to an existing file that only owner and group can read', async () => {
    const path = join(directory(), 'audit.log');
    const { audit } = await auditAt(path);
    expect(statSync(path).mode & 0o007).toBe(0);
    audit.record(recordOf(1));
    await audit.close();
    const again = await auditAt(path);
    again.audit.record(recordOf(2));
    await again.audit.flush();
    expect(machinesIn(path)).toEqual(['m-1', 'm-2']);
  });

  it('starts a new line after the half line of a killed process', async () => {
    const path = join(directory(), 'audit.log');
    writeFileSync(path, '{"time":"2026');
    const { audit } = await auditAt(path);
    audit.record(recordOf(1));
    await audit.flush();
    const lines = readFileSync(path, 'utf8').split('\n');
    expect(lines[0]).toBe('{"time":"2026');
    expect(JSON.parse(lines[1]!)).toMatchObject({ machine: 'm-1' });
  });

  it('writes a hundred thousand records of one burst in order', async () => {
    const path = join(directory(), 'audit.log');
    const { audit } = await auditAt(path);
    for (let index = 0; index < 100_000; index++) audit.record(recordOf(index));
    await audit.flush();
    const machines = machinesIn(path);
    expect(machines).toHaveLength(100_000);
    expect(machines.every((machine, index) => machine === `m-${index}`)).toBe(true);
  });

  it('T3: writes 2,048 records with a value of 900 KB, cut and marked, and a usual one after them', async () => {
    const path = join(directory(), 'audit.log');
    const { audit, events } = await auditAt(path);
    const text = `p=100|reqs=${'v'.repeat(900_000)}`;
    for (let index = 0; index < 2_048; index++) {
      // A new copy each time, as the string tables give it.
      audit.record(auditRecord({ machineId: `m-${index}`, fingerprint: Buffer.from(text).toString() }));
    }
    audit.record(recordOf(2_048));
    await audit.flush();
    expect(audit.counts).toEqual({ written: 2_049, lost: 0, isFailing: false });
    expect(events()).toEqual([]);
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
    expect(lines).toHaveLength(2_049);
    for (const line of lines) expect(Buffer.byteLength(line)).toBeLessThan(LINE_BYTES_MAX);
    expect(JSON.parse(lines[2_047]!)).toMatchObject({
      machine: 'm-2047',
      fingerprint: `${text.slice(0, 4_096)}… (cut, ${text.length} characters)`,
    });
    expect(JSON.parse(lines[2_048]!)).toMatchObject({ machine: 'm-2048' });
  }, 60_000);

  it('T3: writes the longest line that an accepted row gives whole, in as many writes as the disk wants', async () => {
    const path = join(directory(), 'audit.log');
    const openFile = async (name: string): Promise<AuditFile> => {
      const file = await open(name, 'a+');
      const write = (bytes: Buffer, offset: number) =>
        file.write(bytes, offset, Math.min(10_000, bytes.length - offset));
      return { write: write as AuditFile['write'], close: () => file.close() };
    };
    const { audit } = await auditAt(path, { openFile });
    const fingerprint = 'é'.repeat(32_768);
    for (let index = 0; index < 40; index++)
      audit.record(auditRecord({ machineId: `m-${index}`, fingerprint }));
    await audit.flush();
    const records = recordsIn(readFileSync(path, 'utf8'));
    expect(records).toHaveLength(40);
    expect(records.every((record) => record.fingerprint === fingerprint)).toBe(true);
  });

  it('T3: never throws, whatever a record contains', async () => {
    const { audit } = await auditAt(join(directory(), 'audit.log'));
    for (const text of ['\u0000'.repeat(50_000), '\ud800'.repeat(50_000), '漢'.repeat(100_000)]) {
      const record = auditRecord({ fingerprint: text, group: text, detail: text, atMs: Number.NaN });
      expect(Buffer.byteLength(auditLine(record))).toBeLessThanOrEqual(LINE_BYTES_MAX);
      audit.record(record);
    }
    await audit.flush();
    expect(audit.counts.written).toBe(3);
  });

  it('T3: keeps one copy of a long text for all records, and cuts new texts beyond its limit', () => {
    const texts = new SharedTexts(2_000);
    const first = 'a'.repeat(1_500);
    expect(texts.share(first)).toBe(first);
    expect(texts.share(Buffer.from(first).toString())).toBe(first);
    expect(texts.share('short')).toBe('short');
    expect(texts.share('b'.repeat(1_500))).toBe(`${'b'.repeat(256)}… (cut, 1500 characters)`);
    texts.clear();
    expect(texts.share('b'.repeat(1_500))).toBe('b'.repeat(1_500));
  });

  it('writes records that arrive during a write', async () => {
    const path = join(directory(), 'audit.log');
    const { audit } = await auditAt(path);
    for (let index = 0; index < 200; index++) {
      audit.record(recordOf(index));
      if (index % 7 === 0) await audit.flush();
    }
    await audit.close();
    expect(machinesIn(path)).toHaveLength(200);
  });

  it('continues in a new file after rotation', async () => {
    const path = join(directory(), 'audit.log');
    const { audit, events } = await auditAt(path);
    audit.record(recordOf(1));
    await audit.flush();
    renameSync(path, `${path}.1`);
    audit.record(recordOf(2));
    await audit.flush();
    expect(existsSync(path)).toBe(false);
    await audit.reopen();
    audit.record(recordOf(3));
    await audit.flush();
    expect(machinesIn(`${path}.1`)).toEqual(['m-1', 'm-2']);
    expect(machinesIn(path)).toEqual(['m-3']);
    expect(events()).toEqual(['audit_log_reopened']);
  });

  it('keeps the old file if the new one cannot be opened', async () => {
    const folder = directory();
    const path = join(folder, 'audit.log');
    const { audit, events } = await auditAt(path);
    renameSync(folder, `${folder}-moved`);
    onTestFinished(() => rmSync(`${folder}-moved`, { recursive: true, force: true }));
    await audit.reopen();
    audit.record(recordOf(1));
    await audit.flush();
    expect(events()).toEqual(['audit_log_not_reopened']);
    expect(machinesIn(join(`${folder}-moved`, 'audit.log'))).toEqual(['m-1']);
  });

  it('refuses to start with a file that cannot be opened', async () => {
    await expect(auditAt(join(directory(), 'no', 'such', 'folder.log'))).rejects.toThrow(
      AuditLogUnusableError,
    );
  });
});

describe('C5: a full disk', () => {
  it('is logged once, and the records are written when there is space again', async () => {
    const folder = directory();
    const path = join(folder, 'audit.log');
    symlinkSync('/dev/full', path);
    const { audit, events } = await auditAt(path);
    audit.record(recordOf(1));
    await audit.flush();
    audit.record(recordOf(2));
    await audit.flush();
    expect(audit.counts).toEqual({ written: 0, lost: 0, isFailing: true });
    expect(events()).toEqual(['audit_log_failing']);
    rmSync(path);
    await audit.reopen();
    expect(audit.counts).toEqual({ written: 2, lost: 0, isFailing: false });
    expect(machinesIn(path)).toEqual(['m-1', 'm-2']);
    expect(events()).toEqual(['audit_log_failing', 'audit_log_reopened', 'audit_log_recovered']);
  });

  it('does not prevent opening a new file', async () => {
    const folder = directory();
    const path = join(folder, 'audit.log');
    symlinkSync('/dev/full', path);
    const { audit } = await auditAt(path);
    for (let index = 0; index < 50; index++) {
      audit.record(recordOf(index));
      const underWay = audit.flush();
      if (index === 40) {
        rmSync(path);
        await audit.reopen();
        expect(machinesIn(path)).toHaveLength(41);
      }
      await underWay;
    }
    await audit.flush();
    expect(machinesIn(path)).toHaveLength(50);
  });

  it('loses records beyond the limit, counts them, and notes them in the file', async () => {
    const path = join(directory(), 'audit.log');
    symlinkSync('/dev/full', path);
    const { audit } = await auditAt(path);
    const record = recordOf(1);
    for (let index = 0; index < 262_144 + 5; index++) audit.record(record);
    expect(audit.counts.lost).toBe(5);
    rmSync(path);
    await audit.reopen();
    const records = recordsIn(readFileSync(path, 'utf8'));
    expect(records).toHaveLength(262_145);
    expect(records.at(-1)).toMatchObject({ kind: 'RecordsLost', epoch: 3, records: 5 });
  });

  it('never blocks the shutdown', async () => {
    const path = join(directory(), 'audit.log');
    symlinkSync('/dev/full', path);
    const { audit, events } = await auditAt(path);
    audit.record(recordOf(1));
    await audit.close();
    expect(audit.counts.lost).toBe(1);
    expect(events()).toEqual(['audit_log_failing', 'audit_records_lost']);
  });

  it('never breaks, repeats or reorders a line, wherever writes fail', async () => {
    let torn = 0;
    /** Accepts a given number of bytes, then fails once. */
    const openLimited = (written: Buffer[], room: readonly number[]) => async (): Promise<AuditFile> => {
      let turn = 0;
      const write = async (bytes: Buffer, offset: number) => {
        const free = room[turn++ % room.length]!;
        if (free === 0) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
        const bytesWritten = Math.min(free, bytes.length - offset);
        if (bytesWritten < bytes.length - offset) torn++;
        written.push(Buffer.from(bytes.subarray(offset, offset + bytesWritten)));
        return { bytesWritten, buffer: bytes };
      };
      return { write, close: async () => {} } as unknown as AuditFile;
    };
    const rooms = fc
      .array(fc.nat({ max: 700 }), { minLength: 2, maxLength: 8 })
      .filter((room) => room.some((free) => free > 0));
    await fc.assert(
      fc.asyncProperty(rooms, fc.integer({ min: 1, max: 30 }), async (room, recordCount) => {
        const written: Buffer[] = [];
        const { audit } = await auditAt('nowhere', { openFile: openLimited(written, room) });
        for (let index = 0; index < recordCount; index++) {
          audit.record(recordOf(index));
          if (index % 5 === 0) await audit.flush();
        }
        for (let attempt = 0; audit.counts.written < recordCount || audit.counts.isFailing; attempt++) {
          expect(attempt).toBeLessThan(10_000);
          await audit.flush();
        }
        const machines = recordsIn(Buffer.concat(written).toString()).map(({ machine }) => machine);
        expect(machines).toEqual(Array.from({ length: recordCount }, (_, index) => `m-${index}`));
      }),
      { numRuns: 60 },
    );
    expect(torn).toBeGreaterThan(50);
  });
});
