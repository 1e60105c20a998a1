/** `flotilla needs`: the needs of the clusters and their verdicts. */
import type { ApiNeed, ApiNeeds } from '../dashboard/api/types.ts';
import { count, quantities, requirement } from '../dashboard/client/format.ts';
import { COMMON_HELP } from './inspect/command.ts';
import { listCommand, runList } from './inspect/list.ts';
import type { Column } from './inspect/terminal.ts';

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

export const NEEDS = listCommand<ApiNeeds, ApiNeed>({
  name: 'needs',
  help: HELP,
  options: {
    cluster: { type: 'string' },
    group: { type: 'string' },
    unmet: { type: 'boolean' },
  },
  ask: (flags) => [
    'needs',
    { cluster: flags.text('cluster'), group: flags.text('group'), unmet: flags.has('unmet') },
  ],
  rowsOf: (answer) => answer.needs,
  withRows: (answer, needs) => ({ ...answer, needs }),
  title: ({ unmet, total, cycle }, paint) =>
    paint(
      unmet > 0 ? 'yellow' : 'green',
      `${count(unmet)} of ${count(total)} needs are unmet, cycle ${count(cycle)}`,
    ),
  columns: COLUMNS,
  cells: rowOf,
  none: 'No need matches the filters.',
});

export const run = runList(NEEDS);

function verdictOf({ satisfied, parked, reason, limitedBy }: ApiNeed): string {
  if (satisfied) return 'satisfied';
  const verdict = parked ? 'PARKED' : (reason ?? 'UNMET');
  return limitedBy === null ? verdict : `${verdict} (${limitedBy})`;
}

function rowOf(need: ApiNeed): string[] {
  const coming = need.bootstraps + need.provisions;
  return [
    verdictOf(need),
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
