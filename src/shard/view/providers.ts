/** Providers: machines, the last listing, calls under way, back-offs, and what the shard refused. */
import { compareBytewise } from '../../base/dimensions.ts';
import type { FleetSummary } from '../ports/fleet-view.ts';
import type { OfferingsView, ProvidersView } from '../ports/supply.ts';
import { backoffOf } from './offerings.ts';
import type { ViewSources } from './sources.ts';

export function providersView(
  sources: ViewSources,
  { byProvider }: FleetSummary,
  { offerings }: OfferingsView,
): ProvidersView {
  const counts = new Map<string, { all: number; inBackoff: number }>();
  for (const { provider, backoff } of offerings) {
    const known = counts.get(provider) ?? { all: 0, inBackoff: 0 };
    known.all++;
    if (backoff !== null) known.inBackoff++;
    counts.set(provider, known);
  }
  const faults = sources.sharedFaults().filter(({ isProvider }) => isProvider);
  const providers = byProvider.map(({ name, machines, usd }, number) => {
    const [fault] = faults.filter((one) => one.provider === name).sort((a, b) => b.untilMs - a.untilMs);
    return {
      name,
      machines,
      usd,
      offerings: counts.get(name)?.all ?? 0,
      offeringsInBackoff: counts.get(name)?.inBackoff ?? 0,
      backoff: fault === undefined ? null : backoffOf(fault),
      listing: sources.refusals.listing(name),
      rejected: sources.refusals.of('provider', name),
      ...sources.providerWork(number),
    };
  });
  return {
    atMs: sources.clock.nowMs(),
    providers: providers.sort((a, b) => compareBytewise(a.name, b.name)),
  };
}
