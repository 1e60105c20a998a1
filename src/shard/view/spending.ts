/**
 * E5: what the fleet costs now, by cluster, instance type and capacity type. Added up from the columns whenever it is asked, so
 * that it cannot drift: half a million rows in four slices.
 */
import type { CapacityType } from '../../machine/capacity-type.ts';
import { CAPACITY_TYPE_COUNT } from '../../machine/capacity-type.ts';
import { MachineState } from '../../machine/state.ts';
import { offeringName, offeringOf } from '../machines/offerings.ts';
import type { InterruptionRow, SpendingRow, SpendingSample } from '../ports/spending.ts';
import type { ViewSources } from './sources.ts';

/** About eight milliseconds. */
const SLOTS_PER_TURN = 131_072;

type Sums = { -readonly [field in keyof SpendingRow]: SpendingRow[field] };
type Declared = { -readonly [field in keyof InterruptionRow]: InterruptionRow[field] };

export async function spendingNow({
  inventory,
  providerNames,
  clock,
  nextTurn,
}: ViewSources): Promise<SpendingSample> {
  const { columns, shapes } = inventory;
  const { clusters } = inventory.tables;
  const atMs = clock.nowMs();
  const typeLimit = shapes.instanceTypes.refLimit;
  const byKey = new Map<number, Sums>();
  const declared = new Map<string, Declared>();
  const declaredByRefs = new Map<number, Declared>();
  for (let from = 1; from < columns.slotLimit; from += SLOTS_PER_TURN) {
    if (from > 1) await nextTurn();
    declaredByRefs.clear(); // by the next slice a number may name another shape
    const { state, host, cluster, capacityType, shape, pricePerHourUsd } = columns;
    const { provider, interruptionProbability } = columns;
    const end = Math.min(columns.slotLimit, from + SLOTS_PER_TURN);
    for (let slot = from; slot < end; slot++) {
      if (state[slot] === 0 || host[slot] === 0) continue;
      const type = shapes.instanceTypeOf[shape[slot]!]!;
      if (type >= typeLimit) continue; // appeared after the first slice: the next sample has it
      const key = (cluster[slot]! * typeLimit + type) * CAPACITY_TYPE_COUNT + capacityType[slot]!;
      let sums = byKey.get(key);
      if (sums === undefined) {
        // The names are read now: by the next slice their numbers may name something else.
        sums = {
          clusterId: cluster[slot] === 0 ? '' : clusters.get(cluster[slot]!),
          instanceType: shapes.instanceTypes.get(type),
          capacityType: capacityType[slot]! as CapacityType,
          machines: 0,
          configured: 0,
          usdPerHour: 0,
        };
        byKey.set(key, sums);
      }
      sums.machines++;
      sums.usdPerHour += pricePerHourUsd[slot]!;
      if (state[slot] !== MachineState.Configured) continue;
      sums.configured++;
      const probability = interruptionProbability[slot]!;
      if (probability === 0) continue;
      const refs = shape[slot]! * providerNames.length + provider[slot]!;
      let of = declaredByRefs.get(refs);
      if (of === undefined) {
        of = declaredOf(
          declared,
          providerNames[provider[slot]!] ?? '',
          offeringName(inventory, offeringOf(inventory, slot)),
        );
        declaredByRefs.set(refs, of);
      }
      of.configured++;
      of.declaredPerHour += probability;
    }
  }
  return { atMs, rows: [...byKey.values()], interruptions: [...declared.values()] };
}

function declaredOf(declared: Map<string, Declared>, provider: string, offering: string): Declared {
  const key = `${provider.length} ${provider} ${offering}`;
  let of = declared.get(key);
  if (of === undefined) {
    of = { provider, offering, configured: 0, declaredPerHour: 0, observed: 0 };
    declared.set(key, of);
  }
  return of;
}
