/**
 * The live indexes: which machines are in a state, in a state with a shape, in a cluster and state. Kept with every
 * write, each in O(1), so that a snapshot is nothing but the permission to look. Counts per (state, instance type),
 * (state, zone) and (state, capacity type) are sums over shapes, of which there are thousands and not half a million;
 * they are added up when they are asked for (fleet-counts.ts).
 *
 *   byState          9 lists      u32 × machinesMax each, untouched pages cost nothing
 *   byStateShape     SlotLists    list = shape × 9 + state
 *   byClusterState   SlotLists    list = cluster × 9 + state; only machines that carry a cluster
 *
 * Lists are in no order and change with every write: a reader copies what it needs past the next one.
 */
import { STATE_COUNT } from '../machine/state.ts';
import { type InventoryColumns, LINKS_PER_ROW, Link } from './columns.ts';
import { HEAD_BYTES, SlotLists } from './slot-lists.ts';

export class FleetIndexes {
  readonly #links: Uint32Array;
  readonly #byState: readonly Uint32Array[];
  readonly #stateCounts = new Uint32Array(STATE_COUNT);
  /** The most that were ever in each state. */
  readonly #stateMost = new Uint32Array(STATE_COUNT);
  readonly #byStateShape: SlotLists;
  readonly #byClusterState: SlotLists;
  #version = 0;

  constructor(columns: InventoryColumns, shapesMax: number, clustersMax: number) {
    this.#links = columns.links;
    this.#byState = Array.from({ length: STATE_COUNT }, () => new Uint32Array(columns.rowCapacity));
    this.#byStateShape = new SlotLists((shapesMax + 1) * STATE_COUNT, columns, Link.StateShape);
    this.#byClusterState = new SlotLists((clustersMax + 1) * STATE_COUNT, columns, Link.Cluster);
  }

  /** Changes with every change of an index. */
  get version(): number {
    return this.#version;
  }

  /** The first `countInState(state)` entries are the slots in that state. */
  slotsInState(state: number): Uint32Array {
    return this.#byState[state]!;
  }

  countInState(state: number): number {
    return this.#stateCounts[state]!;
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

  /** Bytes that were ever touched, with so many shapes and clusters. */
  bytesTouched(shapeLimit: number, clusterLimit: number): number {
    const heads = (shapeLimit + clusterLimit) * STATE_COUNT * HEAD_BYTES;
    let slots = 0;
    for (let state = 1; state < STATE_COUNT; state++) slots += this.#stateMost[state]!;
    return slots * 4 + heads + this.#byStateShape.bytesTouched + this.#byClusterState.bytesTouched;
  }

  enter(slot: number, state: number, shape: number, cluster: number): void {
    this.#version++;
    this.#enterState(slot, state);
    this.#byStateShape.add(shape * STATE_COUNT + state, slot);
    if (cluster !== 0) this.#byClusterState.add(cluster * STATE_COUNT + state, slot);
  }

  leave(slot: number, state: number, shape: number, cluster: number): void {
    this.#version++;
    this.#leaveState(slot, state);
    remove(this.#byStateShape, shape * STATE_COUNT + state, slot);
    if (cluster !== 0) remove(this.#byClusterState, cluster * STATE_COUNT + state, slot);
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
    // What has to come from memory is asked for before anything is written: the lists wait for it together.
    const movedInShape = this.#byStateShape.lastOf(shapeList + from);
    const movedInCluster = cluster === 0 ? 0 : this.#byClusterState.lastOf(clusterList + from);
    this.#byStateShape.remove(shapeList + from, slot, movedInShape);
    if (cluster !== 0) this.#byClusterState.remove(clusterList + from, slot, movedInCluster);
    this.#leaveState(slot, from);
    this.#byStateShape.add(shapeList + to, slot);
    if (clusterAfter !== 0) this.#byClusterState.add(clusterList + to, slot);
    this.#enterState(slot, to);
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
      remove(this.#byStateShape, shapeBefore * STATE_COUNT + stateBefore, slot);
      this.#byStateShape.add(shape * STATE_COUNT + state, slot);
    }
    if (!sameState || clusterBefore !== cluster) {
      if (clusterBefore !== 0) remove(this.#byClusterState, clusterBefore * STATE_COUNT + stateBefore, slot);
      if (cluster !== 0) this.#byClusterState.add(cluster * STATE_COUNT + state, slot);
    }
    if (!sameState) {
      this.#leaveState(slot, stateBefore);
      this.#enterState(slot, state);
    }
  }

  #enterState(slot: number, state: number): void {
    const position = this.#stateCounts[state]!;
    this.#byState[state]![position] = slot;
    this.#links[slot * LINKS_PER_ROW + Link.State] = position;
    this.#stateCounts[state] = position + 1;
    if (position >= this.#stateMost[state]!) this.#stateMost[state] = position + 1;
  }

  #leaveState(slot: number, state: number): void {
    const slots = this.#byState[state]!;
    const links = this.#links;
    const position = links[slot * LINKS_PER_ROW + Link.State]!;
    const last = this.#stateCounts[state]! - 1;
    const moved = slots[last]!;
    slots[position] = moved;
    links[moved * LINKS_PER_ROW + Link.State] = position;
    this.#stateCounts[state] = last;
  }
}

function remove(lists: SlotLists, list: number, slot: number): void {
  lists.remove(list, slot, lists.lastOf(list));
}
