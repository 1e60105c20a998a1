/** Formats a record of the audit log. Times are ISO 8601 in UTC, durations seconds; docs/operating.md lists the keys. */
import { cutText } from '../base/cut-text.ts';
import type { ControlRecord } from '../shard/ports/controls.ts';
import type { ActionRecord } from '../shard/ports/observer.ts';

/** An action, and the epoch of the process that took it: numbers of cycles begin at 1 in every process. */
export interface AuditRecord extends ActionRecord {
  readonly epoch: number;
}

/** T3: no line is longer. The largest row of a roll-up has 64 KiB, so the lines of accepted demand are written whole. */
export const LINE_BYTES_MAX = 262_144;
/** Of a text in a line that would be longer: 7 texts × 4,096 characters × 6 bytes for an escaped one is 168 KiB. */
const CUT_TEXT_CHARS_MAX = 4_096;

/** A line that would be too long has its long texts cut and marked. Ends with a line feed. */
export function auditLine(record: AuditRecord): string {
  const { machineId, clusterId, forClusterId, fingerprint, group, detail } = record;
  const chars =
    machineId.length +
    clusterId.length +
    forClusterId.length +
    fingerprint.length +
    group.length +
    detail.length;
  if (chars > LINE_BYTES_MAX) return lineOf(withTextsCut(record));
  const line = lineOf(record);
  // A character of the line takes three bytes at most, so only a long line has to be measured.
  return line.length * 3 > LINE_BYTES_MAX && Buffer.byteLength(line) > LINE_BYTES_MAX
    ? lineOf(withTextsCut(record))
    : line;
}

function withTextsCut(record: AuditRecord): AuditRecord {
  const cut = (text: string) => cutText(text, CUT_TEXT_CHARS_MAX);
  return {
    ...record,
    machineId: cut(record.machineId),
    clusterId: cut(record.clusterId),
    forClusterId: cut(record.forClusterId),
    fingerprint: cut(record.fingerprint),
    group: cut(record.group),
    reason: cut(record.reason),
    detail: cut(record.detail),
  };
}

function lineOf(record: AuditRecord): string {
  const line = {
    time: timeOf(record.atMs),
    epoch: record.epoch,
    cycle: record.cycle,
    kind: record.kind,
    machine: record.machineId,
    cluster: record.clusterId,
    // Only for a preemption, where `cluster` is the victim's.
    for_cluster: record.forClusterId === '' ? undefined : record.forClusterId,
    fingerprint: record.fingerprint,
    group: record.group,
    reason: record.reason,
    grace_seconds: record.graceSeconds,
    outcome: record.outcome,
    detail: record.detail === '' ? undefined : record.detail,
    duration: record.durationMs / 1_000,
  };
  return `${JSON.stringify(line)}\n`;
}

/** H1: a command of an admin. Its texts are limited where it comes in. */
export function controlLine(record: ControlRecord): string {
  const line = {
    time: timeOf(record.atMs),
    kind: 'Control',
    command: record.command,
    control: record.id,
    subject: record.subject,
    who: record.who,
    why: record.why,
    via: record.via,
    until: record.untilMs === null ? undefined : timeOf(record.untilMs),
    outcome: record.outcome,
    detail: record.detail === '' ? undefined : cutText(record.detail, CUT_TEXT_CHARS_MAX),
  };
  return `${JSON.stringify(line)}\n`;
}

/** A line in place of lost records. */
export function lostLine(before: AuditRecord | ControlRecord, lostCount: number): string {
  const time = timeOf(before.atMs);
  const { epoch, cycle } = 'cycle' in before ? before : {};
  return `${JSON.stringify({ time, epoch, cycle, kind: 'RecordsLost', records: lostCount })}\n`;
}

/** Null for a time that has no date: a line must not fail because of a broken clock. */
function timeOf(atMs: number): string | null {
  const date = new Date(atMs);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}
