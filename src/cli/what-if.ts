/** `flotilla what-if`: what would happen if machines disappeared, demand grew, or prices and settings were others (Y4). */
import { readFileSync } from 'node:fs';
import { clock, count, counted, duration, usd } from '../dashboard/client/format.ts';
import type { WhatIfAnswer, WhatIfProgress } from '../shard/ports/what-if.ts';
import { connect, REACH, WHERE_HELP } from './admin/command.ts';
import {
  COMMON_HELP,
  type CommandContext,
  EXIT_OK,
  type InspectCommand,
  runCommand,
  UsageError,
} from './inspect/command.ts';
import { type Column, type Output, painter, tableText } from './inspect/terminal.ts';

const HELP = `Usage: flotilla what-if CHANGE... [options]

Tells what would happen. The shard copies its tables; a thread decides on the copy with the same engine and rails, and lets virtual
time pass until nothing more happens. It prints how that differs from now: actions, who loses machines to whom, unmet needs
by priority, dollars per hour, and the time to settle. The shard itself changes nothing, and answers one question at a time.

CHANGE is one or more of these; each may be given several times:
  --without MACHINES     these machines are gone
  --demand CLUSTER=K     the cluster asks for K times as much; * stands for any characters
  --rollup FILE          a cluster asks for what the file says; goes over the admin socket, see --data-dir
  --add N:MACHINES       N more machines like these, to be created
  --price MACHINES:PRICE these machines cost PRICE dollars per hour, or xK: K times as much
  --set NAME=VALUE       a setting has another value, such as reclaim-cap-fraction, placement, ceilings, idle-hold-spot

MACHINES is one or more of provider=NAME, type=TYPE, zone=ZONE, capacity-type=TYPE, offering=TYPE/ZONE/CAPACITY and
machine=ID, separated by commas; all of them must fit.

  --latency STEP=TIME    how long providers take: create (default 60s), configure (30s), drain (30s) or delete (10s)
  --limit N              maximum number of rows of each table (default 10)
${COMMON_HELP}
A roll-up file is JSON: {"cluster": "prod-eu-1", "needs": [{"aggregate": {"cpu": "64"}, "minUnit": {"cpu": "4"}, "priority": 100}]}.
With --rollup the question goes to the admin socket of the shard, and not to --api:
${WHERE_HELP}
Examples:
  flotilla what-if --without zone=eu-north-1b
  flotilla what-if --demand prod-eu-1=2 --add 200:zone=eu-north-1a,type=general-16
  flotilla what-if --price capacity-type=spot:x3 --set placement=value --json
  flotilla what-if --without provider=aws --without machine=m-0042
  flotilla what-if --rollup prod-eu-1.json --data-dir /var/lib/flotilla

Exit code: 0 answered, 1 refused or no answer, 2 invalid usage.
`;

const MANY = { type: 'string', multiple: true } as const;
const CHANGES = ['without', 'demand', 'add', 'price', 'set', 'latency'] as const;
const ROWS_DEFAULT = 10;
const ROWS_MAX = 1_000_000;

type Line = { readonly progress: WhatIfProgress } | { readonly answer: WhatIfAnswer };

export const WHAT_IF: InspectCommand = {
  name: 'what-if',
  help: HELP,
  options: {
    ...REACH,
    ...{ without: MANY, demand: MANY, add: MANY, price: MANY, set: MANY, latency: MANY, rollup: MANY },
    limit: { type: 'string' },
  },
  run: async (context) => {
    const { api, flags, output, isJson } = context;
    const rows = flags.integer('limit', ROWS_DEFAULT, ROWS_MAX);
    const progress = progressLine(output);
    let answer: WhatIfAnswer | null = null;
    try {
      for await (const line of flags.texts('rollup').length > 0 ? overSocket(context) : overHttp(context)) {
        if ('progress' in line) progress.show(line.progress);
        else answer = line.answer;
      }
    } finally {
      progress.end();
    }
    if (answer === null) throw api.broken();
    output.out(isJson ? `${JSON.stringify(answer)}\n` : answerText(context, answer, rows));
    return EXIT_OK;
  },
};

function overHttp({ api, flags }: CommandContext): AsyncIterable<Line> {
  const parameters = CHANGES.flatMap((name) => flags.texts(name).map((text) => [name, text] as const));
  return api.lines<Line>('what-if', parameters);
}

/** Roll-up files do not fit into a URL. */
async function* overSocket({ api, flags }: CommandContext): AsyncGenerator<Line> {
  const texts = Object.fromEntries(CHANGES.map((name) => [name, [...flags.texts(name)]]));
  const rollups = flags.texts('rollup').map(contentOf);
  const { client, close } = connect(flags);
  try {
    for await (const line of client.whatIf({ ...texts, rollups })) {
      const read = api.read(line) as Line | null;
      if (read !== null) yield read;
    }
  } finally {
    close();
  }
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`--rollup ${path} cannot be read: ${(error as Error).message}.`);
  }
}

