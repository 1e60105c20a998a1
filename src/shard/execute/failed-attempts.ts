/**
 * What failed bootstraps and drains lead to. Each ends here, whenever and however the shard learns of it, and counts against the
 * need (X5), the cluster's budget (X14), and the offering or provider if many fail there (X15). Drains count against the cluster
 * that gives the machine up.
 */
import type { Engine } from '../../decision/engine.ts';
import { Flag, Intent, isBinding } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { MachineState } from '../../machine/state.ts';
import type { Requirement } from '../../needs/requirements.ts';
import { Probation } from '../cycle/probation.ts';
import type { Backoffs } from '../machines/backoff.ts';
import { matchingFree } from '../machines/matching-free.ts';
import { type Outcome, Outcomes } from '../machines/outcomes.ts';
import { SharedFaults } from '../machines/shared-faults.ts';
import type { ShardCounters, ShardObserver } from '../ports/observer.ts';
import { BurnBudget } from './burn-budget.ts';
import { NeedBackoffs } from './need-backoff.ts';

const S = MachineState;

export interface FailedAttemptsOptions {
  readonly inventory: Inventory;
  readonly engine: () => Engine;
  readonly backoffs: Backoffs;
  readonly observer: ShardObserver;
  readonly counters: ShardCounters;
  readonly providerNames: readonly string[];
  readonly nowMs: () => number;
  /** X14: largest share of the matching free machines that a cluster may burn in an hour; 0 = no limit. */
  readonly burnFraction: () => number;
  readonly requirementsOf: (cluster: number, fingerprint: number) => readonly Requirement[];
  /** X5: withdraws the bindings of a need that wait for their turn. */
  readonly withdrawFor: (cluster: number, fingerprint: number, group: number) => void;
}

export class FailedAttempts {
  readonly needs: NeedBackoffs;
  readonly drains: NeedBackoffs;
  readonly faults: SharedFaults;
  readonly outcomes: Outcomes;
  readonly probation: Probation;
  readonly #options: FailedAttemptsOptions;
  readonly #bootstrapBudget: BurnBudget;
  readonly #drainBudget: BurnBudget;
  /** Clusters whose Configured machines are flagged, because their drains fail. */
  readonly #flagged = new Set<number>();

