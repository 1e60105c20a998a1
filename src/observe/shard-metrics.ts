/**
 * The shard's metrics. The names that begin with `bigfleet_shard_` are those of the reference, so that dashboards and
 * alerts keep working; what is this project's own begins with `flotilla_`. What the shard tells as it goes is
 * counted here; what it keeps itself, and what costs a pass over a table, is read at scrape time (scraped-metrics.ts).
 */
import { collectDefaultMetrics, type Histogram, Registry } from 'prom-client';
import { type Clock, systemClock } from '../base/clock.ts';
import type {
  ActionName,
  ActionOutcome,
  ActionRecord,
  CyclePhase,
  CycleReport,
  KindCounts,
  ListingReport,
  ShardEvent,
  ShardObserver,
} from '../shard/ports/observer.ts';
import { ClusterCounts } from './cluster-labels.ts';
import { EventLoopMonitor } from './event-loop.ts';
import {
  CounterTable,
  counterFrom,
  gaugeFrom,
  histogram,
  WAIT_BUCKETS_SECONDS,
  WORK_BUCKETS_SECONDS,
} from './families.ts';
import { type MetricSources, ScrapedMetrics } from './scraped-metrics.ts';

export const SHARD_PREFIX = 'bigfleet_shard_';
export const OWN_PREFIX = 'flotilla_';

