/**
 * Where the view gets its facts. It reads inventory, needs and engine itself, and asks other parts of the shard on request:
 * sessions, back-offs, actions under way, settings. No cycle calls anything here.
 */
import type { Clock } from '../../base/clock.ts';
import type { Ceilings } from '../../decision/ceilings.ts';
import type { Engine } from '../../decision/engine.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import type { NeedTable } from '../../needs/need-table.ts';
import type { BudgetView } from '../ports/budgets.ts';
import type { Control } from '../ports/controls.ts';
import type {
  ActionView,
  BackoffView,
  NeedBackoffView,
  OfferingBackoffView,
  RailsView,
  SessionView,
  SuspensionView,
} from '../ports/fleet-view.ts';
import type { ShardGauges } from '../ports/observer.ts';
import type { ProviderWork, SharedFaultView } from '../ports/supply.ts';
import type { RollupLimits, TenantRefusals } from '../ports/tenants.ts';
import type { ShardStatus } from '../ports/view.ts';
import type { TenantLimits } from '../tenants.ts';

export interface ViewSources {
  readonly inventory: Inventory;
  readonly needs: NeedTable;
  readonly engine: Engine;
  readonly clock: Clock;
  /** By the number in the inventory's provider column. */
  readonly providerNames: readonly string[];

  /** Settles after the next cycle, or at once if no more will run. */
  nextCycle(): Promise<void>;
  /** Settles in the next turn of the event loop. */
  nextTurn(): Promise<void>;

  /** Of the last cycle; 0 before the first. */
  cycle(): number;
  status(): ShardStatus;
  rails(): RailsView;
  gauges(): ShardGauges;

  /** A9: a need acquires machines only if its cluster is connected, or if no operator is needed to bootstrap. */
  hasSession(cluster: number): boolean;
  /** T8: what the cluster may have at most; null: no limits. */
  limitsOf(cluster: number): TenantLimits | null;
  /** E7: what the fleet may cost; null: no ceilings. */
  ceilings(): Ceilings | null;
  /** T2: why the cluster is suspended, and until when; null if it is not. */
  suspension(cluster: number): SuspensionView | null;
  /** H3: the control by which the cluster gets credit only; null if there is none. */
  clusterPause(cluster: number): Control | null;
  /** H3: the control that keeps the shard from this with the machine; null if there is none. */
  machinePause(slot: number, flags: number): Control | null;
  /** H9: the disruption budgets and what each has used. */
  budgets(): readonly BudgetView[];
  /** H9: the budget that keeps the machine with its cluster now; null if none does. */
  machineBudget(slot: number): BudgetView | null;
  /** H7: until when the shard leaves it alone because somebody drained it; infinite: it drains; 0: it does not. */
  foreignDrainUntil(slot: number): number;
  /** Every cluster that has or had a session since the start, in no order. */
  sessions(): readonly SessionView[];

  /** What the shard refused from each tenant, kept by an observer. */
  readonly refusals: TenantRefusals;
  readonly rollupLimits: RollupLimits;

  /** X5: the back-off of a need whose bootstraps failed; null if it has none. */
  needBackoff(cluster: number, fingerprint: number, group: number): NeedBackoffView | null;
  /** X12: the back-off of a machine whose action failed; null if it has none. */
  machineBackoff(slot: number): BackoffView | null;
  /** T10: the names of other providers that claim the machine; empty if it is not in dispute. */
  claimantsOf(slot: number): readonly string[];
  /** The back-off of the machine's offering; null if it has none. */
  offeringBackoff(slot: number): BackoffView | null;
  /** All offerings in back-off, the one that ends first at the head. */
  offeringsInBackoff(): readonly OfferingBackoffView[];
  /** X15: offerings and providers in back-off because the attempts of many needs failed there. */
  sharedFaults(): readonly SharedFaultView[];
  /** By number of the provider: its calls, reads and listing under way. */
  providerWork(provider: number): ProviderWork;
  /** X1: the machine's one action, enqueued or running; null if there is none. */
  actionOf(slot: number): ActionView | null;
}
