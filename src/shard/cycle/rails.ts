/**
 * The rails between a decision and its execution: what a cycle may do at most. The decision itself knows none of them, so
 * a change of a rail changes nothing that was decided, only how much of it is carried out.
 */
import { ActionKind, type ActionList } from '../../decision/actions.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import type { Rails } from '../settings.ts';

export type Restraint = 'none' | 'suppressed' | 'dryrun';

export interface Admission {
  /** Indices of actions that may be carried out, in their order. */
  readonly admitted: readonly number[];
  readonly capped: number;
  readonly deferred: number;
}

/** 0.29 × 100 is 28.999…: what a person calls 29. */
const ROUNDING = 1e-9;

/** C4: the kill switch wins. */
export function restraintOf(rails: Rails): Restraint {
  if (rails.isPaused) return 'suppressed';
  return rails.isDryRun ? 'dryrun' : 'none';
}

/**
 * R2 and C3, in this order; releases to providers that never delete are left out (X7). `configuredOf`: a cluster's
 * Configured machines that nothing is enqueued for (X1).
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

/** R2: a small cluster still shrinks by one. */
function reclaimMax(configuredCount: number, fraction: number): number {
  return Math.max(1, Math.floor(fraction * configuredCount + ROUNDING));
}
