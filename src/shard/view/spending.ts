/**
 * E5: what the fleet costs now, by cluster, instance type and capacity type. Added up from the columns whenever it is asked, so
 * that it cannot drift: half a million rows in slices of a millisecond or so.
 */
import type { CapacityType } from '../../machine/capacity-type.ts';
import { CAPACITY_TYPE_COUNT } from '../../machine/capacity-type.ts';
import { MachineState } from '../../machine/state.ts';
import type { SpendingRow, SpendingSample } from '../ports/spending.ts';
import type { ViewSources } from './sources.ts';

const SLOTS_PER_TURN = 16_384;

type Sums = { -readonly [field in keyof SpendingRow]: SpendingRow[field] };

export async function spendingNow({ inventory, clock, nextTurn }: ViewSources): Promise<SpendingSample> {
  const { columns, shapes } = inventory;
  const { clusters } = inventory.tables;
  const atMs = clock.nowMs();
  const typeLimit = shapes.instanceTypes.refLimit;
  const byKey = new Map<number, Sums>();
  for (let from = 1; from < columns.slotLimit; from += SLOTS_PER_TURN) {
    if (from > 1) await nextTurn();
    const { state, host, cluster, capacityType, shape, pricePerHourUsd } = columns;
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
      if (state[slot] === MachineState.Configured) sums.configured++;
      sums.usdPerHour += pricePerHourUsd[slot]!;
    }
  }
  return { atMs, rows: [...byKey.values()] };
}
