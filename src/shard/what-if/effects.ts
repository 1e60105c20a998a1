/**
 * Carries actions out on a copy, in virtual time (Y4). An admitted action is queued, begins when a slot is free (X3), and ends after the
 * time that providers take. Nothing fails: a creation becomes Idle, a bootstrap Configured, a drain Idle, a release Speculative.
 *
 * The shard learns of an end as it does from a provider that answers later: by a follow-up read (X13), or by the listing of the next
 * ordinary cycle. Which ends it sees together can decide which need gets which machine. Steps of one kind take equally long and
 * begin in order, so they end in order, and are seen in order: a queue for each kind is enough.
 */
import { ActionKind, type ActionList, type ExecutedKind } from '../../decision/actions.ts';
import type { Engine } from '../../decision/engine.ts';
import type { Binding } from '../../inventory/binding.ts';
import { Flag, INTENT_STATE, Intent, isBinding } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { MachineState } from '../../machine/state.ts';
import { WaitingActions } from '../execute/waiting-actions.ts';
import type { WhatIfLatencies } from '../ports/what-if.ts';

const S = MachineState;
/** How long a call to a provider holds its slot. */
const CALL_MS = 50;
/** X13: follow-up reads come so long after the call, and then twice, four times as long … */
const FIRST_READ_MS = 250;
/** A machine that was created has a host; which one does not matter. */
const HOST = { provider: 'what-if', ref: 'what-if' };

/** The state while the provider works. */
const DURING: Readonly<Record<ExecutedKind, MachineState>> = {
  [ActionKind.Bootstrap]: S.Configuring,
  [ActionKind.Provision]: S.Creating,
  [ActionKind.Reclaim]: S.Draining,
  [ActionKind.Preempt]: S.Draining,
  [ActionKind.Delete]: S.Deleting,
};

interface Queued {
  readonly slot: number;
  readonly kind: ExecutedKind;
  /** The cluster that the machine is bound to, or will be. */
  readonly cluster: number;
  readonly clusterId: string;
  readonly provider: number;
  readonly assignment: { readonly priority: number };
  /** Refs of the need that the action serves; 0 = none. */
  readonly need: readonly [cluster: number, fingerprint: number, group: number];
}

/** Steps under way that take equally long: they end in the order in which they began. */
class Steps {
  /** From the beginning to the end, and to the first read after it. */
  readonly endsAfterMs: number;
  readonly #seenAfterMs: number;
  readonly #slots: number[] = [];
  readonly #endMs: number[] = [];
  readonly #seenMs: number[] = [];
  #head = 0;

  constructor(latencyMs: number, readMsMax: number) {
    this.endsAfterMs = CALL_MS + latencyMs;
    let readMs = FIRST_READ_MS;
    while (readMs < latencyMs) readMs += Math.min(readMs, readMsMax);
    this.#seenAfterMs = CALL_MS + (latencyMs === 0 ? 0 : readMs);
  }

  get count(): number {
    return this.#slots.length - this.#head;
  }

  /** When the next end is seen without a listing; infinite: nothing is under way. */
  get nextMs(): number {
    return this.#seenMs[this.#head] ?? Number.POSITIVE_INFINITY;
  }

  begin(slot: number, nowMs: number): void {
    this.push(slot, nowMs + this.endsAfterMs, nowMs + this.#seenAfterMs);
  }

  push(slot: number, endMs: number, seenMs: number): void {
    this.#slots.push(slot);
    this.#endMs.push(endMs);
    this.#seenMs.push(seenMs);
  }

  /** Whether an end is to be seen now. A listing shows what has ended. */
  isDue(nowMs: number, isListing: boolean): boolean {
    return (isListing ? this.#endMs : this.#seenMs)[this.#head]! <= nowMs;
  }

  take(): number {
    return this.#slots[this.#head++]!;
  }
}

/** What began, by kind and cluster, and who lost machines to whom. */
export interface EffectCounts {
  /** By kind: count by cluster ref. */
  readonly began: ReadonlyMap<number, Map<number, number>>;
  /** By cluster ref of the victim: machines by cluster ref of the need. */
  readonly lostTo: ReadonlyMap<number, Map<number, number>>;
}

export interface EffectsOptions {
  readonly inventory: Inventory;
  readonly engine: Engine;
  readonly latencies: WhatIfLatencies;
  readonly concurrency: number;
  readonly cycleIntervalMs: number;
}

export class Effects {
  /** Actions that began. */
  beganCount = 0;
  /** When the last action ended; 0: none did. */
  lastEndMs = 0;
  readonly counts: EffectCounts;
  readonly #inventory: Inventory;
  readonly #engine: Engine;
  readonly #concurrency: number;
  readonly #steps: ReadonlyMap<number, Steps>;
  readonly #waiting = new WaitingActions<Queued>();
  #queue: Queued[] = [];
  /** Calls under way, each in a slot (X3), in order of their ends. X1: their machines carry the intent until then. */
  #calls: { readonly action: Queued; readonly endMs: number }[] = [];

  constructor({ inventory, engine, latencies, concurrency, cycleIntervalMs }: EffectsOptions) {
    this.#inventory = inventory;
    this.#engine = engine;
    this.#concurrency = concurrency;
    const { createMs, configureMs, drainMs, deleteMs } = latencies;
    this.#steps = new Map([
      [S.Creating, new Steps(createMs, cycleIntervalMs)],
      [S.Configuring, new Steps(configureMs, cycleIntervalMs)],
      [S.Draining, new Steps(drainMs, cycleIntervalMs)],
      [S.Deleting, new Steps(deleteMs, cycleIntervalMs)],
    ]);
    this.counts = { began: new Map(), lostTo: new Map() };
  }

