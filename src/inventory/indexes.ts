/**
 * The live indexes: machines by state, by shape and state, by cluster and state. Every write updates the counts, and the
 * members of a shape or a cluster, in O(1); a read collects the machines of one state (slot-lists.ts, state-sets.ts).
 * Counts per (state, instance type), (state, zone) and (state, capacity type) are sums over shapes, made when read
 * (fleet-counts.ts).
 *
 *   byState      StateSets    counts by block of slots
 *   byShape      SlotLists    list = shape, grouped by state
 *   byCluster    SlotLists    list = cluster, grouped by state; only machines that carry a cluster
 *
 * Lists of shapes and clusters are in no order. The next write changes any of them: a reader that needs one longer copies
 * it.
 */
import type { InventoryColumns } from './columns.ts';
import { HEAD_BYTES, SlotLists } from './slot-lists.ts';
import { StateSets } from './state-sets.ts';

export class FleetIndexes {
  readonly #byState: StateSets;
  readonly #byShape: SlotLists;
  readonly #byCluster: SlotLists;
  #version = 0;

  constructor(columns: InventoryColumns, shapesMax: number, clustersMax: number) {
    this.#byState = new StateSets(columns.state);
    const { shape, shapePosition, cluster, clusterPosition, state } = columns;
    this.#byShape = new SlotLists(shapesMax + 1, shape, shapePosition, state);
    this.#byCluster = new SlotLists(clustersMax + 1, cluster, clusterPosition, state);
  }

  /** Grows with every change of an index. */
  get version(): number {
    return this.#version;
  }

  /** The `countInState(state)` slots in a state, ascending. Made when read, if the state has changed. */
  slotsInState(state: number): Uint32Array {
    return this.#byState.slotsOf(state);
  }

  countInState(state: number): number {
    return this.#byState.countOf(state);
  }

  /** Entries `startOfShape`… of this are the slots in a state with a shape; the array is replaced as it grows. */
  get shapeSlots(): Uint32Array {
    return this.#byShape.items;
  }

  startOfShape(state: number, shape: number): number {
    return this.#byShape.startOf(shape, state);
  }

  countOfShape(state: number, shape: number): number {
    return this.#byShape.countOf(shape, state);
  }

  /** Entries `startOfCluster`… of this are the slots that carry a cluster, by state. */
  get clusterSlots(): Uint32Array {
    return this.#byCluster.items;
  }

  startOfCluster(cluster: number, state: number): number {
    return this.#byCluster.startOf(cluster, state);
  }

  countOfCluster(cluster: number, state: number): number {
    return this.#byCluster.countOf(cluster, state);
  }

  /** For the keep order: whether a machine of the cluster was added, removed or changed since the last call for the state. */
  takeStale(cluster: number, state: number): boolean {
    return this.#byCluster.takeStale(cluster, state);
  }

  /** Bytes touched so far, with this many slots, shapes and clusters. */
  bytesTouched(slotLimit: number, shapeLimit: number, clusterLimit: number): number {
    const heads = (shapeLimit + clusterLimit) * HEAD_BYTES;
    const lists = this.#byShape.bytesTouched + this.#byCluster.bytesTouched;
    return this.#byState.bytesTouched(slotLimit) + heads + lists;
  }

  enter(slot: number, state: number, shape: number, cluster: number): void {
    this.#version++;
    this.#byState.enter(slot, state);
    this.#byShape.add(shape, slot, state);
    if (cluster !== 0) this.#byCluster.add(cluster, slot, state);
  }

  leave(slot: number, state: number, shape: number, cluster: number): void {
    this.#version++;
    this.#byState.leave(slot, state);
    this.#byShape.remove(shape, slot, state);
    if (cluster !== 0) this.#byCluster.remove(cluster, slot, state);
  }

  /** Moves a slot to another state, and out of its cluster if `clusterAfter` is 0. */
  moveState(
    slot: number,
    from: number,
    to: number,
    shape: number,
    cluster: number,
    clusterAfter: number,
  ): void {
    this.#version++;
    this.#byState.leave(slot, from);
    this.#byState.enter(slot, to);
    this.#byShape.move(shape, from, to);
    if (clusterAfter !== 0) this.#byCluster.move(cluster, from, to);
    else if (cluster !== 0) this.#byCluster.remove(cluster, slot, from);
  }

  /** Moves a slot between any two places. Call it also for a new price or assignment: orders depend on those. */
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
    if (!sameState) {
      this.#byState.leave(slot, stateBefore);
      this.#byState.enter(slot, state);
    }
    if (shapeBefore !== shape) {
      this.#byShape.remove(shapeBefore, slot, stateBefore);
      this.#byShape.add(shape, slot, state);
    } else if (!sameState) this.#byShape.move(shape, stateBefore, state);
    if (clusterBefore !== cluster) {
      if (clusterBefore !== 0) this.#byCluster.remove(clusterBefore, slot, stateBefore);
      if (cluster !== 0) this.#byCluster.add(cluster, slot, state);
    } else if (cluster !== 0) {
      if (sameState) this.#byCluster.touch(cluster);
      else this.#byCluster.move(cluster, stateBefore, state);
    }
  }
}
