/** `/api/v1/fleet/…`: the shards of the fleet, and which clusters and topology domains belong to which, by the directory. */
import { compareBytewise } from '../../base/dimensions.ts';
import type { FleetReader, FleetShardView } from '../../shard/ports/fleet.ts';
import { ApiRefusal, type Query } from './query.ts';
import type { ApiFleetClusters, ApiFleetDomains, ApiFleetShard, ApiFleetShards } from './types.ts';

export function fleetShards(
  reader: FleetReader | null,
  query: Query,
  rowsUsual: number,
  nowMs: number,
): ApiFleetShards {
  const asked = { prefix: query.text('prefix'), after: query.text('after'), limit: query.limit(rowsUsual) };
  query.end();
  const fleet = required(reader);
  const { rows, ...page } = pageOf(fleet.shards(), ({ shard }) => shard, asked);
  const coordinator = fleet.coordinator();
  return {
    ...{ nowMs, fleet: fleet.fleet, isCurrent: fleet.isCurrent() },
    coordinator:
      coordinator === null
        ? null
        : {
            ...{ shard: coordinator.shard, replica: coordinator.replica, term: coordinator.term },
            address: coordinator.addresses[0] ?? '',
          },
    ...page,
    shards: rows.map(shardOf),
  };
}

export function fleetClusters(
  reader: FleetReader | null,
  query: Query,
  rowsUsual: number,
  nowMs: number,
): ApiFleetClusters {
  const shard = query.text('shard');
  const asked = { prefix: query.text('prefix'), after: query.text('after'), limit: query.limit(rowsUsual) };
  query.end();
  const fleet = required(reader);
  const routes = fleet.routes().filter((route) => shard === '' || route.shard === shard);
  const { rows, ...page } = pageOf(routes, ({ cluster }) => cluster, asked);
  return { nowMs, fleet: fleet.fleet, isCurrent: fleet.isCurrent(), ...page, clusters: rows };
}

/** The id of a domain is its key and value. */
export function fleetDomains(
  reader: FleetReader | null,
  query: Query,
  rowsUsual: number,
  nowMs: number,
): ApiFleetDomains {
  const shard = query.text('shard');
  const asked = { prefix: query.text('prefix'), after: query.text('after'), limit: query.limit(rowsUsual) };
  query.end();
  const fleet = required(reader);
  const domains = fleet
    .domains()
    .filter((domain) => shard === '' || domain.shard === shard)
    .map((domain) => ({
      domain: `${domain.topologyKey}=${domain.topologyValue}`,
      topologyKey: domain.topologyKey,
      topologyValue: domain.topologyValue,
      shard: domain.shard,
    }));
  const { rows, ...page } = pageOf(domains, ({ domain }) => domain, asked);
  return { nowMs, fleet: fleet.fleet, isCurrent: fleet.isCurrent(), ...page, domains: rows };
}

function shardOf({ active, replicas, ...shard }: FleetShardView): ApiFleetShard {
  return {
    ...shard,
    active:
      active === null
        ? null
        : { replica: active.replica, epoch: active.epoch, address: active.addresses[0] ?? '' },
    replicas: replicas.map(({ addresses, replica, role, isReady, version, lagSeconds }) => ({
      ...{ replica, role, isReady, version, lagSeconds },
      address: addresses[0] ?? '',
    })),
  };
}

function required(reader: FleetReader | null): FleetReader {
  if (reader !== null) return reader;
  throw new ApiRefusal(
    404,
    'no_fleet',
    'This shard is in no fleet.',
    'It was started without --directory, so it knows no other shard.',
    'See docs/scaling.md.',
  );
}

interface Asked {
  readonly prefix: string;
  readonly after: string;
  readonly limit: number;
}

/** Rows whose ids begin with the prefix and follow `after`, by id. */
function pageOf<Row>(all: readonly Row[], idOf: (row: Row) => string, { prefix, after, limit }: Asked) {
  const matching = all
    .filter((row) => idOf(row).startsWith(prefix))
    .sort((a, b) => compareBytewise(idOf(a), idOf(b)));
  const rest = after === '' ? matching : matching.filter((row) => compareBytewise(idOf(row), after) > 0);
  const rows = rest.slice(0, limit);
  return {
    total: all.length,
    matching: matching.length,
    rows,
    next: rows.length < rest.length ? idOf(rows.at(-1)!) : '',
  };
}
