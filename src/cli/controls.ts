/** `flotilla controls`: what people told a running shard, and what that holds back. */
import { type AdminCommand, REACH_HELP, runAdminCommand, warn } from './admin/command.ts';
import { CONTROL_COLUMNS, controlRow } from './admin/control-texts.ts';
import { tableText } from './inspect/terminal.ts';

const HELP = `Usage: flotilla controls [options]

Lists the controls in force: what each does and where, until when, the machines that it is about now, the queued actions
that it stopped, who gave it and why. Controls with an id like file-1 are declared in the configuration.

${REACH_HELP}
Examples:
  flotilla controls --data-dir /var/lib/flotilla
  flotilla controls --json | jq -r '.[].id'

Exit code: 0 shown, 1 the shard did not answer, 2 invalid usage.
`;

const CONTROLS: AdminCommand = {
  name: 'controls',
  help: HELP,
  options: {},
  run: async (context) => {
    const { client, output, isJson } = context;
    const { controls, warning } = await client.controls();
    if (isJson) output.out(`${JSON.stringify(controls)}\n`);
    else if (controls.length === 0) output.out('No control is in force.\n');
    else
      output.out(
        tableText(
          output,
          CONTROL_COLUMNS,
          controls.map((control) => controlRow(control, Date.now())),
        ),
      );
    warn(context, warning);
  },
};

export const run = (argv: readonly string[]) => runAdminCommand(CONTROLS, argv);
