/**
 * `/api/v1/shards`: the shard that answers, as a whole: is it well, and if not, what keeps it from its work? A process knows its own
 * shard and its replicas; `flotilla shards` asks several.
 */
import { age, count, counted, duration, heldWords, pausedWords, usd } from '../client/format.ts';
import { ApiRefusal, type Query } from './query.ts';
import { byState } from './render.ts';
import type { ApiContext } from './routes.ts';
import type { ApiShard, ApiShardInFull, ApiShards } from './shard-types.ts';

/** As the alert FlotillaCycleStalled: fewer are a busy host. */
const STALLED_CYCLES = 6;

export async function shards(context: ApiContext, query: Query): Promise<ApiShards> {
  const prefix = query.text('prefix');
  query.end();
  const own = await shardOf(context);
  return { nowMs: context.nowMs(), shards: own.shardId.startsWith(prefix) ? [own] : [], next: '' };
}

export async function shard(context: ApiContext, id: string): Promise<ApiShardInFull> {
  const own = context.view.status().shardId;
  if (id !== own) {
    throw new ApiRefusal(
      404,
      'no_such_shard',
      `Shard ${JSON.stringify(id.slice(0, 200))} is not here.`,
      `This process runs shard ${JSON.stringify(own)} and knows no other.`,
      'Ask the address of that shard.',
    );
  }
  const nowMs = context.nowMs();
  const one = await shardOf(context);
  return { nowMs, shard: one, sentences: sentencesOf(one, nowMs, context.view.rails().cycleIntervalMs) };
}

async function shardOf(context: ApiContext): Promise<ApiShard> {
  const { view, version } = context;
  const summary = await view.summary();
  const { replica, ...status } = view.status();
  return {
    shardId: status.shardId,
    role: replica?.role ?? 'single',
    replica: replica?.name ?? '',
    epoch: status.epoch,
    version,
    startedAtMs: status.startedAtMs,
    cycle: status.cycle,
    lastCycleAtMs: status.lastCycleAtMs,
    isReady: status.isReady,
    notReadyReason: status.notReadyReason,
    machines: status.machines,
    byState: byState(summary.machines),
    usdPerHour: summary.cost.totalUsd,
    clusters: status.clusters,
    providers: summary.byProvider.length,
    needs: status.needs,
    unmetNeeds: view.unmetCount(),
    replicas: replica?.replicas ?? [],
    troubles: troublesOf(context),
    notes: notesOf(context),
  };
}

/** Each in one sentence, the worst first. */
function troublesOf({ view, nowMs }: ApiContext): string[] {
  const { isReady, notReadyReason, lastCycleAtMs, replica } = view.status();
  const { isFenced, isPaused, isDryRun, heldBack, cycleIntervalMs } = view.rails();
  const gauges = view.gauges();
  const isStandby = replica?.role === 'standby';
  const sinceCycleMs = nowMs() - lastCycleAtMs;
  const isStalled = !isStandby && lastCycleAtMs > 0 && sinceCycleMs > STALLED_CYCLES * cycleIntervalMs;
  const paused = pausedWords(gauges.pauses);
  return [
    isFenced ? 'It is fenced: a newer process runs with its id, and it executes no actions.' : '',
    isReady ? '' : `It is not ready: ${notReadyReason}.`,
    isStalled ? `Its last cycle ended ${age(sinceCycleMs)} ago.` : '',
    replica?.role === 'adrift' ? `Its replica ${replica.name} is ${replica.text}.` : '',
    isPaused ? 'The kill switch is on: it decides, but executes no actions.' : '',
    isDryRun && !isPaused ? 'This is a dry run: it decides, but executes no actions.' : '',
    !isFenced && !isStandby && heldBack !== '' ? `It executes no actions: ${heldBack}.` : '',
    ...gauges.heldListings.map((held) => `A listing is held: ${heldWords(held)}`),
    gauges.suspendedClusters === 0
      ? ''
      : `It decides nothing for ${counted(gauges.suspendedClusters, 'suspended cluster')}.`,
    paused === '' ? '' : `Controls pause ${paused}.`,
  ].filter((text) => text !== '');
}

function notesOf({ view }: ApiContext): string[] {
  const { stuckMachines, machinesInBackoff, offeringsInBackoff, needsInBackoff } = view.gauges();
  const backoffs = [
    machinesInBackoff === 0 ? '' : counted(machinesInBackoff, 'machine'),
    offeringsInBackoff === 0 ? '' : counted(offeringsInBackoff, 'offering'),
    needsInBackoff === 0 ? '' : counted(needsInBackoff, 'need'),
  ].filter((text) => text !== '');
  return [
    stuckMachines === 0 ? '' : `Stuck: ${counted(stuckMachines, 'machine')}.`,
    backoffs.length === 0 ? '' : `In back-off: ${backoffs.join(', ')}.`,
  ].filter((text) => text !== '');
}

function sentencesOf(of: ApiShard, nowMs: number, cycleIntervalMs: number): string[] {
  const states = Object.entries(of.byState).filter(([, machines]) => machines > 0);
  const standing = of.lastCycleAtMs === 0 ? 'has not decided yet' : 'is ready';
  const answer =
    of.role === 'standby'
      ? `Shard ${of.shardId}: this replica is a standby. It lists the fleet and decides nothing.`
      : of.troubles.length === 0
        ? `Shard ${of.shardId} ${standing}, and nothing keeps it from its work.`
        : `Shard ${of.shardId} is kept from its work. ${of.troubles[0]}`;
  const needs =
    of.unmetNeeds === 0
      ? `Every one of its ${counted(of.needs, 'need')} is met.`
      : `${count(of.unmetNeeds)} of its ${counted(of.needs, 'need')} ${of.unmetNeeds === 1 ? 'is' : 'are'} unmet.`;
  return [
    answer,
    ...(of.role === 'standby' ? of.troubles : of.troubles.slice(1)),
    of.role === 'standby' ? '' : `${needs} Connected: ${counted(of.clusters, 'cluster')}.`,
    `It has ${counted(of.machines, 'machine')} of ${counted(of.providers, 'provider')}${states.length === 0 ? '' : `: ${states.map(([state, machines]) => `${count(machines)} ${state}`).join(', ')}`}. They cost ${usd(of.usdPerHour)} per hour.`,
    ...of.notes,
    of.lastCycleAtMs === 0
      ? ''
      : `Cycle ${count(of.cycle)} ended ${age(nowMs - of.lastCycleAtMs)} ago; an ordinary one comes every ${duration(cycleIntervalMs)}.`,
    `It has run for ${age(nowMs - of.startedAtMs)} with epoch ${of.epoch} and version ${of.version}.`,
    ...of.replicas.map(
      ({ name, role, address, isReady, version, lagMs }) =>
        `Replica ${name} is ${role}${address === '' ? '' : ` at ${address}`}, ${isReady ? 'ready' : 'not ready'}, version ${version}${role === 'standby' && lagMs > 0 ? `, ${age(lagMs)} behind` : ''}.`,
    ),
  ].filter((text) => text !== '');
}
