/** Results for the terminal: one block per scenario, every target marked met or MISSED. */
import type { Params, Scenario, ScenarioResult, TargetResult } from './harness.ts';

/** The list that a bare `npm run bench` prints. */
export function renderList(scenarios: readonly Scenario[]): string {
  if (scenarios.length === 0) return 'There are no scenarios in bench/scenarios yet.';
  const width = Math.max(...scenarios.map((scenario) => scenario.name.length));
  const lines = scenarios.map((scenario) => `  ${scenario.name.padEnd(width)}  ${scenario.question}`);
  return ['Scenarios (npm run bench -- NAME…; --help for the flags):', '', ...lines].join('\n');
}

export function renderResult(result: ScenarioResult, question: string, differsFromDefaults: boolean): string {
  const lines = ['', `${result.scenario}: ${question}`, `  ${renderParams(result.params)}`, ''];
  const metrics = Object.entries(result.metrics);
  if (metrics.length > 0) {
    const rows = metrics.map(([name, metric]) => [
      name,
      formatFigure(metric.median),
      formatFigure(metric.p99),
      metric.unit,
      formatFigure(metric.samples),
    ]);
    lines.push(...renderTable(['metric', 'median', 'p99', 'unit', 'samples'], rows, 'lrrlr'), '');
  }
  for (const [name, value] of Object.entries(result.ratios))
    lines.push(`  ${name}: ${formatFigure(value)} ×`);
  if (Object.keys(result.ratios).length > 0) lines.push('');
  for (const target of result.targets) lines.push(`  ${renderTarget(target)}`);
  if (result.targets.length > 0 && differsFromDefaults) {
    lines.push('  (the targets are for the scenario’s default parameters; this run used others)');
  }
  return lines.join('\n');
}

/** The last lines: every missed target by name, so that readers need not scroll for it. */
export function renderSummary(chosenCount: number, results: readonly ScenarioResult[]): string {
  const targetCount = results.reduce((count, result) => count + result.targets.length, 0);
  const missed = results.flatMap((result) =>
    result.targets
      .filter((target) => !target.met)
      .map((target) => `  ${result.scenario}  ${renderTarget(target)}`),
  );
  const failedCount = chosenCount - results.length;
  const failed = failedCount === 0 ? '' : `, ${failedCount} failed`;
  const head = `${results.length} of ${chosenCount} scenarios ran${failed}; ${targetCount - missed.length} of ${targetCount} targets met.`;
  return ['', head, ...missed].join('\n');
}

function renderTarget(target: TargetResult): string {
  const word = target.met ? 'met   ' : 'MISSED';
  const bound = target.direction === 'below' ? 'at most' : 'at least';
  return `${word}  ${target.name}: ${formatFigure(target.measured)}, ${bound} ${formatFigure(target.limit)}`;
}

function renderParams(params: Params): string {
  const parts = [`${formatFigure(params.machines)} machines`];
  if (params.needs > 0) parts.push(`${formatFigure(params.needs)} needs`);
  parts.push(`${params.seconds} s a measurement`);
  return parts.join(' · ');
}

/** `sides`: one letter per column, l or r. */
export function renderTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  sides: string,
): string[] {
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]!.length)),
  );
  const line = (cells: readonly string[]) =>
    `  ${cells
      .map((cell, column) =>
        sides[column] === 'r' ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!),
      )
      .join('  ')
      .trimEnd()}`;
  return [line(header), line(widths.map((width) => '─'.repeat(width))), ...rows.map(line)];
}

/** Three significant figures below a thousand, grouped digits above: the measurements are not more precise. */
export function formatFigure(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (Number.isInteger(value) || size >= 1_000) return Math.round(value).toLocaleString('en-US');
  if (size < 0.001) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
}
