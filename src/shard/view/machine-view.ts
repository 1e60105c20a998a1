/** One machine in full. */
import { Flag } from '../../inventory/intent.ts';
import type { MachineView } from '../ports/fleet-view.ts';
import type { ViewSources } from './sources.ts';

export function machineView(sources: ViewSources, slot: number): MachineView {
  const { inventory, clock, providerNames } = sources;
  const machine = inventory.get(slot);
  const { columns } = inventory;
  const stateSinceMs = columns.stateSinceMsOf(slot);
  return {
    ...machine,
    provider: providerNames[columns.provider[slot]!] ?? '',
    stateSinceMs,
    forMs: Math.max(0, clock.nowMs() - stateSinceMs),
    isStuck: inventory.hasFlag(slot, Flag.Stuck),
    claimedBy: sources.claimantsOf(slot),
    backoff: sources.machineBackoff(slot),
    offeringBackoff: sources.offeringBackoff(slot),
    action: sources.actionOf(slot),
  };
}
