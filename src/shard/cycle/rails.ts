/**
 * The rails between a decision and its execution limit what a cycle may do. The decision does not know them: a changed
 * rail changes how much of a decision is executed, not the decision.
 */
import { ActionKind, type ActionList } from '../../decision/actions.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import type { Rails } from '../settings.ts';

export type Restraint = 'none' | 'suppressed' | 'dryrun';

export interface Admission {
  /** Indices of the actions that may be executed, in their order. */
  readonly admitted: readonly number[];
  readonly capped: number;
  readonly deferred: number;
}

/** 0.29 × 100 is 28.999…, and must give 29. */
const ROUNDING = 1e-9;

/** C4: the kill switch wins over a dry run. */
export function restraintOf(rails: Rails): Restraint {
  if (rails.isPaused) return 'suppressed';
  return rails.isDryRun ? 'dryrun' : 'none';
}

/**
 * R2, the cap on reclaims per cluster, then C3, the cap on actions per cycle. X7: releases to providers that never delete
 * are left out. `configuredOf` counts a cluster's Configured machines without an enqueued action.
 */
export function applyRails(
  actions: ActionList,
  rails: Rails,
  inventory: Inventory,
  configuredOf: (cluster: number) => number,
  neverDelete: ReadonlySet<number>,
): Admission {
  const admitted: number[] = [];
  const reclaims = new Map<number, number>();
  let capped = 0;
  let deferred = 0;
  for (let index = 0; index < actions.count; index++) {
    const kind = actions.kind[index];
    if (kind === ActionKind.Delete && neverDelete.has(inventory.columns.provider[actions.slot[index]!]!)) {
      continue;
    }
    if (kind === ActionKind.Reclaim && rails.reclaimCapFraction > 0) {
      const cluster = actions.cluster[index]!;
      const taken = reclaims.get(cluster) ?? 0;
      if (taken >= reclaimMax(configuredOf(cluster), rails.reclaimCapFraction)) {
        capped++;
        continue;
      }
      reclaims.set(cluster, taken + 1);
    }
    if (rails.actionsPerCycleMax > 0 && admitted.length >= rails.actionsPerCycleMax) deferred++;
    else admitted.push(index);
  }
  return { admitted, capped, deferred };
}

/** At least one, so that a small cluster still shrinks. */
function reclaimMax(configuredCount: number, fraction: number): number {
  return Math.max(1, Math.floor(fraction * configuredCount + ROUNDING));
}
