/** Counts that the shard keeps; metrics read them at scrape time. */
import type { ShardCounters } from './ports/observer.ts';

export function zeroCounters(): ShardCounters {
  return {
    rejected: { price: 0, interruption_probability: 0, structural: 0 },
    rowsNew: 0,
    rowsChanged: 0,
    rowsRemoved: 0,
    rowsDeferred: 0,
    observationsConfirmed: 0,
    observationsDiscarded: 0,
    suspectListings: 0,
    failedListings: 0,
    followUpReads: 0,
    reclaimsCapped: 0,
    reclaimsHeldByBudgets: 0,
    preemptionsCapped: 0,
    actionsDeferred: 0,
    actionsHeldForProbes: 0,
    removalsHeld: 0,
    bootstrapsFailed: 0,
    drainsFailed: 0,
    actionsDropped: 0,
    actionsPaused: 0,
    actionsDeduped: 0,
    actionsWithdrawn: 0,
    stalls: 0,
    actionsOutdated: 0,
    rollupsAccepted: 0,
    rollupsUnchanged: 0,
    checkDifferences: 0,
    checksRun: 0,
    checksFailed: 0,
    decisionThrows: 0,
    clustersSuspended: 0,
    decisionsFailed: 0,
  };
}
