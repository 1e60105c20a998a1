/** `/api/v1/clusters` and `/api/v1/clusters/{id}`: all clusters, and one in full, in numbers and in words. */
import type { ClusterView } from '../../shard/ports/fleet-view.ts';
import type { ShardReader } from '../../shard/ports/reader.ts';
import { age, count, counted, usd } from '../client/format.ts';
import { ApiRefusal, type Query } from './query.ts';
import { byState, sum } from './render.ts';
import { clusterTenant } from './tenants.ts';
import type { ApiCluster, ApiClusterInFull, ApiClusters, ApiTenant } from './types.ts';

export async function clusters(view: ShardReader, query: Query, rowsUsual: number): Promise<ApiClusters> {
  const asked = {
    prefix: query.text('prefix'),
    unmetOnly: query.flag('unmet'),
    disconnectedOnly: query.flag('disconnected'),
    after: query.text('after'),
    limit: query.limit(rowsUsual),
  };
  query.end();
  const page = await view.clustersPage(asked);
  const usdOf = await costs(view);
  return {
    nowMs: page.atMs,
    total: page.total,
    matching: page.matching,
    clusters: page.clusters.map((one) => clusterOf(one, usdOf)),
    next: page.next,
  };
}

export async function cluster(view: ShardReader, id: string, nowMs: number): Promise<ApiClusterInFull> {
  // An id begins with itself and sorts first among those that do.
  const [first] = (await view.clustersPage({ prefix: id, limit: 1 })).clusters;
  if (first?.clusterId !== id) {
    throw new ApiRefusal(
      404,
      'no_such_cluster',
      `There is no cluster ${JSON.stringify(id.slice(0, 200))}.`,
      'It has no session, no demand and no machines on this shard.',
      'Search with clusters?prefix=…, or ask for its history with events?cluster=….',
    );
  }
  const found = clusterOf(first, await costs(view));
  const tenant = await clusterTenant(view, id);
  return { nowMs, cluster: found, tenant, sentences: sentencesOf(found, tenant, nowMs) };
}

/** Dollars per hour, by cluster. */
async function costs(view: ShardReader): Promise<ReadonlyMap<string, number>> {
  const { cost } = await view.summary();
  return new Map(cost.byCluster.map(({ clusterId, usd }) => [clusterId, usd]));
}

function clusterOf({ session, ...cluster }: ClusterView, usdOf: ReadonlyMap<string, number>): ApiCluster {
  return {
    clusterId: cluster.clusterId,
    session:
      session === null
        ? null
        : {
            connected: session.isConnected,
            sinceAtMs: session.sinceMs,
            peer: session.peer,
            outboxFrames: session.outboxFrames,
            lastRollupAtMs: session.lastRollupAtMs,
          },
    reported: cluster.hasReported,
    needs: cluster.needs,
    waitingNeeds: cluster.waitingNeeds,
    unmetNeeds: cluster.unmetNeeds,
    heldRollups: cluster.heldRollups,
    suspension: cluster.suspension === null ? '' : cluster.suspension.reason,
    rejectedRollups: cluster.rejectedRollups,
    machines: sum(cluster.machines),
    byState: byState(cluster.machines),
    usdPerHour: usdOf.get(cluster.clusterId) ?? 0,
  };
}

function sentencesOf(of: ApiCluster, tenant: ApiTenant | null, nowMs: number): string[] {
  const { clusterId, session, needs, unmetNeeds, machines, byState } = of;
  const unmet =
    unmetNeeds === 0
      ? `Every one of its ${counted(needs, 'need')} is met.`
      : `${count(unmetNeeds)} of its ${counted(needs, 'need')} ${unmetNeeds === 1 ? 'is' : 'are'} unmet.`;
  const states = Object.entries(byState).filter(([, number]) => number > 0);
  const cost = tenant === null ? '' : ` They cost ${usd(tenant.costUsd)} per hour.`;
  return [
    needs === 0 ? `Cluster ${clusterId} asks for nothing.` : unmet,
    machines === 0
      ? 'It has no machines.'
      : `It has ${counted(machines, 'machine')}: ${states.map(([state, number]) => `${count(number)} ${state}`).join(', ')}.${cost}`,
    sessionSentence(of, nowMs),
    of.suspension === '' ? '' : `The shard suspended it: ${of.suspension}.`,
    of.heldRollups === 0
      ? ''
      : `${counted(of.heldRollups, 'roll-up')} in a row dropped most of its demand and ${of.heldRollups === 1 ? 'is' : 'are'} in quarantine.`,
    tenant === null || tenant.refused === 0
      ? ''
      : `The shard refused ${counted(tenant.refused, 'roll-up')}, the last one ${age(nowMs - tenant.lastRefusedAtMs)} ago: ${tenant.lastReason}`,
    session?.connected !== true && needs > 0 ? 'The shard keeps its last roll-up.' : '',
  ].filter((text) => text !== '');
}

function sessionSentence({ session, reported }: ApiCluster, nowMs: number): string {
  if (session === null) return 'Its operator has not connected since the shard started.';
  const forMs = age(nowMs - session.sinceAtMs);
  if (!session.connected) return `Its operator has been disconnected for ${forMs}.`;
  const rollup = reported
    ? `; the last roll-up came ${age(nowMs - session.lastRollupAtMs)} ago`
    : ' and has sent no roll-up yet, so its machines are not reclaimed';
  return `Its operator has been connected for ${forMs}${rollup}.`;
}
