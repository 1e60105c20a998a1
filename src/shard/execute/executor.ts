/**
 * The execute queue takes a cycle's actions, runs each on its own, and never makes a cycle wait. It holds at most twice the
 * concurrency: it drops and counts the rest, and a later cycle decides those again. After a drop it wakes a cycle once it
 * is half empty.
 *
 * An action is in the queue from its acceptance until it has a slot, and again between two calls. X1: all that time its
 * machine carries the intent, and every rule counts it as what it will be.
 */
import { assert } from '../../base/assert.ts';
import type { Clock, Scheduler } from '../../base/clock.ts';
import { ActionKind, type ActionList } from '../../decision/actions.ts';
import type { Binding } from '../../inventory/binding.ts';
import { INTENT_STATE, Intent } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import type { FollowUpReads } from '../machines/reads.ts';
import type { ShardCounters, ShardObserver } from '../ports/observer.ts';
import { type Action, actionAt, recordOf, releaseAction, type Settlement } from './action.ts';
import { type FairSlots, SHARE_OF_ONE } from './fair-slots.ts';
import type { ActionRunner } from './runner.ts';

/** Share of the queue that one cluster alone cannot fill. */
const RESERVED_FOR_OTHERS = SHARE_OF_ONE;
const STOP_POLL_MS = 20;

export interface ExecutorOptions {
  readonly inventory: Inventory;
  readonly runner: ActionRunner;
  readonly slots: FairSlots;
  readonly reads: FollowUpReads;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly counters: ShardCounters;
  readonly observer: ShardObserver;
  /** P6: the draining machine counts for this need from now on, so that no further victim is chosen. */
  readonly onPreempt: (slot: number, cluster: number, fingerprint: number, group: number) => void;
  /** A machine is being bound for this need. */
  readonly onBind: (slot: number, cluster: number, fingerprint: number, group: number) => void;
  /** The action ended and left its machine in the state before it. */
  readonly onAbandoned: (slot: number) => void;
  /** C1: a queue that dropped actions and is half empty again wakes a cycle. */
  readonly onRoom: () => void;
}

export interface Offered {
  readonly enqueued: number[];
  dropped: number;
  deduped: number;
}

