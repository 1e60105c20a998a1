/**
 * X16: what the shard does after its process stood still. Another process may have taken over meanwhile, or clusters may have left.
 * So the shard drops the actions that it decided before and has not sent, lets one call go alone, and counts no session until the
 * session has answered a ping.
 *
 * The pulse (base/pulse.ts) notices a stall. Everything that acts asks for the stretch first, so the shard has dropped what is
 * outdated before any event acts on it, whichever comes first.
 */
import type { Scheduler, Timer } from '../../base/clock.ts';
import type { Pulse } from '../../base/pulse.ts';
import type { SessionBits } from '../operators/session-bits.ts';
import type { ShardCounters, ShardObserver } from '../ports/observer.ts';
import type { OperatorsPort } from '../ports/operators.ts';
import type { Executor } from './executor.ts';
import type { LoneCall } from './lone-call.ts';

export interface StallsOptions {
  /** Null: the process never stands still. */
  readonly pulse?: Pulse | null;
  readonly scheduler: Scheduler;
  readonly counters: ShardCounters;
  readonly observer: ShardObserver;
  readonly executor: Executor;
  readonly lone: LoneCall;
  readonly sessions: SessionBits;
  readonly operators: OperatorsPort;
  readonly isStopping: () => boolean;
  /** Asks for a cycle, which decides again. */
  readonly wake: () => void;
}

export class Stalls {
  readonly #options: StallsOptions;
  /** A stall that was noticed and not acted upon yet; 0 = none. */
  #stoodMs = 0;
  #timer: Timer | null = null;

  constructor(options: StallsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#options.pulse?.beat(); // the time until the start is no stall
    this.#beatOften();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  /** The present stretch; acts upon a stall first. */
  stretch(): number {
    this.beat();
    const forMs = this.#stoodMs;
    this.#stoodMs = 0;
    if (forMs > 0) this.#stoodStill(forMs);
    return this.#options.pulse?.stretch ?? 0;
  }

  /** Writes nothing else, so a decision may call it. */
  beat(): void {
    this.#stoodMs = Math.max(this.#stoodMs, Math.round(this.#options.pulse?.beat() ?? 0));
  }

  #beatOften(): void {
    const { pulse = null, scheduler, isStopping } = this.#options;
    if (pulse === null || isStopping()) return;
    this.stretch();
    this.#timer = scheduler.after(pulse.everyMs, () => this.#beatOften());
  }

  #stoodStill(forMs: number): void {
    const { counters, observer, executor, lone, sessions, operators, wake } = this.#options;
    const dropped = executor.unsentCount;
    counters.stalls++;
    counters.actionsOutdated += dropped;
    observer.happened({ kind: 'stood_still', level: 'warn', forMs, dropped, sessions: sessions.count });
    lone.begin();
    executor.withdrawAll();
    sessions.doubtAll();
    operators.pingAll();
    wake();
  }
}
