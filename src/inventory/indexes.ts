/**
 * The live indexes: which machines are in a state, in a state with a shape, in a cluster and state. Kept with every
 * write, each in O(1), so that a snapshot is nothing but the permission to look. Counts per (state, instance type),
 * (state, zone) and (state, capacity type) are sums over shapes, of which there are thousands and not half a million;
 * they are added up when they are asked for (fleet-counts.ts).
 *
 *   byState          StateSets    a bit per slot and state
 *   byStateShape     SlotLists    list = shape × 9 + state
 *   byClusterState   SlotLists    list = cluster × 9 + state; only machines that carry a cluster
 *
 * Lists of shapes and clusters are in no order; all change with the next write: a reader copies what it needs past it.
 */
import { STATE_COUNT } from '../machine/state.ts';
import { type InventoryColumns, Link } from './columns.ts';
import { HEAD_BYTES, SlotLists } from './slot-lists.ts';
import { StateSets } from './state-sets.ts';

export class FleetIndexes {
  readonly #byState: StateSets;
  readonly #byStateShape: SlotLists;
  readonly #byClusterState: SlotLists;
  #version = 0;

  constructor(columns: InventoryColumns, shapesMax: number, clustersMax: number) {
    this.#byState = new StateSets(columns.rowCapacity);
    this.#byStateShape = new SlotLists((shapesMax + 1) * STATE_COUNT, columns, Link.StateShape);
    this.#byClusterState = new SlotLists((clustersMax + 1) * STATE_COUNT, columns, Link.Cluster);
  }

  /** Changes with every change of an index. */
  get version(): number {
    return this.#version;
  }

  /** The slots in a state, `countInState(state)` of them, ascending. Made when read, if the state has changed. */
  slotsInState(state: number): Uint32Array {
    return this.#byState.slotsOf(state);
  }

  countInState(state: number): number {
    return this.#byState.countOf(state);
  }

  /** Entries `startOfShape`… of this are the slots in a state with a shape; the array is replaced as it grows. */
  get shapeSlots(): Uint32Array {
    return this.#byStateShape.items;
  }

  startOfShape(state: number, shape: number): number {
    return this.#byStateShape.startOf(shape * STATE_COUNT + state);
  }

  countOfShape(state: number, shape: number): number {
    return this.#byStateShape.countOf(shape * STATE_COUNT + state);
  }

  /** Entries `startOfCluster`… of this are the slots that carry a cluster, by state. */
  get clusterSlots(): Uint32Array {
    return this.#byClusterState.items;
  }

  startOfCluster(cluster: number, state: number): number {
    return this.#byClusterState.startOf(cluster * STATE_COUNT + state);
  }

  countOfCluster(cluster: number, state: number): number {
    return this.#byClusterState.countOf(cluster * STATE_COUNT + state);
  }

  /** Bytes that were ever touched, with so many slots, shapes and clusters. */
  bytesTouched(slotLimit: number, shapeLimit: number, clusterLimit: number): number {
    const heads = (shapeLimit + clusterLimit) * STATE_COUNT * HEAD_BYTES;
    const lists = this.#byStateShape.bytesTouched + this.#byClusterState.bytesTouched;
    return this.#byState.bytesTouched(slotLimit) + heads + lists;
  }

  enter(slot: number, state: number, shape: number, cluster: number): void {
    this.#version++;
    this.#byState.enter(slot, state);
    this.#byStateShape.add(shape * STATE_COUNT + state, slot);
    if (cluster !== 0) this.#byClusterState.add(cluster * STATE_COUNT + state, slot);
  }

  leave(slot: number, state: number, shape: number, cluster: number): void {
    this.#version++;
    this.#byState.leave(slot, state);
    this.#byStateShape.remove(shape * STATE_COUNT + state, slot);
    if (cluster !== 0) this.#byClusterState.remove(cluster * STATE_COUNT + state, slot);
  }

  /** Into another state, and out of its cluster if `clusterAfter` is 0. */
  moveState(
    slot: number,
    from: number,
    to: number,
    shape: number,
    cluster: number,
    clusterAfter: number,
  ): void {
    this.#version++;
    const shapeList = shape * STATE_COUNT;
    const clusterList = cluster * STATE_COUNT;
    this.#byStateShape.transfer(shapeList + from, shapeList + to, slot);
    if (clusterAfter !== 0) this.#byClusterState.transfer(clusterList + from, clusterList + to, slot);
    else if (cluster !== 0) this.#byClusterState.remove(clusterList + from, slot);
    this.#byState.leave(slot, from);
    this.#byState.enter(slot, to);
  }

  /** From one place to any other; only the indexes that tell the two apart are touched. */
  move(
    slot: number,
    stateBefore: number,
    state: number,
    shapeBefore: number,
    shape: number,
    clusterBefore: number,
    cluster: number,
  ): void {
    this.#version++;
    const sameState = stateBefore === state;
    if (!sameState || shapeBefore !== shape) {
      this.#byStateShape.remove(shapeBefore * STATE_COUNT + stateBefore, slot);
      this.#byStateShape.add(shape * STATE_COUNT + state, slot);
    }
    if (!sameState || clusterBefore !== cluster) {
      if (clusterBefore !== 0) this.#byClusterState.remove(clusterBefore * STATE_COUNT + stateBefore, slot);
      if (cluster !== 0) this.#byClusterState.add(cluster * STATE_COUNT + state, slot);
    }
    if (!sameState) {
      this.#byState.leave(slot, stateBefore);
      this.#byState.enter(slot, state);
    }
  }
}
