/** `flotilla resume`: lifts what `flotilla pause` set. */

import { placeOf } from '../shard/controls/control.ts';
import {
  type AdminCommand,
  CHANGE_HELP,
  COMMANDER_OPTIONS,
  commanderIn,
  runAdminCommand,
  SCOPE_HELP,
  SCOPE_OPTIONS,
  scopeIn,
  warn,
} from './admin/command.ts';
import { UsageError } from './inspect/command.ts';

const HELP = `Usage: flotilla resume ID --why TEXT [options]
       flotilla resume WHAT... [where] --why TEXT [options]
       flotilla resume --every --why TEXT [options]

Lifts controls that flotilla pause set: one by its id, all with exactly this place that pause nothing but WHAT, or every
one. Controls of the configuration stay.

  --every                every control that a command set
${SCOPE_HELP}${CHANGE_HELP}
Examples:
  flotilla resume c7 --why "incident 4711 is over"
  flotilla resume reclaim --cluster prod-eu-1 --why "incident 4711 is over"

Exit code: 0 lifted, 1 refused or no answer, 2 invalid usage.
`;

const ID = /^(?:c|file-)\d+$/;

const RESUME: AdminCommand = {
  name: 'resume',
  help: HELP,
  positionals: true,
  options: { ...SCOPE_OPTIONS, ...COMMANDER_OPTIONS, every: { type: 'boolean' } },
  run: async (context) => {
    const { client, flags, output, isJson } = context;
    const { positionals } = flags;
    const every = flags.has('every');
    if (every === positionals.length > 0)
      throw new UsageError(
        'Name a control by its id, or by what it pauses and where, or give --every. See --help.',
      );
    const id = positionals.length === 1 && ID.test(positionals[0]!) ? positionals[0]! : '';
    const { lifted, warning } = await client.resume({
      id,
      pauses: id === '' ? positionals : [],
      scope: scopeIn(flags),
      every,
      ...commanderIn(flags),
    });
    if (isJson) output.out(`${JSON.stringify(lifted)}\n`);
    else
      for (const { id: liftedId, pauses, scope, who, why } of lifted)
        output.out(
          `${liftedId}: ${pauses.join(', ')} ${placeOf(scope!)} ${pauses.length === 1 ? 'is' : 'are'} resumed (paused by ${who}: ${why}).\n`,
        );
    warn(context, warning);
  },
};

export const run = (argv: readonly string[]) => runAdminCommand(RESUME, argv);
