/**
 * Follow-up reads of machines with `Get`. One read serves all reasons that a machine has:
 *
 *   X13   an asynchronous provider has not finished
 *   X8    a call got no answer, and the shard must learn how it ended
 *   S4    a row was deferred because an action was under way
 *   S2    a doubted observation needs a second one
 *   X11   a machine is stuck
 *
 * Only the first reason ends by itself: a listing that shows the end of the operation makes the read unnecessary. Without
 * that, a shard whose reads are late reads what it knows already, and its other reads wait behind those.
 *
 * Of a provider with a cursor, a listing of what changed answers many such reads at once, for less than a tenth of their cost:
 * while `listedMin` reads of it wait, one listing every half second takes the place of those that only wait for an end. Such a
 * listing may not show a machine that is gone, so after 20 s without an end the machine is read.
 *
 * Reads come after 0.25, 0.5, 1, 2 … seconds, up to the cycle interval, until the machine is in a stable state. At most
 * `readsMax` are under way at a time, the longest due first. If there are several providers, reads of one are at most three
 * quarters of them, so that one that never answers leaves room for the others. Due times use the stopwatch, as timers do: with a clock that is
 * set back and put right again, one timer an hour away could hold up all reads.
 */
import type { Clock, Scheduler, Stopwatch, Timer } from '../../base/clock.ts';
import { Flag } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { isTransitional, type MachineState } from '../../machine/state.ts';
import { PROVIDERS_MAX, providerShareOf } from '../execute/fair-slots.ts';
import type { ShardCounters, ShardObserver } from '../ports/observer.ts';
import type { ProviderAnswer, ProviderPort } from '../ports/providers.ts';
import type { MachineChanges } from './changes.ts';
import { DueHeap } from './due-heap.ts';

/** X13: reads under way at a time, at least; as many as calls, if those are more: each call may need a few reads. */
export const READS_MIN = 64;
const FIRST_DELAY_MS = 250;
/** NOT_FOUND answers in a row that remove the machine. */
const ABSENCES_MAX = 2;
/** X13: from one listing that takes the place of reads to the next. If it takes longer than that, machines are read meanwhile. */
const LIST_EVERY_MS = 500;
/** X13: listings in a row that take the place of one machine's reads. */
const LISTINGS_MAX = 40;

/** Listings of what changed since the last one. */
export interface ChangeLists {
  /** Whether the provider lists its changes, did so the last time, and is not being listed. */
  mayList(provider: number): boolean;
  list(provider: number): void;
}

export interface ReadsOptions {
  readonly changes: MachineChanges;
  readonly providers: ProviderPort;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly stopwatch: Stopwatch;
  readonly counters: ShardCounters;
  readonly observer: ShardObserver;
  readonly delayMsMax: number;
  readonly timeoutMs: number;
  /** Reads under way at a time. */
  readonly readsMax: number;
  readonly changeLists: ChangeLists;
  /** Waiting reads of one provider from which on listings take their place. */
  readonly listedMin: number;
}

/**
 * What an action that settled leaves to be read. `await`: the provider has begun; until the end. `follow`: whether it has
 * begun is not known; until the state is stable. `recheck`: once.
 */
export type NextRead = 'nothing' | 'await' | 'follow' | 'recheck';

interface Pending {
  readonly generation: number;
  /** Another observation does not answer it; false: it only waits for a provider to finish. */
  mustRead: boolean;
  attempts: number;
  absences: number;
  /** Listings in a row that took the place of its reads. */
  listings: number;
  isInFlight: boolean;
}

export class FollowUpReads {
  readonly #options: ReadsOptions;
  readonly #inventory: Inventory;
  readonly #pending = new Map<number, Pending>();
  /** By provider. */
  readonly #due = new Map<number, DueHeap>();
  readonly #inFlightAt = new Uint32Array(PROVIDERS_MAX);
  readonly #ofOneMax: number;
  /** Machines with a deferred row, to be read when their action settles. */
  readonly #deferred = new Set<number>();
  /** By provider whose changes are listed in place of reads: when the next such listing may begin. */
  readonly #listAgainMs = new Map<number, number>();
  #inFlight = 0;
  #timer: Timer | null = null;
  #timerDueMs = Number.POSITIVE_INFINITY;
  #isStopped = false;

  constructor(options: ReadsOptions) {
    this.#options = options;
    this.#inventory = options.changes.inventory;
    this.#ofOneMax = providerShareOf(options.readsMax, options.providers.names.length);
  }

