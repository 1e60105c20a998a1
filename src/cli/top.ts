/** `flotilla top`: a live summary of a shard. */
import type { ApiHistory, ApiOverview } from '../dashboard/api/types.ts';
import {
  age,
  budgetHolds,
  count,
  counted,
  duration,
  heldWords,
  pausedWords,
  percent,
  quantities,
  usd,
} from '../dashboard/client/format.ts';
import type { ApiClient } from './inspect/api-client.ts';
import {
  COMMON_HELP,
  type CommandContext,
  EXIT_OK,
  Flags,
  type InspectCommand,
  runCommand,
  watchMs,
} from './inspect/command.ts';
import {
  type Column,
  drawRepeatedly,
  type Paint,
  painter,
  stateColour,
  tableText,
} from './inspect/terminal.ts';
import { runTop } from './top/interactive.ts';

const HELP = `Usage: flotilla top [options]

Shows the fleet, its cost, the work of the shard and the largest shortfalls. On a terminal the view refreshes, and a list
below it takes keys; elsewhere the view is printed once.

  up, down, j, k    select a row
  Enter             explain the selected row; Enter again goes back
  /                 filter the list while you type; Enter keeps the filter, Esc clears it
  Tab               next list: clusters, unmet needs, gangs, machines, offerings
  q                 quit

  --once            print it once and exit
  --every TIME      time between two refreshes (default 2s)
${COMMON_HELP}
Examples:
  flotilla top
  flotilla top --once --json | jq .cost.totalUsd

Exit code: 0 shown, 1 the shard did not answer, 2 invalid usage.
`;

const STATES = [
  'Configured',
  'Configuring',
  'Creating',
  'Idle',
  'Draining',
  'Deleting',
  'Failed',
  'Speculative',
] as const;
const ROWS_SHOWN = 8;
const SAMPLES_SHOWN = 60;

export const TOP: InspectCommand = {
  name: 'top',
  help: HELP,
  options: { once: { type: 'boolean' }, every: { type: 'string' }, watch: { type: 'boolean' } },
  run: async (context) => {
    const { flags, output, isJson } = context;
    const everyMs = everyOf(flags) ?? 2_000;
    if (!flags.has('once') && !isJson && output.isTerminal && process.stdin.isTTY) {
      const height = () => process.stdout.rows ?? 24;
      await runTop(context, { keyboard: process.stdin, everyMs, height, summary: () => summaryOf(context) });
      return EXIT_OK;
    }
    const repeats = !flags.has('once') && (output.isTerminal || flags.has('watch')) && !isJson;
    if (!repeats) output.out(await draw(context));
    else await drawRepeatedly(output, everyMs, () => draw(context));
    return EXIT_OK;
  },
};

export function run(argv: readonly string[]): Promise<number> {
  // With --every the view refreshes even where the output is no terminal.
  return runCommand(TOP, argv.includes('--every') ? [...argv, '--watch'] : argv);
}

/** Also without --watch, which `run` adds for outputs that are no terminal. */
function everyOf(flags: Flags): number | undefined {
  return flags.text('every') === undefined
    ? undefined
    : watchMs(new Flags({ every: flags.text('every'), watch: true }, []));
}

/** The lines above the list of `runTop`. */
export async function summaryOf({ api, output }: CommandContext): Promise<string[]> {
  const { now, past } = await readSummary(api);
  return summaryLines(now, past, painter(output));
}

async function readSummary(api: ApiClient) {
  const now = await api.get<ApiOverview>('overview');
  const past = await api.get<ApiHistory>('history', { since: Math.max(0, now.nowMs - 3_600_000) });
  return { now, past };
}

function summaryLines(now: ApiOverview, past: ApiHistory, paint: Paint): string[] {
  return [
    head(now, paint),
    ...railLines(now, paint),
    '',
    STATES.map((state) => `${paint(stateColour(state), state)} ${count(now.byState[state])}`).join('  '),
    `${paint('bold', `${usd(now.cost.totalUsd)}/h`)}, of it idle ${usd(now.cost.idleUsd)}/h (${percent(now.cost.idleUsd, now.cost.totalUsd)})`,
    `needs ${count(now.needs)}, unmet ${paint(now.unmetNeeds > 0 ? 'yellow' : 'green', count(now.unmetNeeds))}; ` +
      `in flight ${count(now.queue.inFlight)}, queued ${count(now.queue.queued)}, waiting ${count(now.queue.waiting)}; stuck ${count(now.queue.stuckMachines)}, in back-off ${count(now.queue.machinesInBackoff)}`,
    `at once at most: ${capsOf(now)}`,
    `cycle ms  ${spark(past.samples.map(({ durationMs }) => durationMs))}  last ${lastCycle(past)}`,
    `unmet     ${spark(past.samples.map(({ unmetNeeds }) => unmetNeeds))}`,
  ];
}

