/**
 * Disruption budgets (H9): how many machines of a place lose their cluster by a reclaim, in a rolling window and at one time, and when.
 * They are a rail after R2. A cycle counts the machines of each place at most once, and only if it has a reclaim to admit. What it
 * uses is written before the reclaims begin: a process that dies in between has used too much, and none too little.
 */
import type { Clock } from '../../base/clock.ts';
import { Flag, Intent } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { MachineState } from '../../machine/state.ts';
import type { MachineChanged } from '../machines/changes.ts';
import type { BudgetAmount, BudgetHold, BudgetView, DisruptionBudget, UsageStore } from '../ports/budgets.ts';
import type { ShardObserver } from '../ports/observer.ts';
import { isInScope, type ScopeRefs, scopeRefs } from './machine-scope.ts';
import { Usage, type UsedKind } from './usage.ts';

const S = MachineState;

export interface DisruptionBudgetsOptions {
  readonly inventory: Inventory;
  readonly providerNames: readonly string[];
  readonly declared: readonly DisruptionBudget[];
  readonly clock: Clock;
  readonly observer: ShardObserver;
  /** Where the last process left what it used. Default: what is used ends with the process. */
  readonly usage?: {
    /** null: nothing was stored. A throw: it cannot be read, so it counts as used up. */
    readonly read: () => string | null;
    readonly store: UsageStore;
  };
  /** P6: the machine drains for a need. */
  readonly isPreempted: (slot: number) => boolean;
}

/** A budget as a cycle sees it. */
interface Counted {
  readonly budget: DisruptionBudget;
  readonly refs: ScopeRefs;
  machines: number;
  draining: number;
}

/** The reclaims of one cycle, which begin when what they use is written. */
interface Batch {
  readonly slots: Set<number>;
  readonly written: Promise<boolean>;
  readonly end: (isWritten: boolean) => void;
}

export class DisruptionBudgets {
  readonly #options: DisruptionBudgetsOptions;
  readonly #usage = new Usage();
  #budgets: readonly DisruptionBudget[];
  /** Of this cycle; null: not counted yet. */
  #counted: Counted[] | null = null;
  #nowMs = 0;
  #batch: Batch | null = null;
  #hasNews = false;

  constructor(options: DisruptionBudgetsOptions) {
    this.#options = options;
    this.#budgets = options.declared;
  }