const KINDS = [
  'Bootstrap',
  'Provision',
  'Reclaim',
  'Preempt',
  'Delete',
] as const satisfies readonly ActionName[];
/** X9: those of actions that were executed. */
const EXECUTED = [
  'success',
  'accepted',
  'no_session',
  'blob_error',
  'blob_timeout',
  'provider_error',
  'timeout',
  'fenced',
  'stale_state',
  'rolled_back',
  'ack_rejected',
  'worker_lost',
] as const satisfies readonly ActionOutcome[];
type ExecutedOutcome = (typeof EXECUTED)[number];
const EXECUTED_SET: ReadonlySet<string> = new Set(EXECUTED);

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
  readonly #actionSeconds: Histogram<'kind'>;
  readonly #configureSeconds: Histogram;
  readonly #blobSeconds: Histogram;
  readonly #drainSeconds: Histogram;
  readonly #provisioningSeconds: Histogram;
  readonly #idleReleases: CounterTable;
  readonly #rollupsRejected = new ClusterCounts();
  readonly #cycles: CounterTable<'ordinary' | 'woken'>;
  readonly #listingSeconds: Histogram<'provider'>;
  /** By provider; providers are settings, so there are few. */
  readonly #lastListingMs = new Map<string, number>();
  readonly #suspect = new Map<string, boolean>();
  #lastReport: CycleReport | null = null;

  constructor(options: ShardMetricsOptions = {}) {
    const { registry } = this;
    this.#clock = options.clock ?? systemClock;
    const shard = (name: string, help: string) => ({ name: SHARD_PREFIX + name, help });
    const own = (name: string, help: string) => ({ name: OWN_PREFIX + name, help });
    const kinds = { name: 'kind', values: KINDS } as const;

    this.#cycleSeconds = histogram(
      registry,
      shard('cycle_duration_seconds', 'What a cycle costs the main thread, without the wait for listings.'),
      WORK_BUCKETS_SECONDS,
    );
    this.#phaseSeconds = histogram(
      registry,
      shard('cycle_phase_duration_seconds', 'The same by phase of the cycle.'),
      WORK_BUCKETS_SECONDS,
      ['phase'],
    );
    this.#actions = new CounterTable(registry, shard('actions_total', 'Actions enqueued, by kind.'), kinds);
    this.#outcomes = new CounterTable(
      registry,
      shard('action_execute_outcomes_total', 'How executed actions ended.'),
      kinds,
      { name: 'outcome', values: EXECUTED },
    );
    this.#suppressed = new CounterTable(
      registry,
      shard('actions_suppressed_total', 'Actions that the kill switch kept from being executed.'),
      kinds,
    );
    this.#dryRun = new CounterTable(
      registry,
      shard('actions_dryrun_total', 'Actions that a dry run would have executed.'),
      kinds,
    );
    this.#actionSeconds = histogram(
      registry,
      shard(
        'action_duration_seconds',
        'From enqueueing an action to its settlement: for an asynchronous provider, the ack.',
      ),
      WAIT_BUCKETS_SECONDS,
      ['kind'],
    );
    this.#configureSeconds = histogram(
      registry,
      shard('configure_phase_seconds', 'Calls of a Bootstrap to its provider.'),
      WAIT_BUCKETS_SECONDS,
    );
    this.#blobSeconds = histogram(
      registry,
      shard('request_bootstrap_seconds', "Waits for an operator's bootstrap blob."),
      WAIT_BUCKETS_SECONDS,
    );
    this.#drainSeconds = histogram(
      registry,
      shard('drain_phase_seconds', 'Calls of a Reclaim or Preempt to its provider.'),
      WAIT_BUCKETS_SECONDS,
    );
    this.#provisioningSeconds = histogram(
      registry,
      shard(
        'provisioning_latency_seconds',
        'From enqueueing a Bootstrap or Provision until its machine is Configured.',
      ),
      WAIT_BUCKETS_SECONDS,
    );
    this.#idleReleases = new CounterTable(
      registry,
      shard('idle_releases_total', 'Idle machines released: Deletes that succeeded or were acked.'),
    );
    counterFrom(
      registry,
      shard('rollups_rejected_total', 'Roll-ups refused, by cluster.'),
      () => this.#rollupsRejected.record,
      'cluster',
    );
    this.#cycles = new CounterTable(registry, own('cycles_total', 'Cycles run, by what started them.'), {
      name: 'trigger',
      values: ['ordinary', 'woken'],
    });
    gaugeFrom(registry, own('last_cycle_timestamp_seconds', 'When the last cycle began.'), () =>
      this.#lastReport === null ? null : this.#lastReport.atMs / 1_000,
    );
    gaugeFrom(
      registry,
      own('cycle_evaluated_needs', 'Needs that the last cycle looked at again.'),
      () => this.#lastReport?.evaluatedNeeds ?? null,
    );
    gaugeFrom(
      registry,
      own('unmet_needs', 'Needs that the last cycle left unmet.'),
      () => this.#lastReport?.unmetNeeds ?? null,
    );
    gaugeFrom(
      registry,
      own('actions_held_back', '1 while no action is emitted because a provider has not been listed yet.'),
      () => (this.#lastReport === null ? null : this.#lastReport.heldBack !== ''),
    );
    this.#listingSeconds = histogram(
      registry,
      own('listing_duration_seconds', 'Listings, by provider.'),
      WAIT_BUCKETS_SECONDS,
      ['provider'],
    );
    gaugeFrom(
      registry,
      own('last_listing_timestamp_seconds', 'When a listing last succeeded, by provider.'),
      () => mapSamples(this.#lastListingMs, (atMs) => atMs / 1_000),
      ['provider'],
    );
    gaugeFrom(
      registry,
      own('listing_suspect', '1 while the last listing lacked so many machines that none was removed.'),
      () => mapSamples(this.#suspect, Number),
      ['provider'],
    );
    const loopMax = histogram(
      registry,
      own('event_loop_delay_max_seconds', 'Longest delay of the event loop in each window of 10 s.'),
      WORK_BUCKETS_SECONDS,
    );
    this.#loop = new EventLoopMonitor((delay) => loopMax.observe(delay.maxSeconds));
    gaugeFrom(
      registry,
      own('event_loop_delay_seconds', 'Delay of the event loop in the last window of 10 s.'),
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
    gaugeFrom(registry, own('build_info', 'Always 1.'), () => [{ labels: build, value: 1 }], [
      'version',
      'node',
    ]);
    this.#scraped = new ScrapedMetrics(registry);
    if (options.hasProcessMetrics ?? true) collectDefaultMetrics({ register: registry });
  }

  /** What there is to read at scrape time; may be told in parts, as parts of the service come up. */
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
    if (!EXECUTED_SET.has(outcome)) return; // told by the cycle's report, and there may be a hundred thousand
    this.#outcomes.add(1, kind, outcome as ExecutedOutcome);
    if (outcome === 'stale_state') return; // ended before anything was done
    this.#actionSeconds.observe({ kind }, durationMs / 1_000);
    if (blobMs > 0) this.#blobSeconds.observe(blobMs / 1_000);
    const isDone = outcome === 'success' || outcome === 'accepted';
    if (kind === 'Bootstrap' && callMs > 0) this.#configureSeconds.observe(callMs / 1_000);
    if ((kind === 'Reclaim' || kind === 'Preempt') && callMs > 0) this.#drainSeconds.observe(callMs / 1_000);
    if (kind === 'Delete' && isDone) this.#idleReleases.add(1);
  }

  machineBound(latencyMs: number): void {
    this.#provisioningSeconds.observe(latencyMs / 1_000);
  }

  listingEnded(report: ListingReport): void {
    this.#listingSeconds.observe({ provider: report.provider }, report.durationMs / 1_000);
    if (report.failure !== '') return;
    this.#lastListingMs.set(report.provider, this.#clock.nowMs());
    this.#suspect.set(report.provider, report.isSuspect);
  }

  happened(event: ShardEvent): void {
    if (event.kind === 'rollup_rejected') this.#rollupsRejected.add(event.clusterId);
  }
}

function addKinds(table: CounterTable<ActionName>, counts: KindCounts): void {
  for (const kind of KINDS) table.add(counts[kind], kind);
}

function* mapSamples<Value>(values: ReadonlyMap<string, Value>, toNumber: (value: Value) => number) {
  for (const [provider, value] of values) yield { labels: { provider }, value: toNumber(value) };
}
