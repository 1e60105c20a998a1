/**
 * What follows when a machine changed, whether an ack, a read or a listing brought the change: back-offs, pauses and clocks of stuck
 * machines first, because the next decision reads them, then records for observers, and the report to the machine's cluster. A
 * machine that became available wakes a cycle.
 */
import type { Clock } from '../../base/clock.ts';
import type { Engine } from '../../decision/engine.ts';
import { Flag } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { isTransitional, MachineState } from '../../machine/state.ts';
import type { ForeignDrains } from '../controls/foreign-drains.ts';
import type { Pauses } from '../controls/pauses.ts';
import type { DisruptionBudgets } from '../disruption/budgets.ts';
import type { Action } from '../execute/action.ts';
import type { FailedAttempts } from '../execute/failed-attempts.ts';
import type { NotedEvent } from '../ports/events.ts';
import type { ShardObserver } from '../ports/observer.ts';
import type { ProviderPort } from '../ports/providers.ts';
import { AcceptedActions } from './accepted-actions.ts';
import type { Announcer } from './announce.ts';
import type { Backoffs } from './backoff.ts';
import { BindingTimes } from './binding-times.ts';
import type { MachineChanged } from './changes.ts';
import type { Disputes } from './disputes.ts';
import { MachineEvents } from './machine-events.ts';
import type { FollowUpReads } from './reads.ts';
import type { StuckMachines } from './stuck.ts';

const S = MachineState;

export interface ChangeEffectsOptions {
  readonly inventory: Inventory;
  readonly engine: Engine;
  readonly providers: Pick<ProviderPort, 'names'>;
  readonly observer: ShardObserver;
  /** For the history; null: no observer keeps one. */
  readonly note: ((event: NotedEvent) => void) | null;
  readonly clock: Clock;
  readonly backoffs: Backoffs;
  readonly pauses: Pauses;
  readonly budgets: Pick<DisruptionBudgets, 'changed'>;
  readonly foreignDrains: ForeignDrains;
  readonly failures: FailedAttempts;
  readonly stuck: StuckMachines;
  readonly announcer: Announcer;
  readonly reads: FollowUpReads;
  readonly disputes: Disputes;
  /** F4: clocks, counts and announcements begin when the replica becomes active. */
  readonly isStandby: boolean;
  /** T10: a binding that no shard assigned satisfies no need. */
  readonly ignoresUnassignedBindings: boolean;
  /** Number of the last cycle. */
  readonly cycle: () => number;
  /** The action under way on a machine. */
  readonly actionOn: (slot: number) => Action | null;
  /** C2: by provider, whether its first listing is complete. */
  readonly hasListed: (provider: number) => boolean;
  /** A cycle waits for listings, and follows them. */
  readonly isCycleListing: () => boolean;
  /** Asks for a cycle. */
  readonly wake: () => void;
}

export class ChangeEffects {
  readonly bindingTimes: BindingTimes;
  readonly accepted: AcceptedActions;
  /** Null: no observer keeps a history. */
  readonly events: MachineEvents | null;
  readonly #options: ChangeEffectsOptions;

  constructor(options: ChangeEffectsOptions) {
    const { inventory, engine, providers, observer, note } = options;
    this.#options = options;
    this.bindingTimes = new BindingTimes({
      inventory,
      lackOf: (cluster, fingerprint, group) => engine.lackOf(cluster, fingerprint, group),
      isPreempted: (slot) => engine.drainOf(slot) !== null,
      onBound: (bound) => observer.machineBound?.(bound),
    });
    this.accepted = new AcceptedActions(inventory, (ended) => observer.acceptedActionEnded?.(ended));
    this.events =
      note === null
        ? null
        : new MachineEvents({
            ...options,
            providerNames: providers.names,
            note,
            drainOf: (slot) => engine.drainOf(slot),
          });
  }

  changed(change: Readonly<MachineChanged>): void {
    const { slot, from, to } = change;
    const { clock, backoffs, pauses, foreignDrains, failures, stuck, announcer, reads, isStandby, wake } =
      this.#options;
    if (isStandby) {
      this.events?.changed(change);
      if (to === 0) this.#forget(slot);
      return;
    }
    const nowMs = clock.nowMs();
    backoffs.changed(change, nowMs);
    foreignDrains.changed(change, nowMs);
    if (to !== 0) pauses.changed(slot);
    this.#options.budgets.changed(change);
    failures.outcomes.changed(change);
    if (this.#options.ignoresUnassignedBindings && to !== 0) this.#flagUnassigned(slot, to);
    this.bindingTimes.changed(change, nowMs);
    this.accepted.changed(change);
    this.events?.changed(change);
    stuck.changed(change);
    announcer.changed(change);
    if (to === 0) this.#forget(slot);
    if (to === from) return;
    if (!isTransitional(to as MachineState)) reads.finished(slot);
    if (this.#becameAvailable(change)) wake();
  }

  /** A machine was created, or has drained for a need. A cycle that waits for listings finds such machines itself. */
  #becameAvailable({ slot, from, to, source }: Readonly<MachineChanged>): boolean {
    const isListedBetweenCycles = source === 'listing' && !this.#options.isCycleListing();
    const isAnswer = source === 'ack' || source === 'read' || isListedBetweenCycles;
    if (!isAnswer || to !== S.Idle) return false;
    return from === S.Creating || (from === S.Draining && this.#options.engine.drainOf(slot) !== null);
  }

  #forget(slot: number): void {
    this.#options.reads.forget(slot);
    this.#options.disputes.forget(slot);
  }

  /** The decision leaves out bindings that no shard assigned. */
  #flagUnassigned(slot: number, state: number): void {
    const { inventory } = this.#options;
    const { cluster, need } = inventory.columns;
    const isBound = state === S.Configuring || state === S.Configured;
    inventory.setFlag(slot, Flag.Ignored, isBound && cluster[slot] !== 0 && need[slot] === 0);
  }
}
