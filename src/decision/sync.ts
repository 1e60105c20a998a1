/**
 * The first stage of a cycle: applies what changed since the last one. Changed machines leave their lists, new shapes
 * get families, the machines join their new lists; then changed roll-ups are read, folds are decided again, and the
 * needs of clusters whose rows or folds changed are rebuilt. `touched` lists the clusters that credit must look at.
 */
import { Flag } from '../inventory/intent.ts';
import type { Credit } from './assign/credit.ts';
import type { ClusterState } from './cluster-state.ts';
import { columnU8, columnU32, widerU8 } from './columns/columns.ts';
import { SlotList } from './columns/slot-list.ts';
import { Mark, NeedKind, SLICE_STEP } from './demand/engine-needs.ts';
import { Folding } from './demand/folding.ts';
import { Normaliser } from './demand/normalise.ts';
import { RowChanges } from './demand/row-changes.ts';
import type { EngineTables } from './engine-tables.ts';
import type { Preemption } from './preempt/preempt.ts';
import { Role } from './supply/fleet.ts';

/** From here on, sorting the changed machines by cluster costs less than the cache misses of changing clusters each time. */
const MANY_CHANGED = 16_384;
/**
 * From a quarter of the fleet on, sorting the unassigned machines by id costs less than inserting each. Twice the share
 * of large-part.ts: the sort also writes a byte per slot, and as price comes before id, not every machine is appended.
 */
const UNASSIGNED_SORT_DIVISOR = 4;
/** Cluster refs are u16 in the machine columns. */
const CLUSTER_REFS = 65_536;

export class Sync {
  readonly #tables: EngineTables;
  readonly #folding: Folding;
  readonly #normaliser: Normaliser;
  readonly #credit: Credit;
  readonly #preemption: Preemption;
  readonly #rowChanges: RowChanges;
  /** The changed slots, which the engine writes here; long enough for the whole fleet. */
  changed: Uint32Array;
  /** Clusters that credit must look at. */
  readonly touched = new Set<ClusterState>();
  /** Every cluster, by id. */
  byRank: readonly ClusterState[] = [];
  readonly #newShapes: number[] = [];
  /** By shape: 1 = in #newShapes. */
  #isNewShape = columnU8(256);
  readonly #leftShapes = new Set<number>();
  /** Changed machines that keep their claims (`#stays`). */
  readonly #staying = new SlotList();

  constructor(tables: EngineTables, credit: Credit, preemption: Preemption) {
    this.#tables = tables;
    this.#credit = credit;
    this.#preemption = preemption;
    this.#folding = new Folding(tables);
    this.#normaliser = new Normaliser(tables);
    this.#rowChanges = new RowChanges(tables, this.#normaliser);
    this.changed = columnU32(tables.inventory.columns.rowCapacity);
  }

