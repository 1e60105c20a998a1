/** `flotilla tenants`: what each cluster and provider uses, and what the shard refused from it and why. */
import type { ApiTenant, ApiTenants } from '../dashboard/api/types.ts';
import { age, count, usd } from '../dashboard/client/format.ts';
import { COMMON_HELP } from './inspect/command.ts';
import { LIST_HELP, listCommand, runList } from './inspect/list.ts';
import type { Column } from './inspect/terminal.ts';

const HELP = `Usage: flotilla tenants [options]

Lists clusters and providers with what they use and what the shard refused from them. The tenant that the shard refused
most often comes first, then the one with the most machines.

  --clusters        only clusters
  --providers       only providers
  --prefix TEXT     name begins with this text
  --refused         only tenants from which the shard refused something
${LIST_HELP}${COMMON_HELP}
Examples:
  flotilla tenants --refused
  flotilla tenants --clusters --watch
  flotilla tenants --json | jq -r '.tenants[] | select(.refused > 0) | [.name, .lastReason] | @tsv'

Exit code: 0 shown, 3 nothing matches, 1 the shard did not answer, 2 invalid usage.
`;

const COLUMNS: readonly Column[] = [
  { name: 'TENANT' },
  { name: 'KIND' },
  { name: 'REFUSED', align: 'right', colour: (text) => (text === '0' ? 'dim' : 'red') },
  { name: 'MACHINES', align: 'right' },
  { name: '$/H', align: 'right' },
  { name: 'ROWS', align: 'right' },
  { name: 'NEEDS', align: 'right' },
  { name: 'PROFILES', align: 'right' },
  { name: 'SEEN' },
  { name: 'NOTES', colour: () => 'yellow' },
];

export const TENANTS = listCommand<ApiTenants, ApiTenant>({
  name: 'tenants',
  help: HELP,
  options: {
    clusters: { type: 'boolean' },
    providers: { type: 'boolean' },
    prefix: { type: 'string' },
    refused: { type: 'boolean' },
  },
  ask: (flags) => {
    // Both flags together name every tenant, as none does.
    const isBoth = flags.has('clusters') === flags.has('providers');
    const kind = flags.has('clusters') ? 'cluster' : 'provider';
    return [
      'tenants',
      { kind: isBoth ? undefined : kind, prefix: flags.text('prefix'), refused: flags.has('refused') },
    ];
  },
  rowsOf: (answer) => answer.tenants,
  withRows: (answer, tenants) => ({ ...answer, tenants }),
  title: ({ matching, total }) => `${count(matching)} of ${count(total)} tenants`,
  columns: COLUMNS,
  cells: (tenant, { nowMs }) => rowOf(tenant, nowMs),
  nameOf: ({ name }) => name,
  none: 'No tenant matches the filters.',
});

export const run = runList(TENANTS);

function rowOf({ cluster, provider, ...tenant }: ApiTenant, nowMs: number): string[] {
  const seen =
    cluster !== null
      ? cluster.connected
        ? `connected ${age(nowMs - cluster.sinceAtMs)}`
        : 'not connected'
      : provider === null || provider.listedAtMs === 0
        ? 'not listed yet'
        : `listed ${age(nowMs - provider.listedAtMs)} ago`;
  const notes = [
    cluster === null || cluster.suspended === '' ? '' : `suspended: ${cluster.suspended}`,
    cluster === null || cluster.waitingNeeds === 0
      ? ''
      : `needs taken up: ${count(cluster.needs)} of ${count(cluster.needs + cluster.waitingNeeds)}`,
    cluster === null || cluster.heldRollups === 0 ? '' : `quarantined roll-ups: ${cluster.heldRollups}`,
    provider === null || provider.listingFailure === '' ? '' : `listing failed: ${provider.listingFailure}`,
    provider === null || provider.foreignIds === 0 ? '' : `foreign ids refused: ${provider.foreignIds}`,
    tenant.lastReason === '' ? '' : `${age(nowMs - tenant.lastRefusedAtMs)} ago: ${tenant.lastReason}`,
  ];
  return [
    tenant.name,
    tenant.kind,
    count(tenant.refused),
    count(tenant.machines),
    usd(tenant.costUsd),
    cluster === null ? '-' : count(cluster.rollupRows),
    cluster === null ? '-' : count(cluster.needs),
    cluster === null ? '-' : count(cluster.profiles),
    seen,
    notes.filter((note) => note !== '').join(', '),
  ];
}
