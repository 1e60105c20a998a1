/**
 * Follow-up reads of machines with `Get`. One read serves all reasons that a machine has:
 *
 *   X13   an asynchronous provider has not finished
 *   X8    a call got no answer, and the shard must learn how it ended
 *   S4    a row was deferred because an action was under way
 *   S2    a doubted observation needs a second one
 *   X11   a machine is stuck
 *
 * Reads come after 0.25, 0.5, 1, 2 … seconds, up to the cycle interval, until the machine is in a stable state. At most
 * READS_MAX are under way at a time, the longest due first. Due times use the stopwatch, as timers do: with a clock that is
 * set back and put right again, one timer an hour away could hold up all reads.
 */
import type { Clock, Scheduler, Stopwatch, Timer } from '../../base/clock.ts';
import { Intent } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { isTransitional, type MachineState } from '../../machine/state.ts';
import type { ShardCounters, ShardObserver } from '../ports/observer.ts';
import type { ProviderAnswer, ProviderPort } from '../ports/providers.ts';
import type { MachineChanges } from './changes.ts';
import { DueHeap } from './due-heap.ts';

/** X13: reads under way at a time. */
export const READS_MAX = 64;
const FIRST_DELAY_MS = 250;
/** NOT_FOUND answers in a row that remove the machine. */
const ABSENCES_MAX = 2;

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
}

interface Pending {
  readonly generation: number;
  attempts: number;
  absences: number;
  isInFlight: boolean;
}

export class FollowUpReads {
  readonly #options: ReadsOptions;
  readonly #inventory: Inventory;
  readonly #pending = new Map<number, Pending>();
  readonly #due = new DueHeap();
  /** Machines with a deferred row, to be read when their action settles. */
  readonly #deferred = new Set<number>();
  #inFlight = 0;
  #timer: Timer | null = null;
  #timerDueMs = Number.POSITIVE_INFINITY;
  #isStopped = false;

  constructor(options: ReadsOptions) {
    this.#options = options;
    this.#inventory = options.changes.inventory;
  }

  get waitingCount(): number {
    return this.#due.size;
  }

  get inFlightCount(): number {
    return this.#inFlight;
  }

  get deferredCount(): number {
    return this.#deferred.size;
  }

  /** Reads until the machine is in a stable state. */
  follow(slot: number): void {
    this.#ask(slot, FIRST_DELAY_MS);
    this.#pending.get(slot)!.attempts = 0;
  }

  /** Reads once, and again while the state is transitional. */
  recheck(slot: number, delayMs = 0): void {
    this.#ask(slot, delayMs);
  }

  /** The machine was listed while an action was under way: reads it when the action has settled. */
  defer(slot: number): void {
    this.#options.counters.rowsDeferred++;
    if (this.#inventory.columns.intent[slot] === Intent.None) this.recheck(slot);
    else this.#deferred.add(slot);
  }

  /** The machine's action has settled. */
  settled(slot: number): void {
    if (this.#deferred.delete(slot)) this.recheck(slot);
  }

  /** The machine is gone. */
  forget(slot: number): void {
    this.#pending.delete(slot);
    this.#deferred.delete(slot);
    this.#due.delete(slot);
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#timer = null;
  }

  #ask(slot: number, delayMs: number): void {
    const { stopwatch } = this.#options;
    const generation = this.#inventory.generationOf(slot);
    let pending = this.#pending.get(slot);
    if (pending === undefined || !this.#inventory.isCurrent(slot, pending.generation)) {
      pending = { generation, attempts: 0, absences: 0, isInFlight: false };
      this.#pending.set(slot, pending);
    }
    const dueMs = Math.min(stopwatch() + delayMs, this.#due.dueOf(slot) ?? Number.POSITIVE_INFINITY);
    this.#due.set(slot, dueMs);
    this.#arm();
  }

  #again(slot: number, pending: Pending): void {
    const { stopwatch, delayMsMax } = this.#options;
    const delayMs = Math.min(FIRST_DELAY_MS * 2 ** pending.attempts, delayMsMax);
    pending.attempts = Math.min(pending.attempts + 1, 32);
    this.#due.set(slot, stopwatch() + delayMs);
  }

  #arm(): void {
    if (this.#isStopped || this.#inFlight >= READS_MAX) return;
    const dueMs = this.#due.firstDueMs();
    if (dueMs === Number.POSITIVE_INFINITY || (this.#timer !== null && this.#timerDueMs <= dueMs)) return;
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
    while (this.#inFlight < READS_MAX && !this.#isStopped) {
      const slot = this.#due.takeDue(nowMs);
      if (slot === 0) break;
      const pending = this.#pending.get(slot);
      if (pending === undefined) continue;
      if (pending.isInFlight) skipped.push(slot);
      else this.#read(slot, pending);
    }
    // The answer under way may be older than this request, so the machine is read once more after it.
    for (const slot of skipped) this.#due.set(slot, nowMs + FIRST_DELAY_MS);
    this.#arm();
  }

  #read(slot: number, pending: Pending): void {
    const { columns } = this.#inventory;
    if (!this.#inventory.isCurrent(slot, pending.generation)) {
      this.#pending.delete(slot);
      return;
    }
    if (columns.intent[slot] !== Intent.None) {
      this.#deferred.add(slot);
      this.#pending.delete(slot);
      return;
    }
    const { providers, changes, clock, timeoutMs, counters } = this.#options;
    const begun = changes.sequence;
    const request = {
      provider: columns.provider[slot]!,
      machineId: this.#inventory.idOf(slot),
      deadlineUnixMs: clock.nowMs() + timeoutMs,
    };
    this.#inFlight++;
    pending.isInFlight = true;
    counters.followUpReads++;
    void providers.read(request).then((answer) => {
      this.#inFlight--;
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
    if (inventory.columns.intent[slot] !== Intent.None) {
      this.#deferred.add(slot); // an action began meanwhile, and this answer is older
      this.#pending.delete(slot);
      return;
    }
    if (changes.changedSince(slot, begun)) {
      this.#again(slot, pending);
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
    if (isDoubted) {
      pending.attempts = 0;
      this.#again(slot, pending);
    } else if (isTransitional(state)) this.#again(slot, pending);
    else if (!this.#due.has(slot)) this.#pending.delete(slot);
  }

  #absent(slot: number, pending: Pending): void {
    if (++pending.absences < ABSENCES_MAX) {
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