export class Executor {
  readonly #options: ExecutorOptions;
  readonly #queueMax: number;
  readonly #shareMax: number;
  readonly #actions = new Set<Action>();
  readonly #heldBy = new Map<string, number>();
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
    this.#shareMax = Math.max(1, Math.floor(this.#queueMax * SHARE_OF_ONE));
  }

  /** Accepted actions that are not in a call now. */
  get queueDepth(): number {
    return this.#actions.size - this.#options.slots.inUse;
  }

  get inFlight(): number {
    return this.#options.slots.inUse;
  }

  /** The action under way for a machine, for explanations. */
  actionOn(slot: number): Action | null {
    for (const action of this.#actions) if (action.slot === slot) return action;
    return null;
  }

  /** Takes the actions of `list` that `admitted` names, in this order, as far as there is room. */
  offer(list: ActionList, admitted: ArrayLike<number>, cycle: number): Offered {
    const offered: Offered = { enqueued: [0, 0, 0, 0, 0, 0], dropped: 0, deduped: 0 };
    const postponed: number[] = [];
    for (let at = 0; at < admitted.length; at++) {
      if (this.queueDepth >= this.#queueMax && !this.#options.observer.audits) {
        this.#dropRest(admitted.length - at + postponed.length, offered);
        return offered;
      }
      const index = admitted[at]!;
      if ((this.#heldBy.get(this.#clusterAt(list, index)) ?? 0) >= this.#shareMax) postponed.push(index);
      else this.#offerOne(list, index, cycle, this.#queueMax, offered);
    }
    // Clusters above their share use the remaining room, except for a reserve that the next clusters find.
    const roomMax = Math.floor(this.#queueMax * (1 - RESERVED_FOR_OTHERS));
    for (const index of postponed) this.#offerOne(list, index, cycle, roomMax, offered);
    return offered;
  }

  /** Audits an action that a rail kept from being executed. */
  record(list: ActionList, index: number, cycle: number, outcome: 'suppressed' | 'dryrun' | 'dropped'): void {
    const { inventory, clock, observer } = this.#options;
    if (!observer.audits) return;
    const nowMs = clock.nowMs();
    const action = actionAt(list, index, inventory, cycle, nowMs);
    observer.actionEnded(recordOf(action, outcome, '', nowMs, inventory));
    releaseAction(action, inventory);
  }

  /** Begins no more actions. Resolves when no action is in a call, or after the grace. */
  async stop(graceMs: number): Promise<void> {
    const { slots, clock, scheduler } = this.#options;
    this.#isStopped = true;
    slots.stop();
    const untilMs = clock.nowMs() + graceMs;
    while (slots.inUse > 0 && clock.nowMs() < untilMs) {
      await new Promise<void>((resolve) => scheduler.after(STOP_POLL_MS, resolve));
    }
  }

  /** A burst can be a hundred times the queue, so the rest is counted without a look at each action. */
  #dropRest(count: number, offered: Offered): void {
    offered.dropped += count;
    this.#options.counters.actionsDropped += count;
    this.#hasDropped = true;
  }

  #offerOne(list: ActionList, index: number, cycle: number, depthMax: number, offered: Offered): void {
    const { inventory, counters } = this.#options;
    const { columns } = inventory;
    const slot = list.slot[index]!;
    const kind = list.kind[index]! as ActionKind;
    if (columns.intent[slot] !== Intent.None) {
      offered.deduped++;
      counters.actionsDeduped++;
    } else if (this.#isStopped || this.queueDepth >= depthMax) {
      this.#dropRest(1, offered);
      this.record(list, index, cycle, 'dropped');
    } else if (columns.state[slot] === INTENT_STATE[kind]) {
      offered.enqueued[kind]!++;
      this.#enqueue(list, index, cycle);
    } // else stale. X2: the live state must fit; the next cycle decides again
  }

  #enqueue(list: ActionList, index: number, cycle: number): void {
    const { inventory, clock, runner, onPreempt } = this.#options;
    const action = actionAt(list, index, inventory, cycle, clock.nowMs());
    const { slot, kind, needCluster, needFingerprint, needGroup } = action;
    const isBinding = kind === ActionKind.Bootstrap || kind === ActionKind.Provision;
    inventory.setIntentRefs(slot, kind, isBinding ? this.#bindingAt(list, index) : undefined);
    if (isBinding) this.#options.onBind(slot, needCluster, needFingerprint, needGroup);
    if (kind === ActionKind.Preempt) onPreempt(slot, needCluster, needFingerprint, needGroup);
    this.#actions.add(action);
    this.#heldBy.set(action.clusterId, (this.#heldBy.get(action.clusterId) ?? 0) + 1);
    void runner.run(action).then((settled) => this.#settle(action, settled));
  }

  #settle(action: Action, settled: Settlement): void {
    const { inventory, reads, clock, observer, onAbandoned, onRoom } = this.#options;
    const { slot, kind } = action;
    assert(inventory.isCurrent(slot, action.generation), 'a machine in flight is not removed');
    inventory.clearIntent(slot);
    this.#actions.delete(action);
    const held = this.#heldBy.get(action.clusterId)! - 1;
    if (held === 0) this.#heldBy.delete(action.clusterId);
    else this.#heldBy.set(action.clusterId, held);
    if (inventory.columns.state[slot] === INTENT_STATE[kind]) onAbandoned(slot);
    reads.settled(slot);
    if (settled.next === 'follow') reads.follow(slot);
    if (settled.next === 'recheck') reads.recheck(slot);
    observer.actionEnded(recordOf(action, settled.outcome, settled.detail, clock.nowMs(), inventory));
    releaseAction(action, inventory);
    if (!this.#hasDropped || this.queueDepth > this.#queueMax / 2) return;
    this.#hasDropped = false;
    onRoom();
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
