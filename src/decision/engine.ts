/**
 * The decision engine: needs and inventory in, actions out. One cycle reads what changed since the last one,
 * repairs credit, lets needs with a deficit acquire (phase 1) and preempt (phase 2), and gives back what
 * nobody claims (phase 3). From scratch is the same engine with everything changed, so a fresh engine over
 * the same inputs must say the same: check.ts counts where two do not.
 *
 * No clock, no randomness, no I/O: the same inputs give the same actions.
 */

import type { Inventory } from '../inventory/inventory.ts';
import type { NeedTable } from '../needs/need-table.ts';
import { ActionList } from './actions.ts';
import { Acquisition } from './assign/acquire.ts';
import { Claims } from './assign/claims.ts';
import { Credit } from './assign/credit.ts';
import { Gangs } from './assign/gangs.ts';
import { ScanContext } from './assign/scan.ts';
import { UnmetNeeds } from './assign/unmet.ts';
import { ClusterRows } from './demand/cluster-rows.ts';
import { EngineNeeds, NeedKind } from './demand/engine-needs.ts';
import { FoldQueries } from './demand/fold-queries.ts';
import { Folding } from './demand/folding.ts';
import { Normaliser } from './demand/normalise.ts';
import { ServingOrder } from './demand/serving-order.ts';
import { DrainingCredit } from './preempt/draining-credit.ts';
import { Drains } from './preempt/drains.ts';
import { Preemption, type PreemptionWeights } from './preempt/preempt.ts';
import { type IdleHolds, Reclamation } from './reclaim/reclaim.ts';
import { AssignmentTable, type NeedCounts } from './supply/assignments.ts';
import { COARSE_VALUES_MAX, Families } from './supply/families.ts';
import { Filters } from './supply/filters.ts';
import { Fleet } from './supply/fleet.ts';
import { SlotAttributes } from './supply/slot-attributes.ts';
import { Supply } from './supply/supply.ts';
import { Sync } from './sync.ts';
import { type EngineMemory, type EngineResult, holdMemory, memoryOf, resultOf } from './verdicts/result.ts';
import { type Shortfall, type Verdict, Verdicts } from './verdicts/verdicts.ts';

export interface EngineOptions {
  readonly inventory: Inventory;
  readonly needs: NeedTable;
  /** A9: whether the cluster's operator is connected (or bootstraps are local). */
  readonly hasSession: (cluster: number) => boolean;
  /** A9, X5: whether the need (cluster, fingerprint, group) is in back-off. */
  readonly inBackoff?: (cluster: number, fingerprint: number, group: number) => boolean;
  readonly holds: IdleHolds;
  readonly weights?: PreemptionWeights;
  /** Labels with more values than this are told apart by shape and not by family. */
  readonly coarseValuesMax?: number;
}

export interface CycleInput {
  readonly nowMs: number;
  /** C1: a woken cycle advances no count and emits no Reclaim. */
  readonly isOrdinary: boolean;
}

/** How the time of a cycle was spent, in ms, and how much was looked at. */
/** From an eighth of the fleet on a cycle has taken over much. */
const MUCH_DIVISOR = 8;

export interface CycleCost {
  readonly changedMachines: number;
  readonly changedClusters: number;
  readonly evaluatedNeeds: number;
  readonly unmetNeeds: number;
}

/** Marks the end of a phase; the caller has the clock. */
export type PhaseListener = (
  phase: 'sync' | 'credit' | 'acquire' | 'preempt' | 'reclaim' | 'verdicts',
) => void;

export class Engine {
  readonly #inventory: Inventory;
  readonly #needTable: NeedTable;
  readonly #options: EngineOptions;
  readonly #assignments: AssignmentTable;
  readonly #families: Families;
  readonly #fleet: Fleet;
  readonly #filters: Filters;
  readonly #needs = new EngineNeeds();
  readonly #drains: Drains;
  readonly #order: ServingOrder;
  readonly #rows: ClusterRows;
  readonly #folding: Folding;
  readonly #normaliser: Normaliser;
  readonly #claims: Claims;
  readonly #supply: Supply;
  readonly #gangs: Gangs;
  readonly #credit: Credit;
  readonly #acquisition: Acquisition;
  readonly #preemption: Preemption;
  readonly #reclamation: Reclamation;
  readonly #unmet = new UnmetNeeds();
  readonly #verdicts: Verdicts;
  readonly actions = new ActionList();
  readonly #dirtyClusters: number[] = [];
  readonly #sync: Sync;
  #cycle = 0;

