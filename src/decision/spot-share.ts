/** E8: for metrics, which share of their machines is not spot in the clusters that have a minimum. */
import { isBinding } from '../inventory/intent.ts';
import type { Inventory } from '../inventory/inventory.ts';
import { CapacityType } from '../machine/capacity-type.ts';
import { MachineState } from '../machine/state.ts';
import type { LimitSource } from './limits.ts';

export interface SpotShareUse {
  readonly clusterId: string;
  readonly minNonSpotShare: number;
  readonly nonSpotShare: number;
}

/** Clusters with a minimum and at least one machine. Reads the whole fleet. */
export function spotShareUses(limits: LimitSource, { columns, tables }: Inventory): SpotShareUse[] {
  /** By cluster ref. */
  const counts: { readonly min: number; machines: number; spot: number }[] = [];
  const { state, intent, cluster, capacityType, slotLimit } = columns;
  for (let slot = 1; slot < slotLimit; slot++) {
    const ref = cluster[slot]!;
    if (ref === 0 || !isHeld(state[slot]!, intent[slot]!)) continue;
    counts[ref] ??= { min: limits.of(ref)?.minNonSpotShare ?? 0, machines: 0, spot: 0 };
    counts[ref].machines++;
    if (capacityType[slot] === CapacityType.Spot) counts[ref].spot++;
  }
  const uses: SpotShareUse[] = [];
  counts.forEach(({ min, machines, spot }, ref) => {
    if (min === 0) return;
    const nonSpotShare = (machines - spot) / machines;
    uses.push({ clusterId: tables.clusters.get(ref), minNonSpotShare: min, nonSpotShare });
  });
  return uses;
}

/** T8: Creating, Configuring, Configured, or enqueued to be bound (X1). */
function isHeld(state: number, intent: number): boolean {
  if (state === 0) return false;
  if (isBinding(intent)) return true;
  return (
    state === MachineState.Creating || state === MachineState.Configuring || state === MachineState.Configured
  );
}
