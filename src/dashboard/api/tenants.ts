/** `/api/v1/tenants`: what each cluster and provider uses, and what the shard refused from it. */
import type { ShardReader } from '../../shard/ports/reader.ts';
import type { TenantView } from '../../shard/ports/tenants.ts';
import { LIMIT_MAX, type Query } from './query.ts';
import { byState, sum } from './render.ts';
import type { ApiTenant, ApiTenants } from './types.ts';

const KINDS = ['cluster', 'provider'] as const;

export async function tenants(view: ShardReader, query: Query, rowsUsual: number): Promise<ApiTenants> {
  const asked = {
    kind: query.oneOf('kind', KINDS),
    prefix: query.text('prefix'),
    refusedOnly: query.flag('refused'),
    limit: query.limit(rowsUsual),
  };
  const after = query.text('after');
  query.end();
  const page = await view.tenantsPage(asked, after);
  return {
    nowMs: page.atMs,
    total: page.total,
    matching: page.matching,
    limits: page.limits,
    tenants: page.tenants.map(tenant),
    next: page.next,
  };
}

/** The cluster of this name as a tenant; null if it has nothing. */
export async function clusterTenant(view: ShardReader, name: string): Promise<ApiTenant | null> {
  const page = await view.tenantsPage(
    { kind: 'cluster', prefix: name, refusedOnly: false, limit: LIMIT_MAX },
    '',
  );
  const found = page.tenants.find((one) => one.name === name);
  return found === undefined ? null : tenant(found);
}

function tenant({ machines, usd, cluster, provider, ...view }: TenantView): ApiTenant {
  const { kind, name, refused, lastReason, lastRefusedAtMs } = view;
  return {
    kind,
    name,
    refused,
    lastReason,
    lastRefusedAtMs,
    machines: sum(machines),
    byState: byState(machines),
    costUsd: usd,
    cluster:
      cluster === null
        ? null
        : {
            connected: cluster.session?.isConnected === true,
            sinceAtMs: cluster.session?.sinceMs ?? 0,
            rollupRows: cluster.rollupRows,
            needs: cluster.needs,
            waitingNeeds: cluster.waitingNeeds,
            unmetNeeds: cluster.unmetNeeds,
            profiles: cluster.profiles,
            heldRollups: cluster.quarantinedRollups,
            suspended: cluster.suspended,
          },
    provider:
      provider === null
        ? null
        : {
            listedAtMs: provider.listing?.atMs ?? 0,
            listedMachines: provider.listing?.machines ?? 0,
            listingFailure: provider.listing?.failure ?? '',
            foreignIds: provider.listing?.foreignIds ?? 0,
          },
  };
}
