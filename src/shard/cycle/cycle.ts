/**
 * One cycle, from the open snapshot to the last action in the queue. It is synchronous: no other code runs meanwhile, so
 * the snapshot is the live columns (docs/adr/0002). It waits for no provider and no action.
 */
import type { Clock, Stopwatch } from '../../base/clock.ts';
import { ACTION_NAMES, ActionKind, type ActionList } from '../../decision/actions.ts';
import type { CycleCost, Engine, PhaseListener } from '../../decision/engine.ts';
import { Intent } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import type { NeedTable } from '../../needs/need-table.ts';
import type { Backlog } from '../../needs/take-up.ts';
import type { ScratchChecks } from '../check/checks.ts';
import type { DisruptionBudgets } from '../disruption/budgets.ts';
import type { Executor, Offered } from '../execute/executor.ts';
import type {
  ActionName,
  CyclePhase,
  CycleReport,
  KindCounts,
  ShardCounters,
  ShardObserver,
} from '../ports/observer.ts';
import type { Rails } from '../settings.ts';
import { GuardedDecision } from './guarded-decision.ts';
import { PreemptionCap } from './preemption-cap.ts';
import type { Probation } from './probation.ts';
import { type Admission, applyRails, restraintOf } from './rails.ts';
import type { Suspensions } from './suspensions.ts';

export interface CycleContext {
  readonly inventory: Inventory;
  readonly needs: NeedTable;
  readonly engine: Engine;
  readonly executor: Executor;
  readonly clock: Clock;
  readonly stopwatch: Stopwatch;
  readonly counters: ShardCounters;
  readonly observer: ShardObserver;
  readonly rails: () => Rails;
  /** X16: the present stretch; notices a stall first. */
  readonly stretch: () => number;
  /** X16: the thread works; nothing is written. */
  readonly beat: () => void;
  /** F2: whether the replica is confirmed. */
  readonly mayRemove: () => boolean;
  readonly cycleIntervalMs: number;
  /** X7: providers that never delete get no Delete. */
  readonly neverDelete: ReadonlySet<number>;
  /** Updates before a decision: ends of back-offs, stuck machines. */
  readonly prepare: (isOrdinary: boolean, nowMs: number) => void;
  /** From-scratch checks, around the decision, with the snapshot open. */
  readonly checks: Pick<ScratchChecks, 'beforeDecision' | 'afterDecision' | 'abandon'>;
  readonly suspensions: Suspensions;
  /** H9: a rail on reclaims, and what it used is written before they begin. */
  readonly budgets: Pick<DisruptionBudgets, 'beginCycle' | 'take' | 'giveBack' | 'commit'>;
  readonly probation: Probation;
  /** H4: whether a pause hides machines from needs, so that no count advances. */
  readonly areCountsHeld: () => boolean;
  /** O5: sends hints about available capacity, with the snapshot still open. */
  readonly hint: (nowMs: number) => void;
  /** Why no action may be emitted, apart from a failed decision; ''. */
  readonly barredBy: () => string;
  /** C2: cycles skip the decision until the first listing is complete; it would be slow, useless, and delay the listing. */
  readonly isFleetUnread: () => boolean;
}

/** Phases of the engine as the metrics call them. */
const PHASE_NAMES = {
  sync: 'snapread',
  credit: 'phase1',
  acquire: 'phase1',
  preempt: 'phase2',
  reclaim: 'phase3',
  verdicts: 'phase3',
} as const;

const NO_DECISION: CycleCost = {
  changedMachines: 0,
  changedClusters: 0,
  evaluatedNeeds: 0,
  unmetNeeds: 0,
};
const NOTHING_ADMITTED: Admission = {
  admitted: [],
  capped: 0,
  preemptionsCapped: 0,
  heldByBudgets: 0,
  deferred: 0,
  heldForProbes: 0,
  removalsHeld: 0,
};

