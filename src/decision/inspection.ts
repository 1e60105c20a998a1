/**
 * What the shard asks an engine between two cycles: verdicts, claims, drains. Reads only, and answers as of the last
 * cycle. Names of needs are refs into the inventory's tables.
 */
import type { Backlog } from '../needs/take-up.ts';
import type { GangDomains } from './assign/gang-domains.ts';
import { type EngineNeeds, NeedKind } from './demand/engine-needs.ts';
import type { EngineTables } from './engine-tables.ts';
import type { AssignmentTable } from './supply/assignments.ts';
import type { Drains } from './supply/drains.ts';
import type { Filters } from './supply/filters.ts';
import type { Fleet } from './supply/fleet.ts';
import type { Supply } from './supply/supply.ts';
import type { Lack } from './verdicts/lacks.ts';
import type { Shortfall } from './verdicts/shortfalls.ts';
import type { Verdict, Verdicts } from './verdicts/verdicts.ts';

/** A need by its name. */
export interface NeedRefs {
  readonly cluster: number;
  readonly fingerprint: number;
  readonly group: number;
}

/** H5: the need that holds a leaving machine. */
export interface LeavingStay extends NeedRefs {
  /** Of a gang: where its replacement must be; else ''. */
  readonly domain: string;
  /** No machine is on its way to replace it. */
  readonly isShort: boolean;
}

/** T2: of an engine that was rebuilt and has not decided yet. */
const NO_VERDICT: Verdict = {
  satisfied: false,
  deficit: {},
  claimed: 0,
  bootstraps: 0,
  provisions: 0,
  domain: '',
  satisfiable: true,
  parked: false,
  parkedCycles: 0,
  cyclesUnmet: 0,
  reason: 0,
  limitedBy: '',
};

export class Inspection {
  #assignments!: AssignmentTable;
  #fleet!: Fleet;
  #supply!: Supply;
  #needs!: EngineNeeds;
  #drains!: Drains;
  #filters!: Filters;
  #domains!: GangDomains;
  #verdicts!: Verdicts;
  /** T2: rebuilt after a throw, and has decided nothing since. */
  protected isUndecided = false;

  constructor(tables: EngineTables, verdicts: Verdicts) {
    this.inspect(tables, verdicts);
  }

  protected inspect(tables: EngineTables, verdicts: Verdicts): void {
    const { assignments, fleet, supply, needs, drains, domains, filters } = tables;
    this.#assignments = assignments;
    this.#fleet = fleet;
    this.#supply = supply;
    this.#needs = needs;
    this.#drains = drains;
    this.#filters = filters;
    this.#domains = domains;
    this.#verdicts = verdicts;
  }

  get shortfalls(): readonly Shortfall[] {
    return this.#verdicts.shortfalls;
  }

  /** The verdict on a row of the cluster's slice in the need table. */
  verdict(cluster: number, row: number): Verdict {
    const state = this.#fleet.clusters[cluster];
    if (state === undefined) return NO_VERDICT;
    const need = state.rowNeed[row]!;
    let member = 0;
    if (this.#needs.kind[need] === NeedKind.Fold) {
      for (let before = 0; before < row; before++) if (state.rowNeed[before] === need) member++;
    }
    return this.#verdicts.verdictOf(state, row, member);
  }

  /** T7: whether needs of this profile are compared with each shape of machines: they name a rack, for example, or a host. */
  comparesShapes(profile: number): boolean {
    return this.#filters.looksBeyondFamilies(profile);
  }

