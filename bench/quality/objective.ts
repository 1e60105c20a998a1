/**
 * The one objective for both placements and the solver: what a machine adds to the bill per hour, and what its interruption is
 * expected to cost the need that gets it.
 */
import { marginalUsd, riskUsd } from '../../src/machine/cost.ts';
import type { Machine } from '../../src/machine/machine.ts';
import { BUCKET_DOLLARS } from '../../src/machine/penalty.ts';
import { MachineState } from '../../src/machine/state.ts';

export function costUsd(machine: Machine, interruptionBucket: number): number {
  const { state, capacityType, pricePerHourUsd, interruptionProbability } = machine;
  const marginal = marginalUsd(state === MachineState.Idle, capacityType, pricePerHourUsd);
  return marginal + riskUsd(interruptionProbability, BUCKET_DOLLARS[interruptionBucket]!);
}

/** Unmet needs, the highest priority first. */
export function unmetByPriority(
  needs: readonly { readonly priority: number; readonly isMet: boolean }[],
): number[] {
  const priorities = [...new Set(needs.map(({ priority }) => priority))].sort((a, b) => b - a);
  return priorities.map(
    (priority) => needs.filter((need) => need.priority === priority && !need.isMet).length,
  );
}

/** Negative: the first leaves less unmet, the highest priority first. */
export function compareUnmet(left: readonly number[], right: readonly number[]): number {
  for (const [index, count] of left.entries()) if (count !== right[index]) return count - right[index]!;
  return 0;
}