  /** Queued, waiting, and under way. */
  get inFlight(): number {
    let count = this.#queue.length + this.#waiting.count;
    for (const steps of this.#steps.values()) count += steps.count;
    return count;
  }

  /** When something happens next; infinite: never. */
  get nextMs(): number {
    let next = this.#calls[0]?.endMs ?? Number.POSITIVE_INFINITY;
    for (const steps of this.#steps.values()) next = Math.min(next, steps.nextMs);
    return next;
  }

  /** Takes over what was under way when the shard was copied. A stuck machine stays as it is. */
  adopt(nowMs: number): void {
    const { columns } = this.#inventory;
    const transitional: number[] = [];
    for (let slot = 1; slot < columns.slotLimit; slot++) {
      const kind = columns.intent[slot]! as Intent;
      if (columns.state[slot] === 0) continue;
      if (kind !== Intent.None && columns.state[slot] === INTENT_STATE[kind]) this.#adoptQueued(slot, kind);
      else {
        if (kind !== Intent.None) this.#inventory.clearIntent(slot);
        const isUnderWay = this.#steps.has(columns.state[slot]!);
        if (isUnderWay && !this.#inventory.hasFlag(slot, Flag.Stuck)) transitional.push(slot);
      }
    }
    const endOf = (slot: number) =>
      columns.stateSinceMsOf(slot) + this.#steps.get(columns.state[slot]!)!.endsAfterMs;
    transitional.sort((a, b) => endOf(a) - endOf(b) || a - b);
    for (const slot of transitional) {
      const endMs = Math.max(nowMs, endOf(slot));
      this.#steps.get(columns.state[slot]!)!.push(slot, endMs, endMs);
    }
  }

  #adoptQueued(slot: number, kind: ExecutedKind): void {
    const { cluster, need, group, priority } = this.#inventory.columns;
    const drained = kind === ActionKind.Preempt ? this.#engine.drainOf(slot) : null;
    const served: Queued['need'] = isBinding(kind)
      ? [cluster[slot]!, need[slot]!, group[slot]!]
      : [drained?.cluster ?? 0, drained?.fingerprint ?? 0, drained?.group ?? 0];
    const action = this.#queued(slot, kind, cluster[slot]!, priority[slot]!, served);
    if (isBinding(kind)) this.#waiting.add(action);
    else this.#queue.push(action);
  }

  /** Takes the actions of `list` that `admitted` names. Whether one was withdrawn, so that a need may take its machine. */
  offer(list: ActionList, admitted: readonly number[]): boolean {
    let isWithdrawn = false;
    for (const index of admitted) {
      if (list.kind[index] === ActionKind.Withdraw)
        isWithdrawn = this.#withdraw(list.slot[index]!) || isWithdrawn;
      else this.#enqueue(list, index);
    }
    return isWithdrawn;
  }

  /** C4: the shard may not act; nothing waits. */
  withdrawAll(): void {
    for (const { slot } of [...this.#waiting.all()]) this.#withdraw(slot);
  }

  /** Ends and begins what is due. Whether a machine became available, so that a cycle is woken (C1). */
  advance(nowMs: number, isListing: boolean): boolean {
    let isWoken = false;
    this.#endCalls(nowMs);
    for (const steps of this.#steps.values())
      while (steps.isDue(nowMs, isListing)) isWoken = this.#end(steps.take(), nowMs) || isWoken;
    this.begin(nowMs);
    return isWoken;
  }

  /** Begins as many actions as there are slots, bindings last: a drain makes room for others. */
  begin(nowMs: number): void {
    const free = this.#concurrency - this.#calls.length;
    if (free <= 0 || this.#queue.length + this.#waiting.count === 0) return;
    const begun = this.#queue.slice(0, free);
    this.#queue = this.#queue.slice(begun.length);
    while (begun.length < free) {
      const next = this.#waiting.take(() => false);
      if (next === undefined) break;
      begun.push(next);
    }
    for (const action of begun) this.#begin(action, nowMs);
  }

  #endCalls(nowMs: number): void {
    let ended = 0;
    for (const { action, endMs } of this.#calls) {
      if (endMs > nowMs) break;
      ended++;
      this.#settle(action);
    }
    if (ended > 0) this.#calls = this.#calls.slice(ended);
  }

  #settle({ slot, need }: Queued): void {
    this.#inventory.clearIntent(slot);
    this.#inventory.tables.releaseRefs(...need);
  }

  #withdraw(slot: number): boolean {
    const action = this.#waiting.remove(slot);
    if (action === undefined) return false;
    this.#settle(action);
    return true;
  }

  #enqueue(list: ActionList, index: number): void {
    const inventory = this.#inventory;
    const { columns } = inventory;
    const slot = list.slot[index]!;
    const kind = list.kind[index]! as ExecutedKind;
    if (columns.intent[slot] !== Intent.None || columns.state[slot] !== INTENT_STATE[kind]) return;
    const need = [list.forCluster[index]!, list.fingerprint[index]!, list.group[index]!] as const;
    const cluster = list.cluster[index]!;
    const action = this.#queued(slot, kind, cluster, list.priority[index]!, need);
    if (!isBinding(kind)) {
      inventory.setIntentRefs(slot, kind);
      if (kind === ActionKind.Preempt) this.#engine.preemptionBegan(slot, ...need);
      this.#queue.push(action);
      return;
    }
    const binding: Binding = {
      cluster,
      need: need[1],
      group: need[2],
      priority: list.priority[index]!,
      interruptionPenalty: list.interruptionPenalty[index]! as Binding['interruptionPenalty'],
      reclamationPenalty: list.reclamationPenalty[index]! as Binding['reclamationPenalty'],
    };
    inventory.setIntentRefs(slot, kind, binding, true);
    this.#waiting.add(action);
  }

  #queued(slot: number, kind: ExecutedKind, cluster: number, priority: number, need: Queued['need']): Queued {
    const { clusters, fingerprints, groups } = this.#inventory.tables;
    clusters.retain(need[0]);
    fingerprints.retain(need[1]);
    groups.retain(need[2]);
    const provider = this.#inventory.columns.provider[slot]!;
    return {
      slot,
      kind,
      cluster,
      clusterId: clusters.get(cluster),
      provider,
      assignment: { priority },
      need,
    };
  }

  #begin(action: Queued, nowMs: number): void {
    const { slot, kind, cluster, need } = action;
    if (need[0] !== 0 && !this.#engine.isLiveNeed(...need)) {
      this.#settle(action); // X2: its need is gone
      return;
    }
    const inventory = this.#inventory;
    const during = DURING[kind];
    if (isBinding(kind)) inventory.setFlag(slot, Flag.Waiting, false);
    inventory.move(slot, during, nowMs);
    this.#steps.get(during)!.begin(slot, nowMs);
    this.#calls.push({ action, endMs: nowMs + CALL_MS });
    this.#count(kind, cluster, need[0]);
  }

