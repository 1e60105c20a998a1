/** The paths of /api/v1 and their answers. All are read-only. */
import type { EventReader } from '../../shard/ports/events.ts';
import type { FleetReader } from '../../shard/ports/fleet.ts';
import type { ShardReader } from '../../shard/ports/reader.ts';
import type { SpendingPast } from '../../shard/ports/spending.ts';
import type { ShardHistory } from '../history.ts';
import { budget, budgets } from './budgets.ts';
import { cluster, clusters } from './clusters.ts';
import { events } from './events.ts';
import { machineInFull, needExplanation } from './explanations.ts';
import { fleetClusters, fleetDomains, fleetShards } from './fleet.ts';
import { gang, gangs } from './gangs.ts';
import { ApiRefusal, Query } from './query.ts';
import {
  byCapacityType,
  byState,
  capacityTypeName,
  need,
  offering,
  queue,
  rails,
  shortfall,
  stateName,
  sum,
} from './render.ts';
import { shard, shards } from './shards.ts';
import { spending } from './spending.ts';
import { offering as offeringInFull, offerings, provider, providers } from './supply.ts';
import { tenants } from './tenants.ts';
import type {
  ActionName,
  ApiActions,
  ApiHistory,
  ApiMachineInFull,
  ApiMachines,
  ApiNeedExplanations,
  ApiNeeds,
  ApiOverview,
  ApiShortfall,
  ApiStatus,
} from './types.ts';
import { WHAT_IF_NAME } from './what-if.ts';

export interface ApiContext {
  readonly view: ShardReader;
  readonly history: ShardHistory;
  /** Null: the shard keeps no history of spending. */
  readonly spending: SpendingPast | null;
  /** Null or left out: the shard keeps no history of events. */
  readonly events?: EventReader | null;
  /** Null or left out: the shard is in no fleet. */
  readonly fleet?: FleetReader | null;
  readonly version: string;
  readonly nowMs: () => number;
}

export const API_PREFIX = '/api/v1';

/** Maximum number of rows of each table in an overview. */
const NAMES_SHOWN_MAX = 24;
const CLUSTERS_SHOWN_MAX = 20;
const SHORTFALLS_SHOWN_MAX = 20;
const OFFERINGS_SHOWN_MAX = 8;
const BUDGETS_SHOWN_MAX = 12;
const ROWS_USUAL = 100;
const ACTION_KINDS: readonly ActionName[] = ['Bootstrap', 'Provision', 'Reclaim', 'Preempt', 'Delete'];

type Route = (context: ApiContext, query: Query, rest: string) => Promise<object> | object;

const ROUTES: Readonly<Record<string, Route>> = {
  status,
  overview,
  history,
  needs,
  'needs/explain': explainNeeds,
  machines,
  actions,
  events: ({ events: reader, nowMs }, query) => events(reader ?? null, query, ROWS_USUAL, nowMs()),
  clusters: ({ view }, query) => clusters(view, query, ROWS_USUAL),
  shortfalls,
  providers: ({ view }, query) => providers(view, query, ROWS_USUAL),
  offerings: ({ view }, query) => offerings(view, query, ROWS_USUAL),
  gangs: ({ view }, query) => gangs(view, query, ROWS_USUAL),
  shards: (context, query) => shards(context, query),
  tenants: ({ view }, query) => tenants(view, query, ROWS_USUAL),
  'fleet/shards': ({ fleet, nowMs }, query) => fleetShards(fleet ?? null, query, ROWS_USUAL, nowMs()),
  'fleet/domains': ({ fleet, nowMs }, query) => fleetDomains(fleet ?? null, query, ROWS_USUAL, nowMs()),
  'fleet/clusters': ({ fleet, nowMs }, query) => fleetClusters(fleet ?? null, query, ROWS_USUAL, nowMs()),
  budgets: ({ view, nowMs }, query) => budgets(view, query, nowMs()),
  spending: ({ view, spending: past, nowMs }, query) => spending({ view, past, nowMs: nowMs() }, query),
};

const NAMED_PATHS = [
  WHAT_IF_NAME,
  'machines/{id}',
  'clusters/{id}',
  'providers/{name}',
  'offerings/{name}',
  'gangs/{name}',
  'shards/{id}',
] as const;

