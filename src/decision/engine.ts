/**
 * The decision engine: needs and inventory in, actions out. One cycle reads what changed since the last one (sync),
 * repairs credit, lets needs with a deficit acquire (phase 1) and preempt (phase 2), drains and releases machines that no
 * need claims (phase 3), and records verdicts. A decision from scratch is the same cycle with everything changed, so a
 * new engine over the same inputs must decide the same: check.ts counts where two engines differ.
 *
 * No clock, no randomness, no I/O: the same inputs give the same actions.
 */

import type { Inventory } from '../inventory/inventory.ts';
import type { NeedTable } from '../needs/need-table.ts';
import { ActionList } from './actions.ts';
import { Acquisition } from './assign/acquire.ts';
import { Credit } from './assign/credit.ts';
import { Gangs } from './assign/gangs.ts';
import { LeavingMachines } from './assign/leaving.ts';
import type { Placement } from './assign/placement.ts';
import { createTables, type EngineTables } from './engine-tables.ts';
import { Inspection, type NeedRefs } from './inspection.ts';
import type { LimitSource } from './limits.ts';
import { Preemption } from './preempt/preempt.ts';
import type { PreemptionWeights } from './preempt/victim-lists.ts';
import { type IdleHolds, Reclamation } from './reclaim/reclaim.ts';
import type { AssignmentTable, NeedCounts } from './supply/assignments.ts';
import { isLargePart } from './supply/large-part.ts';
import { Sync } from './sync.ts';
import { type EngineMemory, type EngineResult, holdMemory, memoryOf, resultOf } from './verdicts/result.ts';
import { Verdicts } from './verdicts/verdicts.ts';

export interface EngineOptions {
  readonly inventory: Inventory;
  readonly needs: NeedTable;
  /** A9: without an operator session (or local bootstraps) a cluster gets credit only. */
  readonly hasSession: (cluster: number) => boolean;
  /** A9: the same for a need (cluster, fingerprint, group) that backs off after a failed bootstrap (X5). */
  readonly inBackoff?: (cluster: number, fingerprint: number, group: number) => boolean;
  /** T8, E7: what a cluster may have at most, and what the fleet may cost. Default: no limits. */
  readonly limits?: LimitSource;
  /** H3: a pause of create or bind; the cluster gets credit only (A9), and the counts of its needs stand still. */
  readonly isPaused?: (cluster: number) => boolean;
  /** T2: the cluster keeps its machines, gets no others, and none of them is a victim or reclaimed. */
  readonly isSuspended?: (cluster: number) => boolean;
  /** For tests: called for each need that a stage works on; may throw. */
  readonly probe?: NonNullable<EngineTables['cycle']['probe']>;
  readonly holds: IdleHolds;
  readonly weights?: PreemptionWeights;
  /** By which rule needs acquire. Default: the reference's (A3). */
  readonly placement?: Placement;
  /** A label with more values than this distinguishes shapes and no longer families. */
  readonly coarseValuesMax?: number;
}

export interface CycleInput {
  readonly nowMs: number;
  /** C1: a woken cycle advances no count and emits no Reclaim. C2: nor does one that may not act. */
  readonly isOrdinary: boolean;
  /** H4: a pause hides machines from all needs, so no count advances. */
  readonly areCountsHeld?: boolean;
  /** For measurements only: by cluster, when the first of the roll-ups arrived that this cycle reads. */
  readonly askedMs?: ReadonlyMap<number, number>;
}

/** How much a cycle read and evaluated. */
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

interface Saved {
  readonly memory: EngineMemory;
  readonly letGo: () => void;
  readonly verdicts: Verdicts;
  /** Counts that no assignment had taken up yet. */
  readonly pending: AssignmentTable['countsBefore'];
}

export class Engine extends Inspection {
  readonly actions = new ActionList();
  readonly #options: EngineOptions;
  readonly #holds: IdleHolds;
  readonly #dirtyClusters: number[] = [];
  #tables: EngineTables;
  #sync!: Sync;
  #credit!: Credit;
  #leaving!: LeavingMachines;
  #acquisition!: Acquisition;
  #preemption!: Preemption;
  #reclamation!: Reclamation;
  #verdicts: Verdicts;
  /** The last cycle that did not throw. */
  #decided = 0;
  /** T2: what `rebuild` took over; kept until a cycle has used it. */
  #saved: Saved | null = null;

