/** The report for CI systems: JUnit XML, one suite per area, one case per check. */
import { totalsOf } from './report-text.ts';
import type { CheckResult, Report } from './run.ts';

export function reportJunit(report: Report): string {
  const areas = new Map<string, CheckResult[]>();
  for (const result of report.results) {
    const area = result.id.slice(0, result.id.indexOf('/'));
    const known = areas.get(area);
    if (known === undefined) areas.set(area, [result]);
    else known.push(result);
  }
  const lines = [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="provider conformance"${countAttributes(report.results)} time="${seconds(report.durationMs)}">`,
  ];
  const timestamp = new Date(report.startedAtMs).toISOString().slice(0, -1); // the schema wants no zone
  for (const [area, results] of areas) {
    const durationMs = results.reduce((sum, result) => sum + result.durationMs, 0);
    lines.push(
      `  <testsuite name="${escapeXml(area)}" hostname="${escapeXml(report.target)}" timestamp="${timestamp}"` +
        `${countAttributes(results)} errors="0" time="${seconds(durationMs)}">`,
      ...results.map(caseXml),
      '  </testsuite>',
    );
  }
  lines.push('</testsuites>', '');
  return lines.join('\n');
}

function caseXml(result: CheckResult): string {
  const area = result.id.slice(0, result.id.indexOf('/'));
  const head = `    <testcase classname="conformance.${escapeXml(area)}" name="${escapeXml(result.id)}" time="${seconds(result.durationMs)}"`;
  switch (result.outcome) {
    case 'passed':
      return `${head}/>`;
    case 'skipped':
      return `${head}><skipped message="${escapeXml(result.reason)}"/></testcase>`;
    case 'failed': {
      const { expected, came, change } = result.finding;
      const text = `contract: ${result.contract}\nexpected: ${expected}\nactual: ${came}\nfix: ${change}`;
      return `${head}><failure message="${escapeXml(`expected: ${expected}; actual: ${came}`)}">${escapeXml(text)}</failure></testcase>`;
    }
  }
}

function countAttributes(results: readonly CheckResult[]): string {
  const { failed, skipped } = totalsOf(results);
  return ` tests="${results.length}" failures="${failed}" skipped="${skipped}"`;
}

function seconds(durationMs: number): string {
  return (durationMs / 1_000).toFixed(3);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\n': '&#10;',
};

/** The texts quote the provider. Characters that XML cannot carry become the replacement character. */
export function escapeXml(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replace(/[&<>"\n]/g, (character) => ENTITIES[character]!);
}
