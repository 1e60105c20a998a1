/** A soak's record, its plots and its part of docs/results.md. */

import type { Host, Load } from '../report/host.ts';
import { figure, table } from '../report/markdown.ts';
import { type Plot, renderPlot, type Series } from '../report/plot.ts';
import { quantile } from '../statistics.ts';
import { formatFigure } from '../terminal.ts';
import type { SoakSample } from './samples.ts';
import { type Judgement, pointsOf } from './verdicts.ts';

/** File name in the folder of results. */
export const SOAK_FILE = 'soak.generated.json';

export interface SoakRecord extends Judgement {
  readonly command: string;
  readonly version: string;
  readonly startedAt: string;
  readonly minutes: number;
  readonly minutesWanted: number;
  readonly warmUpSeconds: number;
  readonly machines: number;
  readonly clusters: number;
  readonly churn: string;
  readonly latency: string;
  readonly host: Host;
  readonly load: Load;
  /** One sentence with the figures that matter. */
  readonly headline: string;
  readonly samples: readonly SoakSample[];
}

type Figure = Exclude<keyof SoakSample, 'elapsedSeconds'>;

interface PlotPlan {
  readonly name: string;
  readonly title: string;
  readonly yLabel: string;
  readonly series: readonly (readonly [name: string, figure: Figure])[];
}

const PLOTS: readonly PlotPlan[] = [
  {
    name: 'soak-memory.svg',
    title: 'Memory over time',
    yLabel: 'MB',
    series: [
      ['shard, resident', 'rssMb'],
      ['shard, heap of the main thread', 'heapMb'],
      ['provider', 'providerRssMb'],
      ['operators', 'operatorsRssMb'],
    ],
  },
  {
    name: 'soak-queues.svg',
    title: 'Queues over time',
    yLabel: 'count',
    series: [
      ['actions queued', 'queued'],
      ['in flight', 'inFlight'],
      ['reads waiting', 'readsWaiting'],
      ['machines that clusters wait for', 'wanting'],
    ],
  },
  {
    name: 'soak-delay.svg',
    title: 'Cycle and event loop over time',
    yLabel: 'ms',
    series: [
      ['cycle, mean', 'cycleMeanMs'],
      ['event-loop delay p99', 'loopDelayP99Ms'],
      ['longest', 'loopDelayMaxMs'],
    ],
  },
  {
    name: 'soak-binds.svg',
    title: 'Bindings over time',
    yLabel: 'bindings/s',
    series: [['bindings/s', 'bindsPerSecond']],
  },
  {
    name: 'soak-latency.svg',
    title: 'Time from asking for a machine to having it',
    yLabel: 'ms',
    series: [
      ['median', 'bindP50Ms'],
      ['p99', 'bindP99Ms'],
    ],
  },
  {
    name: 'soak-paths.svg',
    title: 'From need to node, p99 by what the need found',
    yLabel: 'ms',
    series: [
      ['an Idle machine', 'bindIdleP99Ms'],
      ['an offer', 'bindCreatedP99Ms'],
      ['a machine to be drained', 'bindFreedP99Ms'],
      ['nothing at first', 'bindWaitedP99Ms'],
    ],
  },
];

const SUMMARIES: readonly (readonly [name: string, figure: Figure, unit: string])[] = [
  ['cycle, mean of each interval', 'cycleMeanMs', 'ms'],
  ['event-loop delay p99 of each 10 s', 'loopDelayP99Ms', 'ms'],
  ['longest event-loop delay of each 10 s', 'loopDelayMaxMs', 'ms'],
  ['bindings', 'bindsPerSecond', 'bindings/s'],
  ['binding latency, median of each interval', 'bindP50Ms', 'ms'],
  ['binding latency, p99 of each interval', 'bindP99Ms', 'ms'],
  ['binding latency of needs that found an Idle machine, p99', 'bindIdleP99Ms', 'ms'],
  ['… that found an offer', 'bindCreatedP99Ms', 'ms'],
  ['… that waited for a drain or preemption', 'bindFreedP99Ms', 'ms'],
  ['… for which nothing was there', 'bindWaitedP99Ms', 'ms'],
  ['unmet needs', 'unmetNeeds', 'needs'],
  ['heap of the main thread', 'heapMb', 'MB'],
  ['load average', 'load', ''],
];