export function run(argv: readonly string[]): Promise<number> {
  return runCommand(WHAT_IF, argv);
}

const PHASES: Readonly<Record<WhatIfProgress['phase'], string>> = {
  copying: 'copying the shard',
  restoring: 'restoring the copy',
  deciding: 'deciding the first cycle',
  running: 'letting virtual time pass',
};

/** On a terminal one line that is written again and again; into a file nothing. */
export function progressLine(output: Output) {
  return {
    show({ phase, elapsedMs, virtualMs, cycles, actions, inFlight }: WhatIfProgress): void {
      if (!output.isTerminal) return;
      const run =
        phase === 'running'
          ? `: ${duration(virtualMs)}, ${counted(cycles, 'cycle')}, ${counted(actions, 'action')}, ${count(inFlight)} under way`
          : '';
      output.error(`\r\x1b[2K${PHASES[phase]}${run} (${duration(elapsedMs)})`);
    },
    end(): void {
      if (output.isTerminal) output.error('\r\x1b[2K');
    },
  };
}

const CLUSTER_COLUMNS: readonly Column[] = [
  { name: 'CLUSTER' },
  { name: 'MACHINES', align: 'right' },
  { name: 'AFTER', align: 'right' },
  { name: 'GONE', align: 'right' },
  { name: 'PREEMPTED', align: 'right' },
  { name: 'RECLAIMED', align: 'right' },
  { name: 'CREATED', align: 'right', isWide: true },
  { name: 'BOUND', align: 'right', isWide: true },
];
const PRIORITY_COLUMNS: readonly Column[] = [
  { name: 'PRIORITY', align: 'right' },
  { name: 'UNMET NOW', align: 'right' },
  { name: 'UNMET AFTER', align: 'right' },
];
const LOSS_COLUMNS: readonly Column[] = [
  { name: 'LOSES MACHINES' },
  { name: 'TO' },
  { name: 'MACHINES', align: 'right' },
];

export function answerText(
  { output }: Pick<CommandContext, 'output'>,
  answer: WhatIfAnswer,
  rowsMax: number,
): string {
  const paint = painter(output);
  const { actions, clusters, losses, priorities } = answer;
  const table = (columns: readonly Column[], rows: readonly (readonly string[])[], all: number) => {
    if (rows.length === 0) return '';
    const more =
      all > rows.length
        ? paint('dim', `and ${count(all - rows.length)} more; --limit or --json shows them\n`)
        : '';
    return `\n${tableText(output, columns, rows)}${more}`;
  };
  const settled = answer.isAtRest
    ? `Settles within ${duration(answer.settleMs)} of virtual time, in ${counted(answer.cycles, 'cycle')}.`
    : `Is not settled after ${counted(answer.cycles, 'cycle')}.`;
  return [
    `${paint('bold', `What if: ${answer.question.join('; ')}`)}\n`,
    `${settled} Copied at ${clock(answer.atMs)}, answered in ${duration(answer.elapsedMs)}.\n\n`,
    changedText(answer),
    `Actions: ${Object.entries(actions)
      .map(([kind, times]) => `${kind} ${count(times)}`)
      .join(', ')}.\n`,
    `Unmet needs: ${count(answer.unmetBefore)} now, ${count(answer.unmetAfter)} after.\n`,
    `Cost: ${usd(answer.usdPerHourBefore)}/h now, ${usd(answer.usdPerHourAfter)}/h after.\n`,
    table(
      PRIORITY_COLUMNS,
      priorities
        .slice(0, rowsMax)
        .map((one) => [String(one.priority), count(one.unmetBefore), count(one.unmetAfter)]),
      priorities.length,
    ),
    table(
      CLUSTER_COLUMNS,
      clusters
        .slice(0, rowsMax)
        .map(
          ({
            clusterId,
            machinesBefore,
            machinesAfter,
            gone,
            actions: { Preempt, Reclaim, Provision, Bootstrap },
          }) => [
            clusterId,
            ...[machinesBefore, machinesAfter, gone, Preempt, Reclaim, Provision, Bootstrap].map(count),
          ],
        ),
      clusters.length,
    ),
    table(
      LOSS_COLUMNS,
      losses.slice(0, rowsMax).map(({ from, to, machines }) => [from, to, count(machines)]),
      losses.length + answer.lossesLeftOut,
    ),
    `\n${paint('dim', answer.notes.join(' '))}\n`,
  ].join('');
}

function changedText({ machinesGone, machinesAdded, machinesRepriced }: WhatIfAnswer): string {
  const parts = [
    machinesGone > 0 ? `${counted(machinesGone, 'machine')} and offers gone` : '',
    machinesAdded > 0 ? `${counted(machinesAdded, 'offer')} added` : '',
    machinesRepriced > 0 ? `${counted(machinesRepriced, 'machine')} with another price` : '',
  ].filter((part) => part !== '');
  return parts.length === 0 ? '' : `Changed: ${parts.join(', ')}.\n`;
}
