/**
 * What the shard reports to observers, which write metrics, the audit log and log lines. Calls are synchronous and must be
 * cheap; an observer never throws. Events that occur a hundred thousand times a second are only counted, in
 * `ShardCounters`, and read at scrape time.
 */
import type { InvalidReason } from '../../machine/machine.ts';
import type { MachineState } from '../../machine/state.ts';
import type { ControlRecord, Told } from './controls.ts';
import type { NotedEvent } from './events.ts';

export interface ShardObserver {
  /** Whether to report each action that was not executed: a burst drops tens of thousands. */
  readonly audits: boolean;
  cycleEnded(report: CycleReport): void;
  /** Every executed action, when it settles; with `audits` also suppressed, dry-run and dropped ones. C5: the audit log has all. */
  actionEnded(record: ActionRecord): void;
  /** An action that ended as `accepted` was carried out, or was not. */
  acceptedActionEnded?(ended: AcceptedActionEnded): void;
  listingEnded(report: ListingReport): void;
  /** H1: every command of an admin, whether it was carried out or refused, and the end of every control. */
  controlled?(record: ControlRecord): void;
  machineBound?(bound: MachineBound): void;
  /** An event for the log. */
  happened(event: ShardEvent): void;
  /** An event for the history. If it is left out, the shard prepares none. */
  noted?(event: NotedEvent): void;
}

/** X9: how an action of an asynchronous provider ended, after its ack. */
export interface AcceptedActionEnded {
  readonly kind: ActionName;
  /** `provider_error`: the machine failed, went back, or is gone. */
  readonly outcome: 'success' | 'provider_error';
}

/** A machine became a node. */
export interface MachineBound {
  /** How the need got the machine. */
  readonly path: BindingPath;
  /** Since the need lacked it: from its roll-up, or from the cycle that found it missing. */
  readonly neededMs: number;
  /** Since the action was enqueued. */
  readonly enqueuedMs: number;
}

/**
 * The first two: found by the first cycle that saw the need lack something. The next two: freed by another need while this
 * one waited. `waited`: nothing suitable was there for a while, or the need was barred from acquiring.
 */
export type BindingPath = 'idle' | 'created' | 'drained' | 'preempted' | 'waited';

export type ActionName = 'Bootstrap' | 'Provision' | 'Reclaim' | 'Preempt' | 'Delete';

/** X9: outcomes of executed actions are counted by kind; the last four were never executed. */
export type ActionOutcome =
  | 'success'
  | 'accepted' // an asynchronous provider's ack; acceptedActionEnded follows
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
  | 'held' // F3, X16: nothing was sent, because the replica was adrift or the process stood still
  | 'dropped' // the queue was full
  | 'deduped' // the machine had an action already
  | 'suppressed' // the kill switch is on
  | 'dryrun';

export interface ActionRecord {
  readonly atMs: number;
  readonly cycle: number;
  readonly kind: ActionName;
  readonly machineId: string;
  /** The cluster that the machine is bound to, or will be. */
  readonly clusterId: string;
  /** Of a preemption: the cluster that it serves. */
  readonly forClusterId: string;
  readonly fingerprint: string;
  readonly group: string;
  /** `phase1.idle`, … */
  readonly reason: string;
  readonly graceSeconds: number;
  readonly outcome: ActionOutcome;
  /** What went wrong, in one line; ''. */
  readonly detail: string;
  /** From enqueueing to settlement; 0 if it was never executed. */
  readonly durationMs: number;
  /** Parts of `durationMs`; 0 if there was no such step. */
  readonly blobMs: number;
  readonly callMs: number;
}

export type CyclePhase = 'reconcile' | 'snapread' | 'phase1' | 'phase2' | 'phase3' | 'emit' | 'execute';

export type KindCounts = Readonly<Record<ActionName, number>>;