  /** Reads what was used before. Once, before the first cycle of a shard that acts. */
  begin(): void {
    const { usage, clock, observer } = this.#options;
    if (usage === undefined) return;
    let why = 'no shard wrote this';
    try {
      const stored = usage.read();
      if (stored === null || this.#usage.read(stored)) return;
    } catch (error) {
      why = (error as Error).message;
    }
    this.#usage.forget(clock.nowMs());
    this.#hasNews = true;
    observer.happened({
      kind: 'budget_usage_unread',
      level: 'error',
      detail: `what the disruption budgets used cannot be read: ${why}`,
      next: 'nothing: each budget counts as used up for one window from now on. flotilla budgets shows until when',
    });
  }

  declare(budgets: readonly DisruptionBudget[]): void {
    this.#budgets = budgets;
    this.#counted = null;
  }

  beginCycle(nowMs: number): void {
    this.#counted = null;
    this.#nowMs = nowMs;
  }

  /** Whether every budget of the machine has room for its reclaim. If so, each has used it. */
  take(slot: number): boolean {
    if (this.#budgets.length === 0) return true;
    const own = this.#own(this.#count(this.#nowMs), slot);
    // H5: a machine that a person drains counts, and no budget holds it.
    const isByHand = this.#options.inventory.hasFlag(slot, Flag.Leaving);
    if (!isByHand && own.some((counted) => this.#holdOf(counted, this.#nowMs) !== '')) return false;
    if (own.length === 0) return true;
    for (const counted of own) {
      counted.draining++;
      this.#note(counted.budget, 'reclaimed', 1, this.#nowMs);
    }
    this.#batch ??= openBatch();
    this.#batch.slots.add(slot);
    return true;
  }

  /** The reclaim is not begun in this cycle. */
  giveBack(slot: number): void {
    if (this.#batch?.slots.delete(slot) !== true) return;
    for (const counted of this.#own(this.#count(this.#nowMs), slot)) {
      counted.draining--;
      this.#note(counted.budget, 'reclaimed', -1, this.#nowMs);
    }
  }

  /** The reclaims of the cycle are in the queue: what they use is written, and then they begin. */
  commit(): void {
    const { usage, observer } = this.#options;
    const batch = this.#batch;
    this.#batch = null;
    if (!this.#hasNews) {
      batch?.end(true);
      return;
    }
    this.#hasNews = false;
    const written = usage?.store.write(this.#usage.write(this.#nowMs)) ?? Promise.resolve();
    written.then(
      () => batch?.end(true),
      (error: Error) => {
        this.#hasNews = true; // with the next cycle
        observer.happened({
          kind: 'budget_usage_not_written',
          level: 'error',
          detail: `the reclaims of this cycle are not begun: ${error.message}`,
          next: 'repair the data directory, or the directory; until then the shard reclaims nothing that a budget is about',
        });
        batch?.end(false);
      },
    );
  }

  /** Null: no budget is about the reclaim of this cycle. Else whether it may begin, once what it uses is written. */
  whenWritten(slot: number): Promise<boolean> | null {
    return this.#batch?.slots.has(slot) === true ? this.#batch.written : null;
  }

  preempted(slot: number): void {
    this.#noteOf(slot, 'preempted', this.#options.inventory.columns.cluster[slot]!);
  }

  /** A machine that drains, or has drained, without an action of the shard was drained by hand. It counts, and no budget holds it. */
  changed({ slot, from, to, source, clusterBefore }: Readonly<MachineChanged>): void {
    if (this.#budgets.length === 0 || source === 'local' || from !== S.Configured) return;
    if (to !== S.Draining && to !== S.Idle) return;
    if (this.#options.inventory.columns.intent[slot] === Intent.None)
      this.#noteOf(slot, 'reclaimed', clusterBefore);
  }

  /** The first budget that keeps the machine with its cluster now; null if none does. */
  keeping(slot: number): BudgetView | null {
    if (this.#budgets.length === 0) return null;
    const nowMs = this.#options.clock.nowMs();
    const own = this.#own(this.#countNow(), slot);
    const holding = own.find((counted) => this.#holdOf(counted, nowMs) !== '');
    return holding === undefined ? null : this.#viewOf(holding, nowMs);
  }

  views(): BudgetView[] {
    const nowMs = this.#options.clock.nowMs();
    return this.#countNow().map((counted) => this.#viewOf(counted, nowMs));
  }

  #noteOf(slot: number, kind: UsedKind, cluster: number): void {
    const { inventory, providerNames, clock } = this.#options;
    for (const budget of this.#budgets)
      if (isInScope(inventory, scopeRefs(inventory, providerNames, budget.scope), slot, cluster))
        this.#note(budget, kind, 1, clock.nowMs());
  }

  #note({ name, perWindow }: DisruptionBudget, kind: UsedKind, count: number, nowMs: number): void {
    if (perWindow === null) return;
    this.#usage.add(name, perWindow.windowMs, kind, count, nowMs);
    this.#hasNews = true;
  }

  #own(counted: readonly Counted[], slot: number): Counted[] {
    return counted.filter(({ refs }) => isInScope(this.#options.inventory, refs, slot));
  }

  #count(nowMs: number): Counted[] {
    this.#nowMs = nowMs;
    this.#counted ??= this.#countNow();
    return this.#counted;
  }

  /** One pass over the fleet: a few milliseconds for half a million machines. */
  #countNow(): Counted[] {
    const { inventory, providerNames, isPreempted } = this.#options;
    const { state, intent, slotLimit } = inventory.columns;
    const all = this.#budgets.map(
      (budget): Counted => ({
        budget,
        refs: scopeRefs(inventory, providerNames, budget.scope),
        machines: 0,
        draining: 0,
      }),
    );
    if (all.length === 0) return all;
    for (let slot = 1; slot < slotLimit; slot++) {
      if (state[slot] !== S.Configured && state[slot] !== S.Draining) continue;
      // X1: an enqueued Reclaim counts as Draining.
      const isLeaving = state[slot] === S.Draining || intent[slot] === Intent.Reclaim;
      const isDisrupted = isLeaving && !isPreempted(slot);
      for (const one of all) {
        if (!isInScope(inventory, one.refs, slot)) continue;
        one.machines++;
        if (isDisrupted) one.draining++;
      }
    }
    return all;
  }

  #holdOf({ budget, machines, draining }: Counted, nowMs: number): BudgetHold | '' {
    const { name, perWindow, atATime, schedule } = budget;
    if (schedule !== null && !schedule.isOpenAt(nowMs)) return 'closed';
    if (perWindow !== null) {
      const { windowMs, most } = perWindow;
      if (this.#usage.isUnread(windowMs, nowMs)) return 'unread';
      if (this.#usage.count(name, windowMs, 'reclaimed', nowMs) >= amountOf(most, machines)) return 'used_up';
    }
    return atATime !== null && draining >= amountOf(atATime, machines) ? 'draining' : '';
  }

  #viewOf(counted: Counted, nowMs: number): BudgetView {
    const { budget, machines, draining } = counted;
    const { name, scope, perWindow, atATime, schedule } = budget;
    const windowMs = perWindow?.windowMs ?? null;
    const used = (kind: UsedKind) => (windowMs === null ? 0 : this.#usage.count(name, windowMs, kind, nowMs));
    return {
      name,
      scope,
      machines,
      windowMs,
      used: used('reclaimed'),
      most: perWindow === null ? null : amountOf(perWindow.most, machines),
      givenBackMs: windowMs === null ? null : this.#usage.givenBackMs(name, windowMs, nowMs),
      draining,
      drainingMost: atATime === null ? null : amountOf(atATime, machines),
      preempted: used('preempted'),
      isOpen: schedule?.isOpenAt(nowMs) ?? true,
      closesMs: schedule?.closesMs(nowMs) ?? null,
      opensMs: schedule?.opensMs(nowMs) ?? null,
      holds: this.#holdOf(counted, nowMs),
    };
  }
}

/** A share of a small place is at least one machine, as for R2; a share of zero is none. */
function amountOf(amount: BudgetAmount, machines: number): number {
  if ('count' in amount) return amount.count;
  return amount.percent === 0 ? 0 : Math.max(1, Math.floor((amount.percent * machines) / 100));
}

function openBatch(): Batch {
  let end: (isWritten: boolean) => void = () => {};
  const written = new Promise<boolean>((resolve) => {
    end = resolve;
  });
  return { slots: new Set(), written, end };
}
