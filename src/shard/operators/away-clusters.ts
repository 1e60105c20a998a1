/**
 * Clusters whose operator is away. N1: their last demand stays in force, and so do their machines. The shard forgets such a
 * cluster once it has neither needs nor machines; otherwise the table's 65,535 entries would fill with names of the past.
 * N6: if the cluster comes back, it counts as not yet reported, and has no machine to protect.
 */
import type { Inventory } from '../../inventory/inventory.ts';
import { ALL_STATES } from '../../machine/state.ts';
import type { NeedTable } from '../../needs/need-table.ts';

export class AwayClusters {
  readonly #inventory: Inventory;
  readonly #needs: NeedTable;
  readonly #hasSession: (cluster: number) => boolean;
  /** Refs, not held: a ref that another cluster has by now is judged by that cluster's state. */
  readonly #away = new Set<number>();

  constructor(inventory: Inventory, needs: NeedTable, hasSession: (cluster: number) => boolean) {
    this.#inventory = inventory;
    this.#needs = needs;
    this.#hasSession = hasSession;
  }

  /** The cluster's session ended or one of its roll-ups settled: it may be away. */
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

  /** Bound machines, and those that are being bound. */
  #hasMachines(cluster: number): boolean {
    return ALL_STATES.some((state) => this.#inventory.indexes.countOfCluster(cluster, state) > 0);
  }
}