export interface CycleReport {
  /** Counts every cycle, from 1. */
  readonly cycle: number;
  readonly atMs: number;
  /** C1: ordinary cycles run every interval; false for a woken one. */
  readonly isOrdinary: boolean;
  /** Time of the main thread, without the wait for listings. */
  readonly durationMs: number;
  readonly phaseMs: Readonly<Record<CyclePhase, number>>;
  /** Before the rails. */
  readonly decided: KindCounts;
  readonly enqueued: KindCounts;
  readonly suppressed: KindCounts;
  readonly dryRun: KindCounts;
  /** R2: reclaims that the cap left for a later cycle. */
  readonly capped: number;
  /** T9: preemptions that the cap left for a later cycle. */
  readonly preemptionsCapped: number;
  readonly deferred: number;
  readonly dropped: number;
  readonly deduped: number;
  /** X3: bindings that waited for their turn and that the decision withdrew. */
  readonly withdrawn: number;
  readonly changedMachines: number;
  readonly changedClusters: number;
  readonly evaluatedNeeds: number;
  /** Needs that the cycle did not satisfy: the same number as in every list of needs. */
  readonly unmetNeeds: number;
  /** Why no action was emitted: '' or a sentence. C2: none before every provider has been listed once. */
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
  /** S2: rows that show an impossible move, to be confirmed by a second observation. */
  readonly doubtedCount: number;
  /** T10: rows of machines that belong to another provider, refused. */
  readonly foreignCount: number;
  readonly rejected: Readonly<Record<InvalidReason, number>>;
  /** S6: the listing lacked so many machines that none was removed. */
  readonly isSuspect: boolean;
  /** S6: of the provider, before the listing or, if it is held, before the hold; and how many of them it lacks. */
  readonly knownCount: number;
  readonly missingCount: number;
  /** S6: listings that agree, this one included, if it is held; else 0. */
  readonly heldInARow: number;
  /** S6: earlier listings were held, and this one was believed. */
  readonly isRemovalBelieved: boolean;
  /** Longest slice of the main thread, ms. */
  readonly sliceMsMax: number;
  readonly applyMs: number;
}

/** `level` is that of the log line. Kinds about one machine may come in thousands, so the log limits their rate. */
export type ShardEvent =
  | {
      readonly kind: 'fenced';
      readonly level: 'error';
      readonly machineId: string;
      readonly detail: string;
      /** What a person can do. */
      readonly next: string;
    }
  | {
      /** X16: the main loop stood still. */
      readonly kind: 'stood_still';
      readonly level: 'warn';
      readonly forMs: number;
      /** Actions that were decided before and whose call has not been sent. */
      readonly dropped: number;
      readonly sessions: number;
    }
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
      /** Listings must go on to agree for so long. */
      readonly leftMs: number;
      /** What a person can do. */
      readonly next: string;
    }
  | {
      /** S6: held listings agreed or were confirmed, and the shard removes the machines. */
      readonly kind: 'removal_believed';
      readonly level: 'warn';
      readonly provider: string;
      readonly knownCount: number;
      readonly missingCount: number;
      readonly because: 'agreed' | 'confirmed';
      /** Of the confirmation; ''. */
      readonly who: string;
      readonly why: string;
    }
  | {
      /** S6: after held listings the provider lists its machines again. */
      readonly kind: 'listing_suspect_ended';
      readonly level: 'info';
      readonly provider: string;
      readonly knownCount: number;
      readonly missingCount: number;
    }
  | {
      /** T10: two providers list the same machine, and neither is known to own it. */
      readonly kind: 'machines_disputed';
      readonly level: 'error';
      /** Whose listing showed it. */
      readonly provider: string;
      readonly count: number;
      /** The first of them, and all providers that list it. */
      readonly machineId: string;
      readonly claimedBy: string;
    }
  | {
      readonly kind: 'disputes_ended';
      readonly level: 'info';
      readonly provider: string;
      readonly count: number;
    }
  | {
      readonly kind: 'offering_backoff';
      readonly level: 'warn';
      readonly offering: string;
      readonly forMs: number;
    }
  | {
      /** X15: failures of many needs count against an offering, or, if that is '', against the provider. */
      readonly kind: 'shared_fault';
      readonly level: 'warn';
      readonly attempt: 'bootstrap' | 'drain';
      readonly provider: string;
      readonly offering: string;
      readonly needs: number;
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
  | {
      /** H9: what a budget used counts as used up, or the reclaims that would use it are not begun. */
      readonly kind: 'budget_usage_unread' | 'budget_usage_not_written';
      readonly level: 'error';
      readonly detail: string;
      /** What a person can do. */
      readonly next: string;
    }
  | { readonly kind: 'inventory_full'; readonly level: 'error'; readonly detail: string }
  | {
      readonly kind: 'check_differs';
      readonly level: 'error';
      readonly actions: number;
      readonly claims: number;
      readonly verdicts: number;
      /** Descriptions of the first few. */
      readonly examples: readonly string[];
    }
  | { readonly kind: 'check_failed'; readonly level: 'warn'; readonly detail: string }
  | {
      readonly kind: 'decision_threw';
      readonly level: 'error';
      readonly detail: string;
      /** The need that the engine worked on; ''. */
      readonly need: string;
      /** What the rebuilt engine could not take over; ''. */
      readonly lost: string;
    }
  | {
      readonly kind: 'cluster_suspended';
      readonly level: 'error';
      readonly clusterId: string;
      readonly reason: string;
      readonly untilMs: number;
    }
  | {
      /** H7: a machine drains, and the shard did not ask for it. */
      readonly kind: 'foreign_drain';
      readonly level: 'warn';
      readonly machineId: string;
      /** For so long the shard leaves it alone once it is Idle. */
      readonly forMs: number;
    }
  | { readonly kind: 'suspension_ended'; readonly level: 'info'; readonly clusterId: string }
  | { readonly kind: 'decision_failed'; readonly level: 'error'; readonly detail: string }
  | {
      /** H1: a command of an admin, or the end of one. */
      readonly kind: 'control';
      readonly level: 'warn';
      readonly command: ControlRecord['command'];
      readonly id: string;
      readonly subject: string;
      readonly who: string;
      readonly why: string;
      readonly outcome: ControlRecord['outcome'];
      readonly detail: string;
    }
  | {
      /** H2: at the start and once an hour. */
      readonly kind: 'control_in_force';
      readonly level: 'warn';
      readonly id: string;
      readonly subject: string;
      readonly who: string;
      readonly why: string;
      /** null: until it is lifted. */
      readonly leftMs: number | null;
    };

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
  /** H9: reclaims that a disruption budget left for later. Each cycle counts. */
  reclaimsHeldByBudgets: number;
  preemptionsCapped: number;
  actionsDeferred: number;
  /** X5, X15: actions for what failed before, beyond its one probe. */
  actionsHeldForProbes: number;
  /** F3: reclaims, preemptions and releases that were decided and not begun, because the replica was adrift. Each cycle counts. */
  removalsHeld: number;
  /** X5: machines that a bootstrap or a drain did not bring to its end, synchronous or not. */
  bootstrapsFailed: number;
  drainsFailed: number;
  actionsDropped: number;
  /** H3: queued actions that a pause stopped, by what it pauses. */
  actionsPaused: number;
  actionsDeduped: number;
  /** X3: bindings that waited for their turn and were not begun. */
  actionsWithdrawn: number;
  /** X16: how often the main loop stood still, and actions that were dropped because of it. */
  stalls: number;
  actionsOutdated: number;
  rollupsAccepted: number;
  rollupsUnchanged: number;
  checkDifferences: number;
  checksRun: number;
  /** Checks that did not run: no memory, or their thread died. */
  checksFailed: number;
  /** T2: throws of decisions, suspensions of clusters, and cycles without a decision for it. */
  decisionThrows: number;
  clustersSuspended: number;
  decisionsFailed: number;
}

