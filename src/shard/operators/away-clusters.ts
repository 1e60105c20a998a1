/**
 * Clusters whose operator is away. Their demand stays as it was (N1), and so do their machines. One that asks for nothing and
 * has no machine is forgotten: a shard has room for 65,535 clusters at a time, and it would else have room for that many
 * names ever. Should it come back it is a cluster that has not reported yet (N6), of which there is nothing to reclaim.
 */
import type { Inventory } from '../../inventory/inventory.ts';
import { ALL_STATES } from '../../machine/state.ts';
import type { NeedTable } from '../../needs/need-table.ts';

export class AwayClusters {
  readonly #inventory: Inventory;
  readonly #needs: NeedTable;
  readonly #hasSession: (cluster: number) => boolean;
  /** Refs; not held, because whoever has one by now is looked at as it is. */
  readonly #away = new Set<number>();

  constructor(inventory: Inventory, needs: NeedTable, hasSession: (cluster: number) => boolean) {
    this.#inventory = inventory;
    this.#needs = needs;
    this.#hasSession = hasSession;
  }

  /** Its session ended, or a roll-up of it was settled: it may be one of those. */
  note(clusterId: string): void {
    const cluster = this.#inventory.tables.clusters.find(clusterId);
    if (cluster !== 0 && !this.#hasSession(cluster)) this.#away.add(cluster);
  }

  /** Before each ordinary cycle. */
  forgetIdle(): void {
    for (const cluster of this.#away) {
      if (this.#hasSession(cluster)) this.#away.delete(cluster);
      else if (this.#needs.sliceCount(cluster) === 0 && !this.#hasMachines(cluster)) {
        this.#away.delete(cluster);
        this.#needs.forget(cluster);
      }
    }
  }

  /** Bound ones, and those on their way to it. */
  #hasMachines(cluster: number): boolean {
    return ALL_STATES.some((state) => this.#inventory.indexes.countOfCluster(cluster, state) > 0);
  }
}