export class Cycle {
  readonly decision: GuardedDecision;
  readonly #context: CycleContext;
  readonly #preemptionCap: PreemptionCap;
  /** By cluster: when the first of the roll-ups arrived that no decision has read yet. */
  readonly #askedMs = new Map<number, number>();
  #number = 0;
  #lastAtMs = 0;
  #hasMoreToTakeUp = false;

  constructor(context: CycleContext) {
    this.#context = context;
    this.decision = new GuardedDecision(context);
    this.#preemptionCap = new PreemptionCap({
      clusters: context.inventory.tables.clusters,
      intervalMs: context.cycleIntervalMs,
      configuredOf: (cluster) => context.engine.configuredCount(cluster),
    });
  }

  /** Of the last cycle; 0 before the first. */
  get number(): number {
    return this.#number;
  }

  get lastAtMs(): number {
    return this.#lastAtMs;
  }

  /** A roll-up that arrived at this time changed the demand of the cluster. */
  noteDemand(cluster: number, arrivedMs: number): void {
    if (!this.#askedMs.has(cluster)) this.#askedMs.set(cluster, arrivedMs);
  }

  run(isOrdinary: boolean, reconcileMs: number): CycleReport {
    const { inventory, engine, executor, clock, stopwatch, counters, rails } = this.#context;
    // X16: of the moment before the decision. If the process stands still during the cycle, its actions are outdated.
    const stretch = this.#context.stretch();
    const nowMs = clock.nowMs();
    const cycle = ++this.#number;
    this.#lastAtMs = nowMs;
    const phaseMs: Record<CyclePhase, number> = {
      reconcile: reconcileMs,
      snapread: 0,
      phase1: 0,
      phase2: 0,
      phase3: 0,
      emit: 0,
      execute: 0,
    };
    const beganMs = stopwatch();
    let markMs = beganMs;
    const mark = (phase: CyclePhase) => {
      this.#context.beat(); // a long cycle is no stall
      const atMs = stopwatch();
      phaseMs[phase] += atMs - markMs;
      markMs = atMs;
    };
    this.#context.prepare(isOrdinary, nowMs);
    const barredBy = this.#context.barredBy();
    // C2: a cycle that may not act decides like a woken one. Counts measure how long the whole fleet could not help.
    const isCounting = isOrdinary && barredBy === '';
    const cost = this.#context.isFleetUnread()
      ? NO_DECISION
      : this.#decide(isCounting, nowMs, (phase) => mark(PHASE_NAMES[phase]));
    const { actions } = engine;
    const heldBack = barredBy === '' ? this.decision.failure : barredBy;
    const restraint = restraintOf(rails());
    const mayExecute = heldBack === '' && restraint === 'none';
    const configuredOf = (cluster: number) => engine.configuredCount(cluster);
    const cap = this.#preemptionCap;
    cap.begin(nowMs, rails().preemptionCapFraction);
    const { budgets } = this.#context;
    budgets.beginCycle(nowMs);
    const admission = mayExecute
      ? applyRails(
          actions,
          rails(),
          inventory,
          configuredOf,
          this.#context.neverDelete,
          cap,
          this.#context.probation,
          budgets,
          this.#context.mayRemove(),
        )
      : NOTHING_ADMITTED;
    counters.reclaimsCapped += admission.capped;
    counters.reclaimsHeldByBudgets += admission.heldByBudgets;
    counters.preemptionsCapped += admission.preemptionsCapped;
    counters.actionsDeferred += admission.deferred;
    counters.actionsHeldForProbes += admission.heldForProbes;
    counters.removalsHeld += admission.removalsHeld;
    if (heldBack === '' && restraint !== 'none') {
      for (let index = 0; index < actions.count; index++) executor.record(actions, index, cycle, restraint);
    }
    mark('emit');
    if (!mayExecute) executor.withdrawAll();
    const offered = executor.offer(actions, admission.admitted, cycle, stretch);
    if (offered.dropped > 0) this.#giveBack(actions, admission.admitted);
    budgets.commit();
    mark('execute');
    const decided = decidedCounts(actions);
    const isCounted = heldBack === '';
    return {
      cycle,
      atMs: nowMs,
      isOrdinary,
      durationMs: stopwatch() - beganMs,
      phaseMs,
      decided: isCounted ? decided : NO_COUNTS,
      enqueued: enqueuedCounts(offered),
      suppressed: isCounted && restraint === 'suppressed' ? decided : NO_COUNTS,
      dryRun: isCounted && restraint === 'dryrun' ? decided : NO_COUNTS,
      capped: admission.capped,
      preemptionsCapped: admission.preemptionsCapped,
      deferred: admission.deferred,
      dropped: offered.dropped,
      deduped: offered.deduped,
      withdrawn: offered.withdrawn,
      ...cost,
      unmetNeeds: cost === NO_DECISION ? 0 : engine.unmetCount,
      heldBack,
    };
  }

  /** T9, H9: a preemption or a reclaim that found no room in the queue uses nothing. */
  #giveBack(actions: ActionList, admitted: readonly number[]): void {
    const { inventory, budgets } = this.#context;
    for (const index of admitted) {
      const slot = actions.slot[index]!;
      if (inventory.columns.intent[slot] !== Intent.None) continue;
      if (actions.kind[index] === ActionKind.Preempt) this.#preemptionCap.giveBack(actions, index);
      else if (actions.kind[index] === ActionKind.Reclaim) budgets.giveBack(slot);
    }
  }

  readonly #backlogOf = (cluster: number): Backlog | null => {
    const { needs, engine } = this.#context;
    if (needs.sliceCount(cluster) === 0) return NO_BACKLOG;
    return engine.backlogOf(cluster, needs.versionOf(cluster));
  };

  readonly #comparesShapes = (profile: number): boolean => this.#context.engine.comparesShapes(profile);

  /** T7: the last cycle left rows of a large roll-up that the next one can take up. */
  get hasMoreToTakeUp(): boolean {
    return this.#hasMoreToTakeUp;
  }

  #decide(isOrdinary: boolean, nowMs: number, mark: PhaseListener): CycleCost {
    const { inventory, needs, checks, hint } = this.#context;
    const hasMoreToTakeUp = needs.takeUp(isOrdinary, this.#backlogOf, this.#comparesShapes);
    const snapshot = inventory.snapshot();
    try {
      const areCountsHeld = this.#context.areCountsHeld();
      const input = { nowMs, isOrdinary, areCountsHeld, askedMs: this.#askedMs };
      checks.beforeDecision(input);
      const decided = this.decision.decide(input, mark);
      // T2: the check compares with what the engine remembered before it was rebuilt.
      if (decided?.throws === 0) checks.afterDecision(input);
      else checks.abandon();
      hint(nowMs);
      if (decided !== null) this.#askedMs.clear();
      this.#hasMoreToTakeUp = hasMoreToTakeUp && decided !== null;
      return decided?.cost ?? NO_DECISION;
    } finally {
      snapshot.close();
    }
  }
}

const NO_BACKLOG: Backlog = { unmet: [], idle: [] };
const NO_COUNTS: KindCounts = { Bootstrap: 0, Provision: 0, Reclaim: 0, Preempt: 0, Delete: 0 };

function decidedCounts(actions: ActionList): KindCounts {
  const counts = { ...NO_COUNTS };
  for (let index = 0; index < actions.count; index++) {
    const kind = actions.kind[index]! as ActionKind;
    if (kind !== ActionKind.Withdraw) counts[ACTION_NAMES[kind] as ActionName]++;
  }
  return counts;
}

function enqueuedCounts({ enqueued }: Offered): KindCounts {
  const counts = { ...NO_COUNTS };
  for (const name of Object.keys(NO_COUNTS) as ActionName[]) counts[name] = enqueued[ActionKind[name]]!;
  return counts;
}