/** S6: a provider whose last listing lacks so many machines that the shard removes none. */
export interface HeldListingView {
  readonly provider: string;
  readonly knownCount: number;
  readonly missingCount: number;
  readonly forMs: number;
  /** The shard believes it if listings go on to agree for so long. */
  readonly leftMs: number;
  /** Who confirmed it; ''. */
  readonly confirmedBy: string;
}

/** Read at scrape time. */
export interface ShardGauges {
  readonly queueDepth: number;
  /** X3: bindings that wait for room in the queue. */
  readonly actionsWaiting: number;
  readonly inFlight: number;
  readonly readsWaiting: number;
  readonly readsInFlight: number;
  readonly listingsInFlight: number;
  readonly deferredRows: number;
  readonly stuckMachines: number;
  readonly machinesInBackoff: number;
  readonly offeringsInBackoff: number;
  /** X5: needs that may not try another machine now. */
  readonly needsInBackoff: number;
  /** X15: offerings and providers on which many needs failed. */
  readonly sharedFaults: number;
  /** X14: machines that bootstraps and drains left Failed or gone in the last hour, and clusters that may burn no more. */
  readonly burnedMachines: number;
  readonly clustersOverBurnBudget: number;
  readonly disputedMachines: number;
  /** T2: clusters that are suspended now. */
  readonly suspendedClusters: number;
  /** H2: controls in force, by what they pause. */
  readonly pauses: Readonly<Record<Told, number>>;
  readonly heldListings: readonly HeldListingView[];
  readonly isPaused: boolean;
  readonly isDryRun: boolean;
  readonly isFenced: boolean;
}
