/**
 * Metrics computed at scrape time: counters and gauges of the shard, sessions, workers, the audit log, and sums over the
 * inventory and the needs. They cost nothing between scrapes.
 */
import type { Registry } from 'prom-client';
import type { ShardCounters, ShardGauges } from '../shard/ports/observer.ts';
import { type BudgetFacts, budgetMetrics } from './budget-metrics.ts';
import { boundedByCluster } from './cluster-labels.ts';
import type { DemandTally } from './demand-tally.ts';
import { counterFrom, gaugeFrom } from './families.ts';
import {
  type CeilingFacts,
  ceilingSamples,
  type FleetColumns,
  FleetTally,
  type SpotShareFacts,
  spotShareSamples,
} from './fleet-gauges.ts';
import { type HistoryCounts, historyMetrics } from './history-metrics.ts';
import type { HttpRefusal } from './http-limits.ts';
import { type ReplicaFacts, replicaMetrics } from './replica-metrics.ts';
import { agedSamples, prioritySamples, type ShortfallFacts } from './shortfall-gauges.ts';
import { type TlsFacts, tlsMetrics } from './tls-metrics.ts';

export interface SessionCounts {
  readonly active: number;
  /** This and the counts below are since the start. */
  readonly installed: number;
  readonly removed: number;
  readonly replaced: number;
  readonly identityRejected: number;
  /** By reason, all of them known in advance. */
  readonly refused: Readonly<Record<string, number>>;
  /** Connections that the shard ended, by reason. */
  readonly connectionsEnded: Readonly<Record<string, number>>;
  /** Bytes of roll-ups that wait or are being decoded. */
  readonly rollupBytesWaiting: number;
}

export interface AuditCounts {
  readonly written: number;
  readonly lost: number;
  readonly isFailing: boolean;
}

/** Called at scrape time, so each must be quick. The metrics of a missing source have no samples. */
export interface MetricSources {
  counters(): ShardCounters;
  gauges(): ShardGauges;
  /** The inventory's columns. */
  fleet(): FleetColumns;
  /** E7: the ceilings, and what counts for each. */
  ceilings(): readonly CeilingFacts[];
  /** E8: the clusters with a minimum share of machines that are not spot. */
  spotShares(): readonly SpotShareFacts[];
  /** H9: the disruption budgets and what each has used. */
  budgets(): readonly BudgetFacts[];
  /** Every shortfall, not only the reported ones. */
  shortfalls(): readonly ShortfallFacts[];
  /** N7: a roll-up that drops most rows is quarantined. Clusters with such roll-ups, and how many in a row. */
  heldRollups(): Iterable<readonly [clusterId: string, held: number]>;
  demand(): DemandTally;
  sessions(): SessionCounts;
  tls(): TlsFacts;
  /** Worker threads replaced since the start. */
  workerRestarts(): number;
  audit(): AuditCounts;
  events(): HistoryCounts;
  /** T13: what the HTTP servers refused, by reason. */
  httpRefused(): Readonly<Record<HttpRefusal, number>>;
  isReady(): boolean;
  /** Of the running shard; 0: it is a standby's. */
  epoch(): number;
  replica(): ReplicaFacts;
  /** Rejected rows since the start, by provider. */
  rejectedRows(): Readonly<Record<string, number>>;
}

export class ScrapedMetrics {
  readonly #fleet = new FleetTally();
  #ceilings: readonly CeilingFacts[] | null = null;
  #spotShares: readonly SpotShareFacts[] | null = null;
  #budgets: readonly BudgetFacts[] | null = null;
  #sources: Partial<MetricSources> = {};

