/** Explains a need: collects the facts, then makes sentences of them. */

import { ceilingOf } from '../../../decision/limits.ts';
import { NOT_ACQUIRED } from '../../../inventory/intent.ts';
import { WhenUnsatisfiable } from '../../../needs/requirements.ts';
import type { NeedBar, NeedExplanation, NeedFacts } from '../../ports/explain.ts';
import type { NeedView } from '../../ports/view.ts';
import type { TenantLimits } from '../../tenants.ts';
import { readNeed } from '../need-row.ts';
import type { ViewSources } from '../sources.ts';
import { Census } from './census.ts';
import { whyNothingExecutes } from './machine.ts';
import { Matcher } from './matcher.ts';
import { nearestMisses } from './nearest-miss.ts';
import { needSentences } from './need-sentences.ts';
import { amounts, count, total } from './words.ts';

/** The row must be in the cluster's slice, with demand and verdicts in step. */
export async function explainNeed(
  sources: ViewSources,
  cluster: number,
  row: number,
): Promise<NeedExplanation> {
  const { needs, engine, inventory, clock } = sources;
  const { clusters, fingerprints, groups } = inventory.tables;
  const start = needs.sliceStart(cluster);
  const clusterId = clusters.get(cluster);
  const need = readNeed(sources, { cluster, clusterId, start }, row, engine.verdict(cluster, row));
  const served = engine.servedAs(cluster, row);
  const servedGroup = groups.get(served.group);
  const isFolded = fingerprints.get(served.fingerprint) !== need.fingerprint || servedGroup !== need.group;
  const bars = barsOf(sources, cluster, row, need, served);
  const draining = engine.drainsFor(served.cluster, served.fingerprint, served.group).length;
  const { sameKeys, requirements } = needs.profiles.get(needs.profile[start + row]!);
  const spreadKey = need.spread.find(
    ({ whenUnsatisfiable }) => whenUnsatisfiable === WhenUnsatisfiable.DoNotSchedule,
  )?.topologyKey;
  const matcher = new Matcher(inventory, requirements, need.minUnit);
  const census = await Census.take(sources, matcher, {
    ...served,
    priority: Math.min(need.priority, sources.limitsOf(cluster)?.maxPriority ?? need.priority),
    aggregate: need.aggregate,
    domainKeys: isFolded ? [] : sameKeys.length > 0 ? sameKeys : spreadKey === undefined ? [] : [spreadKey],
  });
  const control = census.paused === 0 ? null : sources.machinePause(census.pausedSlot, NOT_ACQUIRED);
  if (control !== null) bars.push({ kind: 'paused', control, machines: census.paused });
  const facts: NeedFacts = {
    bars,
    matching: census.matching,
    free: census.free,
    takenByOthers: census.takenByOthers,
    inBackoff: census.inBackoff,
    stuck: census.stuck,
    holders: census.holders(),
    preemptible: census.preemptible,
    ownMachines: census.ownMachines,
    machines: census.serving(),
    drainingForIt: draining,
    foldedAs: isFolded ? servedGroup : '',
    domains: census.domains(),
    nearest:
      total(census.matching) === 0 ? await nearestMisses(inventory, matcher, () => sources.nextTurn()) : [],
  };
  const cycle = sources.cycle();
  const { cycleIntervalMs } = sources.rails();
  const sentences = needSentences(need, facts, { nowMs: clock.nowMs(), cycleIntervalMs });
  return { need, cycle, facts, sentences };
}

function barsOf(
  sources: ViewSources,
  cluster: number,
  row: number,
  need: NeedView,
  served: { cluster: number; fingerprint: number; group: number },
): NeedBar[] {
  const { needs } = sources;
  const bars: NeedBar[] = [];
  const why = whyNothingExecutes(sources);
  if (why !== '') bars.push({ kind: 'nothing_executes', why });
  if (!sources.hasSession(cluster)) bars.push({ kind: 'no_session' });
  const suspension = sources.suspension(cluster);
  if (suspension !== null) bars.push({ kind: 'suspended', suspension });
  const control = sources.clusterPause(cluster);
  if (control !== null) bars.push({ kind: 'paused', control, machines: 0 });
  const tableRow = needs.sliceStart(cluster) + row;
  const { fingerprintRef } = needs.profiles.get(needs.profile[tableRow]!);
  const backoff =
    sources.needBackoff(served.cluster, served.fingerprint, served.group) ??
    sources.needBackoff(cluster, fingerprintRef, needs.group[tableRow]!);
  if (backoff !== null) bars.push({ kind: 'bootstrap_backoff', backoff });
  const limits = sources.limitsOf(cluster);
  const ceilings = sources.ceilings();
  const ceiling = ceilings === null ? Number.NaN : ceilingOf(ceilings, need.limitedBy);
  if (!Number.isNaN(ceiling)) bars.push({ kind: 'ceiling', ceiling: need.limitedBy, most: `$${ceiling}` });
  else if (need.limitedBy !== '' && limits !== null)
    bars.push({
      kind: 'limited',
      limit: need.limitedBy,
      pattern: limits.cluster,
      most: mostOf(limits, need.limitedBy),
    });
  if (need.parked) bars.push({ kind: 'parked', cycles: need.parkedCycles });
  return bars;
}

function mostOf(limits: TenantLimits, limit: string): string {
  switch (limit) {
    case 'max-machines':
      return count(limits.maxMachines);
    case 'max-resources':
      return amounts(limits.maxResources);
    case 'max-dollars-per-hour':
      return `$${limits.maxDollarsPerHour}`;
    case 'min-non-spot-share':
      return `${limits.minNonSpotShare}`;
    default:
      return `${limits.maxOfferingShare}`;
  }
}