  #count(kind: ExecutedKind, cluster: number, forCluster: number): void {
    this.beganCount++;
    add(this.counts.began as Map<number, Map<number, number>>, kind, cluster);
    if (kind === ActionKind.Preempt)
      add(this.counts.lostTo as Map<number, Map<number, number>>, cluster, forCluster);
  }

  /** Whether the machine became available for a need that waits for it, or for any. */
  #end(slot: number, nowMs: number): boolean {
    const inventory = this.#inventory;
    const from = inventory.columns.state[slot]!;
    this.lastEndMs = nowMs;
    switch (from) {
      case S.Creating:
        inventory.apply(slot, { state: S.Idle, host: HOST }, nowMs);
        return true;
      case S.Configuring:
        inventory.move(slot, S.Configured, nowMs);
        return false;
      case S.Deleting:
        inventory.move(slot, S.Speculative, nowMs);
        return false;
      default: {
        const isAwaited = this.#engine.drainOf(slot) !== null;
        inventory.move(slot, S.Idle, nowMs);
        return isAwaited;
      }
    }
  }
}

function add(counts: Map<number, Map<number, number>>, key: number, of: number): void {
  const known = counts.get(key) ?? new Map<number, number>();
  known.set(of, (known.get(of) ?? 0) + 1);
  counts.set(key, known);
}