/** Without the plots of figures that the record does not have. */
function plotsOf({ samples }: SoakRecord): PlotPlan[] {
  return PLOTS.filter(({ series }) => series.some(([, of]) => pointsOf(samples, of).length > 0));
}

export function soakPlots(soak: SoakRecord): Map<string, string> {
  const images = new Map<string, string>();
  for (const plan of plotsOf(soak)) {
    const series: Series[] = plan.series.map(([name, of]) => ({
      name,
      points: pointsOf(soak.samples, of).map(([seconds, value]) => [seconds / 60, value] as const),
    }));
    const plot: Plot = {
      title: `${plan.title}: ${soak.machines.toLocaleString('en-US')} machines, ${soak.clusters.toLocaleString('en-US')} clusters`,
      xLabel: 'minutes since all clusters were connected',
      yLabel: plan.yLabel,
      xScale: 'linear',
      yScale: 'linear',
      hasMarks: false,
      series,
      formatX: (value) => formatFigure(value),
      formatY: (value) => formatFigure(value),
    };
    images.set(plan.name, renderPlot(plot));
  }
  return images;
}

export function soakSection(soak: SoakRecord, imageFolder: string): string {
  const judged = soak.samples.filter(({ elapsedSeconds }) => elapsedSeconds >= soak.warmUpSeconds);
  const verdictRows = soak.verdicts.map(({ name, first, last, limit, slopePerHour, unit, held }) => [
    held ? 'within limit' : '**grew**',
    name,
    figure(Math.round(first), unit).trim(),
    figure(Math.round(last), unit).trim(),
    figure(Math.round(limit), unit).trim(),
    `${slopePerHour < 0 ? '−' : '+'}${formatFigure(Math.abs(Math.round(slopePerHour)))} an hour`,
  ]);
  const summaryRows = SUMMARIES.flatMap(([name, of, unit]) => {
    const values = Float64Array.from(pointsOf(judged, of), ([, value]) => value).sort();
    if (values.length === 0) return [];
    const at = (fraction: number) => figure(quantile(values, fraction), unit).trim();
    return [[name, at(0.5), at(0.9), at(1)]];
  });
  const wasCut = soak.minutes < soak.minutesWanted * 0.99;
  return [
    '## Soak',
    `The real programs (\`flotilla provider\`, \`shard\`, \`operators\`) over gRPC on loopback, all on this machine. ${soak.headline}`,
    `\`${soak.command}\` · ${soak.startedAt.slice(0, 16)} UTC · version ${soak.version} · load ${soak.load.lowest.toFixed(1)} to ${soak.load.highest.toFixed(1)} on ${soak.host.cores} cores, the three programs included` +
      `${soak.load.otherCores === null ? '' : `; others used ${soak.load.otherCores.toFixed(2)} cores`} · operations of the provider take ${soak.latency} (mean/p99)` +
      `${wasCut ? ` · **ended early**, after ${formatFigure(soak.minutes)} of ${formatFigure(soak.minutesWanted)} minutes` : ''}`,
    soak.violations.length === 0
      ? `Nothing grew. After a warm-up of ${formatFigure(soak.warmUpSeconds)} s, the soak compares the medians of the last quarter with those of the first.`
      : `**Violations:**\n\n${soak.violations.map((line) => `- ${line}`).join('\n')}`,
    table(['', 'judged', 'first quarter', 'last quarter', 'at most', 'slope'], verdictRows, 'llrrrr'),
    table(['after the warm-up', 'median', 'p90', 'highest'], summaryRows, 'lrrr'),
    ...plotsOf(soak).map(({ name, title }) => `![${title}](${imageFolder}/${name})`),
  ].join('\n\n');
}
