/** Disruption budgets (rule H9): how many machines of a place the shard may take from their clusters, and when. */
import type { ControlScope } from './controls.ts';

/** A number of machines, or a share of the bound machines of the place. */
export type BudgetAmount = { readonly count: number } | { readonly percent: number };

/** When a budget lets machines go. Made from a cron pattern and a time zone, which the shard does not know. */
export interface BudgetSchedule {
  isOpenAt(nowMs: number): boolean;
  /** Of the present window; null if none is open. */
  closesMs(nowMs: number): number | null;
  /** The next time after now at which a window opens; null: never again. */
  opensMs(nowMs: number): number | null;
}

export interface DisruptionBudget {
  /** What it has used is stored by this name. */
  readonly name: string;
  readonly scope: ControlScope;
  /** In any span of this length; null: no limit over time. */
  readonly perWindow: { readonly most: BudgetAmount; readonly windowMs: number } | null;
  /** Machines that drain at the same time; null: no limit. */
  readonly atATime: BudgetAmount | null;
  /** null: always open. */
  readonly schedule: BudgetSchedule | null;
}

export interface BudgetView {
  readonly name: string;
  readonly scope: ControlScope;
  /** Bound machines of the place: what a share is a share of. */
  readonly machines: number;
  /** null: no limit over time. */
  readonly windowMs: number | null;
  readonly used: number;
  readonly most: number | null;
  /** When the first of what is used is given back; null if nothing is used. */
  readonly givenBackMs: number | null;
  readonly draining: number;
  readonly drainingMost: number | null;
  /** Preemptions in the window; no budget limits them. */
  readonly preempted: number;
  readonly isOpen: boolean;
  /** null: it has no schedule, or no window is open. */
  readonly closesMs: number | null;
  /** null: it has no schedule, or no window opens any more. */
  readonly opensMs: number | null;
  /** Why the shard reclaims no further machine of the place now; ''. */
  readonly holds: BudgetHold | '';
}

/** `unread`: what an earlier process used cannot be read, so it counts as used up. */
export type BudgetHold = 'closed' | 'used_up' | 'draining' | 'unread';

/** Keeps what is used over restarts. Rejects, and keeps what it had, if it cannot. */
export interface UsageStore {
  write(text: string): Promise<void>;
}