/** Answers the path after the prefix. Throws a ShardError for a request that it refuses. */
export async function answerApi(
  context: ApiContext,
  path: string,
  parameters: URLSearchParams,
): Promise<object> {
  const name = path.replace(/^\//, '');
  const query = new Query(parameters);
  if (name === '')
    return { paths: [...Object.keys(ROUTES), ...NAMED_PATHS].map((one) => `${API_PREFIX}/${one}`) };
  const route = Object.hasOwn(ROUTES, name) ? ROUTES[name] : undefined;
  if (route !== undefined) return route(context, query, '');
  if (name.startsWith('clusters/')) {
    query.end();
    return cluster(context.view, decodeId(name.slice('clusters/'.length)), context.nowMs());
  }
  if (name.startsWith('providers/')) {
    query.end();
    return provider(context.view, decodeId(name.slice('providers/'.length)), context.nowMs());
  }
  if (name.startsWith('offerings/')) {
    query.end();
    return offeringInFull(context.view, decodeId(name.slice('offerings/'.length)), context.nowMs());
  }
  if (name.startsWith('gangs/')) return gang(context.view, query, decodeId(name.slice('gangs/'.length)));
  if (name.startsWith('shards/')) {
    query.end();
    return shard(context, decodeId(name.slice('shards/'.length)));
  }
  if (name.startsWith('machines/')) return machine(context, query, decodeId(name.slice('machines/'.length)));
  throw new ApiRefusal(
    404,
    'no_such_path',
    `Unknown path ${API_PREFIX}/${name.slice(0, 100)}.`,
    `The paths are ${[...Object.keys(ROUTES), ...NAMED_PATHS].join(', ')}.`,
    'See docs/api.md.',
  );
}

async function status(context: ApiContext, query: Query): Promise<ApiStatus> {
  query.end();
  return statusOf(context);
}

async function statusOf({ view, version, nowMs }: ApiContext): Promise<ApiStatus> {
  const { shardId, epoch, startedAtMs, cycle, lastCycleAtMs, isReady, notReadyReason, replica, ...counts } =
    view.status();
  return {
    shardId,
    epoch,
    version,
    nowMs: nowMs(),
    startedAtMs,
    cycle,
    lastCycleAtMs,
    isReady,
    notReadyReason,
    replica,
    machines: counts.machines,
    needs: counts.needs,
    unmetNeeds: view.unmetCount(),
    clusters: counts.clusters,
    rails: rails(view),
    queue: queue(view),
  };
}

async function overview(context: ApiContext, query: Query): Promise<ApiOverview> {
  query.end();
  const { view } = context;
  const summary = await view.summary();
  const { cost } = summary;
  const named = (list: typeof summary.byZone) =>
    list
      .slice(0, NAMES_SHOWN_MAX)
      .map(({ name, machines: counts }) => ({ name, machines: sum(counts), byState: byState(counts) }));
  return {
    ...(await statusOf(context)),
    byState: byState(summary.machines),
    byCapacityType: byCapacityType(summary.byCapacityType.map(byState)),
    byInstanceType: named(summary.byInstanceType),
    instanceTypes: summary.byInstanceType.length,
    byZone: named(summary.byZone),
    zones: summary.byZone.length,
    cost: {
      totalUsd: cost.totalUsd,
      idleUsd: sum(cost.idleByCapacityTypeUsd),
      byState: byState(cost.byStateUsd),
      byCapacityType: byCapacityType(cost.byCapacityTypeUsd),
      idleByCapacityType: byCapacityType(cost.idleByCapacityTypeUsd),
      byCluster: cost.byCluster.slice(0, CLUSTERS_SHOWN_MAX),
      clusters: cost.byCluster.length,
    },
    shortfalls: shortfallsOf(view).slice(0, SHORTFALLS_SHOWN_MAX),
    budgets: view.budgets().slice(0, BUDGETS_SHOWN_MAX).map(budget),
    offerings: view.offeringsInBackoff().slice(0, OFFERINGS_SHOWN_MAX).map(offering),
  };
}

function history({ view, history: past, nowMs }: ApiContext, query: Query): ApiHistory {
  const sinceMs = query.integer('since', 0, Number.MAX_SAFE_INTEGER);
  query.end();
  return {
    nowMs: nowMs(),
    cycleIntervalMs: view.rails().cycleIntervalMs,
    samples: past.samples(sinceMs).map((sample) => ({
      atMs: sample.atMs,
      cycle: sample.cycle,
      cycles: sample.cycles,
      ordinary: sample.isOrdinary,
      durationMs: sample.durationMs,
      phaseMs: sample.phaseMs,
      enqueued: sample.enqueued,
      changedMachines: sample.changedMachines,
      unmetNeeds: sample.unmetNeeds,
      capped: sample.capped,
      dropped: sample.dropped,
      queued: sample.queueDepth,
      inFlight: sample.inFlight,
      byState: byState(sample.stateCounts),
    })),
  };
}

async function needs({ view }: ApiContext, query: Query): Promise<ApiNeeds> {
  const asked = {
    clusterId: query.text('cluster'),
    group: query.text('group'),
    fingerprint: query.text('fingerprint'),
    unmetOnly: query.flag('unmet'),
    limit: query.limit(ROWS_USUAL),
  };
  const after = query.text('after');
  query.end();
  const page = await view.needsPage(asked, after);
  return {
    cycle: page.cycle,
    computedAtMs: page.computedAtMs,
    total: page.totalNeeds,
    unmet: page.unmetNeeds,
    needs: page.needs.map((one) => need(one, view.rails().cycleIntervalMs)),
    next: page.next,
  };
}

async function explainNeeds({ view }: ApiContext, query: Query): Promise<ApiNeedExplanations> {
  const clusterId = query.text('cluster');
  const fingerprint = query.optionalText('fingerprint');
  const group = query.optionalText('group');
  query.end();
  if (clusterId === '') {
    throw new ApiRefusal(
      400,
      'bad_parameter',
      'The parameter cluster is missing.',
      'An explanation covers the needs of one cluster.',
      'Add cluster=ID, and fingerprint or group to select one need.',
    );
  }
  const explained = await view.explainNeeds({
    clusterId,
    ...(fingerprint === undefined ? {} : { fingerprint }),
    ...(group === undefined ? {} : { group }),
  });
  return {
    cycle: explained[0]?.cycle ?? view.status().cycle,
    explanations: explained.map((one) => needExplanation(one, view.rails().cycleIntervalMs)),
  };
}

async function machines({ view }: ApiContext, query: Query): Promise<ApiMachines> {
  const state = query.state('state');
  const capacityType = query.capacityType('capacity');
  const asked = {
    clusterId: query.text('cluster'),
    instanceType: query.text('type'),
    zone: query.text('zone'),
    provider: query.text('provider'),
    idPrefix: query.text('prefix'),
    stuckOnly: query.flag('stuck'),
    backoffOnly: query.flag('backoff'),
    limit: query.limit(ROWS_USUAL),
    ...(state === undefined ? {} : { state }),
    ...(capacityType === undefined ? {} : { capacityType }),
  };
  const after = query.text('after');
  query.end();
  const page = await view.machinesPage(asked, after);
  return {
    nowMs: page.atMs,
    total: page.total,
    matching: page.matching,
    machines: page.machines.map((line) => ({
      id: line.id,
      state: stateName(line.state),
      forMs: line.forMs,
      instanceType: line.instanceType,
      zone: line.zone,
      capacityType: capacityTypeName(line.capacityType),
      provider: line.provider,
      pricePerHourUsd: line.pricePerHourUsd,
      clusterId: line.clusterId,
      priority: line.priority,
      action: line.action,
      stuck: line.isStuck,
      backoff: line.isInBackoff,
      order: line.order,
      lastError: line.lastError,
    })),
    next: page.next,
  };
}

async function machine({ view }: ApiContext, query: Query, id: string): Promise<ApiMachineInFull> {
  query.end();
  const explained = await view.explainMachine(id);
  if (explained !== null) return machineInFull(explained);
  throw new ApiRefusal(
    404,
    'no_such_machine',
    `There is no machine ${JSON.stringify(id.slice(0, 200))}.`,
    'No provider of this shard lists it.',
    'Search with machines?prefix=…, or query the shard that owns the machine.',
  );
}

function actions({ view, history: past }: ApiContext, query: Query): ApiActions {
  const since = query.integer('since', 0, Number.MAX_SAFE_INTEGER);
  const limit = query.limit(ROWS_USUAL);
  const kind = query.oneOf('kind', ACTION_KINDS);
  const outcome = query.text('outcome');
  const clusterId = query.text('cluster');
  const machineId = query.text('machine');
  query.end();
  const found = past.actions(
    since,
    limit,
    (record) =>
      (kind === '' || record.kind === kind) &&
      (outcome === '' || record.outcome === outcome) &&
      (clusterId === '' || record.clusterId === clusterId || record.forClusterId === clusterId) &&
      (machineId === '' || record.machineId === machineId),
  );
  return {
    startedAtMs: view.status().startedAtMs,
    last: past.lastAction,
    first: past.firstAction,
    actions: found.map(({ sequence, record }) => ({
      sequence,
      atMs: record.atMs,
      cycle: record.cycle,
      kind: record.kind,
      machineId: record.machineId,
      clusterId: record.clusterId,
      forClusterId: record.forClusterId,
      fingerprint: record.fingerprint,
      group: record.group,
      reason: record.reason,
      graceSeconds: record.graceSeconds,
      outcome: record.outcome,
      detail: record.detail,
      durationMs: record.durationMs,
    })),
  };
}

function shortfalls({ view }: ApiContext, query: Query): { readonly shortfalls: readonly ApiShortfall[] } {
  query.end();
  return { shortfalls: shortfallsOf(view) };
}

function shortfallsOf(view: ShardReader): ApiShortfall[] {
  const { cycleIntervalMs } = view.rails();
  return view.shortfalls().map((one) => shortfall(one, cycleIntervalMs));
}

function decodeId(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ApiRefusal(
      400,
      'bad_parameter',
      'The id is not valid.',
      'It is not percent-encoded UTF-8.',
      'Encode it and send the request again.',
    );
  }
}
