/** `flotilla machines`: machines in order of their ids, with filters. */
import type { ApiMachine, ApiMachines } from '../dashboard/api/types.ts';
import { age, count, price } from '../dashboard/client/format.ts';
import { COMMON_HELP } from './inspect/command.ts';
import { LIST_HELP, type ListCommand, listCommand, runList } from './inspect/list.ts';
import { type Column, stateColour } from './inspect/terminal.ts';

const HELP = `Usage: flotilla machines [options]

Lists machines in order of their ids. A machine must match all filters.

  --prefix TEXT     id begins with this text
  --state STATE     Speculative, Creating, Idle, Configuring, Configured, Draining, Deleting or Failed
  --cluster ID      bound to this cluster
  --type NAME       has this instance type
  --zone NAME       in this zone
  --capacity TYPE   bare-metal, reserved, on-demand, spot or unspecified
  --provider NAME   belongs to this provider
  --stuck           in a transitional state for longer than --stuck-after of the shard
  --backoff         in back-off after failures
${LIST_HELP}${COMMON_HELP}
Examples:
  flotilla machines --state Failed
  flotilla machines --cluster prod-eu-1 --watch
  flotilla machines --stuck --json | jq -r '.machines[].id'

Exit code: 0 shown, 3 nothing matches, 1 the shard did not answer, 2 invalid usage.
`;

const COLUMNS: readonly Column[] = [
  { name: 'ID', isName: true },
  { name: 'STATE', colour: stateColour },
  { name: 'FOR', align: 'right' },
  { name: 'TYPE' },
  { name: 'ZONE', isWide: true },
  { name: 'PURCHASE', isWide: true },
  { name: '$/H', isWide: true, align: 'right' },
  { name: 'CLUSTER' },
  { name: 'PRIORITY', isWide: true, align: 'right' },
  { name: 'NOTES', isWide: true, colour: () => 'yellow' },
];

/** Filters that the API takes as they are. */
const TEXTS = ['prefix', 'state', 'cluster', 'type', 'zone', 'capacity', 'provider'] as const;

export const MACHINE_LIST: ListCommand<ApiMachines, ApiMachine> = {
  name: 'machines',
  help: HELP,
  options: {
    ...Object.fromEntries(TEXTS.map((name) => [name, { type: 'string' } as const])),
    stuck: { type: 'boolean' },
    backoff: { type: 'boolean' },
  },
  ask: (flags) => [
    'machines',
    {
      ...Object.fromEntries(TEXTS.map((name) => [name, flags.text(name)])),
      stuck: flags.has('stuck'),
      backoff: flags.has('backoff'),
    },
  ],
  rowsOf: (answer) => answer.machines,
  withRows: (answer, machines) => ({ ...answer, machines }),
  title: ({ matching, total }) => `${count(matching)} of ${count(total)} machines`,
  columns: COLUMNS,
  cells: rowOf,
  nameOf: ({ id }) => id,
  none: 'No machine matches the filters.',
};

export const MACHINES = listCommand(MACHINE_LIST);

export const run = runList(MACHINES);

function rowOf(machine: ApiMachine): string[] {
  const notes = [
    machine.action === '' ? '' : `${machine.action} in flight`,
    machine.stuck ? 'stuck' : '',
    machine.backoff ? 'in back-off' : '',
    machine.order,
    machine.lastError,
  ];
  return [
    machine.id,
    machine.state,
    age(machine.forMs),
    machine.instanceType || '-',
    machine.zone || '-',
    machine.capacityType,
    price(machine.pricePerHourUsd),
    machine.clusterId || '-',
    machine.clusterId === '' ? '-' : count(machine.priority),
    notes.filter((note) => note !== '').join(', '),
  ];
}
