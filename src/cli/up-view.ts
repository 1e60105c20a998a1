/**
 * What `flotilla up` shows while it runs: a page that redraws itself in a terminal, progress lines anywhere else. Both come
 * from the shard's API.
 */
import type { ApiOverview, StateName } from '../dashboard/api/types.ts';

export interface UpSample {
  readonly overview: ApiOverview;
  readonly elapsedMs: number;
  /** Time that the last cycle took on the main thread. */
  readonly cycleMs: number;
  readonly actionsByKind: Readonly<Record<string, number>>;
  readonly operators: string;
}

const STATES: readonly StateName[] = [
  'Speculative',
  'Creating',
  'Idle',
  'Configuring',
  'Configured',
  'Draining',
  'Deleting',
  'Failed',
];
const COLOURS: Readonly<Record<StateName, number>> = {
  Speculative: 90,
  Creating: 36,
  Idle: 33,
  Configuring: 36,
  Configured: 32,
  Draining: 35,
  Deleting: 35,
  Failed: 31,
};
const BAR_WIDTH_MAX = 48;

const number = (value: number) => value.toLocaleString('en-US');
const dollars = (value: number) => `$${Math.round(value).toLocaleString('en-US')}/h`;

/** One line, for logs and pipes. */
export function progressLine({ overview, elapsedMs, cycleMs, actionsByKind }: UpSample): string {
  const { byState, cost, queue, unmetNeeds, needs, cycle } = overview;
  const moves = Object.entries(actionsByKind)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${kind} ${number(count)}`)
    .join(', ');
  return [
    `${Math.round(elapsedMs / 1000)}s`,
    `cycle ${cycle} ${cycleMs.toFixed(1)} ms`,
    `needs ${number(needs)} (${number(unmetNeeds)} unmet)`,
    `configured ${number(byState.Configured)}, idle ${number(byState.Idle)}, offers ${number(byState.Speculative)}`,
    `in flight ${queue.inFlight}, queued ${queue.queued}`,
    dollars(cost.totalUsd),
    moves === '' ? 'no actions yet' : moves,
  ].join('  ');
}

/** The page as lines, none of them wider than the terminal. */
export function pageLines(sample: UpSample, url: string, columns: number): string[] {
  const { overview, elapsedMs, cycleMs, actionsByKind, operators } = sample;
  const { byState, cost, queue, rails, replica } = overview;
  const barWidth = Math.max(10, Math.min(BAR_WIDTH_MAX, columns - 34));
  const lines = [
    `${bold('Flotilla')}  shard ${overview.shardId}, epoch ${overview.epoch}, up ${clock(elapsedMs)}`,
    `dashboard ${bold(url)}`,
    ...(replica === null ? [] : [`replica ${bold(replica.name)}, ${replica.text}   (k kills it)`]),
    '',
    ...STATES.map((state) => stateLine(state, byState[state], overview.machines, barWidth)),
    '',
    `cycle ${number(overview.cycle)}, took ${cycleMs.toFixed(1)} ms   needs ${number(overview.needs)}, unmet ${number(overview.unmetNeeds)}`,
    `in flight ${queue.inFlight}/${queue.concurrency}, queued ${queue.queued}   reads ${queue.readsInFlight}   stuck ${queue.stuckMachines}   in back-off ${queue.machinesInBackoff}`,
    `cost ${dollars(cost.totalUsd)}, of it idle ${dollars(cost.idleUsd)}   ${rails.heldBack === '' ? 'ready' : `not acting: ${rails.heldBack}`}`,
    `actions  ${Object.entries(actionsByKind)
      .map(([kind, count]) => `${kind} ${number(count)}`)
      .join('   ')}`,
    '',
    `operators  ${operators}`,
    'Press Ctrl-C to stop',
  ];
  return lines.map((line) => cut(line, columns));
}

function stateLine(state: StateName, count: number, total: number, width: number): string {
  const filled = total === 0 ? 0 : Math.ceil((count / total) * width);
  const bar = '█'.repeat(filled).padEnd(width, '·');
  return `${state.padEnd(12)} ${number(count).padStart(9)}  ${paint(COLOURS[state], bar)}`;
}

function clock(elapsedMs: number): string {
  const seconds = Math.floor(elapsedMs / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

function paint(colour: number, text: string): string {
  return `\u001b[${colour}m${text}\u001b[0m`;
}

function bold(text: string): string {
  return `\u001b[1m${text}\u001b[0m`;
}

/** Cuts a line to a width, not counting escape sequences. */
function cut(line: string, columns: number): string {
  let width = 0;
  let isEscape = false;
  for (let at = 0; at < line.length; at++) {
    if (line[at] === '\u001b') isEscape = true;
    else if (!isEscape && ++width > columns) return `${line.slice(0, at)}\u001b[0m`;
    else if (isEscape && line[at] === 'm') isEscape = false;
  }
  return line;
}
