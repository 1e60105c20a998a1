/** What a thread needs to answer a question (Y4): the inputs of a decision, as for a from-scratch check, and a plan in numbers. */
import { copyImage } from '../../base/image.ts';
import { matchesPattern } from '../../base/pattern.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import type { NeedTable } from '../../needs/need-table.ts';
import type { CheckSubject, DecisionImage } from '../check/image.ts';
import { imageOfInputs } from '../check/image.ts';
import type { WhatIfLatencies } from '../ports/what-if.ts';
import type { ClusterRollup, DemandChange, Question, WhatIfSettings } from './question.ts';
import { quoted, refuse } from './question.ts';
import { checkNames, refsOf, type SelectorRefs } from './selection.ts';

export interface WhatIfPlan {
  readonly without: readonly SelectorRefs[];
  readonly add: readonly { readonly count: number; readonly like: SelectorRefs }[];
  readonly prices: readonly {
    readonly machines: SelectorRefs;
    readonly factor: number | null;
    readonly usd: number | null;
  }[];
  readonly demand: readonly DemandChange[];
  readonly rollups: readonly ClusterRollup[];
  readonly latencies: WhatIfLatencies;
  readonly settings: WhatIfSettings;
  /** X7: numbers of providers. */
  readonly neverDelete: readonly number[];
}

export interface WhatIfImage extends DecisionImage {
  readonly plan: WhatIfPlan;
}

export interface WhatIfSubject extends CheckSubject {
  readonly providerNames: readonly string[];
  readonly neverDelete: () => Iterable<number>;
  readonly areCountsHeld: () => boolean;
}

/** Names as numbers. Refuses names that the shard does not know. */
export function planOf(
  question: Question,
  settings: WhatIfSettings,
  { options, providerNames, neverDelete }: WhatIfSubject,
): WhatIfPlan {
  const { inventory, needs } = options;
  const { without, add, prices, demand, rollups, latencies } = question;
  for (const one of demand) checkClusters(one.cluster, inventory, needs);
  const refs = (selector: Question['without'][number]): SelectorRefs => {
    checkNames(selector, inventory, providerNames);
    return refsOf(selector, inventory, providerNames);
  };
  return {
    without: without.map(refs),
    add: add.map(({ count, like }) => ({ count, like: refs(like) })),
    prices: prices.map(({ machines, factor, usd }) => ({ machines: refs(machines), factor, usd })),
    demand,
    rollups,
    latencies,
    settings,
    neverDelete: [...neverDelete()],
  };
}

function checkClusters(pattern: string, inventory: Inventory, needs: NeedTable): void {
  const { clusters } = inventory.tables;
  const known: string[] = [];
  for (const ref of needs.clusterRefs()) {
    const id = clusters.get(ref);
    if (matchesPattern(id, pattern)) return;
    if (known.length < 12) known.push(id);
  }
  const names =
    known.length === 0
      ? 'No cluster has reported demand yet'
      : `Clusters with demand are ${known.join(', ')}`;
  refuse(`No cluster with demand matches ${quoted(pattern)}`, names);
}

/** Views of the live tables, valid until the next write. */
export function whatIfImage(subject: WhatIfSubject, plan: WhatIfPlan, nowMs: number): WhatIfImage {
  const { engine, areCountsHeld } = subject;
  const { memory, letGo } = engine.remember();
  letGo(); // the caller copies before the next write
  const input = { nowMs, isOrdinary: true, areCountsHeld: areCountsHeld() };
  return { ...imageOfInputs(subject, memory, input), plan };
}

/** Null: it does not fit. */
export function copiedImage(image: WhatIfImage, buffer: SharedArrayBuffer): WhatIfImage | null {
  const { plan, ...tables } = image;
  const copy = copyImage(tables, buffer);
  return copy === null ? null : { ...copy, plan };
}
