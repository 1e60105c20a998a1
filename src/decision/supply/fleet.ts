/**
 * The fleet as the engine sees it: each machine in its role (X1: an enqueued action counts as what it will be), on the
 * ordered lists that the phases scan. The lists persist from cycle to cycle; a changed machine leaves its lists
 * (`detach`) and joins its new ones (`attach`), so the cost of a cycle depends on what changed.
 *
 *   by slot   role          u8    Role
 *             shape         u32   as last attached
 *             assignment    u32   the need that it was bound or created for (assignments.ts); 0 = unknown
 *             cluster       u16   the cluster that it is bound to or created for; 0 = none
 *             cordoned      u8    1 = as last attached: only the need that it is assigned to is credited it (H6)
 *             claim         u32   the need that credit gave it to, as index in its cluster + 1; 0 = unclaimed
 *             heldFor       u32   of a leaving machine: the need that it stays for (leaving.ts), + 1; 0 = none
 *             nextClaim,    u32   the claim list of one need, linked through its slots; 0 = end
 *             previousClaim
 *
 *   lists     byPrice       Idle, and Speculative, machines per family and probability (price, id)
 *             keep          Configured, and Configuring, per cluster and family (price, penalty desc, id)
 *             assigned      machines per assignment: Configured, Configuring, Creating, leaving, each in keep order
 *             apart         per cluster: leaving and cordoned Configured machines, which keep does not have
 *             byId          orphaned Creating machines per family; victims (preempt/victim-lists.ts)
 */

import { BARRED, CORDONED, Flag, Intent, NOT_ACQUIRED } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { OrderedLists } from '../../inventory/ordered-lists.ts';
import { isReleasable } from '../../machine/capacity-type.ts';
import { BUCKET_DOLLARS } from '../../machine/penalty.ts';
import { MachineState } from '../../machine/state.ts';
import { ClusterState } from '../cluster-state.ts';
import { columnF64, columnU8, columnU16, columnU32, widerF64, widerU32 } from '../columns/columns.ts';
import { SlotList } from '../columns/slot-list.ts';
import type { AssignmentTable } from './assignments.ts';
import type { Families } from './families.ts';
import { KeepLists } from './keep-lists.ts';
import { VictimQueue } from './victim-queue.ts';

export const Role = {
  None: 0,
  Idle: 1,
  Speculative: 2,
  /** H5: Configured, and satisfies no need. Before Creating, so that a need's own machines have it last. */
  Leaving: 3,
  Creating: 4,
  Configuring: 5,
  Configured: 6,
  Draining: 7,
  Other: 8, // Deleting, Failed: exists, and satisfies no need
} as const;
export type Role = (typeof Role)[keyof typeof Role];

const ROLE_OF_STATE = new Uint8Array(9);
ROLE_OF_STATE[MachineState.Speculative] = Role.Speculative;
ROLE_OF_STATE[MachineState.Creating] = Role.Creating;
ROLE_OF_STATE[MachineState.Idle] = Role.Idle;
ROLE_OF_STATE[MachineState.Configuring] = Role.Configuring;
ROLE_OF_STATE[MachineState.Configured] = Role.Configured;
ROLE_OF_STATE[MachineState.Draining] = Role.Draining;
ROLE_OF_STATE[MachineState.Deleting] = Role.Other;
ROLE_OF_STATE[MachineState.Failed] = Role.Other;

const ROLE_OF_INTENT = new Uint8Array(6);
ROLE_OF_INTENT[Intent.Bootstrap] = Role.Creating;
ROLE_OF_INTENT[Intent.Provision] = Role.Creating;
ROLE_OF_INTENT[Intent.Reclaim] = Role.Draining;
ROLE_OF_INTENT[Intent.Preempt] = Role.Draining;
ROLE_OF_INTENT[Intent.Delete] = Role.Other;

