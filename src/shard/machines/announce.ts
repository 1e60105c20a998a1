/**
 * Reports machines to their clusters. O3: every change of a bound machine's state, labels, capacity or host, its first sight
 * as bound, and its departure, which goes to the cluster that it had. It listens where changes are applied, so it sees
 * acks, reads, listings and removals alike.
 */
import type { Inventory } from '../../inventory/inventory.ts';
import { canBeBound, type MachineState, STATE_COUNT } from '../../machine/state.ts';
import type { NodeState, OperatorsPort } from '../ports/operators.ts';
import type { MachineChanged } from './changes.ts';
import { leftNodeState, nodeStateOf } from './node-state.ts';

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

  /** O1: a resync sends every machine bound to the cluster. */
  boundSlots(clusterId: string): Uint32Array {
    const { tables, indexes } = this.#inventory;
    const cluster = tables.clusters.find(clusterId);
    if (cluster === 0) return new Uint32Array(0);
    const slots: number[] = [];
    for (let state = 1; state < STATE_COUNT; state++) {
      if (!canBeBound(state as MachineState)) continue;
      const start = indexes.startOfCluster(cluster, state);
      const end = start + indexes.countOfCluster(cluster, state);
      for (let position = start; position < end; position++) slots.push(indexes.clusterSlots[position]!);
    }
    return Uint32Array.from(slots);
  }

  boundCount(cluster: number): number {
    let count = 0;
    for (let state = 1; state < STATE_COUNT; state++) {
      if (canBeBound(state as MachineState)) count += this.#inventory.indexes.countOfCluster(cluster, state);
    }
    return count;
  }

  readNode(slot: number, clusterId: string): NodeState | null {
    const { columns, tables } = this.#inventory;
    const state = columns.state[slot];
    if (state === undefined || state === 0 || !canBeBound(state as MachineState)) return null;
    const cluster = columns.cluster[slot]!;
    if (cluster === 0 || cluster !== tables.clusters.find(clusterId)) return null;
    return nodeStateOf(this.#inventory, slot, clusterId);
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
