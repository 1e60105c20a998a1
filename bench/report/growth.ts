/** A scenario's figures for fleets of growing size: the curve and the same figures as a table. */

import { type Metric, NANOSECONDS, type TimeUnit } from '../statistics.ts';
import { formatFigure } from '../terminal.ts';
import { figure, table } from './markdown.ts';
import { type Plot, renderPlot } from './plot.ts';
import type { RunRecord } from './record.ts';

export interface Curve {
  readonly scenario: string;
  readonly markdown: string;
  readonly imageName: string;
  readonly svg: string;
}

/** Null for a scenario that declares no growth, or has fewer than two sizes measured. */
export function growthCurve(records: readonly RunRecord[], imageFolder: string): Curve | null {
  const growth = records[0]?.growth;
  if (growth === undefined || growth === null) return null;
  const points = records
    .filter(({ outcome }) => outcome.kind === 'measured')
    .sort((a, b) => a.params.machines - b.params.machines);
  if (points.length < 2) return null;
  const { scenario, question } = records[0]!;
  const unit = metricOf(points[0]!, growth.metrics[0]!)?.unit ?? 'ms';
  const imageName = `growth-${scenario}.svg`;
  const plot: Plot = {
    title: `${scenario}: ${growth.metrics.join(', ')} by number of machines`,
    xLabel: 'machines (logarithmic)',
    yLabel: `median, ${unit === 'us' ? 'µs' : unit} (logarithmic)`,
    xScale: 'log',
    yScale: 'log',
    hasMarks: true,
    series: growth.metrics.map((name) => ({
      name,
      points: points.map(
        (record) =>
          [record.params.machines, nanoseconds(record, name) / (NANOSECONDS[unit as TimeUnit] ?? 1)] as const,
      ),
    })),
    formatX: (value) => value.toLocaleString('en-US'),
    formatY: formatFigure,
  };
  const first = points.find(({ isGrowth }) => isGrowth) ?? points[0]!;
  return {
    scenario,
    imageName,
    svg: renderPlot(plot),
    markdown: [
      `### Growth of ${scenario}`,
      `${question} ${growth.note}`,
      `![${plot.title}](${imageFolder}/${imageName})`,
      growthTable(points, growth.metrics),
      `\`${first.command.replace(/--machines \d+(?: --needs \d+)?/, '--machines N')}\``,
    ].join('\n\n'),
  };
}

/** Medians; p99 is in the sections of the scenarios. The last row compares the largest fleet with the smallest. */
function growthTable(points: readonly RunRecord[], metrics: readonly string[]): string {
  const rows = points.map((record) => [
    record.params.machines.toLocaleString('en-US'),
    ...metrics.map((name) => cell(record, name)),
    formatFigure(Math.round(record.load.highest * 10) / 10),
  ]);
  const [first, last] = [points[0]!, points.at(-1)!];
  const factor = last.params.machines / first.params.machines;
  rows.push([
    `× ${formatFigure(factor)}`,
    ...metrics.map((name) => {
      const ratio = nanoseconds(last, name) / nanoseconds(first, name);
      return Number.isFinite(ratio) ? `× ${formatFigure(ratio)}` : '–';
    }),
    '',
  ]);
  return table(['machines', ...metrics, 'load'], rows, `r${'r'.repeat(metrics.length)}r`);
}

function metricOf({ outcome }: RunRecord, name: string): Metric | undefined {
  return outcome.kind === 'measured' ? outcome.result.metrics[name] : undefined;
}

function cell(record: RunRecord, name: string): string {
  const metric = metricOf(record, name);
  return metric === undefined ? '–' : figure(metric.median, metric.unit);
}

function nanoseconds(record: RunRecord, name: string): number {
  const metric = metricOf(record, name);
  return metric === undefined ? Number.NaN : metric.median * (NANOSECONDS[metric.unit as TimeUnit] ?? 1);
}
