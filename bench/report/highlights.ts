/**
 * The few figures that the README quotes, written into it from the same records as the page: a figure typed by hand would
 * be out of date a month later.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { ShardError } from '../../src/base/errors.ts';
import type { SoakRecord } from '../soak/section.ts';
import { formatFigure } from '../terminal.ts';
import { figure, table } from './markdown.ts';
import type { RunRecord } from './record.ts';

interface Highlight {
  readonly text: string;
  readonly scenario: string;
  readonly metric: string;
  /** Shown after the figure: "naive twin: 120 ms". */
  readonly against?: readonly [text: string, metric: string];
  /** Shown after the figure, as a factor. */
  readonly ratio?: readonly [text: string, name: string];
}

const HIGHLIGHTS: readonly Highlight[] = [
  { text: 'decide when nothing changed', scenario: 'cycle-realistic', metric: 'quiet' },
  {
    text: 'decide after 1,000 machines and 10 roll-ups changed',
    scenario: 'cycle-delta',
    metric: 'delta',
    ratio: ['the time at half the fleet', 'delta ÷ half of each cluster'],
  },
  { text: 'decide after 1 % of the clusters changed', scenario: 'cycle-realistic', metric: 'clustered' },
  { text: 'decide after 1 % of all machines changed', scenario: 'cycle-realistic', metric: 'spread' },
  { text: 'decide everything from scratch', scenario: 'cycle-realistic', metric: 'full' },
  { text: 'from a need to a running node, p99', scenario: 'binding', metric: 'binding p99' },
  { text: 'from an empty process to the first decision', scenario: 'cold-start', metric: 'cold start' },
  {
    text: 'decode a listing of all machines',
    scenario: 'list-decode',
    metric: 'columns',
    against: ['protobufjs', 'protobufjs'],
  },
  {
    text: 'main-thread time for a listing without changes',
    scenario: 'reconcile-full',
    metric: 'unchanged: main thread',
  },
  { text: 'memory of the whole shard at rest', scenario: 'memory', metric: 'RSS at rest' },
];

const BEGIN = '<!-- results: written by npm run bench -- --report -->';
const END = '<!-- end of results -->';

export class NoPlaceForResultsError extends ShardError {
  readonly code = 'no_place_for_results';
  readonly next = 'reject-input';
}

export function renderHighlights(records: readonly RunRecord[], soak: SoakRecord | null): string {
  const rows = HIGHLIGHTS.flatMap((highlight) => {
    const record = records.find(({ scenario, isGrowth }) => scenario === highlight.scenario && !isGrowth);
    if (record?.outcome.kind !== 'measured' || !record.isDefault) return [];
    const { metrics, ratios } = record.outcome.result;
    const metric = metrics[highlight.metric];
    if (metric === undefined) return [];
    const other = highlight.against === undefined ? undefined : metrics[highlight.against[1]];
    const ratio = highlight.ratio === undefined ? undefined : ratios[highlight.ratio[1]];
    const notes = [
      ...(other === undefined ? [] : [`${highlight.against![0]}: ${figure(other.median, other.unit)}`]),
      ...(ratio === undefined ? [] : [`${formatFigure(ratio)} × ${highlight.ratio![0]}`]),
    ];
    return [[highlight.text, figure(metric.median, metric.unit), notes.join('; ')]];
  });
  const targets = records.flatMap(({ outcome, isGrowth }) =>
    outcome.kind === 'measured' && !isGrowth ? outcome.result.targets : [],
  );
  const metCount = targets.filter(({ met }) => met).length;
  return [
    table(['500,000 machines, 776,000 needs', 'median', ''], rows, 'lrl'),
    `${metCount} of ${targets.length} targets are met. ${loadSentence(records)} Tails, growth, what is slow, and the machine: [docs/results.md](docs/results.md).`,
    ...(soak === null ? [] : [soakSentence(soak)]),
  ].join('\n\n');
}

/** The figures mean little without the load. */
function loadSentence(records: readonly RunRecord[]): string {
  const quoted = records.filter(({ isGrowth }) => !isGrowth);
  if (quoted.length === 0) return '';
  const cores = quoted[0]!.host.cores;
  const lowest = Math.min(...quoted.map(({ load }) => load.lowest));
  const highest = Math.max(...quoted.map(({ load }) => load.highest));
  const isBusy = highest > cores;
  return (
    `The load average was ${lowest.toFixed(1)} to ${highest.toFixed(1)} on ${cores} cores` +
    `${isBusy ? ': **a busy machine**, and times are longer than on a quiet one' : ''}.`
  );
}

/** The longest run with the real programs, and what did not hold in it. */
function soakSentence({ headline, violations }: SoakRecord): string {
  if (violations.length === 0) return `${headline} Nothing grew.`;
  return `${headline} Not good enough yet: ${violations.join('; ')}.`;
}

/** Replaces the text between the two marks; the rest of the file stays. */
export function withHighlights(readme: string, block: string): string {
  const [begin, end] = [readme.indexOf(BEGIN), readme.indexOf(END)];
  if (begin < 0 || end < begin) {
    throw new NoPlaceForResultsError(
      `README.md lacks the lines "${BEGIN}" and "${END}". The page was written; the README was not changed. Add the two lines.`,
    );
  }
  return `${readme.slice(0, begin + BEGIN.length)}\n\n${block}\n\n${readme.slice(end)}`;
}

export async function writeHighlights(readmeFile: string, block: string): Promise<void> {
  await writeFile(readmeFile, withHighlights(await readFile(readmeFile, 'utf8'), block));
}
