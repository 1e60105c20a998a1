/**
 * Retired clusters (H8): a cluster that is gone for good withdraws all demand, so that the shard reclaims its machines under the caps
 * and then forgets it. The control lasts until that is done, over restarts too, because each process must learn that nothing will
 * report for the cluster. A cluster whose operator connects is not gone, and ends it.
 */
import type { Inventory } from '../../inventory/inventory.ts';
import { ALL_STATES } from '../../machine/state.ts';
import type { NeedTable } from '../../needs/need-table.ts';
import type { Control } from '../ports/controls.ts';

/** N7: the third suspicious roll-up in a row is applied. */
const ROLLUPS_MAX = 3;

export interface RetiredClustersOptions {
  readonly inventory: Inventory;
  readonly needs: NeedTable;
  readonly hasSession: (cluster: number) => boolean;
  /** Whether every provider has been listed, so that a cluster without machines has none. */
  readonly isFleetKnown: () => boolean;
  /** The cluster may be forgotten once it has neither needs nor machines. */
  readonly noteAway: (clusterId: string) => void;
  /** The control has done what it is for, or no longer holds. */
  readonly end: (control: Control, detail: string) => void;
}

export class RetiredClusters {
  readonly #options: RetiredClustersOptions;

  constructor(options: RetiredClustersOptions) {
    this.#options = options;
  }

  /** Before each cycle. */
  apply(controls: readonly Control[], nowMs: number): void {
    for (const control of controls) if (control.pauses.includes('retire')) this.#apply(control, nowMs);
  }

  machinesOf(clusterId: string): number {
    const { tables, indexes } = this.#options.inventory;
    const cluster = tables.clusters.find(clusterId);
    if (cluster === 0) return 0;
    return ALL_STATES.reduce((sum, state) => sum + indexes.countOfCluster(cluster, state), 0);
  }

  #apply(control: Control, nowMs: number): void {
    const { inventory, needs, hasSession, isFleetKnown, noteAway, end } = this.#options;
    const clusterId = control.scope.cluster;
    const cluster = inventory.tables.clusters.find(clusterId);
    if (cluster !== 0 && hasSession(cluster)) {
      end(control, 'its operator is connected, so the cluster is not gone');
      return;
    }
    const hasMachines = this.machinesOf(clusterId) > 0;
    if (cluster !== 0 && (needs.sliceCount(cluster) > 0 || (hasMachines && !needs.hasReported(cluster))))
      for (let sent = 0; sent < ROLLUPS_MAX; sent++)
        if (needs.accept(clusterId, [], nowMs, 0) !== 'quarantined') break;
    noteAway(clusterId);
    if (!hasMachines && isFleetKnown()) end(control, 'no machine of it is left');
  }
}
