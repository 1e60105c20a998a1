/** One machine in full. */
import { Flag } from '../../inventory/intent.ts';
import type { MachineView } from '../ports/fleet-view.ts';
import type { ViewSources } from './sources.ts';

export function machineView(sources: ViewSources, slot: number): MachineView {
  const { inventory, clock, providerNames } = sources;
  const machine = inventory.get(slot);
  const { stateSinceMs, provider } = inventory.columns;
  return {
    ...machine,
    provider: providerNames[provider[slot]!] ?? '',
    stateSinceMs: stateSinceMs[slot]!,
    forMs: Math.max(0, clock.nowMs() - stateSinceMs[slot]!),
    isStuck: inventory.hasFlag(slot, Flag.Stuck),
    backoff: sources.machineBackoff(slot),
    offeringBackoff: sources.offeringBackoff(slot),
    action: sources.actionOf(slot),
  };
}
