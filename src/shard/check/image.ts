/**
 * The inputs of a from-scratch decision and the result of the running engine, as one image (base/image.ts). It is taken
 * after the decision: deciding writes neither machines nor needs, and by then the tables have every string and vector
 * that the engine created, so refs mean the same on both sides and comparing refs is enough. Only the engine's memory,
 * which the decision changes, is taken before it.
 */
import type { Placement } from '../../decision/assign/placement.ts';
import type { Ceilings } from '../../decision/ceilings.ts';
import type { CycleInput, Engine, EngineOptions } from '../../decision/engine.ts';
import type { ClusterLimits } from '../../decision/limits.ts';
import type { PreemptionWeights } from '../../decision/preempt/victim-lists.ts';
import type { IdleHolds } from '../../decision/reclaim/reclaim.ts';
import type { EngineMemory, EngineResult } from '../../decision/verdicts/result.ts';
import { type InventoryImage, imageOf } from '../../inventory/image.ts';
import type { NeedImage } from '../../needs/need-table.ts';

/** What a decision reads. */
export interface DecisionImage {
  readonly inventory: InventoryImage;
  readonly needs: NeedImage;
  readonly memory: EngineMemory;
  readonly inputs: CheckInputs;
}

export interface CheckImage extends DecisionImage {
  readonly result: EngineResult;
}

export interface CheckInputs extends CycleInput {
  readonly holds: IdleHolds;
  readonly weights: PreemptionWeights | null;
  readonly placement: Placement | null;
  readonly coarseValuesMax: number | null;
  /** By cluster ref: 1 = connected. A9: a cluster without a session gets credit only. */
  readonly sessions: Uint8Array;
  /** By cluster ref: 1 = paused (H3). */
  readonly paused: Uint8Array;
  /** By cluster ref: 1 = suspended (T2). */
  readonly suspended: Uint8Array;
  /** Needs in back-off after failed bootstraps: cluster, fingerprint and group of each. */
  readonly barred: Uint32Array;
  /** T8: limits by cluster ref, of the clusters that have some. */
  readonly limits: readonly (readonly [cluster: number, limits: ClusterLimits])[];
  /** E7; null: none. */
  readonly ceilings: Ceilings | null;
}

export interface CheckSubject {
  readonly engine: Engine;
  readonly options: EngineOptions;
  /** Needs for which `options.inBackoff` is true: cluster, fingerprint, group, one after the other. */
  readonly barredNeeds: () => number[];
}

/** Views of the live tables, valid until the next write. */
export function imageOfCycle(subject: CheckSubject, memory: EngineMemory, input: CycleInput): CheckImage {
  return { ...imageOfInputs(subject, memory, input), result: subject.engine.result() };
}

/** The same without the result, for an engine that decides on. */
export function imageOfInputs(
  { options, barredNeeds }: Omit<CheckSubject, 'engine'>,
  memory: EngineMemory,
  input: CycleInput,
): DecisionImage {
  const { inventory, needs, holds } = options;
  const { clusters, ownLabelKeys } = inventory.tables;
  return {
    inventory: imageOf(
      inventory,
      ownLabelKeys.some((key) => needs.profiles.usesLabel(key)),
    ),
    needs: needs.image(),
    memory,
    inputs: {
      ...input,
      holds: { onDemandMs: holds.onDemandMs, spotMs: holds.spotMs }, // they may change while the copy waits
      weights: options.weights ?? null,
      placement: options.placement ?? null,
      coarseValuesMax: options.coarseValuesMax ?? null,
      sessions: flagsBelow(clusters.refLimit, options.hasSession),
      paused: flagsBelow(clusters.refLimit, (ref) => options.isPaused?.(ref) === true),
      suspended: flagsBelow(clusters.refLimit, (ref) => options.isSuspended?.(ref) === true),
      barred: Uint32Array.from(barredNeeds()),
      limits: limitsOf(options),
      ceilings: options.limits?.ceilings ?? null,
    },
  };
}

/** By ref: 1 = yes. */
function flagsBelow(refLimit: number, is: (ref: number) => boolean): Uint8Array {
  const flags = new Uint8Array(refLimit);
  for (let ref = 0; ref < refLimit; ref++) if (is(ref)) flags[ref] = 1;
  return flags;
}

function limitsOf({ limits, needs }: EngineOptions): CheckInputs['limits'] {
  const found: [number, ClusterLimits][] = [];
  for (const cluster of limits === undefined ? [] : needs.clusterRefs()) {
    const ofCluster = limits!.of(cluster);
    if (ofCluster !== null) found.push([cluster, ofCluster]);
  }
  return found;
}
