/**
 * The shard's metrics. Names that begin with `bigfleet_shard_` are those of the reference, so that existing dashboards and
 * alerts keep working; this project's own begin with `flotilla_`. This module counts the events that the shard reports;
 * counts that the shard keeps, and sums over tables, are read at scrape time (scraped-metrics.ts).
 */
import { collectDefaultMetrics, type Histogram, Registry } from 'prom-client';
import { type Clock, systemClock } from '../base/clock.ts';
import type {
  AcceptedActionEnded,
  ActionName,
  ActionRecord,
  CyclePhase,
  CycleReport,
  KindCounts,
  ListingReport,
  MachineBound,
  ShardEvent,
  ShardObserver,
} from '../shard/ports/observer.ts';
import { ClusterCounts } from './cluster-labels.ts';
import { EventLoopMonitor } from './event-loop.ts';
import {
  BINDING_BUCKETS_SECONDS,
  CounterTable,
  counterFrom,
  gaugeFrom,
  histogram,
  WAIT_BUCKETS_SECONDS,
  WORK_BUCKETS_SECONDS,
} from './families.ts';
import { KINDS, OUTCOMES, PATHS } from './label-values.ts';
import { type MetricSources, ScrapedMetrics } from './scraped-metrics.ts';

export const SHARD_PREFIX = 'bigfleet_shard_';
export const OWN_PREFIX = 'flotilla_';

type ExecutedOutcome = (typeof OUTCOMES)[number];
const OUTCOME_SET: ReadonlySet<string> = new Set(OUTCOMES);

export interface ShardMetricsOptions {
  readonly version?: string;
  readonly clock?: Clock;
  /** CPU, memory, descriptors and garbage collection of this process. Default: on. */
  readonly hasProcessMetrics?: boolean;
}

export class ShardMetrics implements ShardObserver {
  readonly audits = false;
  readonly registry = new Registry();
  readonly #clock: Clock;
  readonly #scraped: ScrapedMetrics;
  readonly #loop: EventLoopMonitor;
  readonly #cycleSeconds: Histogram;
  readonly #phaseSeconds: Histogram<'phase'>;
  readonly #actions: CounterTable<ActionName>;
  readonly #suppressed: CounterTable<ActionName>;
  readonly #dryRun: CounterTable<ActionName>;
  readonly #outcomes: CounterTable<ActionName, ExecutedOutcome>;
  readonly #accepted: CounterTable<ActionName>;
  readonly #actionSeconds: Histogram<'kind'>;
  readonly #configureSeconds: Histogram;
  readonly #blobSeconds: Histogram;
  readonly #drainSeconds: Histogram;
  readonly #provisioningSeconds: Histogram;
  readonly #bindingSeconds: Histogram<'path'>;
  readonly #idleReleases: CounterTable;
  readonly #rollupsRejected = new ClusterCounts();
  readonly #cycles: CounterTable<'ordinary' | 'woken'>;
  readonly #listingSeconds: Histogram<'provider'>;
  /** By provider; providers are settings, so there are few. */
  readonly #lastListingMs = new Map<string, number>();
  readonly #suspect = new Map<string, boolean>();
  readonly #believedMs = new Map<string, number>();
  readonly #foreign: Record<string, number> = {};
  #lastReport: CycleReport | null = null;

