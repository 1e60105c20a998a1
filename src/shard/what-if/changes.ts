/**
 * Applies a plan to a copy before anything decides on it. Machines that are gone are empty rows in the image, and machines that are
 * added are rows behind its end: a restored inventory has no ids, so nothing is inserted or removed later.
 */

import { matchesPattern } from '../../base/pattern.ts';
import { formatQuantity } from '../../base/quantity.ts';
import { CORE_WORDS, type ColumnsImage, Core } from '../../inventory/columns.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { MachineState } from '../../machine/state.ts';
import type { NeedTable } from '../../needs/need-table.ts';
import type { RollupRow } from '../../needs/rollup.ts';
import type { WhatIfPlan } from './image.ts';
import { refuse } from './question.ts';
import { forEachFitting } from './selection.ts';

const S = MachineState;
/** The lower half of the word is part of the time, the upper half is the cluster (inventory/columns.ts). */
const WITHOUT_CLUSTER = 0xffff;
const RANK_MAX = 2 ** 32 - 1;

export interface ChangedMachines {
  readonly columns: ColumnsImage;
  readonly gone: number;
  readonly added: number;
  readonly repriced: number;
  /** By cluster ref: machines bound to it that are gone. */
  readonly goneOf: ReadonlyMap<number, number>;
}

/** Prices first, so that added machines have the new ones; then what is gone; then what is added. */
export function changeMachines(columns: ColumnsImage, plan: WhatIfPlan): ChangedMachines {
  const repriced = new Set<number>();
  for (const { machines, factor, usd } of plan.prices) {
    const { pricePerHourUsd } = columns;
    forEachFitting(machines, columns, (slot) => {
      pricePerHourUsd[slot] = usd ?? pricePerHourUsd[slot]! * factor!;
      repriced.add(slot);
    });
  }
  const models = plan.add.map(({ like }) => modelsOf(like, columns));
  const goneOf = new Map<number, number>();
  let gone = 0;
  for (const selector of plan.without) {
    forEachFitting(selector, columns, (slot) => {
      const cluster = columns.cluster[slot]!;
      if (isBound(columns.state[slot]!)) goneOf.set(cluster, (goneOf.get(cluster) ?? 0) + 1);
      empty(columns, slot);
      gone++;
    });
  }
  const added = plan.add.reduce((sum, { count }) => sum + count, 0);
  const changed = added === 0 ? columns : withRows(columns, plan.add, models, added);
  return { columns: changed, gone, added, repriced: repriced.size, goneOf };
}

/** Bound, and not leaving. */
export function isBound(state: number): boolean {
  return state === S.Configuring || state === S.Configured;
}

/** Rows that added machines are copies of: one of each price and shape, so that they spread over racks as those do. */
function modelsOf(like: WhatIfPlan['add'][number]['like'], columns: ColumnsImage): number[] {
  const models = new Map<string, number>();
  forEachFitting(like, columns, (slot) => {
    const key = `${columns.shape[slot]}/${columns.pricePerHourUsd[slot]}/${columns.provider[slot]}`;
    if (!models.has(key)) models.set(key, slot);
  });
  if (models.size === 0) refuse('No machine is like those to add', 'Name an offering that the shard knows');
  return [...models.values()];
}

function empty(columns: ColumnsImage, slot: number): void {
  columns.state[slot] = columns.intent[slot] = 0;
  columns.shape[slot] = columns.need[slot] = columns.group[slot] = columns.priority[slot] = 0;
  columns.cluster[slot] = columns.flags[slot] = columns.idRank[slot] = columns.ownLabels[slot] = 0;
  columns.interruptionPenalty[slot] = columns.reclamationPenalty[slot] = 0;
  columns.core[slot * CORE_WORDS + Core.Shape] = 0;
  columns.core[slot * CORE_WORDS + Core.SinceHighAndCluster]! &= WITHOUT_CLUSTER;
}

