/** `flotilla fleet`: the shards of a fleet, and which clusters and topology domains belong to which. */
import type {
  ApiFleetClusters,
  ApiFleetDomains,
  ApiFleetShard,
  ApiFleetShards,
} from '../dashboard/api/types.ts';
import { count } from '../dashboard/client/format.ts';
import { EXIT_OK, EXIT_USAGE } from './exit.ts';
import { COMMON_HELP } from './inspect/command.ts';
import { LIST_HELP, listCommand, runList } from './inspect/list.ts';
import type { Column } from './inspect/terminal.ts';

const HELP = `Usage: flotilla fleet shards|clusters|domains [options]

Shows the fleet as its directory does. Ask any replica of any shard.

  shards     shards with their replicas, providers and clusters
  clusters   which shard each cluster belongs to
  domains    topology domains that people assigned to shards through the coordinator

  --prefix TEXT     id begins with this text
  --shard ID        clusters or domains of this shard
${LIST_HELP}${COMMON_HELP}
Examples:
  flotilla fleet shards
  flotilla fleet shards --watch
  flotilla fleet clusters --shard shard-2 -o name

Exit code: 0 shown, 3 nothing matches, 1 the shard did not answer or is in no fleet, 2 invalid usage.
`;

const SHARD_COLUMNS: readonly Column[] = [
  { name: 'SHARD' },
  { name: 'ACTIVE', colour: (text) => (text.trim() === 'none' ? 'red' : undefined) },
  { name: 'EPOCH', align: 'right', isWide: true },
  { name: 'ADDRESS', isWide: true },
  { name: 'REPLICAS' },
  { name: 'CLUSTERS', align: 'right' },
  { name: 'PROVIDERS' },
  { name: 'NOTES', colour: () => 'yellow' },
];

const SHARDS = listCommand<ApiFleetShards, ApiFleetShard>({
  name: 'fleet shards',
  help: HELP,
  options: { prefix: { type: 'string' } },
  ask: (flags) => ['fleet/shards', { prefix: flags.text('prefix') }],
  rowsOf: ({ shards }) => shards,
  withRows: (answer, shards) => ({ ...answer, shards }),
  title: ({ fleet, matching, total, isCurrent, coordinator }) => {
    const shards = `${count(matching)} of ${count(total)} shards of fleet ${fleet}${ageOf(isCurrent)}`;
    if (coordinator === null) return `${shards}; no replica is the coordinator`;
    return `${shards}; coordinator: replica ${coordinator.replica} of ${coordinator.shard}, at ${coordinator.address}`;
  },
  columns: SHARD_COLUMNS,
  cells: cellsOf,
  nameOf: ({ shard }) => shard,
  none: 'No shard matches the filters.',
});

const CLUSTERS = listCommand<ApiFleetClusters, ApiFleetClusters['clusters'][number]>({
  name: 'fleet clusters',
  help: HELP,
  options: { prefix: { type: 'string' }, shard: { type: 'string' } },
  ask: (flags) => ['fleet/clusters', { prefix: flags.text('prefix'), shard: flags.text('shard') }],
  rowsOf: ({ clusters }) => clusters,
  withRows: (answer, clusters) => ({ ...answer, clusters }),
  title: ({ fleet, matching, total, isCurrent }) =>
    `${count(matching)} of ${count(total)} clusters of fleet ${fleet}${ageOf(isCurrent)}`,
  columns: [{ name: 'CLUSTER' }, { name: 'SHARD' }],
  cells: ({ cluster, shard }) => [cluster, shard],
  nameOf: ({ cluster }) => cluster,
  none: 'No cluster matches the filters.',
});

const DOMAINS = listCommand<ApiFleetDomains, ApiFleetDomains['domains'][number]>({
  name: 'fleet domains',
  help: HELP,
  options: { prefix: { type: 'string' }, shard: { type: 'string' } },
  ask: (flags) => ['fleet/domains', { prefix: flags.text('prefix'), shard: flags.text('shard') }],
  rowsOf: ({ domains }) => domains,
  withRows: (answer, domains) => ({ ...answer, domains }),
  title: ({ fleet, matching, total, isCurrent }) =>
    `${count(matching)} of ${count(total)} domains of fleet ${fleet}${ageOf(isCurrent)}`,
  columns: [{ name: 'DOMAIN' }, { name: 'SHARD' }],
  cells: ({ domain, shard }) => [domain, shard],
  nameOf: ({ domain }) => domain,
  none: 'No domain matches the filters.',
});

const LISTS = { shards: runList(SHARDS), clusters: runList(CLUSTERS), domains: runList(DOMAINS) } as const;

export function run(argv: readonly string[]): Promise<number> {
  const [what = '', ...rest] = argv;
  if (what === 'shards' || what === 'clusters' || what === 'domains') return LISTS[what](rest);
  const isHelp = what === '--help' || what === '-h';
  if (isHelp) process.stdout.write(HELP);
  else process.stderr.write('flotilla fleet: Write shards, clusters or domains. See --help.\n');
  return Promise.resolve(isHelp ? EXIT_OK : EXIT_USAGE);
}

function cellsOf(shard: ApiFleetShard): string[] {
  const { active, replicas } = shard;
  const standbys = replicas.filter(({ role }) => role === 'standby');
  const ready = standbys.filter(({ isReady }) => isReady).length;
  const notes = [
    active === null ? 'no replica is active' : '',
    shard.hasAdopted || shard.providers.length === 0
      ? ''
      : 'has not listed its providers yet: new clusters wait',
  ];
  return [
    shard.shard,
    active?.replica ?? 'none',
    active === null ? '-' : String(active.epoch),
    active?.address ?? '-',
    `${count(replicas.length)} (${count(ready)} of ${count(standbys.length)} standbys ready)`,
    count(shard.clusterCount),
    shard.providers.join(', '),
    notes.filter((note) => note !== '').join(', '),
  ];
}

function ageOf(isCurrent: boolean): string {
  return isCurrent ? '' : ' (the directory does not answer: this is what it said last)';
}
