/** `flotilla gangs`: needs whose machines must share a domain, and the domain that each has. */
import type { ApiGangs } from '../dashboard/api/gang-types.ts';
import type { ApiNeed } from '../dashboard/api/types.ts';
import { age, count, quantities, requirement } from '../dashboard/client/format.ts';
import { COMMON_HELP } from './inspect/command.ts';
import { LIST_HELP, type ListCommand, listCommand, runList } from './inspect/list.ts';
import type { Column } from './inspect/terminal.ts';
import { machinesOf, verdictOf } from './needs.ts';

const HELP = `Usage: flotilla gangs [options]

Lists gangs with their verdicts, highest priority first: needs whose machines must share a domain, such as a rack.
The shard serves gangs that one machine can hold together, in folds. flotilla explain gang CLUSTER/GROUP tells about one.

  --cluster ID      only gangs of this cluster
  --group NAME      only gangs of this group
  --prefix TEXT     CLUSTER/GROUP begins with this text
  --unmet           only unmet gangs
  --spanning        only gangs that no single machine can hold
${LIST_HELP}${COMMON_HELP}
Examples:
  flotilla gangs --unmet
  flotilla gangs --cluster prod-eu-1 --spanning -o wide
  flotilla gangs --prefix prod-eu-1/training -o name

Exit code: 0 shown, 3 nothing matches, 1 the shard did not answer, 2 invalid usage.
`;

const COLUMNS: readonly Column[] = [
  { name: 'VERDICT', colour: (text) => (text === 'satisfied' ? 'green' : 'red') },
  { name: 'PRIORITY', align: 'right', isWide: true },
  { name: 'CLUSTER' },
  { name: 'GROUP', isName: true },
  { name: 'DOMAIN' },
  { name: 'MACHINES', align: 'right' },
  { name: 'UNMET FOR', align: 'right' },
  { name: 'MISSING', isWide: true },
  { name: 'REQUIREMENTS', isWide: true },
];

export const GANG_LIST: ListCommand<ApiGangs, ApiNeed> = {
  name: 'gangs',
  help: HELP,
  options: {
    cluster: { type: 'string' },
    group: { type: 'string' },
    prefix: { type: 'string' },
    unmet: { type: 'boolean' },
    spanning: { type: 'boolean' },
  },
  ask: (flags) => [
    'gangs',
    {
      cluster: flags.text('cluster'),
      group: flags.text('group'),
      prefix: flags.text('prefix'),
      unmet: flags.has('unmet'),
      spanning: flags.has('spanning'),
    },
  ],
  rowsOf: (answer) => answer.gangs,
  withRows: (answer, gangs) => ({ ...answer, gangs }),
  title: ({ unmet, total, spanning, cycle }, paint) =>
    paint(
      unmet > 0 ? 'yellow' : 'green',
      `${count(unmet)} of ${count(total)} gangs are unmet, ${count(spanning)} span machines, cycle ${count(cycle)}`,
    ),
  columns: COLUMNS,
  cells: rowOf,
  nameOf: ({ clusterId, group }) => `${clusterId}/${group}`,
  none: 'No gang matches the filters.',
};

export const GANGS = listCommand(GANG_LIST);

export const run = runList(GANGS);

function rowOf(gang: ApiNeed): string[] {
  return [
    verdictOf(gang),
    count(gang.priority),
    gang.clusterId,
    gang.group || '-',
    gang.domain || '-',
    machinesOf(gang),
    gang.satisfied ? '-' : age(gang.unmetForMs),
    gang.satisfied ? '-' : quantities(gang.missing),
    gang.requirements.map(requirement).join(', '),
  ];
}