  constructor(options: EngineOptions) {
    const { inventory, needs } = options;
    const { clusters, fingerprints, groups } = inventory.tables;
    const vectors = inventory.shapes.vectors;
    const attributes = new SlotAttributes(inventory);
    this.#options = options;
    this.#inventory = inventory;
    this.#needTable = needs;
    this.#assignments = new AssignmentTable(clusters, fingerprints, groups);
    this.#families = new Families(inventory.shapes, vectors, options.coarseValuesMax ?? COARSE_VALUES_MAX);
    this.#fleet = new Fleet(inventory, this.#families, this.#assignments);
    this.#filters = new Filters(inventory, needs.profiles, this.#families, attributes);
    this.#drains = new Drains(this.#assignments, clusters);
    this.#order = new ServingOrder(
      this.#needs,
      this.#assignments,
      this.#fleet.clusters,
      groups,
      needs.profiles,
    );
    const foldQueries = new FoldQueries();
    this.#rows = new ClusterRows(needs, groups, this.#fleet, this.#filters, foldQueries);
    this.#folding = new Folding(this.#fleet, this.#filters, foldQueries);
    this.#claims = new Claims(this.#fleet, this.#needs);
    this.#normaliser = new Normaliser(
      needs,
      this.#fleet,
      this.#filters,
      this.#needs,
      this.#order,
      this.#rows,
      this.#claims,
    );
    this.#supply = new Supply(this.#fleet);
    const context = new ScanContext(this.#fleet, this.#filters, this.#supply);
    const rules = {
      isParked: (need: number) => this.#verdicts.isParked(need),
      isBarred: (need: number) => this.#isBarred(need),
    };
    const isPastGate = (cluster: number) => needs.hasReported(cluster);
    this.#gangs = new Gangs(
      needs.profiles,
      this.#needs,
      this.#claims,
      this.#drains,
      context,
      rules,
      attributes,
    );
    this.#credit = new Credit(
      this.#fleet,
      this.#filters,
      this.#needs,
      this.#claims,
      this.#gangs,
      this.#order,
    );
    this.#acquisition = new Acquisition(context, needs.profiles, this.#needs, this.#gangs, rules);
    this.#preemption = new Preemption(
      this.#fleet,
      this.#filters,
      this.#needs,
      this.#gangs,
      new DrainingCredit(this.#fleet, this.#filters, this.#needs, this.#gangs, this.#drains, rules),
      isPastGate,
      options.weights,
    );
    this.#reclamation = new Reclamation(this.#fleet, this.#supply, this.#preemption, isPastGate);
    this.#verdicts = new Verdicts(
      this.#fleet,
      this.#filters,
      this.#needs,
      this.#gangs,
      this.#drains,
      this.#unmet,
      (cluster, row) => this.#rows.assignmentOf(cluster, row),
    );
    this.#sync = new Sync({
      inventory,
      needTable: needs,
      assignments: this.#assignments,
      families: this.#families,
      fleet: this.#fleet,
      filters: this.#filters,
      needs: this.#needs,
      drains: this.#drains,
      order: this.#order,
      rows: this.#rows,
      folding: this.#folding,
      normaliser: this.#normaliser,
      claims: this.#claims,
      gangs: this.#gangs,
      credit: this.#credit,
      preemption: this.#preemption,
    });
  }

  /** Decides one cycle on what the inventory and the needs say now; the actions are in `actions`. */
  decide(input: CycleInput, onPhase: PhaseListener = () => {}): CycleCost {
    const changedMachines = this.#inventory.changes.take(this.#sync.changed);
    this.#dirtyClusters.length = 0;
    this.#needTable.takeDirty(this.#dirtyClusters);
    return this.#decide(input, changedMachines, onPhase);
  }

  /** The same from scratch, for a fresh engine: reads everything, and takes nothing from the change logs. */
  decideFromScratch(input: CycleInput, onPhase: PhaseListener = () => {}): CycleCost {
    let count = 0;
    const { state } = this.#inventory.columns;
    for (let slot = 1; slot < state.length; slot++) if (state[slot] !== 0) this.#sync.changed[count++] = slot;
    this.#dirtyClusters.length = 0;
    for (const cluster of this.#needTable.clusterRefs()) this.#dirtyClusters.push(cluster);
    return this.#decide(input, count, onPhase);
  }

  /** P6: the machine's preemption was enqueued; it drains for this need until it is Idle or back. */
  preemptionBegan(slot: number, cluster: number, fingerprint: number, group: number): void {
    this.#fleet.newAssignments.push(this.#drains.begin(slot, cluster, fingerprint, group));
    const state = this.#fleet.clusters[cluster];
    if (state !== undefined) this.#sync.touchFolds(state);
  }

  /** For a fresh engine beside another one: takes over what no table says (P6, and the counts of A7, A8, P5). */
  adopt(other: Engine): void {
    this.recall(memoryOf(other.#cycle, other.#assignments, other.#drains));
    this.#assignments.countsBefore = other.#assignments.copyCounts();
    this.#verdicts.adopt(other.#verdicts);
  }

  /** What no table says before the next cycle, and what keeps its refs meanwhile; for `recall` in an engine elsewhere. */
  remember(): { readonly memory: EngineMemory; readonly letGo: () => void } {
    const memory = memoryOf(this.#cycle, this.#assignments, this.#drains);
    return { memory, letGo: holdMemory(memory, this.#inventory.tables) };
  }

  recall({ cycle, counts, drains }: EngineMemory): void {
    this.#cycle = cycle;
    this.#assignments.expectCounts(counts);
    for (const [index, slot] of drains.slot.entries()) {
      this.#drains.begin(slot, drains.cluster[index]!, drains.fingerprint[index]!, drains.group[index]!);
    }
  }

  /** The last cycle's outcome, as the columns that hold it. */
  result(): EngineResult {
    return resultOf({
      fleet: this.#fleet,
      supply: this.#supply,
      needs: this.#needs,
      unmet: this.#unmet,
      verdicts: this.#verdicts,
      gangs: this.#gangs,
      actions: this.actions,
    });
  }

  /** Starts with counts that were known before: cycles unmet (A8) and parked (A7) by need. */
  seedCounts(counts: Iterable<NeedCounts>): void {
    this.#assignments.countsBefore = new Map(
      [...counts].map(({ cluster, fingerprint, group, unmetCycles, parkedCycles }) => [
        AssignmentTable.nameOf(cluster, fingerprint, group),
        {
          unmetCount: unmetCycles,
          unmetFor: this.#cycle + 1,
          parkCount: parkedCycles,
          parkFor: this.#cycle + 1,
        },
      ]),
    );
  }

  /** Gives back every reference that the engine holds in the tables that it shares. */
  close(): void {
    for (const [slot] of this.#drains) this.#drains.end(slot);
    for (const cluster of this.#fleet.clusters) if (cluster !== undefined) this.#sync.dropNeeds(cluster);
    for (let slot = 1; slot < this.#fleet.role.length; slot++) this.#fleet.detach(slot);
    this.#families.regroup();
  }

  get shortfalls(): readonly Shortfall[] {
    return this.#verdicts.shortfalls;
  }

  /** The verdict on a row of the cluster's slice in the need table, as of the last cycle. */
  verdict(cluster: number, row: number): Verdict {
    const state = this.#fleet.clusters[cluster]!;
    const need = state.rowNeed[row]!;
    let member = 0;
    if (this.#needs.kind[need] === NeedKind.Fold) {
      for (let before = 0; before < row; before++) if (state.rowNeed[before] === need) member++;
    }
    return this.#verdicts.verdictOf(state, row, member);
  }

  /** The verdicts on all rows of a cluster, in order and in one pass: rows of the roll-up that the last cycle read. */
  verdictsOf(cluster: number, visit: (row: number, verdict: Verdict) => void): void {
    const state = this.#fleet.clusters[cluster];
    if (state === undefined) return;
    const membersSeen = new Uint32Array(state.needCount); // by need: rows before this one
    for (let row = 0; row < state.rowCount; row++) {
      const member = membersSeen[state.rowNeed[row]! - state.needStart]!++;
      visit(row, this.#verdicts.verdictOf(state, row, member));
    }
  }

  /**
   * X2: whether a need that machines are assigned to by this name, a row or a fold, was there in the last cycle. A
   * row that folds counts as itself while a machine carries its assignment, as the machine of a queued action does.
   */
  isLiveNeed(cluster: number, fingerprint: number, group: number): boolean {
    const assignment = this.#assignments.find(cluster, fingerprint, group);
    return (
      assignment !== 0 &&
      (this.#assignments.carriers[assignment]! > 0 || this.#assignments.rowCount[assignment]! > 0)
    );
  }

  /** A7's count of a row's need after the last cycle. */
  parkingCount(cluster: number, row: number): number {
    return this.#verdicts.parkingCount(this.#fleet.clusters[cluster]!.rowAssignment[row]!);
  }

  /** The need that counts a machine in this cycle, as refs of (fingerprint, group) and cluster; null if none. */
  claimOf(slot: number): { cluster: number; fingerprint: number; group: number } | null {
    let need = this.#supply.takenBy[slot]! - 1;
    const claim = this.#fleet.claim[slot]!;
    if (need < 0 && claim !== 0)
      need = this.#fleet.clusterState(this.#fleet.cluster[slot]!).needStart + claim - 1;
    return need < 0 ? null : this.#nameOf(this.#needs.assignment[need]!);
  }

  /** The need that a row is served by: its own name, or that of its fold. */
  servedAs(cluster: number, row: number): { cluster: number; fingerprint: number; group: number } {
    return this.#nameOf(this.#needs.assignment[this.#fleet.clusters[cluster]!.rowNeed[row]!]!);
  }

  /** X1: the cluster's Configured machines, without those that a reclaim or a preemption is enqueued for. */
  configuredCount(cluster: number): number {
    return this.#fleet.clusters[cluster]?.configuredCount ?? 0;
  }

  /** P6: the need that a machine drains for; null if it is nobody's, or anybody's. */
  drainOf(slot: number): { cluster: number; fingerprint: number; group: number } | null {
    const assignment = this.#drains.assignmentOf(slot);
    return assignment === 0 ? null : this.#nameOf(assignment);
  }

  /** P6: the machines that drain for a need. */
  drainsFor(cluster: number, fingerprint: number, group: number): readonly number[] {
    const assignment = this.#assignments.find(cluster, fingerprint, group);
    return assignment === 0 ? [] : this.#drains.slotsFor(assignment);
  }

  /** The rows that the last cycle did not satisfy, in no order; costs what is unmet and not what there is. */
  unmetRows(visit: (cluster: number, row: number) => void): void {
    this.#verdicts.unmetRows((ref) => this.#fleet.clusterState(ref), visit);
  }

  #nameOf(assignment: number): { cluster: number; fingerprint: number; group: number } {
    const { cluster, fingerprint, group } = this.#assignments;
    return {
      cluster: cluster[assignment]!,
      fingerprint: fingerprint[assignment]!,
      group: group[assignment]!,
    };
  }

  #decide(input: CycleInput, changedMachines: number, onPhase: PhaseListener): CycleCost {
    this.#cycle++;
    this.#verdicts.beginCycle(this.#cycle, input.isOrdinary);
    this.actions.clear();
    this.#sync.run(changedMachines, this.#dirtyClusters);
    onPhase('sync');
    this.#credit.run(this.#sync.touched);
    this.#sync.touched.clear();
    this.#preemption.beginCycle(changedMachines * MUCH_DIVISOR > this.#inventory.count);
    onPhase('credit');
    this.#unmet.begin(this.#sortedUnmet(), this.#needs);
    this.#acquisition.run(this.#unmet, this.actions);
    onPhase('acquire');
    this.#preemption.run(this.#unmet, this.actions);
    onPhase('preempt');
    if (input.isOrdinary) this.#reclamation.reclaim(this.#sync.byRank, this.actions);
    this.#reclamation.release(input.nowMs, this.#options.holds, this.actions);
    onPhase('reclaim');
    this.#verdicts.record((ref) => this.#fleet.clusterState(ref));
    this.#assignments.countsBefore = null; // every need has its assignment by now
    onPhase('verdicts');
    return {
      changedMachines,
      changedClusters: this.#dirtyClusters.length,
      evaluatedNeeds: this.#credit.evaluatedCount,
      unmetNeeds: this.#unmet.count,
    };
  }

  #sortedUnmet(): number[] {
    const unmet: number[] = [];
    for (const needs of this.#credit.unmet.values()) for (const need of needs) unmet.push(need);
    return unmet.sort(this.#order.compareAcquire);
  }

  #isBarred(need: number): boolean {
    const ref = this.#needs.cluster[need]!;
    if (!this.#options.hasSession(ref)) return true;
    const { inBackoff } = this.#options;
    if (inBackoff === undefined) return false;
    const { fingerprint, group } = this.#assignments;
    const assignment = this.#needs.assignment[need]!;
    if (inBackoff(ref, fingerprint[assignment]!, group[assignment]!)) return true;
    if (this.#needs.kind[need] !== NeedKind.Fold) return false;
    const cluster = this.#fleet.clusterState(ref);
    const table = this.#needTable;
    const start = table.sliceStart(ref);
    for (let row = this.#needs.firstRow[need]!; row < cluster.rowCount; row++) {
      if (cluster.rowNeed[row] !== need) continue;
      const { fingerprintRef } = table.profiles.get(table.profile[start + row]!);
      if (inBackoff(ref, fingerprintRef, table.group[start + row]!)) return true;
    }
    return false;
  }
}
