/** `flotilla machines`: machines in order of their ids, with filters. */
import type { ApiMachine, ApiMachines } from '../dashboard/api/types.ts';
import { age, count, price } from '../dashboard/client/format.ts';
import {
  COMMON_HELP,
  type CommandContext,
  EXIT_OK,
  type InspectCommand,
  runCommand,
  watchMs,
} from './inspect/command.ts';
import { type Column, drawRepeatedly, painter, stateColour, tableText } from './inspect/terminal.ts';

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
  --limit N         maximum number of machines (default 50)
  --all             list all machines
  --watch           refresh until Ctrl-C
  --every TIME      time between two refreshes (default 2s)
${COMMON_HELP}
Examples:
  flotilla machines --state Failed
  flotilla machines --cluster prod-eu-1 --watch
  flotilla machines --stuck --json | jq -r '.machines[].id'

Exit code: 0 shown, 1 the shard did not answer, 2 invalid usage.
`;

const PAGE = 500;
const COLUMNS: readonly Column[] = [
  { name: 'ID' },
  { name: 'STATE', colour: stateColour },
  { name: 'FOR', align: 'right' },
  { name: 'TYPE' },
  { name: 'ZONE' },
  { name: 'PURCHASE' },
  { name: '$/H', align: 'right' },
  { name: 'CLUSTER' },
  { name: 'PRIORITY', align: 'right' },
  { name: 'NOTES', colour: () => 'yellow' },
];

export const MACHINES: InspectCommand = {
  name: 'machines',
  help: HELP,
  options: {
    prefix: { type: 'string' },
    state: { type: 'string' },
    cluster: { type: 'string' },
    type: { type: 'string' },
    zone: { type: 'string' },
    capacity: { type: 'string' },
    provider: { type: 'string' },
    stuck: { type: 'boolean' },
    backoff: { type: 'boolean' },
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
  return runCommand(MACHINES, argv);
}

async function draw(context: CommandContext): Promise<string> {
  const answer = await read(context);
  if (context.isJson) return `${JSON.stringify(answer)}\n`;
  const shown = answer.next === '' ? '' : `; showing the first ${count(answer.machines.length)}`;
  const title = `${count(answer.matching)} of ${count(answer.total)} machines${painter(context.output)('dim', shown)}\n`;
  if (answer.machines.length === 0) return `${title}No machine matches the filters.\n`;
  return title + tableText(context.output, COLUMNS, answer.machines.map(rowOf));
}

async function read({ api, flags }: CommandContext): Promise<ApiMachines> {
  const wanted = flags.has('all') ? Number.POSITIVE_INFINITY : flags.integer('limit', 50, 1_000_000);
  const machines: ApiMachine[] = [];
  const texts = ['prefix', 'state', 'cluster', 'type', 'zone', 'capacity', 'provider'];
  let after = '';
  for (;;) {
    const page = await api.get<ApiMachines>('machines', {
      ...Object.fromEntries(texts.map((name) => [name, flags.text(name)])),
      stuck: flags.has('stuck'),
      backoff: flags.has('backoff'),
      limit: Math.min(PAGE, wanted - machines.length),
      after: after === '' ? undefined : after,
    });
    machines.push(...page.machines);
    after = page.next;
    if (after === '' || machines.length >= wanted) return { ...page, machines, next: after };
  }
}

function rowOf(machine: ApiMachine): string[] {
  const notes = [
    machine.action === '' ? '' : `${machine.action} in flight`,
    machine.stuck ? 'stuck' : '',
    machine.backoff ? 'in back-off' : '',
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
