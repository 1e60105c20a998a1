/**
 * Metrics that are read when somebody scrapes: the shard's own counts and gauges, sessions, workers, the audit log, and
 * what is added up over the inventory and the needs. Nothing here costs anything between two scrapes.
 */
import type { Registry } from 'prom-client';
import type { ShardCounters, ShardGauges } from '../shard/ports/observer.ts';
import { boundedByCluster } from './cluster-labels.ts';
import type { DemandTally } from './demand-tally.ts';
import { counterFrom, gaugeFrom } from './families.ts';
import { type FleetColumns, FleetTally } from './fleet-gauges.ts';
import { agedSamples, prioritySamples, type ShortfallFacts } from './shortfall-gauges.ts';

export interface SessionCounts {
  readonly active: number;
  /** Since the start. */
  readonly installed: number;
  readonly removed: number;
  readonly replaced: number;
  readonly identityRejected: number;
  /** Of roll-ups that wait or are being read. */
  readonly rollupBytesWaiting: number;
}

export interface AuditCounts {
  readonly written: number;
  readonly lost: number;
  readonly isFailing: boolean;
}

/** Each is asked at scrape time and must be quick. What was not told yet has no samples. */
export interface MetricSources {
  counters(): ShardCounters;
  gauges(): ShardGauges;
  /** The inventory's columns. */
  fleet(): FleetColumns;
  /** Every shortfall, not only the reported ones. */
  shortfalls(): readonly ShortfallFacts[];
  /** N7: clusters with roll-ups that are held, and how many in a row. */
  heldRollups(): Iterable<readonly [clusterId: string, held: number]>;
  demand(): DemandTally;
  sessions(): SessionCounts;
  /** Worker threads that were replaced since the start. */
  workerRestarts(): number;
  audit(): AuditCounts;
  isReady(): boolean;
}

export class ScrapedMetrics {
  readonly #fleet = new FleetTally();
  #sources: Partial<MetricSources> = {};

  constructor(registry: Registry) {
    this.#counters(registry);
    this.#gauges(registry);
    this.#tallies(registry);
    this.#edges(registry);
  }

  watch(sources: Partial<MetricSources>): void {
    this.#sources = { ...this.#sources, ...sources };
  }

