/**
 * Gangs: one domain serves a need with a Same requirement, or none does (A5, A6). A gang is in one of three states:
 *
 *   settled   Its own machines cover it in exactly one domain. Nothing else moves it; most gangs are settled.
 *   local     Other machines of its cluster cover it in some domain. It is looked at when it loses a machine, or when one
 *             becomes available to it in its cluster.
 *   waiting   It ranks every domain in which it has, or could get, machines, and reserves what it will acquire there
 *             (gang-reservation.ts), in every cycle in which machines outside its cluster count for it. What it counted in
 *             its cluster is kept while nothing changes there (gang-counts.ts).
 *
 * Which machines count: gang-machines.ts. Which domain is best: domain-tally.ts. What it is credited: gang-credit.ts.
 */

import type { VectorTable } from '../../base/vectors.ts';
import type { ClusterState } from '../cluster-state.ts';
import { type EngineNeeds, Mark } from '../demand/engine-needs.ts';
import type { EngineTables } from '../engine-tables.ts';
import type { Limits } from '../limits.ts';
import type { Restrictions } from '../restrictions.ts';
import type { Filters } from '../supply/filters.ts';
import type { Supply } from '../supply/supply.ts';
import { DomainTally } from './domain-tally.ts';
import { GangCounts } from './gang-counts.ts';
import { GangCredit } from './gang-credit.ts';
import type { GangDomains } from './gang-domains.ts';
import { GangMachines } from './gang-machines.ts';
import { GangReservation } from './gang-reservation.ts';
import type { GangTurn } from './gang-turn.ts';

export class Gangs {
  readonly #vectors: VectorTable;
  readonly #filters: Filters;
  readonly #needs: EngineNeeds;
  readonly #supply: Supply;
  readonly #restrictions: Restrictions;
  readonly #limits: Limits;
  readonly #domains: GangDomains;
  readonly #tally: DomainTally;
  readonly #counts = new GangCounts();
  readonly #credit: GangCredit;
  readonly #machines: GangMachines;
  readonly #reservation: GangReservation;

  constructor(tables: EngineTables) {
    this.#vectors = tables.vectors;
    this.#filters = tables.filters;
    this.#needs = tables.needs;
    this.#supply = tables.supply;
    this.#restrictions = tables.restrictions;
    this.#limits = tables.limits;
    this.#domains = tables.domains;
    this.#tally = new DomainTally(tables.vectors, tables.families);
    this.#credit = new GangCredit(tables);
    this.#machines = new GangMachines(tables, this.#credit);
    this.#reservation = new GangReservation(tables);
  }

  beginCycle(): void {
    this.#supply.beginCycle();
  }

  /** The cluster's needs are about to be rebuilt: which machines are assigned to other gangs may change. */
  forget(cluster: ClusterState): void {
    const needs = this.#needs;
    const end = cluster.needStart + cluster.needSpan;
    let need = needs.nextWatched(cluster.needStart, end);
    for (; need < end; need = needs.nextWatched(need + 1, end)) {
      needs.set(need, Mark.Local, false);
      this.#counts.drop(need);
    }
  }

  /** Credits the gang if its own machines settle it. False: nothing was done. */
  trySettle(cluster: ClusterState, index: number): boolean {
    return this.#settle(this.#turnOf(cluster, index));
  }

  /**
   * Whether a waiting gang may choose differently from the last time: its cluster changed, or machines outside counted then
   * or count now. In scarcity most waiting gangs are parked, or nothing that they could acquire is there.
   */
  mayMove(cluster: ClusterState, need: number): boolean {
    if (!this.#counts.isCurrent(cluster, need) || !this.#counts.wasAlone(need)) return true;
    const isParked = this.#restrictions.isParked(need);
    return isParked !== this.#needs.has(need, Mark.Parked) || !this.#isAlone(need, isParked);
  }

  /** Chooses the gang's domain, credits the gang there, and reserves what it will acquire. */
  evaluate(cluster: ClusterState, index: number): void {
    const turn = this.#turnOf(cluster, index);
    const { need } = turn;
    const needs = this.#needs;
    const isAsCounted = this.#counts.isCurrent(cluster, need);
    if (!isAsCounted && this.#settle(turn)) return;
    const tally = this.#tally.begin(needs.aggregate[need]!, turn.domains);
    if (isAsCounted) this.#counts.restore(need, tally);
    else if (this.#countInCluster(turn)) return;
    const isParked = this.#restrictions.isParked(need);
    if (!isParked) this.#machines.tallyOutside(turn, tally);
    const domain = tally.choose();
    const satisfiable = domain !== 0 && tally.covers(domain);
    const isAsCredited =
      isAsCounted && domain === needs.domain[need] && satisfiable === needs.has(need, Mark.Satisfiable);
    if (!isAsCredited) this.#credit.credit(turn, domain, satisfiable);
    this.#counts.confirm(cluster, need, this.#isAlone(need, isParked));
    needs.set(need, Mark.Parked, isParked);
    if (!isParked && domain !== 0 && !this.#restrictions.isBarred(need)) this.#reservation.reserve(turn);
  }

  #turnOf(cluster: ClusterState, index: number): GangTurn {
    const need = cluster.needStart + index;
    const filter = this.#filters.get(this.#needs.filter[need]!);
    return { cluster, index, need, filter, domains: this.#domains.ofGang(need) };
  }

  /** A domain that own machines cover wins over every other (A5: its creditable and own coverage are complete). */
  #settle(turn: GangTurn): boolean {
    const { need } = turn;
    const aggregate = this.#needs.aggregate[need]!;
    if (this.#vectors.length[aggregate] === 0) {
      this.#credit.creditNothing(turn);
      return true;
    }
    if (this.#machines.hasLeaving(turn)) return false;
    const tally = this.#tally.begin(aggregate, turn.domains);
    this.#machines.tallyOwn(turn, tally);
    const domain = tally.onlyDomainCoveredByOwn();
    if (domain === 0) return false;
    this.#credit.credit(turn, domain, true);
    this.#needs.set(need, Mark.Unsettled, false);
    this.#counts.drop(need);
    return true;
  }

  /** Counts the gang's own and creditable machines in its cluster. If those cover it, credits it and returns true. */
  #countInCluster(turn: GangTurn): boolean {
    const { need } = turn;
    const tally = this.#tally;
    this.#machines.tallyOwn(turn, tally);
    this.#machines.tallyOthers(turn, tally);
    // H5: leaving machines keep the gang in its domain and cover nothing, so it must look for others there.
    const local = this.#machines.hasLeaving(turn) ? 0 : tally.bestCoveredByCreditable();
    if (local === 0) {
      this.#counts.keep(need, tally);
      return false;
    }
    // Creditable machines cover it, so unassigned ones decide nothing, here or elsewhere (docs/adr/0037).
    this.#credit.credit(turn, local, true);
    this.#needs.mark(need, Mark.Local);
    this.#counts.drop(need);
    return true;
  }

  /** Whether creditable machines alone count in this cycle. T8: limits are checked in every cycle. */
  #isAlone(need: number, isParked: boolean): boolean {
    if (isParked) return true;
    const hasLimits = this.#limits.isLimited(this.#needs.cluster[need]!);
    return !hasLimits && !this.#machines.areOutside(need);
  }
}