  run(changedMachines: number, dirtyClusters: readonly number[]): void {
    this.#tables.inventory.ensureRanks();
    this.#tables.families.fitDimensions();
    if (this.#tables.assignments.count === 0) this.#reserve(dirtyClusters);
    const changed = this.#admitShapes(changedMachines);
    for (const ref of dirtyClusters) this.#forgetIfAnother(this.#tables.fleet.clusterState(ref));
    this.#readLimits(dirtyClusters);
    this.#tables.filters.refreshAll();
    this.#attachAll(this.#byCluster(changed));
    this.#endDrains();
    this.#dismissShapes();
    for (const ref of dirtyClusters) {
      const cluster = this.#tables.fleet.clusterState(ref);
      this.touched.add(cluster);
      this.#tables.fleet.setPastGate(cluster, this.#tables.needTable.hasReported(ref));
      if (this.#rowChanges.apply(cluster)) continue;
      this.#tables.rows.read(cluster);
      this.#normaliser.retire(cluster);
    }
    this.#tables.rows.linkNewAssignments();
    this.#folding.refold(this.touched);
    this.#refoldByUnassigned();
    this.#tables.order.refresh();
    for (const cluster of this.touched)
      if (cluster.stale || cluster.flippedGroups.length > 0) this.#rebuild(cluster);
    this.#rankClusters();
    // Frees the pages that only a first cycle writes.
    if (changedMachines > MANY_CHANGED) this.changed = columnU32(this.changed.length);
  }

  /** T8: a need's priority, and with it the order of a cluster's needs, depends on the cluster's limits. */
  #readLimits(dirtyClusters: readonly number[]): void {
    const { limits, fleet } = this.#tables;
    if (limits.beginCycle()) {
      for (const cluster of fleet.clusters) {
        if (cluster === undefined || cluster.rowCount === 0 || !limits.refresh(cluster.ref)) continue;
        cluster.stale = true;
        this.touched.add(cluster);
      }
    }
    for (const ref of dirtyClusters) if (limits.refresh(ref)) fleet.clusterState(ref).stale = true;
  }

  /** Before a first cycle, which brings everything: the tables grow once, to about their final size. */
  #reserve(dirtyClusters: readonly number[]): void {
    const { needTable, assignments, needs } = this.#tables;
    const { hasSame } = needTable.profiles.columns;
    let plainCount = 0;
    for (const ref of dirtyClusters) {
      const end = needTable.sliceStart(ref) + needTable.sliceCount(ref);
      for (let row = needTable.sliceStart(ref); row < end; row++) {
        if (hasSame[needTable.profile[row]!] === 0) plainCount++;
      }
    }
    // Most gangs fold, about four into one need, and a fold has two assignments.
    const gangCount = needTable.count - plainCount;
    needs.reserve(plainCount + Math.ceil(gangCount / 4) + dirtyClusters.length * SLICE_STEP);
    assignments.reserve(plainCount + Math.ceil(gangCount / 2));
  }