export class Fleet {
  readonly inventory: Inventory;
  readonly families: Families;
  readonly assignments: AssignmentTable;
  readonly role: Uint8Array;
  readonly shape: Uint32Array;
  readonly assignment: Uint32Array;
  readonly cluster: Uint16Array;
  readonly cordoned: Uint8Array;
  readonly claim: Uint32Array;
  readonly heldFor: Uint32Array;
  readonly nextClaim: Uint32Array;
  readonly previousClaim: Uint32Array;
  readonly byPrice: OrderedLists;
  readonly keep: KeepLists;
  readonly assigned: OrderedLists;
  readonly byId: OrderedLists;
  /** Keep order, in which credit takes machines (A2): price asc, assigned reclamation penalty desc, id asc. */
  readonly compareKeep: (a: number, b: number) => number;
  /** Order of a need's own machines: Configured, Configuring, Creating, each in keep order. */
  readonly compareAssigned: (a: number, b: number) => number;
  /** By family: list ids; 0 = none. */
  orphanList = columnU32(64);
  /** The stocks of each family: Idle machines of one probability, and Speculative ones. */
  readonly idleOf: number[][] = [];
  readonly offersOf: number[][] = [];
  /** By stock: its probability, and its list in order of price. */
  stockProbability = columnF64(64);
  stockList = columnU32(64);
  #stockCount = 0;
  readonly clusters: (ClusterState | undefined)[] = [];
  /** H5: clusters with leaving machines. */
  readonly withLeaving = new Set<ClusterState>();
  /** Assignments that are new with their machines: rows without an assignment may have these (cluster-rows.ts). */
  readonly newAssignments = new SlotList();
  /** Idle machines that R3 may release once their hold is over, in the order of their arrival: reclaim.ts reads them. */
  readonly newlyIdle = new SlotList();
  /** Machines whose victim list may have changed: victim-lists.ts reads them. */
  readonly victims: VictimQueue;
  /** X3: machines whose action waits for its turn and that no need claims. */
  readonly unclaimedWaiting = new Set<number>();
  /** By slot: the generation of the machine that was attached; slots are reused. */
  readonly #generation: Uint32Array;
  /** By slot: 1 = an orphan that was counted as open; its back-off may have changed since. */
  readonly #openOrphans: Uint8Array;

  constructor(inventory: Inventory, families: Families, assignments: AssignmentTable) {
    this.inventory = inventory;
    this.families = families;
    this.assignments = assignments;
    const slots = inventory.columns.rowCapacity;
    this.role = columnU8(slots);
    this.shape = columnU32(slots);
    this.assignment = columnU32(slots);
    this.cluster = columnU16(slots);
    this.cordoned = columnU8(slots);
    this.claim = columnU32(slots);
    this.heldFor = columnU32(slots);
    this.nextClaim = columnU32(slots);
    this.previousClaim = columnU32(slots);
    this.victims = new VictimQueue(inventory);
    this.#generation = columnU32(slots);
    this.#openOrphans = columnU8(slots);
    const { pricePerHourUsd: price, idRank, reclamationPenalty } = inventory.columns;
    const role = this.role;
    const byPrice = (a: number, b: number): number =>
      price[a] === price[b] ? idRank[a]! - idRank[b]! : price[a]! < price[b]! ? -1 : 1;
    const byKeep = (a: number, b: number): number => {
      if (price[a] !== price[b]) return price[a]! < price[b]! ? -1 : 1;
      const dollarsA = BUCKET_DOLLARS[reclamationPenalty[a]!]!;
      const dollarsB = BUCKET_DOLLARS[reclamationPenalty[b]!]!;
      if (dollarsA !== dollarsB) return dollarsA > dollarsB ? -1 : 1;
      return idRank[a]! - idRank[b]!;
    };
    this.byPrice = new OrderedLists(slots, byPrice);
    this.keep = new KeepLists(slots, byKeep, this.claim);
    const byRole = (a: number, b: number): number =>
      role[a] === role[b] ? byKeep(a, b) : role[b]! - role[a]!;
    this.assigned = new OrderedLists(slots, byRole);
    this.byId = new OrderedLists(slots, (a, b) => idRank[a]! - idRank[b]!);
    this.compareKeep = byKeep;
    this.compareAssigned = byRole;
  }

  clusterState(ref: number): ClusterState {
    let state = this.clusters[ref];
    if (state === undefined) {
      state = new ClusterState(ref);
      this.clusters[ref] = state;
    }
    return state;
  }

