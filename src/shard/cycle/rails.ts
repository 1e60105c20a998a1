/**
 * The rails between a decision and its execution limit what a cycle may do. The decision does not know them: a changed
 * rail changes how much of a decision is executed, not the decision.
 */
import { ActionKind, type ActionList } from '../../decision/actions.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import type { DisruptionBudgets } from '../disruption/budgets.ts';
import type { Rails } from '../settings.ts';
import { capOf, type PreemptionCap } from './preemption-cap.ts';
import type { Probation } from './probation.ts';

export type Restraint = 'none' | 'suppressed' | 'dryrun';

export interface Admission {
  /** Indices of the actions that may be executed, in their order. */
  readonly admitted: readonly number[];
  /** Reclaims, and preemptions, that their cap left for a later cycle. */
  readonly capped: number;
  readonly preemptionsCapped: number;
  /** H9: reclaims that a disruption budget left for later. */
  readonly heldByBudgets: number;
  readonly deferred: number;
  /** X5, X15: actions for what failed before, beyond its one probe. */
  readonly heldForProbes: number;
  /** F3: removals that an adrift replica does not begin. */
  readonly removalsHeld: number;
}

/** C4: the kill switch wins over a dry run. */
export function restraintOf(rails: Pick<Rails, 'isPaused' | 'isDryRun'>): Restraint {
  if (rails.isPaused) return 'suppressed';
  return rails.isDryRun ? 'dryrun' : 'none';
}

/**
 * R2 and T9, the caps on reclaims and on preemptions per cluster, then H9, the disruption budgets, then C3, the cap on actions per cycle. X7: releases to providers that never delete
 * are left out, and so is all but one machine of what failed before (probation.ts). F3: without `mayRemove`, so is all that removes
 * machines. `configuredOf` counts a cluster's Configured machines without an enqueued action.
 */
export function applyRails(
  actions: ActionList,
  rails: Pick<Rails, 'reclaimCapFraction' | 'actionsPerCycleMax'>,
  inventory: Inventory,
  configuredOf: (cluster: number) => number,
  neverDelete: ReadonlySet<number>,
  preemptionCap: PreemptionCap,
  probation: Pick<Probation, 'begin' | 'admits'>,
  budgets: Pick<DisruptionBudgets, 'take' | 'giveBack'>,
  mayRemove = true,
): Admission {
  const admitted: number[] = [];
  const reclaims = new Map<number, number>();
  let capped = 0;
  let preemptionsCapped = 0;
  let heldByBudgets = 0;
  let deferred = 0;
  let heldForProbes = 0;
  let removalsHeld = 0;
  const giveBack = (index: number) => {
    if (actions.kind[index] === ActionKind.Preempt) preemptionCap.giveBack(actions, index);
    else if (actions.kind[index] === ActionKind.Reclaim) budgets.giveBack(actions.slot[index]!);
  };
  probation.begin(actions);
  for (let index = 0; index < actions.count; index++) {
    const kind = actions.kind[index];
    if (kind === ActionKind.Delete && neverDelete.has(inventory.columns.provider[actions.slot[index]!]!)) {
      continue;
    }
    if (!mayRemove && isRemoval(kind)) {
      removalsHeld++;
      continue;
    }
    if (kind === ActionKind.Reclaim) {
      const cluster = actions.cluster[index]!;
      const taken = reclaims.get(cluster) ?? 0;
      const { reclaimCapFraction } = rails;
      if (reclaimCapFraction > 0 && taken >= capOf(configuredOf(cluster), reclaimCapFraction)) {
        capped++;
        continue;
      }
      // One that a budget holds uses nothing of the cap: another machine of the cluster may go.
      if (!budgets.take(actions.slot[index]!)) {
        heldByBudgets++;
        continue;
      }
      reclaims.set(cluster, taken + 1);
    }
    if (kind === ActionKind.Preempt && !preemptionCap.admits(actions, index)) {
      preemptionsCapped++;
      continue;
    }
    if (!probation.admits(actions, index)) {
      heldForProbes++;
      giveBack(index);
      continue;
    }
    if (kind === ActionKind.Withdraw) {
      admitted.push(index); // sends nothing, so no rail limits it
      continue;
    }
    if (rails.actionsPerCycleMax > 0 && admitted.length >= rails.actionsPerCycleMax) {
      deferred++;
      giveBack(index);
    } else admitted.push(index);
  }
  return { admitted, capped, preemptionsCapped, heldByBudgets, deferred, heldForProbes, removalsHeld };
}

/** F2: actions that take a machine from a cluster or delete it. */
export function isRemoval(kind: number | undefined): boolean {
  return kind === ActionKind.Reclaim || kind === ActionKind.Preempt || kind === ActionKind.Delete;
}
