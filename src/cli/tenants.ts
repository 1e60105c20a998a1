/** `flotilla tenants`: what each cluster and provider uses, and what the shard refused from it and why. */
import type { ApiTenant, ApiTenants } from '../dashboard/api/types.ts';
import { age, count, price } from '../dashboard/client/format.ts';
import {
  COMMON_HELP,
  type CommandContext,
  EXIT_OK,
  type InspectCommand,
  runCommand,
  watchMs,
} from './inspect/command.ts';
import { type Column, drawRepeatedly, painter, tableText } from './inspect/terminal.ts';

const HELP = `Usage: flotilla tenants [options]

Lists clusters and providers with what they use and what the shard refused from them. The tenant that the shard refused
most often comes first, then the one with the most machines.

  --clusters        only clusters
  --providers       only providers
  --prefix TEXT     name begins with this text
  --refused         only tenants from which the shard refused something
  --limit N         maximum number of tenants (default 50)
  --all             list all tenants
  --watch           refresh until Ctrl-C
  --every TIME      time between two refreshes (default 2s)
${COMMON_HELP}
Examples:
  flotilla tenants --refused
  flotilla tenants --clusters --watch
  flotilla tenants --json | jq -r '.tenants[] | select(.refused > 0) | [.name, .lastReason] | @tsv'

Exit code: 0 shown, 1 the shard did not answer, 2 invalid usage.
`;

const PAGE = 500;
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

export const TENANTS: InspectCommand = {
  name: 'tenants',
  help: HELP,
  options: {
    clusters: { type: 'boolean' },
    providers: { type: 'boolean' },
    prefix: { type: 'string' },
    refused: { type: 'boolean' },
    limit: { type: 'string' },
    all: { type: 'boolean' },
    watch: { type: 'boolean' },
    every: { type: 'string' },
  },
  run: async (context) => {
    const everyMs = watchMs(context.flags);
    if (everyMs !== undefined) await drawRepeatedly(context.output, everyMs, () => draw(context));
    else context.output.out(await draw(context));
    return EXIT_OK;
  },
};

export function run(argv: readonly string[]): Promise<number> {
  return runCommand(TENANTS, argv);
}

async function draw(context: CommandContext): Promise<string> {
  const answer = await read(context);
  if (context.isJson) return `${JSON.stringify(answer)}\n`;
  const shown = answer.next === '' ? '' : `; showing the first ${count(answer.tenants.length)}`;
  const title = `${count(answer.matching)} of ${count(answer.total)} tenants${painter(context.output)('dim', shown)}\n`;
  if (answer.tenants.length === 0) return `${title}No tenant matches the filters.\n`;
  const rows = answer.tenants.map((tenant) => rowOf(tenant, answer.nowMs));
  return title + tableText(context.output, COLUMNS, rows);
}

async function read({ api, flags }: CommandContext): Promise<ApiTenants> {
  const wanted = flags.has('all') ? Number.POSITIVE_INFINITY : flags.integer('limit', 50, 1_000_000);
  // Both flags together name every tenant, as none does.
  const kind =
    flags.has('clusters') === flags.has('providers') ? '' : flags.has('clusters') ? 'cluster' : 'provider';
  const tenants: ApiTenant[] = [];
  let after = '';
  for (;;) {
    const page = await api.get<ApiTenants>('tenants', {
      kind: kind === '' ? undefined : kind,
      prefix: flags.text('prefix'),
      refused: flags.has('refused'),
      limit: Math.min(PAGE, wanted - tenants.length),
      after: after === '' ? undefined : after,
    });
    tenants.push(...page.tenants);
    after = page.next;
    if (after === '' || tenants.length >= wanted) return { ...page, tenants, next: after };
  }
}

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
    price(tenant.costUsd),
    cluster === null ? '-' : count(cluster.rollupRows),
    cluster === null ? '-' : count(cluster.needs),
    cluster === null ? '-' : count(cluster.profiles),
    seen,
    notes.filter((note) => note !== '').join(', '),
  ];
}
