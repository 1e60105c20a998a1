/** The report for programs. Field names and check ids never change; fields may be added. */
import { totalsOf } from './report-text.ts';
import type { Report } from './run.ts';

export function reportJson(report: Report): string {
  const document = {
    target: report.target,
    startedAt: new Date(report.startedAtMs).toISOString(),
    durationMs: report.durationMs,
    machineCount: report.machineCount,
    touchedCount: report.touchedCount,
    isComplete: report.isComplete,
    totals: totalsOf(report.results),
    checks: report.results,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}
