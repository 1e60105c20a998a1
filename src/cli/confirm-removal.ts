/** `flotilla confirm-removal`: tells a running shard that the machines which a held listing lacks are gone (S6). */
import { count, counted } from '../dashboard/client/format.ts';
import {
  type AdminCommand,
  CHANGE_HELP,
  COMMANDER_OPTIONS,
  commanderIn,
  runAdminCommand,
} from './admin/command.ts';
import { UsageError } from './inspect/command.ts';

const HELP = `Usage: flotilla confirm-removal PROVIDER --why TEXT [options]

Confirms that the machines which the held listing of a provider lacks are gone. The shard lists the provider again and
removes them, unless that listing lacks others. Ask the owner of the provider first: clusters lose the nodes on these
machines, and their needs get others. flotilla top names held listings.

${CHANGE_HELP}
Examples:
  flotilla confirm-removal rack-a --why "rack-a was switched off, ticket 4711"

Exit code: 0 confirmed, 1 refused or no answer, 2 invalid usage.
`;

const CONFIRM_REMOVAL: AdminCommand = {
  name: 'confirm-removal',
  help: HELP,
  positionals: true,
  options: COMMANDER_OPTIONS,
  run: async ({ client, flags, output, isJson }) => {
    const [provider, ...others] = flags.positionals;
    if (provider === undefined || others.length > 0)
      throw new UsageError('Name one provider. flotilla top names held listings.');
    const reply = await client.confirmRemoval({ provider, ...commanderIn(flags) });
    output.out(
      isJson
        ? `${JSON.stringify(reply)}\n`
        : `Confirmed: the listing of provider ${provider} lacks ${count(reply.missing)} of ${counted(reply.known, 'machine')}. ` +
            'The shard removes them with its next listing, if that lacks no others.\n',
    );
  },
};

export const run = (argv: readonly string[]) => runAdminCommand(CONFIRM_REMOVAL, argv);
