/** `flotilla actions`: the actions of a shard, each when it settles. */
import type { ApiAction, ApiActions } from '../dashboard/api/types.ts';
import { clock, duration } from '../dashboard/client/format.ts';
import { AskError } from './inspect/api-client.ts';
import {
  COMMON_HELP,
  type CommandContext,
  EXIT_OK,
  type InspectCommand,
  runCommand,
} from './inspect/command.ts';
import { painter, pause } from './inspect/terminal.ts';

const HELP = `Usage: flotilla actions [options]

Prints the most recent actions, and then each new action when it settles, until Ctrl-C.

  --watch           follow new actions; this is the default
  --once            print the most recent actions and exit
  --limit N         number of recent actions to start with (default 20)
  --kind KIND       only Bootstrap, Provision, Reclaim, Preempt or Delete
  --cluster ID      only actions on machines of this cluster, or for it
  --machine ID      only actions on this machine
  --outcome NAME    only actions with this outcome: success, accepted, provider_error, …
${COMMON_HELP}
Examples:
  flotilla actions
  flotilla actions --kind Preempt --once
  flotilla actions --json | jq 'select(.outcome != "success")'

With --json each action is one line of JSON.
Exit code: 0 stopped by Ctrl-C or --once, 1 the shard did not answer, 2 invalid usage.
`;

const EVERY_MS = 1_000;

export const ACTIONS: InspectCommand = {
  name: 'actions',
  help: HELP,
  options: {
    once: { type: 'boolean' },
    watch: { type: 'boolean' },
    limit: { type: 'string' },
    kind: { type: 'string' },
    cluster: { type: 'string' },
    machine: { type: 'string' },
    outcome: { type: 'string' },
  },
  run: async (context) => {
    const stopping = new AbortController();
    const stop = () => stopping.abort();
    process.once('SIGINT', stop);
    process.once('SIGTERM', stop);
    try {
      await follow(context, stopping.signal);
    } finally {
      process.off('SIGINT', stop);
      process.off('SIGTERM', stop);
    }
    return EXIT_OK;
  },
};

export function run(argv: readonly string[]): Promise<number> {
  return runCommand(ACTIONS, argv);
}

async function follow(context: CommandContext, signal: AbortSignal): Promise<void> {
  const { flags, output } = context;
  const first = await ask(context, 0, flags.integer('limit', 20, 500));
  print(context, first.actions);
  let { last, startedAtMs } = first;
  let isAway = false;
  while (!flags.has('once') && !signal.aborted) {
    await pause(EVERY_MS, signal);
    if (signal.aborted) return;
    try {
      const answer = await ask(context, last, 500);
      // A restarted shard counts from one again, so all its actions are new.
      const isSame = answer.startedAtMs === startedAtMs;
      const unseen = isSame ? answer : await ask(context, 0, 500);
      ({ last, startedAtMs } = unseen);
      print(context, unseen.actions);
      isAway = false;
    } catch (error) {
      if (!(error instanceof AskError) || !error.isPassing) throw error;
      if (!isAway) output.error(`flotilla actions: ${error.message} Retrying every second.\n`);
      isAway = true;
    }
  }
}

function ask({ api, flags }: CommandContext, since: number, limit: number): Promise<ApiActions> {
  const filters = ['kind', 'cluster', 'machine', 'outcome'].map((name) => [name, flags.text(name)] as const);
  return api.get<ApiActions>('actions', { since, limit, ...Object.fromEntries(filters) });
}

const QUIET = new Set(['stale_state', 'deduped', 'dropped', 'suppressed', 'dryrun', 'rolled_back']);

function print({ output, isJson }: CommandContext, actions: readonly ApiAction[]): void {
  const paint = painter(output);
  for (const action of actions) {
    if (isJson) {
      output.out(`${JSON.stringify(action)}\n`);
      continue;
    }
    const { outcome } = action;
    const colour =
      outcome === 'success' || outcome === 'accepted' ? 'green' : QUIET.has(outcome) ? 'yellow' : 'red';
    const forWhom = action.forClusterId === '' ? '' : ` for ${action.forClusterId}`;
    const took = action.durationMs === 0 ? '' : ` in ${duration(action.durationMs)}`;
    const detail = action.detail === '' ? '' : `: ${action.detail}`;
    const where = action.clusterId === '' ? '' : ` ${action.clusterId}`;
    output.out(
      `${paint('dim', clock(action.atMs))} ${paint('bold', action.kind.padEnd(9))} ${action.machineId}${where}${forWhom} ` +
        `${paint(colour, outcome)}${paint('dim', took)}${detail}\n`,
    );
  }
}
