/** `flotilla shards`: one or several shards and their replicas, each with what keeps it from its work. */
import type { ApiShard, ApiShards } from '../dashboard/api/shard-types.ts';
import { age, count, usd } from '../dashboard/client/format.ts';
import { EXIT_FAILED, EXIT_NONE, EXIT_OK } from './exit.ts';
import { AskError } from './inspect/api-client.ts';
import { apiAt, COMMON_HELP, type CommandContext } from './inspect/command.ts';
import { LIST_HELP, listCommand, runList } from './inspect/list.ts';
import type { Column } from './inspect/terminal.ts';

const HELP = `Usage: flotilla shards [URL…] [options]

Lists the shard at --api, or those at the given HTTP addresses: role, machines, needs and what keeps each from its work.
-o wide shows the replicas too. flotilla explain shard tells about one of them; flotilla fleet shards lists a whole fleet.

  --prefix TEXT     id begins with this text
${LIST_HELP}${COMMON_HELP}
Examples:
  flotilla shards
  flotilla shards http://shard-a:8780 http://shard-b:8780
  flotilla shards -o json | jq '.shards[].replicas'

Exit code: 0 shown, 3 nothing matches, 1 a shard did not answer, 2 invalid usage.
`;

const COLUMNS: readonly Column[] = [
  { name: 'SHARD', isName: true },
  { name: 'ROLE' },
  { name: 'EPOCH', align: 'right' },
  { name: 'CYCLE', align: 'right' },
  { name: 'MACHINES', align: 'right' },
  { name: 'UNMET', align: 'right', colour: (text) => (text.trim() === '0' ? undefined : 'yellow') },
  { name: '$/H', align: 'right' },
  { name: 'NEEDS', align: 'right', isWide: true },
  { name: 'CLUSTERS', align: 'right', isWide: true },
  { name: 'UP', align: 'right', isWide: true },
  { name: 'VERSION', isWide: true },
  { name: 'REPLICAS', isWide: true },
  { name: 'TROUBLES', colour: (text) => (text === '-' ? undefined : 'red') },
];

interface Asked extends ApiShards {
  readonly failures: readonly string[];
}

export const SHARDS = listCommand<Asked, ApiShard>({
  name: 'shards',
  help: HELP,
  options: { prefix: { type: 'string' } },
  positionals: true,
  ask: () => ['shards', {}],
  read,
  rowsOf: (answer) => answer.shards,
  withRows: (answer, shards) => ({ ...answer, shards }),
  title: ({ shards, failures }, paint) =>
    [
      `${count(shards.length)} of ${count(shards.length + failures.length)} shards answered`,
      ...failures.map((failure) => paint('red', failure)),
    ].join('\n'),
  columns: COLUMNS,
  cells: rowOf,
  nameOf: ({ shardId }) => shardId,
  none: 'No shard matches.',
  exitOf: ({ shards, failures }) =>
    failures.length > 0 ? EXIT_FAILED : shards.length === 0 ? EXIT_NONE : EXIT_OK,
});

export const run = runList(SHARDS);

async function read({ api, flags, output, isJson }: CommandContext): Promise<Asked> {
  const asked = { prefix: flags.text('prefix') };
  const apis = flags.positionals.map((url) => apiAt(url, output, isJson));
  if (apis.length === 0) return { ...(await api.get<ApiShards>('shards', asked)), failures: [] };
  const failures: string[] = [];
  const answers = await Promise.all(
    apis.map((one) =>
      one.get<ApiShards>('shards', asked).catch((error: unknown) => {
        if (!(error instanceof AskError)) throw error;
        failures.push(error.message);
        return null;
      }),
    ),
  );
  const found = answers.filter((answer) => answer !== null);
  const nowMs = found[0]?.nowMs ?? Date.now();
  return { nowMs, shards: found.flatMap(({ shards }) => shards), next: '', failures };
}

function rowOf(shard: ApiShard, { nowMs }: Asked): string[] {
  return [
    shard.shardId,
    shard.role === 'single' ? '-' : `${shard.role} (${shard.replica})`,
    count(shard.epoch),
    count(shard.cycle),
    count(shard.machines),
    count(shard.unmetNeeds),
    usd(shard.usdPerHour),
    count(shard.needs),
    count(shard.clusters),
    age(Math.max(0, nowMs - shard.startedAtMs)),
    shard.version,
    shard.replicas.map(({ name, role }) => `${name} ${role}`).join(', ') || '-',
    shard.troubles.join(' ') || '-',
  ];
}
