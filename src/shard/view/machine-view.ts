/** One machine in full. */
import { Flag } from '../../inventory/intent.ts';
import type { BackoffView, MachineView } from '../ports/fleet-view.ts';
import type { ViewSources } from './sources.ts';

export function machineView(sources: ViewSources, slot: number): MachineView {
  const { inventory, clock, providerNames } = sources;
  const machine = inventory.get(slot);
  const { stateSinceMs, provider } = inventory.columns;
  const providerName = providerNames[provider[slot]!] ?? '';
  return {
    ...machine,
    provider: providerName,
    stateSinceMs: stateSinceMs[slot]!,
    forMs: Math.max(0, clock.nowMs() - stateSinceMs[slot]!),
    isStuck: inventory.hasFlag(slot, Flag.Stuck),
    backoff: sources.machineBackoff(slot),
    offeringBackoff: offeringBackoffOf(sources, slot, providerName),
    action: sources.actionOf(slot),
  };
}

function offeringBackoffOf(sources: ViewSources, slot: number, provider: string): BackoffView | null {
  const { inventory } = sources;
  const { instanceType, zone, capacityType } = inventory.shapes.get(inventory.columns.shape[slot]!);
  const found = sources
    .offeringBackoffs()
    .find(
      (one) =>
        one.provider === provider &&
        one.instanceType === instanceType &&
        one.zone === zone &&
        one.capacityType === capacityType,
    );
  return found === undefined ? null : { untilMs: found.untilMs, failures: found.failures, text: found.text };
}
