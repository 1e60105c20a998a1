/** `flotilla offerings`: machines, prices and back-offs of each offering. */
import type { ApiOfferingLine, ApiOfferings } from '../dashboard/api/types.ts';
import { age, count, price, usd } from '../dashboard/client/format.ts';
import { COMMON_HELP } from './inspect/command.ts';
import { LIST_HELP, type ListCommand, listCommand, runList } from './inspect/list.ts';
import type { Column } from './inspect/terminal.ts';

const HELP = `Usage: flotilla offerings [options]

Lists offerings in order of their names. An offering is a provider, instance type, zone and capacity type; its name is
PROVIDER/TYPE/ZONE/CAPACITY. flotilla explain offering NAME tells about one of them.

  --provider NAME   of this provider
  --type NAME       of this instance type
  --zone NAME       in this zone
  --capacity TYPE   bare-metal, reserved, on-demand, spot or unspecified
  --prefix TEXT     name begins with this text, with or without the provider
  --backoff         only offerings in back-off
${LIST_HELP}${COMMON_HELP}
Examples:
  flotilla offerings --backoff
  flotilla offerings --capacity spot --sort price
  flotilla offerings --type gpu-train-8 -o wide

Exit code: 0 shown, 3 nothing matches, 1 the shard did not answer, 2 invalid usage.
`;

const COLUMNS: readonly Column[] = [
  { name: 'PROVIDER' },
  { name: 'TYPE' },
  { name: 'ZONE' },
  { name: 'PURCHASE' },
  { name: 'MACHINES', align: 'right' },
  { name: 'CONFIGURED', align: 'right', isWide: true },
  { name: 'IDLE', align: 'right', isWide: true },
  { name: 'FAILED', align: 'right', isWide: true },
  { name: 'OFFERED', align: 'right', isWide: true },
  { name: 'PRICE', align: 'right' },
  { name: 'INTERRUPTED', align: 'right', isWide: true },
  { name: '$/H', align: 'right', isWide: true },
  { name: 'BACK-OFF', colour: () => 'yellow' },
];

const TEXTS = ['provider', 'type', 'zone', 'capacity', 'prefix'] as const;

export const OFFERING_LIST: ListCommand<ApiOfferings, ApiOfferingLine> = {
  name: 'offerings',
  help: HELP,
  options: {
    ...Object.fromEntries(TEXTS.map((name) => [name, { type: 'string' } as const])),
    backoff: { type: 'boolean' },
  },
  ask: (flags) => [
    'offerings',
    {
      ...Object.fromEntries(TEXTS.map((name) => [name, flags.text(name)])),
      backoff: flags.has('backoff'),
    },
  ],
  rowsOf: (answer) => answer.offerings,
  withRows: (answer, offerings) => ({ ...answer, offerings }),
  title: ({ matching, total }) => `${count(matching)} of ${count(total)} offerings`,
  columns: COLUMNS,
  cells: rowOf,
  nameOf: ({ name }) => name,
  none: 'No offering matches the filters.',
};

export const OFFERINGS = listCommand(OFFERING_LIST);

export const run = runList(OFFERINGS);

function rowOf(offering: ApiOfferingLine, { nowMs }: ApiOfferings): string[] {
  const { byState, untilMs } = offering;
  return [
    offering.provider || '-',
    offering.instanceType || '-',
    offering.zone || '-',
    offering.capacityType,
    count(offering.machines),
    count(byState.Configured),
    count(byState.Idle),
    count(byState.Failed),
    count(byState.Speculative),
    price(offering.pricePerHourUsd),
    `${(100 * offering.interruptionProbability).toFixed(1)} %`,
    usd(offering.usdPerHour),
    untilMs === 0 ? '' : `${age(untilMs - nowMs)} more: ${offering.why}`,
  ];
}