  constructor(options: FailedAttemptsOptions) {
    const { inventory, backoffs, burnFraction } = options;
    const { tables } = inventory;
    this.#options = options;
    this.#bootstrapBudget = new BurnBudget(tables.clusters, burnFraction);
    this.#drainBudget = new BurnBudget(tables.clusters, burnFraction);
    this.needs = new NeedBackoffs({
      tables,
      budget: this.#bootstrapBudget,
      isLive: (cluster, fingerprint, group) => options.engine().isLiveNeed(cluster, fingerprint, group),
      isTried: (slot, cluster, fingerprint, group) => this.#isTriedFor(slot, cluster, fingerprint, group),
    });
    this.drains = new NeedBackoffs({
      tables,
      budget: this.#drainBudget,
      isLive: () => true,
      isTried: (slot, cluster) => this.#isDraining(slot) && inventory.columns.cluster[slot] === cluster,
    });
    this.faults = new SharedFaults({
      ...options,
      refresh: (slot) => backoffs.refresh(slot),
      absolve: ({ kind, cluster, fingerprint, group }) => this.#of(kind).absolve(cluster, fingerprint, group),
      isTried: (slot, kind) => (kind === 'drain' ? this.#isDraining(slot) : this.#isBeingBound(slot)),
    });
    this.outcomes = new Outcomes(inventory, (outcome) => this.#ended(outcome));
    this.probation = new Probation(this);
    backoffs.isBarredElsewhere = (slot) => this.#bars(slot);
  }

  /** X14: machines burned in the last hour. */
  get burnedCount(): number {
    return this.#bootstrapBudget.count + this.#drainBudget.count;
  }

  /** X14: clusters that have spent a budget. */
  get spentCount(): number {
    return this.needs.spentCount + this.drains.spentCount;
  }

  /** Before each cycle. */
  expire(nowMs: number): void {
    this.needs.expire(nowMs);
    this.drains.expire(nowMs);
    this.faults.expire(nowMs);
    const barred = new Set<number>();
    const refs = this.drains.barredRefs();
    for (let at = 0; at < refs.length; at += 3) barred.add(refs[at]!);
    const changed = [...new Set([...barred, ...this.#flagged])].filter(
      (cluster) => barred.has(cluster) !== this.#flagged.has(cluster),
    );
    for (const cluster of changed) {
      if (barred.has(cluster)) this.#flagged.add(cluster);
      else this.#flagged.delete(cluster);
      this.#refresh(cluster);
    }
  }

  #ended(outcome: Outcome): void {
    const { counters, nowMs, withdrawFor } = this.#options;
    const { kind, cluster, fingerprint, group, slot, isSuccess, isBurned, text } = outcome;
    const backoffs = this.#of(kind);
    if (isSuccess) {
      backoffs.succeeded(cluster, fingerprint, group);
      this.faults.ended(outcome, nowMs());
      return;
    }
    if (kind === 'drain') counters.drainsFailed++;
    else counters.bootstrapsFailed++;
    const budget = kind === 'drain' ? this.#drainBudget : this.#bootstrapBudget;
    if (isBurned) budget.burned(cluster, nowMs());
    const candidates = () => budget.countOf(cluster) + this.#candidatesOf(outcome);
    backoffs.failed(cluster, fingerprint, group, { text, slot, ...(isBurned && { candidates }) }, nowMs());
    this.faults.ended(outcome, nowMs());
    if (kind === 'bootstrap') withdrawFor(cluster, fingerprint, group);
  }

  #of(kind: Outcome['kind']): NeedBackoffs {
    return kind === 'drain' ? this.drains : this.needs;
  }

  #candidatesOf({ kind, cluster, fingerprint }: Outcome): number {
    const { inventory, requirementsOf } = this.#options;
    if (kind === 'drain') return inventory.indexes.countOfCluster(cluster, S.Configured);
    return matchingFree(inventory, requirementsOf(cluster, fingerprint));
  }

  /** Why a machine that has not failed itself is left alone. */
  #bars(slot: number): boolean {
    if (this.faults.bars(slot)) return true;
    const { state, cluster } = this.#options.inventory.columns;
    return this.#flagged.size > 0 && state[slot] === S.Configured && this.#flagged.has(cluster[slot]!);
  }

  #refresh(cluster: number): void {
    const { inventory, backoffs } = this.#options;
    const { indexes } = inventory;
    const start = indexes.startOfCluster(cluster, S.Configured);
    const end = start + indexes.countOfCluster(cluster, S.Configured);
    for (let position = start; position < end; position++) backoffs.refresh(indexes.clusterSlots[position]!);
  }

  /** A machine that is bound for the need, or that is preempted for it. A stuck one does not count. */
  #isTriedFor(slot: number, cluster: number, fingerprint: number, group: number): boolean {
    const { inventory, engine } = this.#options;
    const { columns } = inventory;
    if (this.#isDraining(slot)) {
      const need = engine().drainOf(slot);
      return need?.cluster === cluster && need.fingerprint === fingerprint && need.group === group;
    }
    return (
      this.#isBeingBound(slot) &&
      columns.cluster[slot] === cluster &&
      columns.need[slot] === fingerprint &&
      columns.group[slot] === group
    );
  }

  #isBeingBound(slot: number): boolean {
    const { inventory } = this.#options;
    const { state, intent } = inventory.columns;
    if (inventory.hasFlag(slot, Flag.Stuck)) return false;
    return isBinding(intent[slot]!) || state[slot] === S.Creating || state[slot] === S.Configuring;
  }

  #isDraining(slot: number): boolean {
    const { inventory } = this.#options;
    const { state, intent } = inventory.columns;
    if (inventory.hasFlag(slot, Flag.Stuck)) return false;
    return state[slot] === S.Draining || intent[slot] === Intent.Reclaim || intent[slot] === Intent.Preempt;
  }
}
