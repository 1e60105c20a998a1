/** Facts for the coordinator. P5: shortfalls are summed by fingerprint over clusters, and the 100 highest are reported. */
import { MachineState, STATE_COUNT } from '../../machine/state.ts';
import type { ReportFacts, ShortfallView } from '../ports/view.ts';
import type { ViewSources } from './sources.ts';

/** Shortfalls in one report. */
export const SHORTFALLS_MAX = 100;

/** The highest priority first, then the oldest. */
export function shortfallsOf({ engine, needs, inventory }: ViewSources): ShortfallView[] {
  const { dimensions } = inventory.shapes.vectors;
  return engine.shortfalls
    .toSorted((a, b) => b.priority - a.priority || b.ageCycles - a.ageCycles)
    .slice(0, SHORTFALLS_MAX)
    .map(({ profile, priority, missing, ageCycles }) => {
      const { fingerprint, requirements, interruptionPenalty } = needs.profiles.get(profile);
      const deficit = Object.fromEntries(
        [...missing].map(([dim, units]) => [dimensions.nameOf(dim), units] as const),
      );
      return { fingerprint, requirements, deficit, priority, ageCycles, interruptionPenalty };
    });
}

export function reportFactsOf(sources: ViewSources): ReportFacts {
  const { inventory } = sources;
  const { shardId, epoch, cycle } = sources.status();
  const { counts, shapes, indexes } = inventory;
  const free = [MachineState.Idle, MachineState.Speculative].map((state) => indexes.countInState(state));
  return {
    shardId,
    epoch,
    cycle,
    totalMachines: inventory.count,
    freeMachines: free.reduce((sum, count) => sum + count, 0),
    perInstanceType: totals(shapes.instanceTypes, (state, ref) => counts.ofInstanceType(state, ref)),
    perZone: totals(shapes.zones, (state, ref) => counts.ofZone(state, ref)),
    shortfalls: shortfallsOf(sources),
  };
}

function totals(
  names: { readonly refLimit: number; get(ref: number): string },
  countOf: (state: number, ref: number) => number,
): Record<string, number> {
  const result: [string, number][] = [];
  for (let ref = 0; ref < names.refLimit; ref++) {
    let count = 0;
    for (let state = 1; state < STATE_COUNT; state++) count += countOf(state, ref);
    if (count > 0) result.push([names.get(ref), count]);
  }
  return Object.fromEntries(result);
}