function withRows(
  columns: ColumnsImage,
  add: WhatIfPlan['add'],
  models: readonly number[][],
  added: number,
): ColumnsImage {
  const before = columns.state.length;
  const longer = Object.fromEntries(
    Object.entries(columns).map(([name, column]: [string, ColumnsImage[keyof ColumnsImage]]) => {
      const Kind = column.constructor as new (length: number) => typeof column;
      const grown = new Kind(column.length + added * (column.length / before));
      grown.set(column as never);
      return [name, grown];
    }),
  ) as unknown as ColumnsImage;
  let rank = columns.idRank.reduce((highest, one) => Math.max(highest, one), 0);
  let slot = before;
  for (const [index, { count }] of add.entries()) {
    const from = models[index]!;
    for (let number = 0; number < count; number++, slot++) {
      if (++rank > RANK_MAX)
        refuse('The ids of the fleet leave no room for more machines', 'Add fewer machines');
      copyOffer(columns, longer, from[number % from.length]!, slot, rank);
    }
  }
  return longer;
}

/** The same machine as an offer: it does not exist yet. Its id comes after all others. */
function copyOffer(from: ColumnsImage, to: ColumnsImage, model: number, slot: number, rank: number): void {
  to.pricePerHourUsd[slot] = from.pricePerHourUsd[model]!;
  to.interruptionProbability[slot] = from.interruptionProbability[model]!;
  to.shape[slot] = to.core[slot * CORE_WORDS + Core.Shape] = from.shape[model]!;
  to.core[slot * CORE_WORDS + Core.Generation] = 2;
  to.capacityType[slot] = from.capacityType[model]!;
  to.provider[slot] = from.provider[model]!;
  to.state[slot] = S.Speculative;
  to.idRank[slot] = rank;
}

/** Rows that added gangs may bring, for the room of string tables. */
export function groupsAdded({ demand, rollups }: WhatIfPlan, needs: number): number {
  const factor = demand.reduce((sum, one) => sum + Math.max(0, Math.ceil(one.factor) - 1), 0);
  return factor * needs + rollups.reduce((sum, { rows }) => sum + rows.length, 0);
}

/** Demand of clusters as it would be. Throws a ShardError for a roll-up that the table refuses. */
export function changeDemand(plan: WhatIfPlan, inventory: Inventory, needs: NeedTable, nowMs: number): void {
  const { clusters } = inventory.tables;
  const factors = new Map<number, number>();
  for (const { cluster: pattern, factor } of plan.demand) {
    for (const ref of needs.clusterRefs())
      if (matchesPattern(clusters.get(ref), pattern)) factors.set(ref, factor);
  }
  const replace = (clusterId: string, rows: readonly RollupRow[]) => {
    const ref = clusters.find(clusterId);
    if (ref !== 0) needs.ownSlice(ref);
    needs.accept(clusterId, rows, nowMs, 0);
  };
  for (const { cluster, rows } of plan.rollups) replace(cluster, rows);
  for (const [ref, factor] of factors) replace(clusters.get(ref), scaled(ref, factor, inventory, needs));
}

/**
 * The needs of a cluster × `factor`. A gang keeps its size, because no rack holds a larger one: there are more gangs, or fewer.
 */
function scaled(cluster: number, factor: number, inventory: Inventory, needs: NeedTable): RollupRow[] {
  const rows: RollupRow[] = [];
  const start = needs.sliceStart(cluster);
  const { groups } = inventory.tables;
  const { vectors } = inventory.shapes;
  const texts = (ref: number, by: number) =>
    Object.fromEntries(
      Object.entries(vectors.amountsOf(ref)).map(([name, units]) => [
        name,
        formatQuantity(name, Math.min(Number.MAX_SAFE_INTEGER, Math.ceil(units * by))),
      ]),
    );
  let gangs = 0;
  for (let row = start; row < start + needs.sliceCount(cluster); row++) {
    const profile = needs.profiles.get(needs.profile[row]!);
    const isGang = profile.sameKeys.length > 0;
    const need: RollupRow = {
      requirements: profile.requirements,
      spread: profile.spread,
      priority: profile.priority,
      interruptionBucket: profile.interruptionPenalty,
      reclamationBucket: profile.reclamationPenalty,
      group: groups.get(needs.group[row]!),
      minUnit: texts(needs.minUnit[row]!, 1),
      aggregate: texts(needs.aggregate[row]!, isGang ? 1 : factor),
    };
    if (!isGang) {
      if (factor > 0) rows.push(need);
      continue;
    }
    const copies = Math.floor((gangs + 1) * factor) - Math.floor(gangs * factor);
    gangs++;
    for (let copy = 0; copy < copies; copy++)
      rows.push(copy === 0 ? need : { ...need, group: `${need.group}~${copy + 1}` });
  }
  return rows;
}