  isStuck(slot: number): boolean {
    return (this.inventory.columns.flags[slot]! & Flag.Stuck) !== 0;
  }

  /** In back-off (X12) or in dispute (T10), or a control keeps the shard from doing this with it (H3, H6). */
  isBarred(slot: number, pause: number): boolean {
    return (this.inventory.columns.flags[slot]! & (BARRED | pause)) !== 0;
  }

  /** X3: its Bootstrap or Provision waits for its turn; nothing was sent. */
  isWaiting(slot: number): boolean {
    return this.role[slot] === Role.Creating && (this.inventory.columns.flags[slot]! & Flag.Waiting) !== 0;
  }

  /** H5: a leaving machine that waits for no replacement. No need has it any more, not even as a victim. */
  goesNow(slot: number): boolean {
    return (this.inventory.columns.flags[slot]! & Flag.LeavingNow) !== 0;
  }

  /** The need that claims the machine, or for which it stays although it is leaving; -1: none. */
  claimant(slot: number): number {
    const claim = this.claim[slot]!;
    return claim === 0
      ? this.heldFor[slot]! - 1
      : this.clusterState(this.cluster[slot]!).needStart + claim - 1;
  }

  /** Assigned to a gang of its cluster: only that one may be credited it (A5). */
  isAssignedToGang(slot: number): boolean {
    return this.assignments.gang[this.assignment[slot]!] !== 0;
  }

  /** A Creating machine that was created for no need of this cycle: needs acquire it before Idle machines (A3). */
  isOrphan(slot: number): boolean {
    if (this.role[slot] !== Role.Creating) return false;
    const assignment = this.assignment[slot]!;
    return assignment === 0 || this.assignments.live[assignment] === 0;
  }

  /** The same for A1 (folding), which asks before it is known which folds exist: created for no possible fold either. */
  isSurelyOrphan(slot: number): boolean {
    const assignment = this.assignment[slot]!;
    return (
      this.isOrphan(slot) &&
      this.assignments.rowCount[assignment] === 0 &&
      this.assignments.folds[assignment] === 0
    );
  }

  /**
   * Whether a changed machine is the same one, Configured before and now for the same need, with the same shape: at most its
   * place in the orders changed, as with a new price.
   */
  isSameConfigured(slot: number): boolean {
    const { assignments, inventory } = this;
    const { state, intent, flags, shape, cluster, need, group } = inventory.columns;
    const assignment = this.assignment[slot]!;
    return (
      this.role[slot] === Role.Configured &&
      this.cordoned[slot] === 0 &&
      assignment !== 0 &&
      state[slot] === MachineState.Configured &&
      intent[slot] === Intent.None &&
      (flags[slot]! & (Flag.Ignored | Flag.Leaving | Flag.Cordoned)) === 0 &&
      shape[slot] === this.shape[slot] &&
      cluster[slot] === this.cluster[slot] &&
      need[slot] === assignments.fingerprint[assignment] &&
      group[slot] === assignments.group[assignment] &&
      inventory.isCurrent(slot, this.#generation[slot]!)
    );
  }

  /** Takes such a machine out of the orders; `attach` puts it where it belongs now. */
  takeOutOfOrder(slot: number): void {
    this.keep.remove(slot);
    this.assigned.remove(slot);
  }

  #putInOrder(slot: number): void {
    const cluster = this.clusterState(this.cluster[slot]!);
    this.#generation[slot] = this.inventory.generationOf(slot);
    this.#joinAssigned(slot, this.assignment[slot]!);
    this.#joinKeep(slot, Role.Configured, cluster);
    this.victims.markRead(slot);
    cluster.touched = true;
    if (cluster.needCount > 0) cluster.newlyAvailable.push(slot);
  }

