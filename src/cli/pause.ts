/** `flotilla pause`: tells a running shard not to do something, somewhere, for some time (H3). */
import { counted } from '../dashboard/client/format.ts';
import {
  type AdminCommand,
  CHANGE_HELP,
  COMMANDER_OPTIONS,
  commanderIn,
  durationMs,
  runAdminCommand,
  SCOPE_HELP,
  SCOPE_OPTIONS,
  scopeIn,
  warn,
} from './admin/command.ts';
import { controlSentence } from './admin/control-texts.ts';
import { UsageError } from './inspect/command.ts';

const HELP = `Usage: flotilla pause WHAT... [where] --for TIME --why TEXT [options]

Tells a running shard what it must not do, and where, until the time is over or flotilla resume lifts it. It takes effect at
once, for queued actions too, and survives restarts and takeovers. Machines and bindings stay as they are.

WHAT is one or more of
  create                 no new machines are created; for a cluster: it gets no machines at all
  bind                   no machines are bound; for a cluster: it gets no machines at all
  reclaim                machines that no need claims stay bound
  preempt                no machine is taken from its cluster by a higher priority
  release                Idle machines are not deleted
  all                    all of these

Where (default: the whole fleet):
${SCOPE_HELP}
  --for TIME             how long: 30m, 2h, 7d (required)
${CHANGE_HELP}
Examples:
  flotilla pause reclaim --cluster prod-eu-1 --for 2h --why "incident 4711"
  flotilla pause create bind --zone eu-north-1a --for 45m --why "provider is rebooting the zone"
  flotilla pause all --for 10m --why "stop everything, I am looking"

Exit code: 0 in force, 1 refused or no answer, 2 invalid usage.
`;

const PAUSE: AdminCommand = {
  name: 'pause',
  help: HELP,
  positionals: true,
  options: { ...SCOPE_OPTIONS, ...COMMANDER_OPTIONS, for: { type: 'string' } },
  run: async (context) => {
    const { client, flags, output, isJson } = context;
    const pauses = flags.positionals;
    if (pauses.length === 0) throw new UsageError('Say what to pause, such as reclaim. See --help.');
    const forMs = durationMs('for', flags.text('for'));
    const { control, warning } = await client.pause({
      pauses,
      scope: scopeIn(flags),
      forMs,
      ...commanderIn(flags),
    });
    output.out(
      isJson
        ? `${JSON.stringify(control)}\n`
        : `${controlSentence(control!)} It holds ${counted(control!.holding, 'machine')}. Lift it with: flotilla resume ${control!.id} --why TEXT\n`,
    );
    warn(context, warning);
  },
};

export const run = (argv: readonly string[]) => runAdminCommand(PAUSE, argv);
