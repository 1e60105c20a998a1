/** The answer to a question (Y4): how the copy at rest differs from the shard when it was copied. */
import { ACTION_NAMES, type ActionKind } from '../../decision/actions.ts';
import type { ActionName, KindCounts } from '../ports/observer.ts';
import { WHAT_IF_KINDS, type WhatIfCluster, type WhatIfLoss } from '../ports/what-if.ts';
import type { RestedCopy } from './run.ts';
import { fleetSums } from './sums.ts';

/** Pairs of clusters in an answer: an answer of 2 MB would hold ten times as many. */
const LOSSES_MAX = 2_000;

/** What the copy alone can tell, in names. */
export interface CopiedAnswer {
  readonly machinesGone: number;
  readonly machinesAdded: number;
  readonly machinesRepriced: number;
  readonly isAtRest: boolean;
  readonly settleMs: number;
  readonly cycles: number;
  readonly actions: KindCounts;
  readonly clusters: readonly WhatIfCluster[];
  readonly losses: readonly WhatIfLoss[];
  readonly lossesLeftOut: number;
  readonly unmetByPriority: readonly (readonly [priority: number, unmet: number])[];
  readonly usdPerHourBefore: number;
  readonly usdPerHourAfter: number;
}

export function answerOf(rested: RestedCopy): CopiedAnswer {
  const { inventory, engine, effects, machines, before, beganMs, cycles, isAtRest } = rested;
  const { slotLimit, state, cluster, pricePerHourUsd } = inventory.columns;
  const after = fleetSums({ state: state.subarray(0, slotLimit), cluster, pricePerHourUsd });
  const losses = lossesOf(rested);
  return {
    machinesGone: machines.gone,
    machinesAdded: machines.added,
    machinesRepriced: machines.repriced,
    isAtRest,
    settleMs: effects.lastEndMs === 0 ? 0 : effects.lastEndMs - beganMs,
    cycles,
    actions: kindCounts((kind) => [...(effects.counts.began.get(kind)?.values() ?? [])].reduce(add, 0)),
    clusters: clustersOf(rested, after.machinesOf),
    losses: losses.slice(0, LOSSES_MAX),
    lossesLeftOut: Math.max(0, losses.length - LOSSES_MAX),
    unmetByPriority: [...engine.unmetByPriority()],
    usdPerHourBefore: before.usdPerHour,
    usdPerHourAfter: after.usdPerHour,
  };
}

function clustersOf(
  { inventory, effects, machines, before }: RestedCopy,
  after: ReadonlyMap<number, number>,
): WhatIfCluster[] {
  const { began } = effects.counts;
  const refs = new Set([...before.machinesOf.keys(), ...after.keys()]);
  for (const byCluster of began.values()) for (const ref of byCluster.keys()) refs.add(ref);
  refs.delete(0); // releases are of no cluster
  const found: WhatIfCluster[] = [];
  for (const ref of refs) {
    const actions = kindCounts((kind) => began.get(kind)?.get(ref) ?? 0);
    const machinesBefore = before.machinesOf.get(ref) ?? 0;
    const machinesAfter = after.get(ref) ?? 0;
    const gone = machines.goneOf.get(ref) ?? 0;
    const isSame =
      machinesBefore === machinesAfter && gone === 0 && Object.values(actions).every((count) => count === 0);
    if (isSame) continue;
    const clusterId = inventory.tables.clusters.get(ref);
    found.push({ clusterId, machinesBefore, machinesAfter, actions, gone });
  }
  const change = (one: WhatIfCluster) => one.machinesAfter - one.machinesBefore;
  return found.sort((a, b) => change(a) - change(b) || (a.clusterId < b.clusterId ? -1 : 1));
}

function lossesOf({ inventory, effects }: RestedCopy): WhatIfLoss[] {
  const { clusters } = inventory.tables;
  const losses: WhatIfLoss[] = [];
  for (const [from, byCluster] of effects.counts.lostTo) {
    for (const [to, machines] of byCluster)
      losses.push({ from: clusters.get(from), to: clusters.get(to), machines });
  }
  return losses.sort((a, b) => b.machines - a.machines || (a.from < b.from ? -1 : 1));
}

function kindCounts(countOf: (kind: ActionKind) => number): KindCounts {
  const kindOf = (name: ActionName) =>
    Number(Object.entries(ACTION_NAMES).find(([, text]) => text === name)![0]) as ActionKind;
  return Object.fromEntries(
    WHAT_IF_KINDS.map((name) => [name, countOf(kindOf(name))]),
  ) as unknown as KindCounts;
}

function add(sum: number, count: number): number {
  return sum + count;
}