  /** T7: the rows of a cluster that the last cycle left unmet; null if it did not read this version of them. */
  backlogOf(cluster: number, version: number): Backlog | null {
    const state = this.#fleet.clusters[cluster];
    if (state?.readVersion !== version) return null;
    const unmet: number[] = [];
    const idle: number[] = [];
    this.#verdicts.unmetRowsOf(cluster, (row, isIdle) => {
      unmet.push(row);
      if (isIdle) idle.push(row);
    });
    const ascending = (a: number, b: number) => a - b;
    return { unmet: unmet.sort(ascending), idle: idle.sort(ascending) };
  }

  /** The verdicts on all rows of a cluster, in order and in one pass: rows of the roll-up that the last cycle read. */
  verdictsOf(cluster: number, visit: (row: number, verdict: Verdict) => void): void {
    const state = this.#fleet.clusters[cluster];
    if (state === undefined) return;
    const membersSeen = new Uint32Array(state.needSpan); // by need: rows before this one
    for (let row = 0; row < state.rowCount; row++) {
      const member = membersSeen[state.rowNeed[row]! - state.needStart]!++;
      visit(row, this.#verdicts.verdictOf(state, row, member));
    }
  }

  /** How many rows the last cycle did not satisfy. */
  get unmetCount(): number {
    return this.#verdicts.unmetCount;
  }

  /** The rows that the last cycle did not satisfy, in no order; costs as much as there are, not as the fleet is large. */
  unmetRows(visit: (cluster: number, row: number) => void): void {
    this.#verdicts.unmetRows(visit);
  }

  /** The rows that the last cycle did not satisfy, counted by priority. */
  unmetByPriority(): Map<number, number> {
    const counts = new Map<number, number>();
    this.#verdicts.unmetRows((cluster, row) => {
      const need = this.#fleet.clusterState(cluster).rowNeed[row]!;
      const priority = this.#needs.priority[need]!;
      counts.set(priority, (counts.get(priority) ?? 0) + 1);
    });
    return counts;
  }

  /**
   * X2 (an action starts only while its need exists): whether the last cycle had a need, a row or a fold, of this name.
   * A row that folds counts as itself while a machine carries its assignment, as the machine of a queued action does.
   */
  isLiveNeed(cluster: number, fingerprint: number, group: number): boolean {
    if (this.isUndecided) return true; // not known, so no reason to give up the action
    const assignment = this.#assignments.find(cluster, fingerprint, group);
    return (
      assignment !== 0 &&
      (this.#assignments.carriers[assignment]! > 0 || this.#assignments.rowCount[assignment]! > 0)
    );
  }

  /** A7: for how many ordinary cycles in a row no domain could hold the row's gang. */
  parkingCount(cluster: number, row: number): number {
    const state = this.#fleet.clusters[cluster];
    return state === undefined ? 0 : this.#verdicts.parkingCount(state.rowAssignment[row]!);
  }

  /** For measurements: what the need lacks, apart from machines that are enqueued or bound for it; null if nothing. */
  lackOf(cluster: number, fingerprint: number, group: number): Lack | null {
    return this.#verdicts.lacks.of(this.#assignments.find(cluster, fingerprint, group));
  }

  /** For the history: visits the needs that became unmet or met since the last call; returns how many more did. */
  takeFlips(visit: (need: NeedRefs, reason: number) => void): number {
    const { flips, untold } = this.#verdicts.lacks.takeFlips();
    for (const { assignment, reason } of flips) visit(this.#nameOf(assignment), reason);
    return untold;
  }

  /** The need that claims a machine in this cycle; null if none does. */
  claimOf(slot: number): NeedRefs | null {
    let need = this.#supply.takenBy[slot]! - 1;
    if (need < 0) need = this.#fleet.claimant(slot);
    return need < 0 ? null : this.#nameOf(this.#needs.assignment[need]!);
  }

  /** H5: the need that a leaving machine stays for, and whether its replacement is still to be found; null: for none. */
  stayFor(slot: number): LeavingStay | null {
    const need = this.#fleet.heldFor[slot]! - 1;
    if (need < 0) return null;
    const assignment = this.#needs.assignment[need]!;
    const isGang = this.#needs.kind[need] === NeedKind.Gang;
    const domain = isGang ? this.#domains.ofGang(need).textOf(this.#needs.domain[need]!) : '';
    return { ...this.#nameOf(assignment), domain, isShort: this.#verdicts.lacks.of(assignment) !== null };
  }

  /** The need that serves a row: its own name, or that of its fold. */
  servedAs(cluster: number, row: number): NeedRefs {
    const state = this.#fleet.clusters[cluster];
    if (state === undefined) return { cluster, fingerprint: 0, group: 0 };
    return this.#nameOf(this.#needs.assignment[state.rowNeed[row]!]!);
  }

  /** A1: whether the row is served as a member of a fold. */
  isFolded(cluster: number, row: number): boolean {
    const need = this.#fleet.clusters[cluster]?.rowNeed[row];
    return need !== undefined && this.#needs.kind[need] === NeedKind.Fold;
  }

  /** A1: machines that serve the row together with others, as a member of a fold; 0 if it has its own. */
  sharedMachines(cluster: number, row: number): number {
    const need = this.#fleet.clusters[cluster]?.rowNeed[row];
    if (need === undefined || this.#needs.kind[need] !== NeedKind.Fold) return 0;
    return this.#verdicts.machinesOf(need);
  }

  /** The cluster's Configured machines. X1: an enqueued reclaim or preemption counts as Draining already. */
  configuredCount(cluster: number): number {
    return this.#fleet.clusters[cluster]?.configuredCount ?? 0;
  }

  /** The need that a machine was preempted for and that counts it (P6); null if none is known. */
  drainOf(slot: number): NeedRefs | null {
    const assignment = this.#drains.assignmentOf(slot);
    return assignment === 0 ? null : this.#nameOf(assignment);
  }

  /** The machines that drain for a need. */
  drainsFor(cluster: number, fingerprint: number, group: number): readonly number[] {
    const assignment = this.#assignments.find(cluster, fingerprint, group);
    return assignment === 0 ? [] : this.#drains.slotsFor(assignment);
  }

  #nameOf(assignment: number): NeedRefs {
    const { cluster, fingerprint, group } = this.#assignments;
    return {
      cluster: cluster[assignment]!,
      fingerprint: fingerprint[assignment]!,
      group: group[assignment]!,
    };
  }
}