async function draw({ api, output, isJson }: CommandContext): Promise<string> {
  if (isJson) return `${JSON.stringify(await api.get<ApiOverview>('overview'))}\n`;
  const { now, past } = await readSummary(api);
  const paint = painter(output);
  const clusters = now.cost.byCluster.slice(0, ROWS_SHOWN);
  const types = now.byInstanceType.slice(0, ROWS_SHOWN);
  return [
    ...summaryLines(now, past, paint),
    '',
    tableText(
      output,
      TYPE_COLUMNS,
      types.map(({ name, machines, byState }) => [
        name || '-',
        count(machines),
        count(byState.Configured),
        count(byState.Idle),
        count(byState.Failed),
        count(byState.Speculative),
      ]),
    ),
    tableText(
      output,
      CLUSTER_COLUMNS,
      clusters.map(({ clusterId, machines, usd: cost }) => [clusterId, count(machines), usd(cost)]),
    ),
    now.shortfalls.length === 0
      ? paint('green', 'No shortfalls.\n')
      : tableText(
          output,
          MISSING_COLUMNS,
          now.shortfalls
            .slice(0, ROWS_SHOWN)
            .map((one) => [count(one.priority), age(one.forMs), quantities(one.missing)]),
        ),
  ].join('\n');
}

const TYPE_COLUMNS: readonly Column[] = [
  { name: 'INSTANCE TYPE' },
  { name: 'MACHINES', align: 'right' },
  { name: 'CONFIGURED', align: 'right' },
  { name: 'IDLE', align: 'right' },
  { name: 'FAILED', align: 'right' },
  { name: 'OFFERED', align: 'right' },
];
const CLUSTER_COLUMNS: readonly Column[] = [
  { name: 'MOST EXPENSIVE CLUSTERS' },
  { name: 'MACHINES', align: 'right' },
  { name: '$/H', align: 'right' },
];
const MISSING_COLUMNS: readonly Column[] = [
  { name: 'PRIORITY', align: 'right' },
  { name: 'FOR', align: 'right' },
  { name: 'MISSING', colour: () => 'yellow' },
];

function head(now: ApiOverview, paint: Paint): string {
  const up = `epoch ${now.epoch}, up ${age(now.nowMs - now.startedAtMs)}`;
  return `${paint('bold', now.shardId)}  ${count(now.machines)} machines  ${count(now.clusters)} clusters  ${paint('dim', `cycle ${count(now.cycle)}, ${up}`)}`;
}

function railLines(
  { rails, queue, isReady, notReadyReason, replica, budgets, nowMs }: ApiOverview,
  paint: Paint,
): string[] {
  const lines = [
    replica === null
      ? ''
      : paint(replica.role === 'active' ? 'dim' : 'yellow', `Replica ${replica.name}: ${replica.text}`),
    isReady ? '' : paint('red', `Not ready: ${notReadyReason}`),
    rails.fenced ? paint('red', 'Fenced: a newer process runs with this shard id.') : '',
    rails.killSwitch ? paint('yellow', 'Kill switch: the shard executes no actions.') : '',
    rails.dryRun ? paint('yellow', 'Dry run: the shard executes no actions.') : '',
    pausedWords(queue.pauses) === ''
      ? ''
      : paint(
          'yellow',
          `Controls in force: ${pausedWords(queue.pauses)}; flotilla controls says where and why.`,
        ),
    ...budgets
      .filter(({ holds }) => holds !== '')
      .map((budget) => paint('yellow', `Budget ${budget.name}: ${budgetHolds(budget, nowMs)}`)),
    ...queue.heldListings.map((held) => paint('red', `Held listing: ${heldWords(held)}`)),
    queue.suspendedClusters === 0
      ? ''
      : paint(
          'red',
          `Suspended: the shard decides nothing for ${counted(queue.suspendedClusters, 'cluster')}; flotilla tenants says why.`,
        ),
  ];
  return lines.filter((line) => line !== '');
}

function capsOf({ rails }: ApiOverview): string {
  const { reclaimFraction, preemptionFraction, actionsPerCycleMax } = rails;
  const part = (fraction: number) => (fraction === 0 ? 'any part' : percent(fraction, 1));
  const actions = actionsPerCycleMax === 0 ? 'any number of' : count(actionsPerCycleMax);
  return `${part(reclaimFraction)} of a cluster reclaimed, ${part(preemptionFraction)} preempted, ${actions} actions`;
}

function lastCycle({ samples }: ApiHistory): string {
  const last = samples.at(-1);
  return last === undefined ? '-' : duration(last.durationMs);
}

const BLOCKS = '▁▂▃▄▅▆▇█';

/** A sparkline of block characters, newest at the right; the highest value gets a full block. */
export function spark(values: readonly number[]): string {
  const shown = values.slice(-SAMPLES_SHOWN);
  const highest = Math.max(1e-9, ...shown);
  return shown.map((value) => BLOCKS[Math.min(7, Math.floor((8 * value) / highest))]).join('');
}