  #joinAssigned(slot: number, assignment: number): void {
    const { list } = this.assignments;
    if (list[assignment] === 0) list[assignment] = this.assigned.create();
    this.assigned.add(list[assignment]!, slot);
  }

  /** Reads a machine's row and puts it on the lists of its role. */
  attach(slot: number): void {
    if (this.role[slot] !== Role.None) {
      this.#putInOrder(slot);
      return;
    }
    const { columns } = this.inventory;
    const state = columns.state[slot]!;
    if (state === 0) return;
    const intent = columns.intent[slot]!;
    const flags = columns.flags[slot]!;
    let role = intent === Intent.None ? ROLE_OF_STATE[state]! : ROLE_OF_INTENT[intent]!;
    if ((flags & Flag.Ignored) !== 0) role = Role.Other;
    else if (role === Role.Configured && (flags & Flag.Leaving) !== 0) role = Role.Leaving;
    const shape = columns.shape[slot]!;
    this.role[slot] = role;
    this.cordoned[slot] = (flags & CORDONED) === 0 ? 0 : 1;
    this.#generation[slot] = this.inventory.generationOf(slot);
    this.shape[slot] = shape;
    this.families.changeMachines(shape, 1);
    if (role === Role.Idle || role === Role.Speculative) this.#attachUnassigned(slot, role);
    else if (role !== Role.Other) this.#attachBound(slot, role);
  }

  /** Takes a machine off all its lists; its claim must have been released. */
  detach(slot: number): void {
    const role = this.role[slot]!;
    if (role === Role.None) return;
    const shape = this.shape[slot]!;
    if (role === Role.Idle || role === Role.Speculative) {
      if (this.cordoned[slot] === 0) this.families.changeUnassigned(shape, -1);
      if (this.byPrice.listOf(slot) !== 0) {
        this.byPrice.remove(slot);
        this.families.changeOpen(shape, -1);
      }
    } else if (role !== Role.Other) this.#detachBound(slot, role);
    // It keeps its place among the victims, unless the slot holds another machine now, whose id sorts elsewhere.
    if (this.byId.listOf(slot) !== 0 && !this.inventory.isCurrent(slot, this.#generation[slot]!))
      this.byId.remove(slot);
    this.families.changeMachines(shape, -1);
    this.role[slot] = Role.None;
    this.cordoned[slot] = 0;
    this.assignment[slot] = 0;
    this.cluster[slot] = 0;
  }

  /** Families are about to be rebuilt: drops the lists per family, which are empty. */
  regroup(): void {
    for (const list of this.stockList) if (list !== 0) this.byPrice.drop(list);
    for (const list of this.orphanList) if (list !== 0) this.byId.drop(list);
    this.orphanList.fill(0);
    this.stockList.fill(0);
    this.idleOf.length = this.offersOf.length = 0;
    this.#stockCount = 0;
    for (const cluster of this.clusters) {
      if (cluster === undefined) continue;
      const { familyLists } = cluster;
      for (let familyList = 0; familyList < familyLists.count; familyList++) {
        if (familyLists.configured(familyList) !== 0) this.keep.drop(familyLists.configured(familyList));
        if (familyLists.configuring(familyList) !== 0) this.keep.drop(familyLists.configuring(familyList));
      }
      familyLists.clear();
      cluster.stale = true;
      cluster.touched = true;
    }
  }

  /** N6: a cluster that reports for the first time, or is forgotten: its unclaimed machines become victims or stop being so. */
  setPastGate(cluster: ClusterState, isPastGate: boolean): void {
    if (cluster.isPastGate === isPastGate) return;
    cluster.isPastGate = isPastGate;
    const { familyLists } = cluster;
    for (let familyList = 0; familyList < familyLists.count; familyList++) {
      const list = familyLists.configured(familyList);
      if (list === 0) continue;
      for (let at = this.keep.first(list); at !== 0; at = this.keep.next(at))
        this.victims.mark(this.keep.slotAt(at));
    }
    for (const slot of cluster.apart) this.victims.mark(slot);
  }

  /** An assignment lost its last live need or got its first: its Creating machines become orphans or stop being so. */
  liveChanged(assignment: number): void {
    const isLive = this.assignments.live[assignment]! > 0;
    const list = this.assignments.list[assignment]!;
    if (list === 0) return;
    const { assigned } = this;
    for (let at = assigned.first(list); at !== 0; at = assigned.next(at)) {
      const slot = assigned.slotAt(at);
      if (this.role[slot] !== Role.Creating) continue;
      if (!isLive) this.#joinOrphans(slot);
      else {
        this.#leaveOrphans(slot);
        if (this.isWaiting(slot)) this.victims.mark(slot); // orphans are no victims (P1)
      }
    }
  }

  /** Visits the Idle and Speculative machines of a shape, without cordoned ones (H6). */
  forEachUnassigned(shape: number, visit: (slot: number) => void): void {
    const { indexes } = this.inventory;
    for (const state of [MachineState.Idle, MachineState.Speculative] as const) {
      const start = indexes.startOfShape(state, shape);
      const end = start + indexes.countOfShape(state, shape);
      for (let position = start; position < end; position++) {
        const slot = indexes.shapeSlots[position]!;
        const role = this.role[slot]!;
        if ((role === Role.Idle || role === Role.Speculative) && this.cordoned[slot] === 0) visit(slot);
      }
    }
  }

  /** Visits the machines of a shape that needs may acquire. */
  forEachOpen(shape: number, visit: (slot: number) => void): void {
    this.forEachUnassigned(shape, (slot) => {
      if (!this.isBarred(slot, NOT_ACQUIRED)) visit(slot);
    });
    const orphans = this.orphanList[this.families.familyOf[shape]!] ?? 0;
    if (orphans === 0) return;
    for (let at = this.byId.first(orphans); at !== 0; at = this.byId.next(at)) {
      const slot = this.byId.slotAt(at);
      if (this.shape[slot] === shape && !this.isBarred(slot, NOT_ACQUIRED)) visit(slot);
    }
  }

  #stockOf(byFamily: number[][], family: number, probability: number): number {
    let stocks = byFamily[family];
    if (stocks === undefined) {
      stocks = [];
      byFamily[family] = stocks;
    }
    for (const stock of stocks) if (this.stockProbability[stock] === probability) return stock;
    const stock = ++this.#stockCount;
    this.stockProbability = widerF64(this.stockProbability, stock);
    this.stockList = widerU32(this.stockList, stock);
    this.stockProbability[stock] = probability;
    this.stockList[stock] = this.byPrice.create();
    stocks.push(stock);
    return stock;
  }

  #attachUnassigned(slot: number, role: number): void {
    const shape = this.shape[slot]!;
    const { flags, capacityType } = this.inventory.columns;
    const isReleasing = (flags[slot]! & Flag.Releasing) !== 0;
    if (role === Role.Idle && (isReleasing || isReleasable(capacityType[slot]!))) this.newlyIdle.push(slot);
    if (this.cordoned[slot] === 1) return;
    this.families.changeUnassigned(shape, 1);
    if (this.isBarred(slot, NOT_ACQUIRED)) return;
    this.families.changeOpen(shape, 1);
    const family = this.families.familyOf[shape]!;
    const byFamily = role === Role.Idle ? this.idleOf : this.offersOf;
    const stock = this.#stockOf(byFamily, family, this.inventory.columns.interruptionProbability[slot]!);
    this.byPrice.add(this.stockList[stock]!, slot);
  }

  #attachBound(slot: number, role: number): void {
    const { columns } = this.inventory;
    const cluster = columns.cluster[slot]!;
    this.cluster[slot] = cluster;
    if (role === Role.Draining) return;
    let assignment = 0;
    const goesNow = role === Role.Leaving && this.goesNow(slot);
    if (cluster !== 0 && columns.need[slot] !== 0 && !goesNow) {
      assignment = this.assignments.intern(cluster, columns.need[slot]!, columns.group[slot]!);
      if (this.assignments.references[assignment] === 1) this.newAssignments.push(assignment);
      this.assignment[slot] = assignment;
      this.assignments.held[assignment]!++;
      this.#joinAssigned(slot, assignment);
    }
    if (role === Role.Creating) {
      if (this.isOrphan(slot)) this.#joinOrphans(slot);
      if (this.isWaiting(slot)) {
        this.unclaimedWaiting.add(slot);
        this.victims.markRead(slot);
      }
    } else if (cluster !== 0) {
      const state = this.clusterState(cluster);
      if (role === Role.Configuring) state.configuringCount++;
      else {
        state.configuredCount++;
        this.victims.markRead(slot);
      }
      if (role === Role.Leaving) {
        state.leavingCount++;
        this.withLeaving.add(state);
      }
      // H6: no other need is credited a cordoned machine, so it is not on the lists on which those look.
      if (role !== Role.Leaving && this.cordoned[slot] === 0) this.#joinKeep(slot, role, state);
      else if (role !== Role.Configuring) state.apart.add(slot);
    }
    if (cluster !== 0) this.#announce(slot, this.clusterState(cluster), assignment);
  }

  #joinKeep(slot: number, role: number, { familyLists }: ClusterState): void {
    const familyList = familyLists.of(this.families.familyOf[this.shape[slot]!]!);
    if (role === Role.Configured) {
      if (familyLists.configured(familyList) === 0) familyLists.setConfigured(familyList, this.keep.create());
      this.keep.add(familyLists.configured(familyList), slot);
      return;
    }
    if (familyLists.configuring(familyList) === 0) familyLists.setConfiguring(familyList, this.keep.create());
    this.keep.add(familyLists.configuring(familyList), slot);
  }

  #detachBound(slot: number, role: number): void {
    const cluster = this.cluster[slot]!;
    const assignment = this.assignment[slot]!;
    if (role === Role.Draining) return;
    if (role === Role.Creating) {
      this.#leaveOrphans(slot);
      this.unclaimedWaiting.delete(slot);
    }
    this.keep.remove(slot);
    if (role === Role.Configured || role === Role.Leaving) {
      const state = this.clusterState(cluster);
      state.configuredCount--;
      state.apart.delete(slot);
      if (role === Role.Leaving && --state.leavingCount === 0) this.withLeaving.delete(state);
      this.heldFor[slot] = 0;
      this.victims.mark(slot);
    } else if (role === Role.Configuring && cluster !== 0) this.clusterState(cluster).configuringCount--;
    if (assignment !== 0) {
      const state = this.clusterState(cluster);
      this.#touchFolds(state, assignment);
      state.touched = true;
      this.assignments.held[assignment]!--;
      this.assigned.remove(slot);
      const list = this.assignments.list[assignment]!;
      if (list !== 0 && this.assigned.length(list) === 0) {
        this.assigned.drop(list);
        this.assignments.list[assignment] = 0;
      }
      this.assignments.release(assignment);
    }
  }

  #touchFolds(state: ClusterState, assignment: number): void {
    const fold = this.assignments.fold[assignment]!;
    if (fold !== 0) state.touchedGroups.push(fold - 1);
    // An assignment with the empty group belongs to every fold of its fingerprint.
    if (this.assignments.folds[assignment]! > 0 && this.assignments.group[assignment] === 0)
      state.foldsTouched = true;
  }

  /** Announces a new or changed machine to the cluster's needs. */
  #announce(slot: number, state: ClusterState, assignment: number): void {
    state.touched = true;
    if (assignment !== 0) this.#touchFolds(state, assignment);
    if (state.needCount > 0) state.newlyAvailable.push(slot); // new needs scan everything anyway
  }

  #joinOrphans(slot: number): void {
    const shape = this.shape[slot]!;
    const family = this.families.familyOf[shape]!;
    this.orphanList = widerU32(this.orphanList, family);
    if (this.orphanList[family] === 0) this.orphanList[family] = this.byId.create();
    this.byId.remove(slot); // it may still be on a victims' list
    if (this.cordoned[slot] === 1) return;
    this.byId.add(this.orphanList[family]!, slot);
    this.families.unassignedVersion++;
    if (this.isBarred(slot, NOT_ACQUIRED)) return;
    this.#openOrphans[slot] = 1;
    this.families.changeOpen(shape, 1);
  }

  /** Takes a Creating machine off the orphans, or off the victims if its action waits (P1). */
  #leaveOrphans(slot: number): void {
    if (this.byId.listOf(slot) === 0) return;
    this.byId.remove(slot);
    this.families.unassignedVersion++;
    if (this.#openOrphans[slot] === 1) this.families.changeOpen(this.shape[slot]!, -1);
    this.#openOrphans[slot] = 0;
  }
}
