/** Formats a record of the audit log. Times are ISO 8601 in UTC, durations seconds; docs/operating.md lists the keys. */
import type { ActionRecord } from '../shard/ports/observer.ts';

export function auditLine(record: ActionRecord): string {
  const line = {
    time: new Date(record.atMs).toISOString(),
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

/** A line in place of lost records. */
export function lostLine(before: ActionRecord, lostCount: number): string {
  const time = new Date(before.atMs).toISOString();
  return `${JSON.stringify({ time, cycle: before.cycle, kind: 'RecordsLost', records: lostCount })}\n`;
}