  constructor(registry: Registry) {
    this.#counters(registry);
    this.#gauges(registry);
    this.#tallies(registry);
    this.#edges(registry);
    tlsMetrics(registry, () => this.#sources.tls?.() ?? null);
    replicaMetrics(registry, () => this.#sources.replica?.() ?? null);
  }

  watch(sources: Partial<MetricSources>): void {
    this.#sources = { ...this.#sources, ...sources };
  }

  /** One pass over the fleet for all metrics that need it, and one more each if there are ceilings or shares. */
  beforeScrape(): void {
    this.#ceilings = this.#sources.ceilings?.() ?? null;
    this.#spotShares = this.#sources.spotShares?.() ?? null;
    this.#budgets = this.#sources.budgets?.() ?? null;
    const columns = this.#sources.fleet?.();
    if (columns !== undefined) this.#fleet.update(columns);
  }

  #counters(registry: Registry): void {
    const from = (
      name: string,
      help: string,
      read: (counters: ShardCounters) => number | Readonly<Record<string, number>>,
      label?: string,
    ) => {
      const readNow = () => {
        const counters = this.#sources.counters?.();
        return counters === undefined ? null : read(counters);
      };
      counterFrom(registry, { name, help }, readNow, label);
    };
    from(
      'bigfleet_shard_actions_deferred_total',
      'Actions beyond max-actions-per-cycle; the next cycle decides them again.',
      (counters) => counters.actionsDeferred,
    );
    from(
      'bigfleet_shard_actions_dropped_total',
      'Actions dropped because the queue was full; the next cycle decides them again.',
      (counters) => counters.actionsDropped,
    );
    from(
      'flotilla_actions_paused_total',
      'Queued actions that a pause of an admin stopped.',
      (counters) => counters.actionsPaused,
    );
    from(
      'bigfleet_shard_actions_deduped_total',
      'Actions dropped because their machine already had an action in flight.',
      (counters) => counters.actionsDeduped,
    );
    from(
      'flotilla_actions_withdrawn_total',
      'Bindings that waited for their turn and were not begun; the next cycle decides them again.',
      (counters) => counters.actionsWithdrawn,
    );
    from(
      'flotilla_stalls_total',
      'Times that the main loop stood still for longer than --stall-after.',
      (counters) => counters.stalls,
    );
    from(
      'flotilla_actions_outdated_total',
      'Actions dropped because the shard stood still after it had decided them; the next cycle decides them again.',
      (counters) => counters.actionsOutdated,
    );
    from(
      'flotilla_reclaims_held_by_budgets_total',
      'Reclaims that a disruption budget left for later; each cycle counts them again.',
      (counters) => counters.reclaimsHeldByBudgets,
    );
    from(
      'bigfleet_shard_reclaims_capped_total',
      'Reclaims beyond the reclaim cap of their cluster; the next cycle decides them again.',
      (counters) => counters.reclaimsCapped,
    );
    from(
      'flotilla_preemptions_capped_total',
      'Preemptions beyond the preemption cap of the cluster that has the machine; a later cycle decides them again.',
      (counters) => counters.preemptionsCapped,
    );
    from(
      'flotilla_bootstraps_failed_total',
      'Machines that did not become a node after a bootstrap was sent, whenever the provider said so.',
      (counters) => counters.bootstrapsFailed,
    );
    from(
      'flotilla_drains_failed_total',
      'Machines that a drain left Failed, whenever the provider said so.',
      (counters) => counters.drainsFailed,
    );
    from(
      'flotilla_actions_held_for_probes_total',
      'Actions for a need, cluster, offering or provider that failed before, beyond the one machine that it tries at a time.',
      (counters) => counters.actionsHeldForProbes,
    );
    from(
      'flotilla_removals_held_total',
      'Reclaims, preemptions and releases that were decided and not begun, because this replica was not confirmed as the active one. Each cycle counts them again.',
      (counters) => counters.removalsHeld,
    );
    from(
      'flotilla_decision_throws_total',
      'Decisions that threw. The shard rebuilt the engine and decided again. Each is a bug.',
      (counters) => counters.decisionThrows,
    );
    from(
      'flotilla_cluster_suspensions_total',
      'Suspensions of clusters for which decisions threw.',
      (counters) => counters.clustersSuspended,
    );
    from(
      'flotilla_decisions_failed_total',
      'Cycles without a decision because it threw again and again. The shard is not ready meanwhile.',
      (counters) => counters.decisionsFailed,
    );
    from(
      'bigfleet_shard_machines_rejected_total',
      'Machine records from providers that the shard rejected, by reason.',
      (counters) => counters.rejected,
      'reason',
    );
    from(
      'flotilla_reconcile_rows_total',
      'Listed rows that differ from the inventory, by what the shard did with them (parked: deferred until an action settles).',
      (counters) => ({
        new: counters.rowsNew,
        changed: counters.rowsChanged,
        removed: counters.rowsRemoved,
        parked: counters.rowsDeferred,
        confirmed: counters.observationsConfirmed,
        dropped: counters.observationsDiscarded,
      }),
      'fate',
    );
    from(
      'flotilla_suspect_listings_total',
      'Listings that lacked so many of the known machines that the shard removed none.',
      (counters) => counters.suspectListings,
    );
    from('flotilla_failed_listings_total', 'Listings that failed.', (counters) => counters.failedListings);
    from(
      'flotilla_follow_up_reads_total',
      'Reads of machines to find out how an acknowledged action ended.',
      (counters) => counters.followUpReads,
    );
    from(
      'flotilla_rollups_total',
      'Accepted roll-ups, by whether they changed demand.',
      (counters) => ({ changed: counters.rollupsAccepted, unchanged: counters.rollupsUnchanged }),
      'result',
    );
    from(
      'flotilla_incremental_checks_total',
      'Self-checks, in which a thread repeated a decision from scratch and compared.',
      (counters) => counters.checksRun,
    );
    from(
      'flotilla_incremental_check_differences_total',
      'Differences that self-checks found. Each is a bug.',
      (counters) => counters.checkDifferences,
    );
    from(
      'flotilla_incremental_checks_failed_total',
      'Self-checks that failed to run: too little memory for the copy, or the thread died.',
      (counters) => counters.checksFailed,
    );
  }

  #gauges(registry: Registry): void {
    const from = (name: string, help: string, read: (gauges: ShardGauges) => number | boolean) =>
      gaugeFrom(registry, { name, help }, () => {
        const gauges = this.#sources.gauges?.();
        return gauges === undefined ? null : read(gauges);
      });
    from('bigfleet_shard_action_queue_depth', 'Actions waiting in the queue.', (gauges) => gauges.queueDepth);
    from(
      'flotilla_actions_waiting',
      'Decided bindings that wait for room in the queue.',
      (gauges) => gauges.actionsWaiting,
    );
    from('bigfleet_shard_execute_inflight', 'Actions in flight.', (gauges) => gauges.inFlight);
    from('bigfleet_shard_actuation_paused', '1 while the kill switch is on.', (gauges) => gauges.isPaused);
    from('flotilla_dry_run', '1 while dry run is on.', (gauges) => gauges.isDryRun);
    from(
      'flotilla_fenced',
      '1 if a provider refused this process because a newer one runs with the same shard id.',
      (gauges) => gauges.isFenced,
    );
    from(
      'flotilla_parked_rows',
      'Deferred rows: machines that were listed during an action and are read again when it settles.',
      (gauges) => gauges.deferredRows,
    );
    from(
      'flotilla_stuck_machines',
      'Machines in a transitional state for longer than stuck-after.',
      (gauges) => gauges.stuckMachines,
    );
    from(
      'flotilla_machines_in_backoff',
      'Machines in back-off after a failed action.',
      (gauges) => gauges.machinesInBackoff,
    );
    from(
      'flotilla_offerings_in_backoff',
      'Offerings in back-off after failed creates.',
      (gauges) => gauges.offeringsInBackoff,
    );
    from(
      'flotilla_needs_in_backoff',
      'Needs that get no further machine for now because a bootstrap failed.',
      (gauges) => gauges.needsInBackoff,
    );
    from(
      'flotilla_shared_faults',
      'Offerings and providers on which bootstraps of many needs, or drains of many clusters, fail.',
      (gauges) => gauges.sharedFaults,
    );
    from(
      'flotilla_burned_machines',
      'Machines that bootstraps and drains left Failed or gone in the last hour.',
      (gauges) => gauges.burnedMachines,
    );
    from(
      'flotilla_clusters_over_burn_budget',
      'Clusters that have burned as many machines in the last hour as burn-fraction allows.',
      (gauges) => gauges.clustersOverBurnBudget,
    );
    from(
      'flotilla_disputed_machines',
      'Machines in dispute: two providers listed the id before the shard acted, so that it makes no call for them.',
      (gauges) => gauges.disputedMachines,
    );
    from(
      'flotilla_clusters_suspended',
      'Clusters that the shard suspended because decisions for them threw.',
      (gauges) => gauges.suspendedClusters,
    );
    gaugeFrom(
      registry,
      {
        name: 'flotilla_controls',
        help: 'Controls in force, by what they pause. One that pauses several counts for each.',
      },
      () => {
        const gauges = this.#sources.gauges?.();
        if (gauges === undefined) return null;
        return Object.entries(gauges.pauses).map(([pauses, value]) => ({ labels: { pauses }, value }));
      },
      ['pauses'],
    );
    from(
      'flotilla_reads_waiting',
      'Reads of machines waiting in the queue.',
      (gauges) => gauges.readsWaiting,
    );
    from('flotilla_reads_inflight', 'Reads of machines in flight.', (gauges) => gauges.readsInFlight);
    from(
      'flotilla_listings_inflight',
      'Listings in progress, until the shard has applied them.',
      (gauges) => gauges.listingsInFlight,
    );
  }

