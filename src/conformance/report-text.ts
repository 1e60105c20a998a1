/** The report for people: one line per check; under a failure the rule and the three texts of the finding. */
import type { CheckResult, Report } from './run.ts';

const MARKS = { passed: 'pass', failed: 'FAIL', skipped: 'skip' } as const;

export interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export function totalsOf(results: readonly CheckResult[]): Totals {
  const totals = { passed: 0, failed: 0, skipped: 0 };
  for (const { outcome } of results) totals[outcome]++;
  return totals;
}

export function resultText(result: CheckResult): string {
  const head = `${MARKS[result.outcome]}  ${result.id}`;
  switch (result.outcome) {
    case 'passed':
      return result.note === '' ? head : `${head}  (${result.note})`;
    case 'skipped':
      return `${head}  (${result.reason})`;
    case 'failed':
      return [
        head,
        `        contract  ${result.contract}`,
        `        expected  ${result.finding.expected}`,
        `        actual    ${result.finding.came}`,
        `        fix       ${result.finding.change}`,
      ].join('\n');
  }
}

export function summaryText(report: Report): string {
  const { passed, failed, skipped } = totalsOf(report.results);
  const seconds = (report.durationMs / 1_000).toFixed(1);
  const verdict =
    failed > 0 ? 'does not conform' : report.isComplete ? 'conforms' : 'was not checked completely';
  return [
    `${report.target} ${verdict}: ${passed} passed, ${failed} failed, ${skipped} skipped in ${seconds} s.`,
    `The provider lists ${report.machineCount} machines; the suite used ${report.touchedCount} of them.`,
  ].join('\n');
}
