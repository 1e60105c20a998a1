/** Complete reports and records; a test overrides what it is about. */
import type { AuditRecord } from '../../src/observe/audit-line.ts';
import { zeroCounters } from '../../src/shard/counters.ts';
import type {
  ActionRecord,
  CycleReport,
  KindCounts,
  ListingReport,
  ShardCounters,
  ShardGauges,
} from '../../src/shard/ports/observer.ts';

export const NO_ACTIONS: KindCounts = { Bootstrap: 0, Provision: 0, Reclaim: 0, Preempt: 0, Delete: 0 };

export function actionRecord(changes: Partial<ActionRecord> = {}): ActionRecord {
  return {
    atMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
    cycle: 7,
    kind: 'Reclaim',
    machineId: 'm-1',
    clusterId: 'c-1',
    forClusterId: '',
    fingerprint: 'p=100|ipb=1|rpb=1|reqs=|spr=',
    group: '',
    reason: 'phase3.excess',
    graceSeconds: 600,
    outcome: 'success',
    detail: '',
    durationMs: 1_250,
    blobMs: 0,
    callMs: 1_000,
    ...changes,
  };
}

export function auditRecord(changes: Partial<AuditRecord> = {}): AuditRecord {
  return { ...actionRecord(changes), epoch: 3, ...changes };
}

export function cycleReport(changes: Partial<CycleReport> = {}): CycleReport {
  return {
    cycle: 1,
    atMs: 1_000_000,
    isOrdinary: true,
    durationMs: 4,
    phaseMs: { reconcile: 1, snapread: 0, phase1: 2, phase2: 0, phase3: 0.5, emit: 0.25, execute: 0.25 },
    decided: NO_ACTIONS,
    enqueued: NO_ACTIONS,
    suppressed: NO_ACTIONS,
    dryRun: NO_ACTIONS,
    capped: 0,
    preemptionsCapped: 0,
    deferred: 0,
    dropped: 0,
    deduped: 0,
    withdrawn: 0,
    changedMachines: 0,
    changedClusters: 0,
    evaluatedNeeds: 0,
    unmetNeeds: 0,
    heldBack: '',
    ...changes,
  };
}

export function listingReport(changes: Partial<ListingReport> = {}): ListingReport {
  return {
    provider: 'rack-a',
    isFull: true,
    failure: '',
    durationMs: 20,
    answerBytes: 1_000,
    listedCount: 10,
    newCount: 0,
    changedCount: 0,
    removedCount: 0,
    deferredCount: 0,
    doubtedCount: 0,
    foreignCount: 0,
    rejected: { price: 0, interruption_probability: 0, structural: 0 },
    isSuspect: false,
    knownCount: 10,
    missingCount: 0,
    heldInARow: 0,
    isRemovalBelieved: false,
    sliceMsMax: 1,
    applyMs: 1,
    ...changes,
  };
}

export function shardCounters(changes: Partial<ShardCounters> = {}): ShardCounters {
  return { ...zeroCounters(), ...changes };
}

export function shardGauges(changes: Partial<ShardGauges> = {}): ShardGauges {
  return {
    queueDepth: 0,
    actionsWaiting: 0,
    inFlight: 0,
    readsWaiting: 0,
    readsInFlight: 0,
    listingsInFlight: 0,
    deferredRows: 0,
    stuckMachines: 0,
    machinesInBackoff: 0,
    offeringsInBackoff: 0,
    needsInBackoff: 0,
    sharedFaults: 0,
    burnedMachines: 0,
    clustersOverBurnBudget: 0,
    disputedMachines: 0,
    pauses: {
      create: 0,
      bind: 0,
      reclaim: 0,
      preempt: 0,
      release: 0,
      cordon: 0,
      drain: 0,
      'drain-now': 0,
      retire: 0,
    },
    heldListings: [],
    suspendedClusters: 0,
    isPaused: false,
    isDryRun: false,
    isFenced: false,
    ...changes,
  };
}
