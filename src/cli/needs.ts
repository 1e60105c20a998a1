/** `flotilla needs`: the needs of the clusters and their verdicts. */
import type { ApiNeed, ApiNeeds } from '../dashboard/api/types.ts';
import { count, quantities, requirement } from '../dashboard/client/format.ts';
import {
  COMMON_HELP,
  type CommandContext,
  EXIT_OK,
  type InspectCommand,
  runCommand,
  watchMs,
} from './inspect/command.ts';
import { type Column, drawRepeatedly, painter, tableText } from './inspect/terminal.ts';

const HELP = `Usage: flotilla needs [options]

Lists needs with their verdicts, highest priority first.

  --cluster ID      only needs of this cluster
  --group NAME      only needs of this group
  --unmet           only unmet needs
  --limit N         maximum number of needs (default 50)
  --all             list all needs
  --watch           refresh until Ctrl-C
  --every TIME      time between two refreshes (default 2s)
${COMMON_HELP}
Examples:
  flotilla needs --unmet
  flotilla needs --cluster prod-eu-1 --watch
  flotilla needs --all --json | jq '.needs[] | select(.reason)'

Exit code: 0 shown, 1 the shard did not answer, 2 invalid usage.
`;

const PAGE = 500;
const COLUMNS: readonly Column[] = [
  { name: 'VERDICT', colour: (text) => (text === 'satisfied' ? 'green' : 'red') },
  { name: 'PRIORITY', align: 'right' },
  { name: 'CLUSTER' },
  { name: 'GROUP' },
  { name: 'REQUESTED' },
  { name: 'MISSING' },
  { name: 'MACHINES', align: 'right' },
  { name: 'CYCLES UNMET', align: 'right' },
  { name: 'REQUIREMENTS' },
];

export const NEEDS: InspectCommand = {
  name: 'needs',
  help: HELP,
  options: {
    cluster: { type: 'string' },
    group: { type: 'string' },
    unmet: { type: 'boolean' },
    limit: { type: 'string' },
    all: { type: 'boolean' },
    watch: { type: 'boolean' },
    every: { type: 'string' },
  },
  run: async (context) => {
    const everyMs = watchMs(context.flags);
    if (everyMs !== undefined) await drawRepeatedly(context.output, everyMs, () => draw(context));
    else context.output.out(await draw(context));
    return EXIT_OK;
  },
};

export function run(argv: readonly string[]): Promise<number> {
  return runCommand(NEEDS, argv);
}

async function draw(context: CommandContext): Promise<string> {
  const answer = await read(context);
  if (context.isJson) return `${JSON.stringify(answer)}\n`;
  const paint = painter(context.output);
  const summary = `${count(answer.unmet)} of ${count(answer.total)} needs are unmet, cycle ${count(answer.cycle)}`;
  const shown = answer.next === '' ? '' : `; showing the first ${count(answer.needs.length)}`;
  const title = `${paint(answer.unmet > 0 ? 'yellow' : 'green', summary)}${paint('dim', shown)}\n`;
  if (answer.needs.length === 0) return `${title}No need matches the filters.\n`;
  return title + tableText(context.output, COLUMNS, answer.needs.map(rowOf));
}

async function read({ api, flags }: CommandContext): Promise<ApiNeeds> {
  const wanted = flags.has('all') ? Number.POSITIVE_INFINITY : flags.integer('limit', 50, 1_000_000);
  const needs: ApiNeed[] = [];
  let after = '';
  for (;;) {
    const page = await api.get<ApiNeeds>('needs', {
      cluster: flags.text('cluster'),
      group: flags.text('group'),
      unmet: flags.has('unmet'),
      limit: Math.min(PAGE, wanted - needs.length),
      after: after === '' ? undefined : after,
    });
    needs.push(...page.needs);
    after = page.next;
    if (after === '' || needs.length >= wanted) return { ...page, needs, next: after };
  }
}

function rowOf(need: ApiNeed): string[] {
  const coming = need.bootstraps + need.provisions;
  return [
    need.satisfied ? 'satisfied' : need.parked ? 'PARKED' : (need.reason ?? 'UNMET'),
    count(need.priority),
    need.clusterId,
    need.group || '-',
    quantities(need.aggregate),
    need.satisfied ? '-' : quantities(need.missing),
    coming > 0 ? `${count(need.claimed)} (${count(coming)} coming)` : count(need.claimed),
    need.satisfied ? '-' : count(need.cyclesUnmet),
    need.requirements.map(requirement).join(', ') || 'any machine',
  ];
}