  #tallies(registry: Registry): void {
    const whenFleet = <Value>(value: () => Value) => (this.#sources.fleet === undefined ? null : value());
    gaugeFrom(
      registry,
      {
        name: 'bigfleet_shard_inventory_machines',
        help: 'Machines, by state, capacity type and interruption penalty (upper bound of the bucket in dollars).',
      },
      () => whenFleet(() => this.#fleet.machines()),
      ['state', 'capacity_type', 'interruption_penalty_bucket'],
    );
    gaugeFrom(
      registry,
      { name: 'flotilla_cost_dollars_per_hour', help: 'Cost per hour of all machines that have a host.' },
      () => whenFleet(() => this.#fleet.usd()),
      ['capacity_type'],
    );
    gaugeFrom(
      registry,
      {
        name: 'flotilla_idle_cost_dollars_per_hour',
        help: 'Cost per hour of Idle machines that have a host.',
      },
      () => whenFleet(() => this.#fleet.idleUsd()),
      ['capacity_type'],
    );
    budgetMetrics(registry, () => this.#budgets);
    gaugeFrom(
      registry,
      {
        name: 'flotilla_ceiling_dollars_per_hour',
        help: 'The ceilings on what the fleet may cost per hour: of a capacity type, or of all machines.',
      },
      () => ceilingSamples(this.#ceilings, ({ maxDollarsPerHour }) => maxDollarsPerHour),
      ['capacity_type'],
    );
    gaugeFrom(
      registry,
      {
        name: 'flotilla_ceiling_used_ratio',
        help: 'Cost per hour of what counts for a ceiling, enqueued creates included, divided by the ceiling; 1 if the ceiling is 0.',
      },
      () =>
        ceilingSamples(this.#ceilings, ({ dollarsPerHour, maxDollarsPerHour }) =>
          maxDollarsPerHour === 0 ? 1 : dollarsPerHour / maxDollarsPerHour,
        ),
      ['capacity_type'],
    );
    gaugeFrom(
      registry,
      {
        name: 'flotilla_non_spot_share_ratio',
        help: 'Share of the machines of a cluster that are not spot, of clusters for which min-non-spot-share is set.',
      },
      () => spotShareSamples(this.#spotShares, ({ nonSpotShare }) => nonSpotShare),
      ['cluster'],
    );
    gaugeFrom(
      registry,
      {
        name: 'flotilla_non_spot_share_min_ratio',
        help: 'The min-non-spot-share of a cluster: the shard binds no spot machine that would leave the others a smaller share.',
      },
      () => spotShareSamples(this.#spotShares, ({ minNonSpotShare }) => minNonSpotShare),
      ['cluster'],
    );
    gaugeFrom(
      registry,
      {
        name: 'bigfleet_shard_demand_machines',
        help: 'Demand as a number of machines of min_unit size, by interruption penalty. A need without min_unit counts as one machine.',
      },
      () => {
        const { demand, counters } = this.#sources;
        if (demand === undefined || counters === undefined) return null;
        return demand().samples(counters().rollupsAccepted);
      },
      ['interruption_penalty_bucket'],
    );
    const shortfalls = () => this.#sources.shortfalls?.() ?? null;
    gaugeFrom(
      registry,
      {
        name: 'bigfleet_shard_shortfalls',
        help: 'Profiles with a shortfall: demand that is still unmet after preemption.',
      },
      () => shortfalls()?.length ?? null,
    );
    gaugeFrom(
      registry,
      {
        name: 'bigfleet_shard_shortfalls_aged',
        help: 'Profiles with a shortfall, by the number of cycles that it has lasted.',
      },
      () => agedSamples(shortfalls()),
      ['bucket'],
    );
    gaugeFrom(
      registry,
      {
        name: 'bigfleet_shard_shortfalls_by_priority',
        help: 'Profiles with a shortfall, by priority class.',
      },
      () => prioritySamples(shortfalls()),
      ['priority_class'],
    );
    gaugeFrom(
      registry,
      {
        name: 'bigfleet_shard_rollup_quarantined',
        help: 'Consecutive roll-ups in quarantine because they drop most rows, by cluster.',
      },
      () => {
        const held = this.#sources.heldRollups?.();
        return held === undefined ? null : boundedByCluster(held);
      },
      ['cluster'],
    );
  }

  #edges(registry: Registry): void {
    const sessions = () => this.#sources.sessions?.() ?? null;
    gaugeFrom(
      registry,
      { name: 'bigfleet_shard_active_sessions', help: 'Clusters with an open session.' },
      () => sessions()?.active ?? null,
    );
    gaugeFrom(
      registry,
      {
        name: 'flotilla_rollup_bytes_waiting',
        help: 'Bytes of received roll-ups that the shard has not decoded yet.',
      },
      () => sessions()?.rollupBytesWaiting ?? null,
    );
    counterFrom(
      registry,
      {
        name: 'bigfleet_shard_session_lifecycle_total',
        help: 'Sessions that were opened, ended, or replaced by a newer session of the same cluster.',
      },
      () => {
        const counts = sessions();
        if (counts === null) return null;
        return { installed: counts.installed, removed: counts.removed, replaced: counts.replaced };
      },
      'event',
    );
    counterFrom(
      registry,
      {
        name: 'bigfleet_shard_session_identity_rejected_total',
        help: 'Sessions refused because the certificate does not belong to the cluster.',
      },
      () => sessions()?.identityRejected ?? null,
    );
    counterFrom(
      registry,
      {
        name: 'flotilla_session_refused_total',
        help: "Connections, handshakes, streams and readers that a limit of the operators' server refused.",
      },
      () => sessions()?.refused ?? null,
      'reason',
    );
    counterFrom(
      registry,
      {
        name: 'flotilla_connections_ended_total',
        help: "Operators' connections that the shard ended: age, or a certificate that expired, is not of the present CA (untrusted) or is denied.",
      },
      () => sessions()?.connectionsEnded ?? null,
      'reason',
    );
    counterFrom(
      registry,
      { name: 'flotilla_worker_restarts_total', help: 'Worker threads that died and were replaced.' },
      () => this.#sources.workerRestarts?.() ?? null,
    );
    historyMetrics(registry, () => this.#sources.events?.() ?? null);
    const audit = () => this.#sources.audit?.() ?? null;
    counterFrom(
      registry,
      { name: 'flotilla_audit_records_total', help: 'Records written to the audit log.' },
      () => audit()?.written ?? null,
    );
    counterFrom(
      registry,
      {
        name: 'flotilla_audit_records_lost_total',
        help: 'Records lost because the audit log could not be written.',
      },
      () => audit()?.lost ?? null,
    );
    gaugeFrom(
      registry,
      { name: 'flotilla_audit_failing', help: '1 while writes to the audit log fail.' },
      () => audit()?.isFailing ?? null,
    );
    counterFrom(
      registry,
      {
        name: 'flotilla_http_refused_total',
        help: 'HTTP requests and connections that the shard refused or cut off, by reason. Health checks are not among them.',
      },
      () => this.#sources.httpRefused?.() ?? null,
      'reason',
    );
    counterFrom(
      registry,
      {
        name: 'flotilla_provider_rows_rejected_total',
        help: 'Machine records that the shard rejected, by provider. /api/v1/tenants has the last reason of each.',
      },
      () => this.#sources.rejectedRows?.() ?? null,
      'provider',
    );
    gaugeFrom(
      registry,
      { name: 'flotilla_ready', help: '1 while /readyz answers that the shard is ready.' },
      () => this.#sources.isReady?.() ?? null,
    );
    gaugeFrom(
      registry,
      {
        name: 'flotilla_epoch',
        help: 'Epoch of this process, which providers fence by: it grows with every start or takeover. 0 on a standby.',
      },
      () => this.#sources.epoch?.() ?? null,
    );
  }
}
