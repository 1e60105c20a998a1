/**
 * What the shard tells whoever watches: metrics, audit log, log lines. The shard emits none of these itself. Calls are
 * synchronous and must be cheap; an observer never throws. What happens a hundred thousand times a second is counted in
 * `ShardCounters` and read when somebody scrapes.
 */
import type { InvalidReason } from '../../machine/machine.ts';
import type { MachineState } from '../../machine/state.ts';

export interface ShardObserver {
  /** Whether actions that were not executed are told one by one too: a burst drops them by the ten thousand. */
  readonly audits: boolean;
  cycleEnded(report: CycleReport): void;
  /** Every action that was executed, when its fate is known; with `audits` also those suppressed, dry-run or dropped (C5). */
  actionEnded(record: ActionRecord): void;
  listingEnded(report: ListingReport): void;
  /** A machine is a node, so long after its action was enqueued. */
  machineBound?(latencyMs: number): void;
  /** Something that a person may want to read in a log. */
  happened(event: ShardEvent): void;
}

export type ActionName = 'Bootstrap' | 'Provision' | 'Reclaim' | 'Preempt' | 'Delete';

/** X9, and what was never executed. */
export type ActionOutcome =
  | 'success'
  | 'accepted' // an asynchronous provider's ack
  | 'no_session'
  | 'blob_error'
  | 'blob_timeout'
  | 'provider_error'
  | 'timeout'
  | 'fenced'
  | 'stale_state'
  | 'rolled_back'
  | 'ack_rejected'
  | 'worker_lost'
  | 'dropped' // the queue was full
  | 'deduped' // the machine had an action already
  | 'suppressed' // the kill switch is on
  | 'dryrun';

export interface ActionRecord {
  readonly atMs: number;
  readonly cycle: number;
  readonly kind: ActionName;
  readonly machineId: string;
  /** The machine's: the one it is bound to, or will be. */
  readonly clusterId: string;
  /** Of a preemption: who it is for. */
  readonly forClusterId: string;
  readonly fingerprint: string;
  readonly group: string;
  /** `phase1.idle`, … */
  readonly reason: string;
  readonly graceSeconds: number;
  readonly outcome: ActionOutcome;
  /** What went wrong, one line; ''. */
  readonly detail: string;
  /** From enqueueing to settlement; 0 if it was never executed. */
  readonly durationMs: number;
  /** Parts of it, where there were any. */
  readonly blobMs: number;
  readonly callMs: number;
}

export type CyclePhase = 'reconcile' | 'snapread' | 'phase1' | 'phase2' | 'phase3' | 'emit' | 'execute';

export type KindCounts = Readonly<Record<ActionName, number>>;

export interface CycleReport {
  /** From 1, every cycle. */
  readonly cycle: number;
  readonly atMs: number;
  /** C1: false for a woken one. */
  readonly isOrdinary: boolean;
  /** Without the wait for listings: what the main thread spent. */
  readonly durationMs: number;
  readonly phaseMs: Readonly<Record<CyclePhase, number>>;
  /** Before any rail. */
  readonly decided: KindCounts;
  readonly enqueued: KindCounts;
  readonly suppressed: KindCounts;
  readonly dryRun: KindCounts;
  readonly capped: number;
  readonly deferred: number;
  readonly dropped: number;
  readonly deduped: number;
  readonly changedMachines: number;
  readonly changedClusters: number;
  readonly evaluatedNeeds: number;
  readonly unmetNeeds: number;
  /** Why nothing was emitted: '' or a sentence (C2). */
  readonly heldBack: string;
}

export interface ListingReport {
  readonly provider: string;
  readonly isFull: boolean;
  /** '' if it succeeded. */
  readonly failure: string;
  readonly durationMs: number;
  readonly answerBytes: number;
  readonly listedCount: number;
  readonly newCount: number;
  readonly changedCount: number;
  readonly removedCount: number;
  readonly deferredCount: number;
  /** States that M2 does not allow in one step, to be read again (S2). */
  readonly doubtedCount: number;
  readonly rejected: Readonly<Record<InvalidReason, number>>;
  /** S6: nothing was removed. */
  readonly isSuspect: boolean;
  /** Longest stretch of the main thread, ms. */
  readonly sliceMsMax: number;
  readonly applyMs: number;
}

/** `level` is that of the log line. Per-machine kinds may come in thousands: whoever logs them limits the rate. */
export type ShardEvent =
  | { readonly kind: 'fenced'; readonly level: 'error'; readonly machineId: string; readonly detail: string }
  | {
      readonly kind: 'machine_stuck';
      readonly level: 'warn';
      readonly machineId: string;
      readonly state: MachineState;
      readonly forMs: number;
    }
  | {
      readonly kind: 'observation_confirmed' | 'observation_discarded';
      readonly level: 'warn';
      readonly machineId: string;
      readonly from: MachineState;
      readonly to: MachineState;
    }
  | {
      readonly kind: 'record_rejected';
      readonly level: 'warn';
      readonly provider: string;
      readonly reason: InvalidReason;
      readonly detail: string;
    }
  | {
      readonly kind: 'listing_suspect';
      readonly level: 'warn';
      readonly provider: string;
      readonly knownCount: number;
      readonly missingCount: number;
      readonly inARow: number;
    }
  | {
      readonly kind: 'offering_backoff';
      readonly level: 'warn';
      readonly offering: string;
      readonly forMs: number;
    }
  | {
      readonly kind: 'rollup_rejected';
      readonly level: 'warn';
      readonly clusterId: string;
      readonly detail: string;
    }
  | {
      readonly kind: 'rollup_quarantined';
      readonly level: 'warn';
      readonly clusterId: string;
      readonly inARow: number;
    }
  | { readonly kind: 'inventory_full'; readonly level: 'error'; readonly detail: string }
  | {
      readonly kind: 'check_differs';
      readonly level: 'error';
      readonly actions: number;
      readonly claims: number;
      readonly verdicts: number;
      /** The first few, in words. */
      readonly examples: readonly string[];
    }
  | { readonly kind: 'check_failed'; readonly level: 'warn'; readonly detail: string };

/** Monotonic counts since the start; read at scrape time. */
export interface ShardCounters {
  readonly rejected: Record<InvalidReason, number>;
  rowsNew: number;
  rowsChanged: number;
  rowsRemoved: number;
  rowsDeferred: number;
  observationsConfirmed: number;
  observationsDiscarded: number;
  suspectListings: number;
  failedListings: number;
  followUpReads: number;
  reclaimsCapped: number;
  actionsDeferred: number;
  actionsDropped: number;
  actionsDeduped: number;
  rollupsAccepted: number;
  rollupsUnchanged: number;
  checkDifferences: number;
  checksRun: number;
  /** Checks that could not be made: no memory, or their thread died. */
  checksFailed: number;
}

/** Taken at scrape time. */
export interface ShardGauges {
  readonly queueDepth: number;
  readonly inFlight: number;
  readonly readsWaiting: number;
  readonly readsInFlight: number;
  readonly listingsInFlight: number;
  readonly deferredRows: number;
  readonly stuckMachines: number;
  readonly machinesInBackoff: number;
  readonly offeringsInBackoff: number;
  readonly isPaused: boolean;
  readonly isDryRun: boolean;
  readonly isFenced: boolean;
}
