/**
 * The execute queue takes a cycle's actions, runs each on its own, and never makes a cycle wait. The queue holds at most
 * twice the concurrency. Bindings that find no room wait for their turn (waiting-actions.ts); other actions are dropped and
 * counted, and a later cycle decides them again. After a drop the queue wakes a cycle once it is half empty.
 *
 * An action is in the queue until it has a slot, and again between two calls. X1: from its acceptance on its machine carries
 * the intent, and every rule counts it as what it will be.
 */
import { assert } from '../../base/assert.ts';
import type { Clock, Scheduler } from '../../base/clock.ts';
import { ActionKind, type ActionList, type ExecutedKind } from '../../decision/actions.ts';
import type { Binding } from '../../inventory/binding.ts';
import { Flag, INTENT_STATE, Intent, isBinding } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import type { FollowUpReads } from '../machines/reads.ts';
import type { ActionName, ShardCounters, ShardObserver } from '../ports/observer.ts';
import { type Action, actionAt, recordOf, releaseAction, type Settlement, settlement } from './action.ts';
import { type FairSlots, PROVIDERS_MAX, providerShareOf, SHARE_OF_ONE } from './fair-slots.ts';
import type { LoneCall } from './lone-call.ts';
import type { ActionRunner } from './runner.ts';
import { WaitingActions } from './waiting-actions.ts';

/** Share of the queue that waiting bindings leave for other actions, and that one cluster alone cannot fill. */
const RESERVED_FOR_OTHERS = SHARE_OF_ONE;
/** A quarter of 500,000 machines in one burst; an action takes about 300 bytes. */
const WAITING_MAX = 131_072;
const WITHDRAWN = settlement('dropped', 'withdrawn while it waited for its turn');
const STOP_POLL_MS = 20;

export interface ExecutorOptions {
  readonly inventory: Inventory;
  readonly runner: ActionRunner;
  readonly slots: FairSlots;
  readonly lone: LoneCall;
  /** X16: the present stretch. */
  readonly stretch: () => number;
  readonly reads: FollowUpReads;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly counters: ShardCounters;
  readonly observer: ShardObserver;
  /** P6: the draining machine counts for this need from now on, so that no further victim is chosen. */
  readonly onPreempt: (slot: number, cluster: number, fingerprint: number, group: number) => void;
  /** A machine is being bound for this need. */
  readonly onBind: (slot: number, cluster: number, fingerprint: number, group: number) => void;
  /** The action ended; its machine still carries what it had. */
  readonly onSettled: (action: Action, settled: Settlement) => void;
  /** The action ended and left its machine in the state before it. */
  readonly onAbandoned: (slot: number) => void;
  /** The provider acknowledged the action and carries it out later. */
  readonly onAccepted: (slot: number, kind: ActionName) => void;
  /** C1: a queue that dropped actions and is half empty again wakes a cycle. */
  readonly onRoom: () => void;
  /** Providers, by index. */
  readonly providerCount: number;
}

export interface Offered {
  readonly enqueued: number[];
  dropped: number;
  deduped: number;
  withdrawn: number;
}

