/**
 * The check itself: restores machines and needs from an image, decides the cycle with a new engine, and compares. It needs no
 * thread, so tests and the simulator call it directly; a shard runs it in a worker (workers/check.ts), because it takes
 * seconds at 500,000 machines.
 */
import { Engine } from '../../decision/engine.ts';
import { restoreInventory } from '../../inventory/image.ts';
import { NeedTable } from '../../needs/need-table.ts';
import type { CheckResult } from '../ports/check.ts';
import { ResultComparison } from './compare.ts';
import type { CheckImage } from './image.ts';

export function deriveAndCompare(image: CheckImage): CheckResult {
  const { inputs, memory, result } = image;
  const inventory = restoreInventory(image.inventory);
  const { clusters, fingerprints, groups } = inventory.tables;
  const { vectors } = inventory.shapes;
  const needs = NeedTable.restore(image.needs, { clusters, fingerprints, groups, vectors });
  const barred = barredSet(inputs.barred);
  const limits = new Map(inputs.limits);
  const engine = new Engine({
    inventory,
    needs,
    hasSession: (cluster) => inputs.sessions[cluster] === 1,
    inBackoff: (cluster, fingerprint, group) =>
      barred.size > 0 && barred.has(keyOf(cluster, fingerprint, group)),
    limits: { version: 0, of: (cluster) => limits.get(cluster) ?? null, ceilings: inputs.ceilings },
    isPaused: (cluster) => inputs.paused[cluster] === 1,
    isSuspended: (cluster) => inputs.suspended[cluster] === 1,
    holds: inputs.holds,
    ...(inputs.weights === null ? {} : { weights: inputs.weights }),
    ...(inputs.placement === null ? {} : { placement: inputs.placement }),
    ...(inputs.coarseValuesMax === null ? {} : { coarseValuesMax: inputs.coarseValuesMax }),
  });
  engine.recall(memory);
  const { nowMs, isOrdinary, areCountsHeld = false } = inputs;
  engine.decideFromScratch({ nowMs, isOrdinary, areCountsHeld });
  return new ResultComparison(result, engine.result(), inventory, needs).compare();
}

/** Needs in back-off, for `keyOf`. */
export function barredSet(triples: Uint32Array): ReadonlySet<string> {
  const barred = new Set<string>();
  for (let at = 0; at < triples.length; at += 3)
    barred.add(keyOf(triples[at]!, triples[at + 1]!, triples[at + 2]!));
  return barred;
}

export function keyOf(cluster: number, fingerprint: number, group: number): string {
  return `${cluster}|${fingerprint}|${group}`;
}
