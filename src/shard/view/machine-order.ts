/** What people want of a machine (H5, H6, R3), as its flags show it. */
import { Flag } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { MachineState } from '../../machine/state.ts';
import { waitSentence } from '../controls/leaving-lines.ts';
import type { MachineOrder } from '../ports/explain.ts';
import type { MachineLine } from '../ports/fleet-view.ts';
import type { ViewSources } from './sources.ts';

export function orderOf(inventory: Inventory, slot: number): MachineLine['order'] {
  if (inventory.columns.state[slot] === MachineState.Configured && inventory.hasFlag(slot, Flag.Leaving))
    return 'leaving';
  if (inventory.hasFlag(slot, Flag.Releasing)) return 'releasing';
  return inventory.hasFlag(slot, Flag.Cordoned) ? 'cordoned' : '';
}

export function explainOrder(sources: ViewSources, slot: number): MachineOrder | null {
  const { inventory, engine } = sources;
  const kind = orderOf(inventory, slot);
  if (kind === '') return null;
  const isLeaving = kind === 'leaving';
  return {
    kind,
    control: sources.machinePause(slot, isLeaving ? Flag.Leaving : Flag.Cordoned),
    foreignUntilMs: sources.foreignDrainUntil(slot),
    waits: isLeaving ? waitSentence(inventory, engine, slot) : '',
  };
}