  get waitingCount(): number {
    let count = 0;
    for (const { size } of this.#due.values()) count += size;
    return count;
  }

  get inFlightCount(): number {
    return this.#inFlight;
  }

  /** Of one provider. */
  inFlightAt(provider: number): number {
    return this.#inFlightAt[provider]!;
  }

  waitingAt(provider: number): number {
    return this.#due.get(provider)?.size ?? 0;
  }

  get deferredCount(): number {
    return this.#deferred.size;
  }

  /** Reads once, and again while the state is transitional. */
  recheck(slot: number, delayMs = 0): void {
    this.#ask(slot, delayMs).mustRead = true;
  }

  /** The machine was listed while an action was under way: reads it when the action has settled. */
  defer(slot: number): void {
    this.#options.counters.rowsDeferred++;
    if (this.#options.changes.freeForObservation(slot)) this.recheck(slot);
    else this.#deferred.add(slot);
  }

  /**
   * The machine's action has settled. `await` and `follow` read until the state is stable, so they serve a deferred row, too. That
   * row may have shown the end, and no later listing of changes shows it again: then only a read does.
   */
  settled(slot: number, next: NextRead): void {
    const isDeferred = this.#deferred.delete(slot);
    if (next === 'await' || next === 'follow') {
      const pending = this.#ask(slot, FIRST_DELAY_MS);
      pending.attempts = 0;
      if (next === 'follow' || isDeferred) pending.mustRead = true;
    } else if (next === 'recheck' || isDeferred) this.recheck(slot);
  }

  /** The machine was observed in a stable state: its provider has finished. */
  finished(slot: number): void {
    const pending = this.#pending.get(slot);
    if (pending === undefined || pending.mustRead || pending.isInFlight) return;
    this.#pending.delete(slot);
    this.#dueAt(slot).delete(slot);
  }

  /** The machine is gone; its row is still readable. */
  forget(slot: number): void {
    this.#pending.delete(slot);
    this.#deferred.delete(slot);
    this.#dueAt(slot).delete(slot);
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#timer = null;
  }

  #ask(slot: number, delayMs: number): Pending {
    const { stopwatch } = this.#options;
    const generation = this.#inventory.generationOf(slot);
    let pending = this.#pending.get(slot);
    if (pending === undefined || !this.#inventory.isCurrent(slot, pending.generation)) {
      pending = { generation, mustRead: false, attempts: 0, absences: 0, listings: 0, isInFlight: false };
      this.#pending.set(slot, pending);
    }
    const due = this.#dueAt(slot);
    due.set(slot, Math.min(stopwatch() + delayMs, due.dueOf(slot) ?? Number.POSITIVE_INFINITY));
    this.#arm();
    return pending;
  }

  #again(slot: number, pending: Pending): void {
    const { stopwatch, delayMsMax } = this.#options;
    const delayMs = Math.min(FIRST_DELAY_MS * 2 ** pending.attempts, delayMsMax);
    pending.attempts = Math.min(pending.attempts + 1, 32);
    this.#dueAt(slot).set(slot, stopwatch() + delayMs);
  }

