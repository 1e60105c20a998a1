/** H5: a leaving machine stays until other machines cover its need. Needs of a simulation ask for machines of one type, so the check counts. */
import { Flag, Intent } from '../../inventory/intent.ts';
import { MachineState } from '../../machine/state.ts';
import type { Shard } from '../../shard/shard.ts';
import { Violation } from './invariants.ts';
import { assignmentKey, isMatch, type ServedNeed } from './served-needs.ts';

export function checkLeaving(
  shard: Shard,
  served: ReadonlyMap<string, ServedNeed>,
  begunSlots: readonly number[],
): void {
  const { inventory } = shard;
  const { state, intent } = inventory.columns;
  for (const slot of begunSlots) {
    if (intent[slot] !== Intent.Reclaim || !inventory.hasFlag(slot, Flag.Leaving)) continue;
    if (inventory.hasFlag(slot, Flag.LeavingNow)) continue;
    const need = served.get(assignmentKey(shard, slot));
    if (need === undefined || need.isGang || !isMatch(shard, slot, need)) continue;
    const configured = need.claimed.filter((one) => state[one] === MachineState.Configured).length;
    if (configured + need.held.length < need.machinesWanted)
      throw new Violation(
        `H5: ${inventory.idOf(slot)} leaves, and the need of ${need.clusterId} for ${need.machinesWanted} machines has ${configured} Configured and ${need.held.length} leaving ones without it`,
      );
  }
}
