/** `flotilla clusters`: clusters with their session, demand and machines. */
import type { ApiCluster, ApiClusters } from '../dashboard/api/types.ts';
import { age, count } from '../dashboard/client/format.ts';
import { COMMON_HELP } from './inspect/command.ts';
import { LIST_HELP, type ListCommand, listCommand, runList } from './inspect/list.ts';
import type { Column } from './inspect/terminal.ts';

const HELP = `Usage: flotilla clusters [options]

Lists clusters in order of their ids. flotilla explain cluster ID tells about one of them.

  --prefix TEXT     id begins with this text
  --unmet           only clusters with unmet needs
  --disconnected    only clusters whose operator is not connected
${LIST_HELP}${COMMON_HELP}
Examples:
  flotilla clusters --unmet
  flotilla clusters --sort machines:desc -o wide
  flotilla clusters --disconnected -o name

Exit code: 0 shown, 3 nothing matches, 1 the shard did not answer, 2 invalid usage.
`;

const COLUMNS: readonly Column[] = [
  { name: 'CLUSTER', isName: true },
  { name: 'SESSION', colour: (text) => (text.startsWith('connected') ? 'green' : 'red') },
  { name: 'NEEDS', align: 'right' },
  { name: 'UNMET', align: 'right', colour: (text) => (text === '0' ? undefined : 'yellow') },
  { name: 'MACHINES', align: 'right' },
  { name: 'CONFIGURED', align: 'right', isWide: true },
  { name: 'DRAINING', align: 'right', isWide: true },
  { name: 'LAST ROLL-UP', align: 'right' },
  { name: 'NOTES', colour: () => 'yellow', isWide: true },
];

export const CLUSTER_LIST: ListCommand<ApiClusters, ApiCluster> = {
  name: 'clusters',
  help: HELP,
  options: { prefix: { type: 'string' }, unmet: { type: 'boolean' }, disconnected: { type: 'boolean' } },
  ask: (flags) => [
    'clusters',
    { prefix: flags.text('prefix'), unmet: flags.has('unmet'), disconnected: flags.has('disconnected') },
  ],
  rowsOf: (answer) => answer.clusters,
  withRows: (answer, clusters) => ({ ...answer, clusters }),
  title: ({ matching, total }) => `${count(matching)} of ${count(total)} clusters`,
  columns: COLUMNS,
  cells: rowOf,
  nameOf: ({ clusterId }) => clusterId,
  none: 'No cluster matches the filters.',
};

export const CLUSTERS = listCommand(CLUSTER_LIST);

export const run = runList(CLUSTERS);

function rowOf(cluster: ApiCluster, { nowMs }: ApiClusters): string[] {
  const { session, byState } = cluster;
  const forMs = session === null ? '' : age(nowMs - session.sinceAtMs);
  const notes = [
    cluster.suspension === '' ? '' : `suspended: ${cluster.suspension}`,
    cluster.heldRollups === 0 ? '' : `${count(cluster.heldRollups)} quarantined roll-ups`,
    cluster.rejectedRollups === 0 ? '' : `${count(cluster.rejectedRollups)} rejected roll-ups`,
  ];
  return [
    cluster.clusterId,
    session === null ? 'never' : `${session.connected ? 'connected' : 'gone'} ${forMs}`,
    count(cluster.needs),
    count(cluster.unmetNeeds),
    count(cluster.machines),
    count(byState.Configured),
    count(byState.Draining),
    session === null || session.lastRollupAtMs === 0 ? '-' : `${age(nowMs - session.lastRollupAtMs)} ago`,
    notes.filter((note) => note !== '').join(', '),
  ];
}