  constructor(options: EngineOptions) {
    const tables = createTables(options);
    const verdicts = new Verdicts(tables);
    super(tables, verdicts);
    this.#options = options;
    this.#holds = options.holds;
    this.#tables = tables;
    this.#verdicts = verdicts;
    this.#createStages();
  }

  #createStages(): void {
    const tables = this.#tables;
    this.#credit = new Credit(tables, new Gangs(tables));
    this.#acquisition = new Acquisition(tables);
    this.#leaving = new LeavingMachines(tables);
    this.#preemption = new Preemption(tables, this.#leaving, this.#options.weights);
    this.#reclamation = new Reclamation(tables, this.#preemption);
    this.#sync = new Sync(tables, this.#credit, this.#preemption);
  }

  /** Decides one cycle on the inventory and the needs as they are now; the actions are in `actions`. */
  decide(input: CycleInput, onPhase: PhaseListener = () => {}): CycleCost {
    const { inventory, needTable } = this.#tables;
    const changedMachines = inventory.changes.take(this.#sync.changed);
    this.#dirtyClusters.length = 0;
    needTable.takeDirty(this.#dirtyClusters);
    // A rebuilt engine reads everything, so it needs no change that the logs had.
    if (this.isUndecided) return this.decideFromScratch(input, onPhase);
    return this.#decide(input, changedMachines, onPhase);
  }

  /** The same from scratch, for a new engine: reads everything, and leaves the change logs to the live engine. */
  decideFromScratch(input: CycleInput, onPhase: PhaseListener = () => {}): CycleCost {
    const { inventory, needTable } = this.#tables;
    const { state } = inventory.columns;
    let count = 0;
    for (let slot = 1; slot < state.length; slot++) if (state[slot] !== 0) this.#sync.changed[count++] = slot;
    this.#dirtyClusters.length = 0;
    for (const cluster of needTable.clusterRefs()) this.#dirtyClusters.push(cluster);
    return this.#decide(input, count, onPhase);
  }

  #decide(input: CycleInput, changedMachines: number, onPhase: PhaseListener): CycleCost {
    const { cycle, inventory, unmet, assignments } = this.#tables;
    cycle.number++;
    cycle.isOrdinary = input.isOrdinary;
    cycle.isCounting = input.isOrdinary && input.areCountsHeld !== true;
    cycle.nowMs = input.nowMs;
    cycle.askedMs = input.askedMs ?? null;
    cycle.need = -1;
    this.actions.clear();
    this.#sync.run(changedMachines, this.#dirtyClusters);
    cycle.probe?.('sync', 0);
    onPhase('sync');
    this.#credit.run(this.#sync.touched);
    this.#sync.touched.clear();
    this.#leaving.run();
    this.#preemption.beginCycle(isLargePart(changedMachines, inventory.count));
    onPhase('credit');
    cycle.need = -1;
    unmet.begin();
    this.#acquisition.run(unmet, this.actions);
    onPhase('acquire');
    this.#preemption.run(unmet, this.actions);
    onPhase('preempt');
    cycle.need = -1;
    this.#reclamation.withdraw(this.actions);
    if (input.isOrdinary) this.#reclamation.reclaim(this.#sync.byRank, this.actions);
    this.#reclamation.release(input.nowMs, this.#holds, this.actions);
    onPhase('reclaim');
    cycle.probe?.('verdicts', 0);
    this.#verdicts.record();
    assignments.countsBefore = null; // every need has its assignment by now
    onPhase('verdicts');
    this.#decided = cycle.number;
    if (this.isUndecided) this.#useSaved();
    return {
      changedMachines,
      changedClusters: this.#dirtyClusters.length,
      evaluatedNeeds: this.#credit.evaluatedCount,
      unmetNeeds: unmet.count,
    };
  }

  /** T2: the need that the engine worked on when it threw; null if it worked on none. */
  culprit(): NeedRefs | null {
    const { cycle, needs, assignments } = this.#tables;
    if (cycle.need < 0) return null;
    const assignment = needs.assignment[cycle.need]!;
    return {
      cluster: needs.cluster[cycle.need]!,
      fingerprint: assignments.fingerprint[assignment]!,
      group: assignments.group[assignment]!,
    };
  }

  /**
   * T2, after a throw: forgets everything and takes over what no table holds: drains, and counts of parking, unmet cycles
   * and shortfalls. The next cycle reads all tables. Returns '' or what could not be taken over.
   */
  rebuild(): string {
    let lost = '';
    this.actions.clear();
    this.#tables.cycle.number = this.#decided;
    const before = this.#verdicts;
    try {
      // A second throw finds half of what the first rebuild took over, so that is kept until a cycle has used it.
      this.#saved ??= {
        ...this.remember(),
        verdicts: before,
        pending: this.#tables.assignments.countsBefore,
      };
    } catch (error) {
      lost = `drains and counts are lost (${String(error)})`;
    }
    try {
      this.close();
    } catch (error) {
      lost ||= `the tables keep references that no part uses (${String(error)})`;
    }
    this.#tables = createTables(this.#options);
    this.#verdicts = new Verdicts(this.#tables);
    this.#createStages();
    this.inspect(this.#tables, this.#verdicts);
    this.isUndecided = true;
    if (this.#saved !== null) {
      this.recall(this.#saved.memory);
      this.#verdicts.adopt(this.#saved.verdicts);
      const { assignments } = this.#tables;
      const { pending } = this.#saved;
      if (pending !== null)
        assignments.countsBefore = new Map([...pending, ...(assignments.countsBefore ?? [])]);
    } else this.#tables.cycle.number = this.#decided;
    return lost;
  }

  #useSaved(): void {
    this.isUndecided = false;
    this.#saved?.letGo();
    this.#saved = null;
  }

  /** P6: a preempted machine counts for its need while it drains. Call this when the preemption is enqueued. */
  preemptionBegan(slot: number, cluster: number, fingerprint: number, group: number): void {
    const { fleet, drains } = this.#tables;
    fleet.newAssignments.push(drains.begin(slot, cluster, fingerprint, group));
    const state = fleet.clusters[cluster];
    if (state !== undefined) this.#sync.touchFolds(state);
  }

  /** The last cycle's outcome, as the columns that hold it. */
  result(): EngineResult {
    return resultOf(this.#tables, this.actions);
  }

  /** For a new engine beside another one: copies what no table holds: drains, and counts of parking, unmet cycles and shortfalls. */
  adopt(other: Engine): void {
    this.recall(memoryOf(other.#tables));
    this.#tables.assignments.countsBefore = other.#tables.assignments.copyCounts();
    this.#verdicts.adopt(other.#verdicts);
  }

  /** What no table holds before the next cycle, for `recall` in an engine elsewhere; its refs stay valid until `letGo`. */
  remember(): { readonly memory: EngineMemory; readonly letGo: () => void } {
    const memory = memoryOf(this.#tables);
    return { memory, letGo: holdMemory(memory, this.#tables.inventory.tables) };
  }

  recall({ cycle, counts, drains }: EngineMemory): void {
    const { cycle: current, assignments, drains: known } = this.#tables;
    current.number = cycle;
    assignments.expectCounts(counts);
    for (const [index, slot] of drains.slot.entries()) {
      known.begin(slot, drains.cluster[index]!, drains.fingerprint[index]!, drains.group[index]!);
    }
  }

  /** Starts with counts that are known already: cycles unmet (A8) and parked (A7) by need. */
  seedCounts(counts: Iterable<NeedCounts>): void {
    const next = this.#tables.cycle.number + 1;
    const { assignments } = this.#tables;
    assignments.countsBefore = new Map(
      [...counts].map(({ cluster, fingerprint, group, unmetCycles, parkedCycles }) => [
        assignments.nameOf(cluster, fingerprint, group),
        { unmetCount: unmetCycles, parkCount: parkedCycles, parkFor: next },
      ]),
    );
  }

  /** T12: what the engine interns and uses now. Unused families, which it gives back in bulk, do not count. */
  entryCounts(): { readonly assignments: number; readonly families: number; readonly filters: number } {
    const { assignments, families, filters } = this.#tables;
    return { assignments: assignments.count, families: families.usedCount, filters: filters.count };
  }

  /** Gives back every reference that the engine holds in the tables that it shares. */
  close(): void {
    const { drains, fleet, families } = this.#tables;
    for (const [slot] of drains) drains.end(slot);
    for (const cluster of fleet.clusters) if (cluster !== undefined) this.#sync.dropNeeds(cluster);
    for (let slot = 1; slot < fleet.role.length; slot++) fleet.detach(slot);
    families.regroup();
  }
}
