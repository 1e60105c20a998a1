/**
 * What the view looks at. Inventory, needs and engine it reads itself; what other parts of the shard know (who is
 * connected, what is in back-off, what is under way, what is set) it asks for by machine or by need, when a person asks.
 * Nothing here is called by a cycle.
 */
import type { Clock } from '../../base/clock.ts';
import type { Engine } from '../../decision/engine.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import type { NeedTable } from '../../needs/need-table.ts';
import type {
  ActionView,
  BackoffView,
  OfferingBackoffView,
  RailsView,
  SessionView,
} from '../ports/fleet-view.ts';
import type { ShardGauges } from '../ports/observer.ts';
import type { ShardStatus } from '../ports/view.ts';

export interface ViewSources {
  readonly inventory: Inventory;
  readonly needs: NeedTable;
  readonly engine: Engine;
  readonly clock: Clock;
  /** By number: what the inventory's provider column says. */
  readonly providerNames: readonly string[];

  /** Settles after the next cycle, or at once if there will be none. */
  nextCycle(): Promise<void>;
  /** Lets whatever waits for the event loop run first. */
  nextTurn(): Promise<void>;

  /** Of the last cycle; 0 before the first. */
  cycle(): number;
  status(): ShardStatus;
  rails(): RailsView;
  gauges(): ShardGauges;

  /** A9: connected, or bootstrapped without an operator. */
  hasSession(cluster: number): boolean;
  /** Every cluster that has or had a session since the start, in no order; looked at by cluster id. */
  sessions(): readonly SessionView[];

  /** X5, by refs of the inventory's tables; null if the need is in none. */
  needBackoff(cluster: number, fingerprint: number, group: number): BackoffView | null;
  /** X12, of the machine alone; null if it is in none. */
  machineBackoff(slot: number): BackoffView | null;
  /** X12, of the machine's offering; null if it is in none. */
  offeringBackoff(slot: number): BackoffView | null;
  /** X12: all of them, the one that ends first at the head. */
  offeringsInBackoff(): readonly OfferingBackoffView[];
  /** X1: what is enqueued or running for the machine; null if nothing is. */
  actionOf(slot: number): ActionView | null;
}
