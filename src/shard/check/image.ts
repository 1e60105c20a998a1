/**
 * All that a decision from scratch needs, and what the running engine decided, as one image (base/image.ts). It is taken
 * after the decision: deciding writes neither machines nor needs, and by then every string and vector that the engine
 * made on its way is in the tables, so that refs mean the same on both sides and are all that has to be compared.
 * Only what the decision itself moves on, the engine's memory, is taken before it.
 */
import type { CycleInput, Engine, EngineOptions } from '../../decision/engine.ts';
import type { PreemptionWeights } from '../../decision/preempt/preempt.ts';
import type { IdleHolds } from '../../decision/reclaim/reclaim.ts';
import type { EngineMemory, EngineResult } from '../../decision/verdicts/result.ts';
import { type InventoryImage, imageOf } from '../../inventory/image.ts';
import type { NeedImage, NeedTable } from '../../needs/need-table.ts';

export interface CheckImage {
  readonly inventory: InventoryImage;
  readonly needs: NeedImage;
  readonly memory: EngineMemory;
  readonly result: EngineResult;
  readonly inputs: CheckInputs;
}

export interface CheckInputs extends CycleInput {
  readonly holds: IdleHolds;
  readonly weights: PreemptionWeights | null;
  readonly coarseValuesMax: number | null;
  /** By cluster ref: 1 = connected (A9). */
  readonly sessions: Uint8Array;
  /** Needs in back-off (X5): cluster, fingerprint and group of each. */
  readonly barred: Uint32Array;
}

export interface CheckSubject {
  readonly engine: Engine;
  readonly options: EngineOptions;
  /** Needs that `options.inBackoff` says yes to: cluster, fingerprint, group, one after the other. */
  readonly barredNeeds: () => number[];
}

/** Views of everything; hold until anything is written. */
export function imageOfCycle(
  { engine, options, barredNeeds }: CheckSubject,
  memory: EngineMemory,
  input: CycleInput,
): CheckImage {
  const { inventory, needs, holds } = options;
  const { clusters, ownLabelKeys } = inventory.tables;
  return {
    inventory: imageOf(inventory, asksForAny(needs, new Set(ownLabelKeys))),
    needs: needs.image(),
    memory,
    result: engine.result(),
    inputs: {
      ...input,
      holds,
      weights: options.weights ?? null,
      coarseValuesMax: options.coarseValuesMax ?? null,
      sessions: Uint8Array.from({ length: clusters.refLimit }, (_, ref) => (options.hasSession(ref) ? 1 : 0)),
      barred: Uint32Array.from(barredNeeds()),
    },
  };
}

/** Whether a need looks at one of these labels. */
function asksForAny({ profiles }: NeedTable, keys: ReadonlySet<string>): boolean {
  const { requirementSets } = profiles;
  for (let ref = 1; ref < requirementSets.refLimit; ref++) {
    if (!requirementSets.isHeld(ref)) continue;
    if (requirementSets.get(ref).requirements.some(({ key }) => keys.has(key))) return true;
  }
  for (let ref = 1; ref < profiles.refLimit; ref++) {
    if (profiles.referenceCount(ref) === 0) continue;
    if (profiles.get(ref).spread.some(({ topologyKey }) => keys.has(topologyKey))) return true;
  }
  return false;
}
