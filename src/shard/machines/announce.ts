/**
 * Reports machines to their clusters. O3: every change of a bound machine's state, labels, capacity or host, its first sight
 * as bound, and its departure, which goes to the cluster that it had. It listens where changes are applied, so it sees
 * acks, reads, listings and removals alike.
 */
import type { Inventory } from '../../inventory/inventory.ts';
import { canBeBound, type MachineState } from '../../machine/state.ts';
import type { OperatorsPort } from '../ports/operators.ts';
import type { MachineChanged } from './changes.ts';
import { leftNodeState } from './node-state.ts';

export class Announcer {
  readonly #inventory: Inventory;
  readonly #operators: OperatorsPort;
  /** By cluster ref: whether an operator is connected. */
  readonly #hasSession: (cluster: number) => boolean;
  /** By cluster ref: a machine has left it. O4: the edge may keep that departure for an operator that is away. */
  readonly #hasLost: Uint8Array;

  constructor(inventory: Inventory, operators: OperatorsPort, hasSession: (cluster: number) => boolean) {
    this.#inventory = inventory;
    this.#operators = operators;
    this.#hasSession = hasSession;
    this.#hasLost = new Uint8Array(inventory.tables.clusters.entriesMax + 1);
  }

  changed(change: Readonly<MachineChanged>): void {
    const { slot, from, to, clusterBefore, clusterAfter } = change;
    const before = from !== 0 && canBeBound(from as MachineState) ? clusterBefore : 0;
    const after = to !== 0 && canBeBound(to as MachineState) ? clusterAfter : 0;
    if (before !== 0 && before !== after) this.#left(slot, to, before);
    if (after !== 0 && (from !== 0 || this.#mustReport(after))) this.#report(slot, after);
  }

  /**
   * For machines first seen bound, half a million at a start: the resync covers them, unless an earlier departure must be
   * taken back.
   */
  #mustReport(cluster: number): boolean {
    return this.#hasSession(cluster) || this.#hasLost[cluster] === 1;
  }

  #report(slot: number, cluster: number): void {
    const { tables } = this.#inventory;
    this.#operators.nodeChanged(tables.clusters.get(cluster), slot, this.#inventory.idOf(slot));
  }

  #left(slot: number, to: number, cluster: number): void {
    const clusterId = this.#inventory.tables.clusters.get(cluster);
    this.#hasLost[cluster] = 1;
    this.#operators.nodeLeft(leftNodeState(this.#inventory, slot, to, clusterId));
  }
}