  constructor(options: ShardMetricsOptions = {}) {
    const { registry } = this;
    this.#clock = options.clock ?? systemClock;
    const shard = (name: string, help: string) => ({ name: SHARD_PREFIX + name, help });
    const own = (name: string, help: string) => ({ name: OWN_PREFIX + name, help });
    const kinds = { name: 'kind', values: KINDS } as const;

    this.#cycleSeconds = histogram(
      registry,
      shard(
        'cycle_duration_seconds',
        'Time that a cycle takes on the main thread, without waiting for listings.',
      ),
      WORK_BUCKETS_SECONDS,
    );
    this.#phaseSeconds = histogram(
      registry,
      shard('cycle_phase_duration_seconds', 'Time that a cycle takes, by phase.'),
      WORK_BUCKETS_SECONDS,
      ['phase'],
    );
    this.#actions = new CounterTable(registry, shard('actions_total', 'Actions enqueued, by kind.'), kinds);
    this.#outcomes = new CounterTable(
      registry,
      shard(
        'action_execute_outcomes_total',
        'Executed actions, by kind and outcome. One that a provider carries out after its ack counts when it has ended.',
      ),
      kinds,
      { name: 'outcome', values: OUTCOMES },
    );
    this.#accepted = new CounterTable(
      registry,
      own(
        'actions_accepted_total',
        'Actions that a provider acknowledged and carries out later, by kind. Each counts as an outcome when it has ended.',
      ),
      kinds,
    );
    this.#suppressed = new CounterTable(
      registry,
      shard(
        'actions_suppressed_total',
        'Actions that were not executed because the kill switch was on, by kind.',
      ),
      kinds,
    );
    this.#dryRun = new CounterTable(
      registry,
      shard('actions_dryrun_total', 'Actions that were not executed because dry run was on, by kind.'),
      kinds,
    );
    this.#actionSeconds = histogram(
      registry,
      shard(
        'action_duration_seconds',
        'Time from enqueueing an action until it settles; with an asynchronous provider, until the ack.',
      ),
      WAIT_BUCKETS_SECONDS,
      ['kind'],
    );
    this.#configureSeconds = histogram(
      registry,
      shard('configure_phase_seconds', 'Duration of the provider call of a Bootstrap.'),
      WAIT_BUCKETS_SECONDS,
    );
    this.#blobSeconds = histogram(
      registry,
      shard('request_bootstrap_seconds', 'Time that the shard waits for a bootstrap blob from an operator.'),
      WAIT_BUCKETS_SECONDS,
    );
    this.#drainSeconds = histogram(
      registry,
      shard('drain_phase_seconds', 'Duration of the provider call of a Reclaim or Preempt.'),
      WAIT_BUCKETS_SECONDS,
    );
    this.#provisioningSeconds = histogram(
      registry,
      shard(
        'provisioning_latency_seconds',
        'Time from enqueueing a Bootstrap or Provision until the machine is Configured.',
      ),
      WAIT_BUCKETS_SECONDS,
    );
    this.#bindingSeconds = histogram(
      registry,
      own(
        'binding_seconds',
        'Time from a need to a node: from the roll-up that asked for it, or from the cycle that found it missing, until the machine is Configured. By path: how the need got the machine.',
      ),
      BINDING_BUCKETS_SECONDS,
      ['path'],
    );
    for (const path of PATHS) this.#bindingSeconds.zero({ path }); // a rate exists from the first scrape
    this.#idleReleases = new CounterTable(
      registry,
      shard('idle_releases_total', 'Released Idle machines: Deletes that succeeded.'),
    );
    counterFrom(
      registry,
      shard('rollups_rejected_total', 'Rejected roll-ups, by cluster.'),
      () => this.#rollupsRejected.record,
      'cluster',
    );
    this.#cycles = new CounterTable(
      registry,
      own('cycles_total', 'Cycles, by trigger: ordinary (the interval) or woken (a change).'),
      {
        name: 'trigger',
        values: ['ordinary', 'woken'],
      },
    );
    gaugeFrom(registry, own('last_cycle_timestamp_seconds', 'Unix time of the last cycle.'), () =>
      this.#lastReport === null ? null : this.#lastReport.atMs / 1_000,
    );
    gaugeFrom(
      registry,
      own(
        'cycle_evaluated_needs',
        'Needs that the last cycle evaluated again; the others kept their result.',
      ),
      () => this.#lastReport?.evaluatedNeeds ?? null,
    );
    gaugeFrom(
      registry,
      own('unmet_needs', 'Needs that the last cycle did not satisfy.'),
      () => this.#lastReport?.unmetNeeds ?? null,
    );
    gaugeFrom(
      registry,
      own('actions_held_back', '1 while the shard emits no actions because a first listing is missing.'),
      () => (this.#lastReport === null ? null : this.#lastReport.heldBack !== ''),
    );
    this.#listingSeconds = histogram(
      registry,
      own('listing_duration_seconds', 'Duration of listings, by provider.'),
      WAIT_BUCKETS_SECONDS,
      ['provider'],
    );
    gaugeFrom(
      registry,
      own('last_listing_timestamp_seconds', 'Unix time of the last successful listing, by provider.'),
      () => mapSamples(this.#lastListingMs, (atMs) => atMs / 1_000),
      ['provider'],
    );
    gaugeFrom(
      registry,
      own(
        'listing_suspect',
        '1 while a listing is held: it lacks so many of the known machines that the shard removes none, by provider.',
      ),
      () => mapSamples(this.#suspect, Number),
      ['provider'],
    );
    gaugeFrom(
      registry,
      own(
        'removal_believed_timestamp_seconds',
        'Unix time at which the shard last believed a held listing and removed the machines that it lacks, by provider. No sample before that.',
      ),
      () => mapSamples(this.#believedMs, (atMs) => atMs / 1_000),
      ['provider'],
    );
    counterFrom(
      registry,
      own(
        'foreign_records_total',
        'Records refused because the machine id belongs to another provider, by the provider that listed it.',
      ),
      () => this.#foreign,
      'provider',
    );
    const loopMax = histogram(
      registry,
      own('event_loop_delay_max_seconds', 'Maximum delay of the event loop in each window of 10 s.'),
      WORK_BUCKETS_SECONDS,
    );
    this.#loop = new EventLoopMonitor((delay) => loopMax.observe(delay.maxSeconds));
    gaugeFrom(
      registry,
      own('event_loop_delay_seconds', 'Delay of the event loop in the last window of 10 s, by quantile.'),
      () => {
        const { medianSeconds, p99Seconds, maxSeconds } = this.#loop.last;
        return [
          { labels: { quantile: '0.5' }, value: medianSeconds },
          { labels: { quantile: '0.99' }, value: p99Seconds },
          { labels: { quantile: '1' }, value: maxSeconds },
        ];
      },
      ['quantile'],
    );
    const build = { version: options.version ?? 'unknown', node: process.version };
    gaugeFrom(
      registry,
      own('build_info', 'Always 1; the labels give the versions of Flotilla and Node.js.'),
      () => [{ labels: build, value: 1 }],
      ['version', 'node'],
    );
    this.#scraped = new ScrapedMetrics(registry);
    if (options.hasProcessMetrics ?? true) collectDefaultMetrics({ register: registry });
  }

  /** Adds sources to read at scrape time. May be called several times, as parts of the service start. */
  watch(sources: Partial<MetricSources>): void {
    this.#scraped.watch(sources);
  }

  /** The exposition format, and its content type. */
  async scrape(): Promise<{ readonly body: string; readonly contentType: string }> {
    this.#scraped.beforeScrape();
    return { body: await this.registry.metrics(), contentType: this.registry.contentType };
  }

  close(): void {
    this.#loop.close();
    this.registry.clear();
  }

  cycleEnded(report: CycleReport): void {
    this.#lastReport = report;
    this.#cycles.add(1, report.isOrdinary ? 'ordinary' : 'woken');
    this.#cycleSeconds.observe(report.durationMs / 1_000);
    for (const [phase, phaseMs] of Object.entries(report.phaseMs) as [CyclePhase, number][]) {
      this.#phaseSeconds.observe({ phase }, phaseMs / 1_000);
    }
    addKinds(this.#actions, report.enqueued);
    addKinds(this.#suppressed, report.suppressed);
    addKinds(this.#dryRun, report.dryRun);
  }

  actionEnded(record: ActionRecord): void {
    const { kind, outcome, durationMs, blobMs, callMs } = record;
    if (outcome === 'accepted') this.#accepted.add(1, kind);
    else if (OUTCOME_SET.has(outcome)) this.#ended(kind, outcome as ExecutedOutcome);
    else return; // the cycle's report counts them; there may be a hundred thousand
    if (outcome === 'stale_state') return; // the action ended before it did anything
    this.#actionSeconds.observe({ kind }, durationMs / 1_000);
    if (blobMs > 0) this.#blobSeconds.observe(blobMs / 1_000);
    if (kind === 'Bootstrap' && callMs > 0) this.#configureSeconds.observe(callMs / 1_000);
    if ((kind === 'Reclaim' || kind === 'Preempt') && callMs > 0) this.#drainSeconds.observe(callMs / 1_000);
  }

  acceptedActionEnded({ kind, outcome }: AcceptedActionEnded): void {
    this.#ended(kind, outcome);
  }

  machineBound({ path, neededMs, enqueuedMs }: MachineBound): void {
    this.#provisioningSeconds.observe(enqueuedMs / 1_000);
    this.#bindingSeconds.observe({ path }, neededMs / 1_000);
  }

  listingEnded(report: ListingReport): void {
    this.#listingSeconds.observe({ provider: report.provider }, report.durationMs / 1_000);
    if (report.failure !== '') return;
    this.#lastListingMs.set(report.provider, this.#clock.nowMs());
    this.#suspect.set(report.provider, report.isSuspect);
    if (report.isRemovalBelieved) this.#believedMs.set(report.provider, this.#clock.nowMs());
    const { provider, foreignCount } = report;
    this.#foreign[provider] = (this.#foreign[provider] ?? 0) + foreignCount;
  }

  happened(event: ShardEvent): void {
    if (event.kind === 'rollup_rejected') this.#rollupsRejected.add(event.clusterId);
  }

  #ended(kind: ActionName, outcome: ExecutedOutcome): void {
    this.#outcomes.add(1, kind, outcome);
    if (kind === 'Delete' && outcome === 'success') this.#idleReleases.add(1);
  }
}

function addKinds(table: CounterTable<ActionName>, counts: KindCounts): void {
  for (const kind of KINDS) table.add(counts[kind], kind);
}

function* mapSamples<Value>(values: ReadonlyMap<string, Value>, toNumber: (value: Value) => number) {
  for (const [provider, value] of values) yield { labels: { provider }, value: toNumber(value) };
}