  /** One pass for all metrics that need it. */
  beforeScrape(): void {
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
      'Actions beyond max-actions-per-cycle, left to the next cycle.',
      (counters) => counters.actionsDeferred,
    );
    from(
      'bigfleet_shard_actions_dropped_total',
      'Actions that the queue had no room for; decided again.',
      (counters) => counters.actionsDropped,
    );
    from(
      'bigfleet_shard_actions_deduped_total',
      'Actions for machines that had one already.',
      (counters) => counters.actionsDeduped,
    );
    from(
      'bigfleet_shard_reclaims_capped_total',
      'Reclaims beyond the cap of their cluster, left to the next cycle.',
      (counters) => counters.reclaimsCapped,
    );
    from(
      'bigfleet_shard_machines_rejected_total',
      'Provider records refused, by reason.',
      (counters) => counters.rejected,
      'reason',
    );
    from(
      'flotilla_reconcile_rows_total',
      'Rows of listings that said something new, by what became of them.',
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
      'Listings that lacked so many machines that none was removed.',
      (counters) => counters.suspectListings,
    );
    from('flotilla_failed_listings_total', 'Listings that failed.', (counters) => counters.failedListings);
    from(
      'flotilla_follow_up_reads_total',
      'Machines read to see whether an acked action has ended.',
      (counters) => counters.followUpReads,
    );
    from(
      'flotilla_rollups_total',
      'Roll-ups accepted, by whether they changed anything.',
      (counters) => ({ changed: counters.rollupsAccepted, unchanged: counters.rollupsUnchanged }),
      'result',
    );
    from(
      'flotilla_incremental_checks_total',
      'Decisions made again from nothing, to compare.',
      (counters) => counters.checksRun,
    );
    from(
      'flotilla_incremental_check_differences_total',
      'Differences that such a comparison found. Each is a bug.',
      (counters) => counters.checkDifferences,
    );
    from(
      'flotilla_incremental_checks_failed_total',
      'Comparisons that could not be made: no memory for the copy, or their thread died.',
      (counters) => counters.checksFailed,
    );
  }

  #gauges(registry: Registry): void {
    const from = (name: string, help: string, read: (gauges: ShardGauges) => number | boolean) =>
      gaugeFrom(registry, { name, help }, () => {
        const gauges = this.#sources.gauges?.();
        return gauges === undefined ? null : read(gauges);
      });
    from('bigfleet_shard_action_queue_depth', 'Actions that wait for a slot.', (gauges) => gauges.queueDepth);
    from('bigfleet_shard_execute_inflight', 'Actions under way.', (gauges) => gauges.inFlight);
    from('bigfleet_shard_actuation_paused', '1 while the kill switch is on.', (gauges) => gauges.isPaused);
    from('flotilla_dry_run', '1 in a dry run.', (gauges) => gauges.isDryRun);
    from('flotilla_fenced', '1 when another process owns this shard id.', (gauges) => gauges.isFenced);
    from(
      'flotilla_parked_rows',
      'Machines to be read again when their action settles.',
      (gauges) => gauges.deferredRows,
    );
    from('flotilla_stuck_machines', 'Machines on their way for too long.', (gauges) => gauges.stuckMachines);
    from(
      'flotilla_machines_in_backoff',
      'Machines not acted on after a failure.',
      (gauges) => gauges.machinesInBackoff,
    );
    from(
      'flotilla_offerings_in_backoff',
      'Offerings in which machines failed to be created.',
      (gauges) => gauges.offeringsInBackoff,
    );
    from(
      'flotilla_reads_waiting',
      'Reads of machines that wait for a slot.',
      (gauges) => gauges.readsWaiting,
    );
    from('flotilla_reads_inflight', 'Reads of machines under way.', (gauges) => gauges.readsInFlight);
    from(
      'flotilla_listings_inflight',
      'Listings under way, until they are applied.',
      (gauges) => gauges.listingsInFlight,
    );
  }

  #tallies(registry: Registry): void {
    const whenFleet = <Value>(value: () => Value) => (this.#sources.fleet === undefined ? null : value());
    gaugeFrom(
      registry,
      {
        name: 'bigfleet_shard_inventory_machines',
        help: 'Machines, by state, how they are paid for, and the penalty for interrupting what runs on them (upper bound in dollars).',
      },
      () => whenFleet(() => this.#fleet.machines()),
      ['state', 'capacity_type', 'interruption_penalty_bucket'],
    );
    gaugeFrom(
      registry,
      { name: 'flotilla_cost_dollars_per_hour', help: 'Price of all machines that have a host.' },
      () => whenFleet(() => this.#fleet.usd()),
      ['capacity_type'],
    );
    gaugeFrom(
      registry,
      { name: 'flotilla_idle_cost_dollars_per_hour', help: 'Price of the Idle ones among them.' },
      () => whenFleet(() => this.#fleet.idleUsd()),
      ['capacity_type'],
    );
    gaugeFrom(
      registry,
      {
        name: 'bigfleet_shard_demand_machines',
        help: 'Machines that demand comes to, in units of min_unit; needs without one count as one machine.',
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
      { name: 'bigfleet_shard_shortfalls', help: 'Profiles whose demand is not met.' },
      () => shortfalls()?.length ?? null,
    );
    gaugeFrom(
      registry,
      {
        name: 'bigfleet_shard_shortfalls_aged',
        help: 'The same by the cycles that they have been unmet for.',
      },
      () => agedSamples(shortfalls()),
      ['bucket'],
    );
    gaugeFrom(
      registry,
      { name: 'bigfleet_shard_shortfalls_by_priority', help: 'The same by class of priority.' },
      () => prioritySamples(shortfalls()),
      ['priority_class'],
    );
    gaugeFrom(
      registry,
      {
        name: 'bigfleet_shard_rollup_quarantined',
        help: 'Roll-ups that are held in a row because they drop most of the demand, by cluster.',
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
      { name: 'bigfleet_shard_active_sessions', help: 'Clusters with a live stream.' },
      () => sessions()?.active ?? null,
    );
    gaugeFrom(
      registry,
      {
        name: 'flotilla_rollup_bytes_waiting',
        help: 'Bytes of roll-ups that were received and not yet read.',
      },
      () => sessions()?.rollupBytesWaiting ?? null,
    );
    counterFrom(
      registry,
      {
        name: 'bigfleet_shard_session_lifecycle_total',
        help: 'Streams that began, ended, or were replaced by another of their cluster.',
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
        help: 'Streams refused because the certificate was not that of the cluster.',
      },
      () => sessions()?.identityRejected ?? null,
    );
    counterFrom(
      registry,
      { name: 'flotilla_worker_restarts_total', help: 'Worker threads that died and were replaced.' },
      () => this.#sources.workerRestarts?.() ?? null,
    );
    const audit = () => this.#sources.audit?.() ?? null;
    counterFrom(
      registry,
      { name: 'flotilla_audit_records_total', help: 'Records written to the audit log.' },
      () => audit()?.written ?? null,
    );
    counterFrom(
      registry,
      { name: 'flotilla_audit_records_lost_total', help: 'Records that the audit log could not take.' },
      () => audit()?.lost ?? null,
    );
    gaugeFrom(
      registry,
      { name: 'flotilla_audit_failing', help: '1 while the audit log cannot be written.' },
      () => audit()?.isFailing ?? null,
    );
    gaugeFrom(
      registry,
      { name: 'flotilla_ready', help: '1 when /readyz says so.' },
      () => this.#sources.isReady?.() ?? null,
    );
  }
}
