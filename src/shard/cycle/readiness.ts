/**
 * Whether the shard acts, is ready and accepts sessions, and why not. These are three questions: a standby is ready and acts for no
 * cluster, and a shard that refuses all rows of one provider acts for the others without being ready.
 */
import type { Fence } from '../execute/fence.ts';
import type { ReplicaPort } from '../ports/replica.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import type { GuardedDecision } from './guarded-decision.ts';

export interface ReadinessOptions {
  /** Null: the shard has no other replicas. */
  readonly replica: ReplicaPort | null;
  readonly fence: Fence;
  readonly reconciler: Reconciler;
  readonly decision: GuardedDecision;
  readonly isStarted: () => boolean;
  readonly isStopping: () => boolean;
}

export class Readiness {
  readonly #options: ReadinessOptions;

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  /**
   * Why no action is emitted: a standby (F4), a provider without a first listing (C2), a newer owner of this shard id (X8), or a
   * decision that threw (T2). '' if none.
   */
  heldBack(): string {
    return this.barredBy() || this.#options.decision.failure;
  }

  /** The same apart from a decision that threw. */
  barredBy(): string {
    const { fence, replica } = this.#options;
    if (fence.isRaised) return fence.reason;
    return replica?.isStandby ? replica.view().text : this.#unlisted();
  }

  /** Why the shard is not ready; '' if it is. T6: a provider of which it refuses every row, although it acts for the others. */
  notReady(): string {
    const { replica, reconciler, isStarted } = this.#options;
    const isStandby = replica?.isStandby ?? false;
    if (isStandby && !isStarted()) return ''; // a cold one, which reads nothing
    const why = isStandby ? this.#unlisted() : this.heldBack();
    return why === '' ? reconciler.refusedWholly().join('; ') : why;
  }

  /** Why the shard accepts no sessions now; null if it does. */
  refusal(): string | null {
    const { fence, replica, isStopping } = this.#options;
    if (fence.isRaised) return fence.reason;
    if (replica?.isStandby) return replica.view().text;
    return isStopping() ? 'the shard is stopping' : null;
  }

  #unlisted(): string {
    const missing = this.#options.reconciler.notListedYet();
    return missing.length === 0 ? '' : `waiting for the first listing of ${missing.join(', ')}`;
  }
}