  #detach(slot: number): void {
    const fleet = this.#tables.fleet;
    if (fleet.role[slot] === Role.None) return;
    const ref = fleet.cluster[slot]!;
    if (ref !== 0) {
      const cluster = fleet.clusterState(ref);
      this.touched.add(cluster);
      cluster.touched = true;
      if (fleet.claim[slot] !== 0) this.#tables.claims.takeAway(cluster, slot, true);
      const gang = this.#tables.assignments.gang[fleet.assignment[slot]!]!;
      if (gang !== 0) this.#tables.needs.mark(cluster.needStart + gang - 1, Mark.Dirty);
    }
    fleet.detach(slot);
  }

  /** Whether no need and no fold looks at the machine again: at most its place among others changed. */
  #stays(slot: number): boolean {
    const { fleet, claims } = this.#tables;
    return (
      fleet.isSameConfigured(slot) && claims.countsByNumber(fleet.clusterState(fleet.cluster[slot]!), slot)
    );
  }

  /** Takes the changed machines off their lists and admits new shapes; takes off all machines if shapes must be regrouped. */
  #admitShapes(changedMachines: number): Uint32Array {
    const { families, inventory } = this.#tables;
    const { state, shape } = inventory.columns;
    const { familyOf } = families; // the loop admits no shape, so the column is not replaced
    const { fleet, filters } = this.#tables;
    const { role } = fleet;
    const mayStay = !filters.readMachines;
    this.#staying.clear();
    let changed = this.changed.subarray(0, changedMachines);
    // T12: labels, capacities and topology values that drift leave families and domains behind.
    const mustForget = families.areMostlyRetired(inventory.count) || this.#tables.domains.areMostlyDead;
    let mustRegroup = mustForget;
    for (let index = 0; index < changedMachines; index++) {
      const slot = changed[index]!;
      if (mayStay && this.#stays(slot)) {
        fleet.takeOutOfOrder(slot);
        this.#staying.push(slot);
        continue;
      }
      if (role[slot] !== Role.None) {
        this.#leftShapes.add(fleet.shape[slot]!);
        this.#detach(slot);
      }
      if (state[slot] === 0 || (familyOf[shape[slot]!] ?? 0) !== 0) continue;
      if (this.#isFirstOf(shape[slot]!) && families.countLabels(shape[slot]!)) mustRegroup = true;
    }
    if (mustRegroup) changed = this.#regroup(changed);
    if (mustForget) {
      families.forgetLabels();
      for (const one of this.#newShapes) families.countLabels(one);
    }
    this.#tables.domains.dropUnused();
    for (const one of this.#newShapes) {
      families.admit(one);
      this.#tables.domains.admitShape(one);
      this.#isNewShape[one] = 0;
    }
    this.#newShapes.length = 0;
    return changed;
  }

  /** Whether this is the first machine of a new shape; queues the shape for admission. */
  #isFirstOf(shape: number): boolean {
    if (this.#isNewShape[shape] === 1) return false;
    this.#isNewShape = widerU8(this.#isNewShape, shape);
    this.#isNewShape[shape] = 1;
    this.#newShapes.push(shape);
    return true;
  }

  /** A label turned fine, or most families are retired: all machines leave their lists, and all shapes get new families. */
  #regroup(changed: Uint32Array): Uint32Array {
    const { state, shape } = this.#tables.inventory.columns;
    let count = changed.length;
    for (let index = 0; index < this.#staying.count; index++) this.#detach(this.#staying.slots[index]!);
    for (let slot = 1; this.#tables.families.count > 0 && slot < state.length; slot++) {
      if (this.#tables.fleet.role[slot] === Role.None) continue; // empty, or off its lists already
      this.#detach(slot);
      this.changed[count++] = slot;
    }
    const all = this.changed.subarray(0, count);
    for (let index = 0; index < count; index++) {
      const slot = all[index]!;
      if (state[slot] !== 0) this.#isFirstOf(shape[slot]!);
    }
    this.#preemption.regroup();
    this.#tables.fleet.regroup();
    this.#tables.families.regroup();
    this.#tables.filters.regroup();
    this.#tables.domains.regroup();
    this.#leftShapes.clear();
    for (const cluster of this.#tables.fleet.clusters) {
      if (cluster === undefined) continue;
      const end = cluster.needStart + cluster.needSpan;
      for (let need = cluster.needStart; need < end; need++)
        if (this.#tables.needs.kind[need] !== NeedKind.None) this.#tables.needs.setMarks(need, Mark.Dirty);
      this.touched.add(cluster);
    }
    return all;
  }

  /** Shapes that lost their last machine: the shape table may reuse their numbers. */
  #dismissShapes(): void {
    for (const shape of this.#leftShapes) {
      if (this.#tables.families.machinesIn[shape]! > 0 || this.#tables.families.familyOf[shape] === 0)
        continue;
      this.#tables.filters.forgetShape(shape);
      this.#tables.domains.forgetShape(shape);
      this.#tables.families.dismiss(shape);
    }
    this.#leftShapes.clear();
  }

  /** Sorts many machines by cluster, so that a cluster's needs, lists and assignments stay in the cache. */
  #byCluster(changed: Uint32Array): Uint32Array {
    if (changed.length < MANY_CHANGED) return changed;
    const { inventory } = this.#tables;
    const { cluster } = inventory.columns;
    const nextOf = new Uint32Array(CLUSTER_REFS + 1);
    for (let index = 0; index < changed.length; index++) nextOf[cluster[changed[index]!]! + 1]!++;
    const unboundCount = nextOf[1]!;
    const areMany = unboundCount * UNASSIGNED_SORT_DIVISOR > inventory.count;
    if (unboundCount === changed.length) return areMany ? this.#sortById(changed) : changed;
    for (let ref = 1; ref < nextOf.length; ref++) nextOf[ref]! += nextOf[ref - 1]!;
    const sorted = new Uint32Array(changed.length);
    for (let index = 0; index < changed.length; index++) {
      const slot = changed[index]!;
      sorted[nextOf[cluster[slot]!]!++] = slot;
    }
    if (areMany) this.#sortById(sorted.subarray(0, unboundCount));
    return sorted;
  }

  /** Unassigned machines are on few, long lists ordered by price, then id: attached in id order they are appended. */
  #sortById(slots: Uint32Array): Uint32Array {
    const { slotsById, columns } = this.#tables.inventory;
    const { state } = columns;
    const isMeant = new Uint8Array(columns.rowCapacity);
    let count = 0;
    for (let index = 0; index < slots.length; index++) {
      const slot = slots[index]!;
      if (state[slot] === 0)
        slots[count++] = slot; // an empty slot: nothing to attach
      else isMeant[slot] = 1;
    }
    for (let place = 0; place < slotsById.length; place++) {
      if (isMeant[slotsById[place]!] === 1) slots[count++] = slotsById[place]!;
    }
    return slots;
  }

  #attachAll(changed: Uint32Array): void {
    const fleet = this.#tables.fleet;
    let last = 0;
    for (let index = 0; index < changed.length; index++) {
      const slot = changed[index]!;
      fleet.attach(slot);
      const isDraining = fleet.role[slot] === Role.Draining;
      if (isDraining && (this.#tables.inventory.columns.flags[slot]! & Flag.FoundDraining) !== 0)
        this.#tables.drains.found.add(slot);
      const ref = fleet.cluster[slot]!;
      if (ref === last || ref === 0 || isDraining) continue;
      this.touched.add(fleet.clusterState(ref));
      last = ref; // many machines come sorted by cluster
    }
  }

  /** A machine that no longer drains gives no draining credit; its gang may fold again. */
  #endDrains(): void {
    const { role } = this.#tables.fleet;
    for (const slot of this.#tables.drains.found)
      if (role[slot] !== Role.Draining) this.#tables.drains.found.delete(slot);
    for (const [slot, assignment] of [...this.#tables.drains]) {
      if (role[slot] === Role.Draining) continue;
      const cluster = this.#tables.fleet.clusters[this.#tables.assignments.cluster[assignment]!];
      this.#tables.drains.end(slot);
      if (cluster !== undefined) this.touchFolds(cluster);
    }
  }

  touchFolds(cluster: ClusterState): void {
    cluster.foldsTouched = true;
    cluster.touched = true;
    this.touched.add(cluster);
  }

  #refoldByUnassigned(): void {
    const changed: ClusterState[] = [];
    this.#folding.refoldByUnassigned(changed);
    for (const cluster of changed) this.touched.add(cluster);
  }

  #rebuild(cluster: ClusterState): void {
    this.#credit.forget(cluster);
    this.#normaliser.build(cluster);
  }

  /** The ref was released and names another cluster now: drops what the old cluster left. */
  #forgetIfAnother(cluster: ClusterState): void {
    if (cluster.rankedId === this.#tables.inventory.tables.clusters.get(cluster.ref)) return;
    this.#releaseClaims(cluster);
    this.dropNeeds(cluster);
  }

  dropNeeds(cluster: ClusterState): void {
    this.#normaliser.drop(cluster);
    this.#tables.rows.forget(cluster);
  }

  #releaseClaims(cluster: ClusterState): void {
    const released: number[] = [];
    for (let need = cluster.needStart; need < cluster.needStart + cluster.needSpan; need++) {
      this.#tables.claims.releaseAll(cluster, need, released);
    }
    this.#credit.forget(cluster);
  }

  /** Ranks the cluster ids; again when a cluster is new or its ref names another one. */
  #rankClusters(): void {
    const { clusters } = this.#tables.inventory.tables;
    let isCurrent = true;
    for (const cluster of this.touched) if (cluster.rankedId !== clusters.get(cluster.ref)) isCurrent = false;
    if (isCurrent) return;
    const all = this.#tables.fleet.clusters.filter((state): state is ClusterState => state !== undefined);
    all.sort((a, b) => clusters.compare(a.ref, b.ref));
    this.byRank = all;
    for (const [rank, state] of all.entries()) {
      state.rank = rank;
      state.rankedId = clusters.get(state.ref);
    }
  }
}
