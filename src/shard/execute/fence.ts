/**
 * X8: the shard is fenced once a provider has refused a call because of a newer epoch. Another process owns the shard id, so this one
 * stops executing, ends its sessions and accepts none. A fence is for good: only a restart takes a new epoch.
 */
import type { Clock } from '../../base/clock.ts';
import type { ShardObserver } from '../ports/observer.ts';
import type { OperatorsPort } from '../ports/operators.ts';
import type { ReplicaPort } from '../ports/replica.ts';
import type { Executor } from './executor.ts';

export interface FenceOptions {
  readonly shardId: string;
  readonly epoch: number;
  readonly clock: Clock;
  readonly observer: ShardObserver;
  readonly executor: Executor;
  readonly operators: OperatorsPort;
  readonly replica?: ReplicaPort;
}

export class Fence {
  readonly #options: FenceOptions;
  #reason = '';

  constructor(options: FenceOptions) {
    this.#options = options;
  }

  /** Why the shard is fenced, and what to do; '' if it is not. */
  get reason(): string {
    return this.#reason;
  }

  get isRaised(): boolean {
    return this.#reason !== '';
  }

  /** `wasAccepted`: a provider accepted an earlier call of this process. */
  raise(machineId: string, detail: string, wasAccepted: boolean): void {
    if (this.isRaised) return;
    const { shardId, epoch, clock, observer, executor, operators, replica } = this.#options;
    const owner = `another process owns shard ${shardId} (${detail})`;
    const remedy = 'stop one of the two processes and restart the other';
    // I1: epochs count from 1. The time in seconds is higher than any that a shard has counted to.
    const minEpoch = Math.floor(clock.nowMs() / 1_000);
    const lost =
      `or the data directory was lost: no provider accepted a call of this process, whose epoch is ${epoch}. ` +
      `If no other process runs with this id, start it once with --min-epoch ${minEpoch}`;
    this.#reason = `fenced: ${owner}; ${wasAccepted ? remedy : `${remedy}, ${lost}`}`;
    const next = wasAccepted ? remedy : lost;
    observer.happened({ kind: 'fenced', level: 'error', machineId, detail, next });
    void executor.stop(0);
    operators.endAll(this.#reason);
    replica?.fenced();
  }
}
