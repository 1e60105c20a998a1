/** The parts of the page about scenarios: targets, slow spots, comparisons with naive twins, every figure. */
import type { ScenarioResult, TargetResult } from '../harness.ts';
import { qualitySummary } from '../quality/section.ts';
import { NANOSECONDS, type TimeUnit } from '../statistics.ts';
import { formatFigure } from '../terminal.ts';
import { figure, table } from './markdown.ts';
import type { RunRecord } from './record.ts';

const SLOWEST_COUNT = 12;
/** Tables that say what a scenario's list of figures does not show at a glance. */
const SUMMARIES: Readonly<Record<string, (result: ScenarioResult) => readonly string[]>> = {
  quality: qualitySummary,
};
/** Shorter times are not listed as slow. */
const SLOW_MS = 50;

export function measuredOf(records: readonly RunRecord[]): { record: RunRecord; result: ScenarioResult }[] {
  return records.flatMap((record) =>
    record.outcome.kind === 'measured' ? [{ record, result: record.outcome.result }] : [],
  );
}

/** Missed targets come first. */
export function targetsSection(records: readonly RunRecord[]): string {
  const all = measuredOf(records).flatMap(({ record, result }) =>
    result.targets.map((target) => ({ record, target })),
  );
  const missed = all.filter(({ target }) => !target.met);
  const met = all.filter(({ target }) => target.met);
  const rows = [...missed, ...met].map(({ record, target }) => [
    target.met ? 'met' : '**missed**',
    `[${record.scenario}](#${record.scenario})`,
    target.name,
    `${formatFigure(target.measured)}${unitOf(record, target)}`,
    `${target.direction === 'below' ? 'at most' : 'at least'} ${formatFigure(target.limit)}`,
  ]);
  const notDefault = records.filter(({ isDefault }) => !isDefault).map(({ scenario }) => scenario);
  return [
    '## Targets',
    `${met.length} of ${all.length} targets are met.`,
    table(['', 'scenario', 'target', 'measured', 'limit'], rows, 'lllrr'),
    ...(notDefault.length === 0
      ? []
      : [
          `Targets are for default sizes; these scenarios were measured at others: ${notDefault.join(', ')}.`,
        ]),
  ].join('\n\n');
}

/** A result does not name the metric of a target: finds the metric with the measured value. */
function unitOf(record: RunRecord, target: TargetResult): string {
  if (record.outcome.kind !== 'measured') return '';
  const { metrics, ratios } = record.outcome.result;
  if (Object.values(ratios).includes(target.measured)) return ' ×';
  const metric = Object.values(metrics).find(
    ({ median, p99 }) => median === target.measured || p99 === target.measured,
  );
  return metric === undefined ? '' : ` ${metric.unit === 'us' ? 'µs' : metric.unit}`;
}

/** Failures, missed targets and the longest times. */
export function slowSection(records: readonly RunRecord[]): string {
  const missed = measuredOf(records.filter(({ isGrowth }) => !isGrowth)).flatMap(({ record, result }) =>
    result.targets
      .filter(({ met }) => !met)
      .map(
        (target) =>
          `- **${record.scenario}** misses “${target.name}”: ${formatFigure(target.measured)}${unitOf(record, target)}, ` +
          `${target.direction === 'below' ? 'at most' : 'at least'} ${formatFigure(target.limit)} wanted ` +
          `(load ${loadText(record)}).`,
      ),
  );
  const broken = records.flatMap(({ scenario, outcome, params, isGrowth }) =>
    outcome.kind === 'measured'
      ? []
      : [
          `- **${scenario}**${isGrowth ? ` at ${formatFigure(params.machines)} machines` : ''} ${outcome.kind}: ${outcome.message}`,
        ],
  );
  const slowest = measuredOf(records.filter(({ isGrowth }) => !isGrowth))
    .flatMap(({ record, result }) =>
      Object.entries(result.metrics).map(([name, metric]) => ({
        record,
        name,
        metric,
        ms: (metric.median * (NANOSECONDS[metric.unit as TimeUnit] ?? 0)) / NANOSECONDS.ms,
      })),
    )
    .filter(({ ms }) => ms >= SLOW_MS)
    .sort((a, b) => b.ms - a.ms)
    .slice(0, SLOWEST_COUNT)
    .map(({ record, name, metric }) => [
      `[${record.scenario}](#${record.scenario})`,
      name,
      figure(metric.median, metric.unit),
      figure(metric.p99, metric.unit),
    ]);
  return [
    '## What is slow, missed or broken',
    [...broken, ...missed].join('\n') || 'Every scenario ran, and no target is missed.',
    `The ${slowest.length} longest times of all scenarios, naive twins included:`,
    table(['scenario', 'figure', 'median', 'p99'], slowest, 'llrr'),
  ].join('\n\n');
}

export function ratiosSection(records: readonly RunRecord[]): string {
  const rows = measuredOf(records.filter(({ isGrowth }) => !isGrowth)).flatMap(({ record, result }) =>
    Object.entries(result.ratios).map(([name, value]) => [
      `[${record.scenario}](#${record.scenario})`,
      name,
      `${formatFigure(value)} ×`,
    ]),
  );
  return [
    '## Ratios',
    'Ratios of medians from one process: against the naive twin that does the same with plain objects, against a generated decoder, or against a fleet of half the size.',
    table(['scenario', 'ratio', ''], rows, 'llr'),
  ].join('\n\n');
}

export function scenarioSection(record: RunRecord): string {
  const head = [
    `### ${record.scenario}`,
    `${record.question} ${formatFigure(record.params.machines)} machines${record.params.needs > 0 ? `, ${formatFigure(record.params.needs)} needs` : ''}.`,
    `\`${record.command}\` · took ${formatFigure(record.tookSeconds)} s · load ${loadText(record)}`,
  ];
  if (record.outcome.kind !== 'measured') {
    return [...head, `**${record.outcome.kind}**: ${record.outcome.message}`].join('\n\n');
  }
  const { result } = record.outcome;
  const metrics = Object.entries(result.metrics);
  const rows = metrics.map(([name, { unit, median, p99, samples }]) => [
    name,
    figure(median, unit),
    samples === 1 ? '' : figure(p99, unit),
    formatFigure(samples),
  ]);
  const figures = table(['figure', 'median', 'p99', 'samples'], rows, 'lrrr');
  const isLong = metrics.length > 12;
  return [
    ...head,
    ...(SUMMARIES[record.scenario]?.(result) ?? []),
    ...(result.notes === undefined ? [] : [result.notes.map((note) => `- ${note}`).join('\n')]),
    ...(isLong
      ? [`<details><summary>${metrics.length} figures</summary>`, figures, '</details>']
      : [figures]),
  ].join('\n\n');
}

export function loadText({ load, host }: RunRecord): string {
  const span =
    load.highest - load.lowest < 0.1
      ? load.highest.toFixed(1)
      : `${load.lowest.toFixed(1)} to ${load.highest.toFixed(1)}`;
  const others =
    load.otherCores === null ? '' : `, others used ${load.otherCores.toFixed(2)} of ${host.cores} cores`;
  return `${span}${others}`;
}
