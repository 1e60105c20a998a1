/** Shared by the commands about machines: which machines, the question before more than one, and the answer. */
import { createInterface } from 'node:readline/promises';
import { ShardError } from '../../base/errors.ts';
import { age, counted } from '../../dashboard/client/format.ts';
import { placeOf, WHOLE_FLEET } from '../../shard/controls/control.ts';
import type { Order } from '../../shard/ports/controls.ts';
import type { Scope } from '../../wire/admin.ts';
import { type Flags, UsageError } from '../inspect/command.ts';
import {
  type AdminCommand,
  type AdminContext,
  CHANGE_HELP,
  COMMANDER_OPTIONS,
  commanderIn,
  durationMs,
  runAdminCommand,
  SCOPE_OPTIONS,
  scopeIn,
  warn,
} from './command.ts';

const { machine: _, cluster: __, ...PLACE_OPTIONS } = SCOPE_OPTIONS;

const MACHINES_HELP = `Which machines: by id, or all in one place:
  --provider NAME        of this provider
  --zone ZONE            in this zone
  --instance-type TYPE   of this instance type
  --capacity-type TYPE   bare-metal, reserved, on-demand or spot
`;
const YES_HELP = '  --yes                  do not ask, also if it is about more than one machine\n';
const FOR_HELP = '  --for TIME             how long: 30m, 2h, 7d (default: until flotilla uncordon)\n';
const EXIT_HELP = 'Exit code: 0 done, 1 refused, not confirmed or no answer, 2 invalid usage.\n';

interface OrderSpec {
  readonly name: string;
  /** `Usage: …` up to the flags, and the examples. */
  readonly help: string;
  readonly flags?: string;
  readonly examples: string;
  readonly options?: AdminCommand['options'];
  readonly orderOf: (flags: Flags) => Order;
  /** `Drain`, for the question. */
  readonly verb: string;
  /** The flags of a time: the order lasts. */
  readonly isStanding?: true;
  /** About a cluster, which is named instead of machines; asks always. */
  readonly isOfCluster?: true;
}

/** A command that runs. */
export function orderCommand(spec: OrderSpec): (argv: readonly string[]) => Promise<number> {
  const which = spec.isOfCluster ? '' : MACHINES_HELP;
  const lasts = spec.isStanding ? FOR_HELP : '';
  const command: AdminCommand = {
    name: spec.name,
    help: `${spec.help}\n${which}${spec.flags ?? ''}${lasts}${YES_HELP}${CHANGE_HELP}\nExamples:\n${spec.examples}\n${EXIT_HELP}`,
    positionals: true,
    options: {
      ...(spec.isOfCluster ? {} : PLACE_OPTIONS),
      ...COMMANDER_OPTIONS,
      ...spec.options,
      ...(spec.isStanding ? { for: { type: 'string' } } : {}),
      yes: { type: 'boolean' },
    },
    run: (context) => runOrder(spec, context),
  };
  return (argv) => runAdminCommand(command, argv);
}

async function runOrder(spec: OrderSpec, context: AdminContext): Promise<void> {
  const { client, flags, output, isJson } = context;
  const scopes = spec.isOfCluster ? [clusterIn(flags)] : scopesIn(flags);
  const request = {
    order: spec.orderOf(flags),
    scopes,
    forMs: flags.text('for') === undefined ? 0 : durationMs('for', flags.text('for')),
    ...commanderIn(flags),
  };
  if (!flags.has('yes')) {
    const { machines, lines } = await client.order({ ...request, preview: true });
    if (machines > 1 || spec.isOfCluster === true) await ask(`${spec.verb}: ${lines.join(' ')}`);
  }
  const { controls, machines, lines, warning } = await client.order(request);
  if (isJson) output.out(`${JSON.stringify({ controls, machines, lines })}\n`);
  else {
    const ids = controls.map(({ id, scope, untilUnixMs, sinceUnixMs }) => {
      const end = untilUnixMs === 0 ? '' : ` for ${age(untilUnixMs - sinceUnixMs)}`;
      return `${id}: ${spec.name} ${placeOf(scope ?? WHOLE_FLEET)}${end}.`;
    });
    const undo =
      spec.isStanding && controls[0] !== undefined
        ? [`Undo it with: flotilla uncordon ${namesOf(scopes)} --why TEXT`]
        : [];
    output.out(
      `${[`${spec.verb}: ${counted(machines, 'machine')}.`, ...ids, ...lines, ...undo].join('\n')}\n`,
    );
  }
  warn(context, warning);
}

function clusterIn({ positionals }: Flags): Scope {
  const [cluster, ...others] = positionals;
  if (cluster === undefined || others.length > 0)
    throw new UsageError('Name one cluster. flotilla clusters lists them.');
  return { ...WHOLE_FLEET, cluster };
}

function scopesIn(flags: Flags): Scope[] {
  const place = scopeIn(flags);
  const hasPlace = Object.values(place).some((part) => part !== '');
  if (hasPlace === flags.positionals.length > 0)
    throw new UsageError('Name machines by their ids, or one place such as --zone. See --help.');
  return hasPlace ? [place] : flags.positionals.map((machine) => ({ ...WHOLE_FLEET, machine }));
}

/** As arguments of a command. */
function namesOf(scopes: readonly Scope[]): string {
  const words = scopes.map((scope) => {
    if (scope.machine !== '') return scope.machine;
    const { provider, zone, instanceType, capacityType, cluster } = scope;
    return [
      ...(cluster === '' ? [] : ['--cluster', cluster]),
      ...(provider === '' ? [] : ['--provider', provider]),
      ...(zone === '' ? [] : ['--zone', zone]),
      ...(instanceType === '' ? [] : ['--instance-type', instanceType]),
      ...(capacityType === '' ? [] : ['--capacity-type', capacityType]),
    ].join(' ');
  });
  return words.join(' ');
}

class NotConfirmedError extends ShardError {
  readonly code = 'not_confirmed';
  readonly next = 'reject-input';

  constructor() {
    super('Nothing was changed, because the answer was not yes.');
  }
}

/** Throws without a yes. */
async function ask(what: string): Promise<void> {
  if (process.stdin.isTTY !== true) throw new UsageError(`${what} Give --yes to do it without a question.`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${what} Go on? [y/N] `).finally(() => terminal.close());
  if (!/^y(es)?$/i.test(answer.trim())) throw new NotConfirmedError();
}
