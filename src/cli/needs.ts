/** `flotilla needs`: the needs of the clusters and their verdicts. */
import type { ApiNeed, ApiNeeds } from '../dashboard/api/types.ts';
import { age, count, quantities, requirement } from '../dashboard/client/format.ts';
import { COMMON_HELP } from './inspect/command.ts';
import { LIST_HELP, type ListCommand, listCommand, runList } from './inspect/list.ts';
import type { Column } from './inspect/terminal.ts';

const HELP = `Usage: flotilla needs [options]

Lists needs with their verdicts, highest priority first.

  --cluster ID      only needs of this cluster
  --group NAME      only needs of this group
  --unmet           only unmet needs
${LIST_HELP}${COMMON_HELP}
Examples:
  flotilla needs --unmet
  flotilla needs --cluster prod-eu-1 --watch
  flotilla needs --all --json | jq '.needs[] | select(.reason)'

Exit code: 0 shown, 3 nothing matches, 1 the shard did not answer, 2 invalid usage.
`;

const COLUMNS: readonly Column[] = [
  { name: 'VERDICT', colour: (text) => (text === 'satisfied' ? 'green' : 'red') },
  { name: 'PRIORITY', align: 'right' },
  { name: 'CLUSTER' },
  { name: 'GROUP' },
  { name: 'REQUESTED', isWide: true },
  { name: 'MISSING' },
  { name: 'MACHINES', align: 'right', isWide: true },
  { name: 'UNMET FOR', align: 'right' },
  { name: 'REQUIREMENTS', isWide: true },
];

export const NEED_LIST: ListCommand<ApiNeeds, ApiNeed> = {
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
  nameOf: ({ clusterId, group, fingerprint }) => `${clusterId} ${group || fingerprint}`,
  none: 'No need matches the filters.',
};

export const NEEDS = listCommand(NEED_LIST);

export const run = runList(NEEDS);

export function verdictOf({ satisfied, parked, reason, limitedBy }: ApiNeed): string {
  if (satisfied) return 'satisfied';
  const verdict = parked ? 'PARKED' : (reason ?? 'UNMET');
  return limitedBy === null ? verdict : `${verdict} (${limitedBy})`;
}

/** Machines that serve it, and how many of them are on their way. */
export function machinesOf(need: ApiNeed): string {
  const coming = need.bootstraps + need.provisions;
  const machines = need.shared > 0 ? `shares ${count(need.shared)}` : count(need.claimed);
  return coming > 0 ? `${machines} (${count(coming)} coming)` : machines;
}

function rowOf(need: ApiNeed): string[] {
  return [
    verdictOf(need),
    count(need.priority),
    need.clusterId,
    need.group || '-',
    quantities(need.aggregate),
    need.satisfied ? '-' : quantities(need.missing),
    machinesOf(need),
    need.satisfied ? '-' : age(need.unmetForMs),
    need.requirements.map(requirement).join(', ') || 'any machine',
  ];
}
