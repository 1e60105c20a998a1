/** Connects the metrics with a shard: the only place that says where each value comes from. */
import type { StringTable } from '../base/string-table.ts';
import type { VectorTable } from '../base/vectors.ts';
import type { ShardCounters, ShardGauges } from '../shard/ports/observer.ts';
import type { BudgetFacts } from './budget-metrics.ts';
import { type DemandColumns, DemandTally } from './demand-tally.ts';
import type { CeilingFacts, FleetColumns, SpotShareFacts } from './fleet-gauges.ts';
import type { MetricSources } from './scraped-metrics.ts';
import type { ShortfallFacts } from './shortfall-gauges.ts';

export interface WatchedShard {
  readonly counters: ShardCounters;
  gauges(): ShardGauges;
  ceilingUses(): readonly CeilingFacts[];
  spotShareUses(): readonly SpotShareFacts[];
  readonly budgets: { views(): readonly BudgetFacts[] };
  readonly inventory: {
    readonly columns: FleetColumns;
    readonly tables: { readonly clusters: StringTable };
    readonly shapes: { readonly vectors: VectorTable };
  };
  readonly needs: DemandColumns & { quarantinedRollups(cluster: number): number };
  readonly engine: { readonly shortfalls: readonly ShortfallFacts[] };
}

export function sourcesOf(shard: WatchedShard): Partial<MetricSources> {
  const { inventory, needs, engine } = shard;
  const demand = new DemandTally(needs, inventory.shapes.vectors);
  return {
    counters: () => shard.counters,
    gauges: () => shard.gauges(),
    fleet: () => inventory.columns,
    ceilings: () => shard.ceilingUses(),
    spotShares: () => shard.spotShareUses(),
    budgets: () => shard.budgets.views(),
    shortfalls: () => engine.shortfalls,
    heldRollups: () => heldRollups(needs, inventory.tables.clusters),
    demand: () => demand,
  };
}

/** Iterates over all cluster refs, because a quarantined roll-up may be the first one of its cluster. */
function* heldRollups(
  needs: Pick<WatchedShard['needs'], 'quarantinedRollups'>,
  clusters: StringTable,
): Iterable<readonly [string, number]> {
  for (let cluster = 1; cluster < clusters.refLimit; cluster++) {
    const quarantined = needs.quarantinedRollups(cluster);
    if (quarantined > 0) yield [clusters.get(cluster), quarantined];
  }
}