  #dueAt(slot: number): DueHeap {
    const provider = this.#inventory.columns.provider[slot]!;
    const due = this.#due.get(provider) ?? new DueHeap();
    if (due.size === 0) this.#due.set(provider, due);
    return due;
  }

  /** The reads with the one that is due first, of providers that have not their share under way; null if there are none. */
  #firstDue(): DueHeap | null {
    let first: DueHeap | null = null;
    let firstMs = Number.POSITIVE_INFINITY;
    for (const [provider, due] of this.#due) {
      if (this.#inFlightAt[provider]! >= this.#ofOneMax || due.firstDueMs() >= firstMs) continue;
      first = due;
      firstMs = due.firstDueMs();
    }
    return first;
  }

  #arm(): void {
    if (this.#isStopped || this.#inFlight >= this.#options.readsMax) return;
    const dueMs = this.#firstDue()?.firstDueMs();
    if (dueMs === undefined || (this.#timer !== null && this.#timerDueMs <= dueMs)) return;
    this.#timer?.cancel();
    this.#timerDueMs = dueMs;
    const { stopwatch, scheduler } = this.#options;
    this.#timer = scheduler.after(Math.max(0, dueMs - stopwatch()), () => this.#run());
  }

  #run(): void {
    this.#timer = null;
    this.#timerDueMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#options.stopwatch();
    const skipped: number[] = [];
    const listed: number[] = [];
    while (this.#inFlight < this.#options.readsMax && !this.#isStopped) {
      const slot = this.#firstDue()?.takeDue(nowMs) ?? 0;
      if (slot === 0) break;
      const pending = this.#pending.get(slot);
      if (pending === undefined) continue;
      if (pending.isInFlight) skipped.push(slot);
      else if (this.#isListed(slot, pending, nowMs)) listed.push(slot);
      else this.#read(slot, pending);
    }
    for (const slot of listed) this.#listInstead(slot, nowMs);
    // The answer under way may be older than this request, so the machine is read once more after it.
    for (const slot of skipped) this.#dueAt(slot).set(slot, nowMs + FIRST_DELAY_MS);
    this.#arm();
  }

  /** Whether a listing of changes takes the place of the machine's next read, which was taken from its queue. */
  #isListed(slot: number, { mustRead, listings }: Pending, nowMs: number): boolean {
    const { changeLists, listedMin } = this.#options;
    if (mustRead || listings >= LISTINGS_MAX) return false;
    const provider = this.#inventory.columns.provider[slot]!;
    if (nowMs < (this.#listAgainMs.get(provider) ?? 0)) return true;
    return this.#dueAt(slot).size + 1 >= listedMin && changeLists.mayList(provider);
  }

  /** The listing ends the read if the machine is done. Else the read is due again, and the next listing with it. */
  #listInstead(slot: number, nowMs: number): void {
    const { changeLists } = this.#options;
    const provider = this.#inventory.columns.provider[slot]!;
    this.#pending.get(slot)!.listings++;
    this.#dueAt(slot).set(slot, nowMs + LIST_EVERY_MS);
    if (nowMs < (this.#listAgainMs.get(provider) ?? 0)) return;
    this.#listAgainMs.set(provider, nowMs + LIST_EVERY_MS);
    changeLists.list(provider);
  }

  #read(slot: number, pending: Pending): void {
    const { columns } = this.#inventory;
    if (!this.#inventory.isCurrent(slot, pending.generation)) {
      this.#pending.delete(slot);
      return;
    }
    if (!this.#options.changes.freeForObservation(slot)) {
      this.#deferred.add(slot);
      this.#pending.delete(slot);
      return;
    }
    if (this.#inventory.hasFlag(slot, Flag.Disputed)) {
      this.#again(slot, pending); // T10: neither claimant is asked until the dispute has ended
      return;
    }
    const { providers, changes, clock, timeoutMs, counters } = this.#options;
    const begun = changes.sequence;
    const provider = columns.provider[slot]!;
    const request = {
      provider,
      machineId: this.#inventory.idOf(slot),
      deadlineUnixMs: clock.nowMs() + timeoutMs,
    };
    this.#inFlight++;
    this.#inFlightAt[provider]!++;
    pending.isInFlight = true;
    pending.listings = 0;
    counters.followUpReads++;
    void providers.read(request).then((answer) => {
      this.#inFlight--;
      this.#inFlightAt[provider]!--;
      pending.isInFlight = false;
      if (!this.#isStopped && this.#pending.get(slot) === pending) {
        this.#answered(slot, pending, begun, answer);
      }
      this.#arm();
    });
  }

  #answered(slot: number, pending: Pending, begun: number, answer: ProviderAnswer): void {
    const { changes, clock } = this.#options;
    const inventory = this.#inventory;
    if (!inventory.isCurrent(slot, pending.generation)) {
      this.#pending.delete(slot);
      return;
    }
    if (!changes.freeForObservation(slot)) {
      this.#deferred.add(slot); // an action began meanwhile, and this answer is older
      this.#pending.delete(slot);
      return;
    }
    if (changes.changedSince(slot, begun)) {
      const state = inventory.columns.state[slot]! as MachineState;
      if (pending.mustRead || isTransitional(state)) this.#again(slot, pending);
      else if (!this.#dueAt(slot).has(slot)) this.#pending.delete(slot);
      return;
    }
    if (answer.kind !== 'not_found') pending.absences = 0;
    if (answer.kind === 'accepted') {
      const fate = changes.observe(slot, answer.machine, 'read', clock.nowMs());
      this.#observed(slot, pending, fate === 'doubted');
    } else if (answer.kind === 'not_found') this.#absent(slot, pending);
    else {
      if (answer.reason !== undefined) this.#rejected(slot, answer.reason, answer.detail);
      this.#again(slot, pending);
    }
  }

  #observed(slot: number, pending: Pending, isDoubted: boolean): void {
    const state = this.#inventory.columns.state[slot]! as MachineState;
    pending.mustRead = isDoubted;
    if (isDoubted) {
      pending.attempts = 0;
      this.#again(slot, pending);
    } else if (isTransitional(state)) this.#again(slot, pending);
    else if (!this.#dueAt(slot).has(slot)) this.#pending.delete(slot);
  }

  #absent(slot: number, pending: Pending): void {
    if (++pending.absences < ABSENCES_MAX) {
      pending.mustRead = true; // a listing of changes may not show it
      this.#again(slot, pending);
      return;
    }
    this.#options.changes.remove(slot, 'read');
  }

  #rejected(slot: number, reason: 'price' | 'interruption_probability' | 'structural', detail: string): void {
    const { counters, observer, providers } = this.#options;
    const provider = providers.names[this.#inventory.columns.provider[slot]!]!;
    counters.rejected[reason]++;
    observer.happened({ kind: 'record_rejected', level: 'warn', provider, reason, detail });
  }
}