export class Executor {
  readonly #options: ExecutorOptions;
  readonly #queueMax: number;
  /** How far waiting bindings, and the surplus of one cluster, may fill the queue. */
  readonly #roomMax: number;
  readonly #shareMax: number;
  /** X3: actions of one provider that have begun: those in its slots, and half of the queue if there are others. */
  readonly #providerMax: number;
  /** By slot: actions that have begun. */
  readonly #actions = new Map<number, Action>();
  readonly #waiting = new WaitingActions();
  readonly #heldBy = new Map<string, number>();
  readonly #heldAt = new Uint32Array(PROVIDERS_MAX);
  readonly #binding: Binding = {
    cluster: 0,
    need: 0,
    group: 0,
    priority: 0,
    interruptionPenalty: 0,
    reclamationPenalty: 0,
  };
  #hasDropped = false;
  #isStopped = false;

  constructor(options: ExecutorOptions) {
    this.#options = options;
    this.#queueMax = 2 * options.slots.slotsMax;
    this.#roomMax = Math.max(1, Math.floor(this.#queueMax * (1 - RESERVED_FOR_OTHERS)));
    this.#shareMax = Math.max(1, Math.floor(this.#queueMax * SHARE_OF_ONE));
    const { slots, providerCount } = options;
    this.#providerMax =
      providerCount < 2
        ? Number.POSITIVE_INFINITY
        : providerShareOf(slots.slotsMax, providerCount) + Math.floor(this.#queueMax / 2);
  }

  /** Bindings that wait for room in the queue. */
  get waitingCount(): number {
    return this.#waiting.count;
  }

  /** Actions that have begun and are not in a call now. */
  get queueDepth(): number {
    return this.#actions.size - this.#options.slots.inUse;
  }

  get inFlight(): number {
    return this.#options.slots.inUse;
  }

  inFlightAt(provider: number): number {
    return this.#options.slots.inUseAt(provider);
  }

  /** Actions whose call has not been sent yet. */
  get unsentCount(): number {
    return this.queueDepth + this.#waiting.count;
  }

  /** The action under way for a machine, for explanations. */
  actionOn(slot: number): Action | null {
    return this.#actions.get(slot) ?? this.#waiting.get(slot) ?? null;
  }

  /** Takes the actions of `list` that `admitted` names, in this order, as far as there is room. */
  offer(list: ActionList, admitted: ArrayLike<number>, cycle: number, stretch: number): Offered {
    const offered: Offered = { enqueued: [0, 0, 0, 0, 0, 0], dropped: 0, deduped: 0, withdrawn: 0 };
    const postponed: number[] = [];
    for (let at = 0; at < admitted.length; at++) {
      const index = admitted[at]!;
      const kind = list.kind[index]! as ActionKind;
      if (kind === ActionKind.Withdraw) {
        if (this.withdraw(list.slot[index]!)) offered.withdrawn++;
      } else if (isBinding(kind)) this.#offerOne(list, index, cycle, stretch, WAITING_MAX, offered);
      else if ((this.#heldBy.get(this.#clusterAt(list, index)) ?? 0) >= this.#shareMax) postponed.push(index);
      else this.#offerOne(list, index, cycle, stretch, this.#queueMax, offered);
    }
    // Clusters above their share use the remaining room, except for a reserve that the next clusters find.
    for (const index of postponed) this.#offerOne(list, index, cycle, stretch, this.#roomMax, offered);
    this.#beginWaiting();
    if (offered.withdrawn > 0) this.#options.onRoom(); // a need may take the machines now
    return offered;
  }

  /** Ends the machine's action if it waits for its turn: the machine is as if it had never been enqueued. */
  withdraw(slot: number): boolean {
    const action = this.#waiting.remove(slot);
    if (action === undefined) return false;
    this.#options.counters.actionsWithdrawn++;
    this.#end(action, WITHDRAWN);
    return true;
  }

  /** X5: a bootstrap of the need failed. Its bindings that wait are withdrawn, except for its probe. */
  withdrawFor(cluster: number, fingerprint: number, group: number): void {
    const { runner, onRoom } = this.#options;
    let withdrawn = 0;
    for (const action of [...this.#waiting.all()]) {
      const { needCluster, needFingerprint, needGroup, slot } = action;
      if (needCluster !== cluster || needFingerprint !== fingerprint || needGroup !== group) continue;
      if (!runner.mayBegin(action) && this.withdraw(slot)) withdrawn++;
    }
    if (withdrawn > 0) onRoom(); // another need may take the machines now
  }

  /** H3: a pause came into force. Bindings that wait and may not begin any more are withdrawn. */
  withdrawPaused(): void {
    const { runner } = this.#options;
    for (const action of [...this.#waiting.all()]) if (runner.isStopped(action)) this.withdraw(action.slot);
  }

  /** The shard may not act now (C4, T2): nothing waits, and cycles decide everything again. */
  withdrawAll(): void {
    for (const { slot } of [...this.#waiting.all()]) this.withdraw(slot);
  }

  /** Audits an action that a rail kept from being executed. */
  record(list: ActionList, index: number, cycle: number, outcome: 'suppressed' | 'dryrun' | 'dropped'): void {
    const { inventory, clock, observer } = this.#options;
    if (!observer.audits) return;
    const nowMs = clock.nowMs();
    const action = actionAt(list, index, inventory, cycle, this.#options.stretch(), nowMs);
    observer.actionEnded(recordOf(action, outcome, '', nowMs, inventory));
    releaseAction(action, inventory);
  }

  /** Begins no more actions. Resolves when no action is in a call, or after the grace. */
  async stop(graceMs: number): Promise<void> {
    const { slots, lone, clock, scheduler } = this.#options;
    this.#isStopped = true;
    slots.stop();
    lone.stop();
    const untilMs = clock.nowMs() + graceMs;
    while (slots.inUse > 0 && clock.nowMs() < untilMs) {
      await new Promise<void>((resolve) => scheduler.after(STOP_POLL_MS, resolve));
    }
  }

  #drop(list: ActionList, index: number, cycle: number, offered: Offered): void {
    offered.dropped++;
    this.#options.counters.actionsDropped++;
    this.record(list, index, cycle, 'dropped');
  }

  #offerOne(
    list: ActionList,
    index: number,
    cycle: number,
    stretch: number,
    depthMax: number,
    offered: Offered,
  ): void {
    const { inventory, counters } = this.#options;
    const { columns } = inventory;
    const slot = list.slot[index]!;
    const kind = list.kind[index]! as ExecutedKind;
    if (columns.intent[slot] !== Intent.None) {
      offered.deduped++;
      counters.actionsDeduped++;
    } else if (this.#isStopped || (isBinding(kind) ? this.#waiting.count : this.queueDepth) >= depthMax) {
      this.#hasDropped = true;
      this.#drop(list, index, cycle, offered);
    } else if (!isBinding(kind) && this.#isBarred(columns.provider[slot]!)) {
      // No cycle is woken for these: their provider may hang for long.
      this.#drop(list, index, cycle, offered);
    } else if (columns.state[slot] === INTENT_STATE[kind]) {
      offered.enqueued[kind]!++;
      this.#enqueue(list, index, cycle, stretch);
    } // else stale. X2: the live state must fit; the next cycle decides again
  }

  #enqueue(list: ActionList, index: number, cycle: number, stretch: number): void {
    const { inventory, clock, onPreempt, onBind } = this.#options;
    const action = actionAt(list, index, inventory, cycle, stretch, clock.nowMs());
    const { slot, kind, needCluster, needFingerprint, needGroup } = action;
    if (isBinding(kind)) {
      inventory.setIntentRefs(slot, kind, this.#bindingAt(list, index), true);
      onBind(slot, needCluster, needFingerprint, needGroup);
      this.#waiting.add(action);
      return;
    }
    inventory.setIntentRefs(slot, kind);
    if (kind === ActionKind.Preempt) onPreempt(slot, needCluster, needFingerprint, needGroup);
    this.#begin(action);
  }

  readonly #isBarred = (provider: number): boolean => this.#heldAt[provider]! >= this.#providerMax;

  #beginWaiting(): void {
    const { inventory, runner } = this.#options;
    const isFull = (clusterId: string) => (this.#heldBy.get(clusterId) ?? 0) >= this.#shareMax;
    while (!this.#isStopped && this.queueDepth < this.#roomMax) {
      const action = this.#waiting.take(isFull, this.#isBarred);
      if (action === undefined) return;
      if (runner.mayBegin(action)) {
        inventory.setFlag(action.slot, Flag.Waiting, false);
        this.#begin(action);
      } else {
        this.#options.counters.actionsWithdrawn++;
        this.#end(action, WITHDRAWN);
      }
    }
  }

  #begin(action: Action): void {
    this.#actions.set(action.slot, action);
    this.#heldBy.set(action.clusterId, (this.#heldBy.get(action.clusterId) ?? 0) + 1);
    this.#heldAt[action.provider]!++;
    void this.#options.runner.run(action).then((settled) => this.#settle(action, settled));
  }

  #settle(action: Action, settled: Settlement): void {
    this.#actions.delete(action.slot);
    const held = this.#heldBy.get(action.clusterId)! - 1;
    if (held === 0) this.#heldBy.delete(action.clusterId);
    else this.#heldBy.set(action.clusterId, held);
    this.#heldAt[action.provider]!--;
    this.#end(action, settled);
    this.#beginWaiting();
    if (!this.#hasDropped || this.queueDepth > this.#queueMax / 2) return;
    this.#hasDropped = false;
    this.#options.onRoom();
  }

  #end(action: Action, settled: Settlement): void {
    const { inventory, reads, clock, observer, onAbandoned, onAccepted, onSettled } = this.#options;
    const { slot, kind } = action;
    assert(inventory.isCurrent(slot, action.generation), 'a machine with an action is not removed');
    inventory.clearIntent(slot);
    if (inventory.columns.state[slot] === INTENT_STATE[kind]) onAbandoned(slot);
    const record = recordOf(action, settled.outcome, settled.detail, clock.nowMs(), inventory);
    if (settled.outcome === 'accepted') onAccepted(slot, record.kind);
    reads.settled(slot, settled.next);
    observer.actionEnded(record);
    onSettled(action, settled);
    releaseAction(action, inventory);
  }

  #clusterAt(list: ActionList, index: number): string {
    return this.#options.inventory.tables.clusters.get(list.cluster[index]!);
  }

  #bindingAt(list: ActionList, index: number): Binding {
    const binding = this.#binding;
    binding.cluster = list.cluster[index]!;
    binding.need = list.fingerprint[index]!;
    binding.group = list.group[index]!;
    binding.priority = list.priority[index]!;
    binding.interruptionPenalty = list.interruptionPenalty[index]!;
    binding.reclamationPenalty = list.reclamationPenalty[index]!;
    return binding;
  }
}
