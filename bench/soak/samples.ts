/**
 * The samples taken every few seconds: the shard from outside (/proc, /metrics) and from its clients (the operators'
 * report). If the shard does not answer in time its figures are null; such holes are counted, never interpolated.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import type { FleetReport } from '../../src/simulation/operators/fleet-report.ts';
import { BindingPaths, type PathFigures } from './binding-paths.ts';

/** Null: unknown at that moment. */
export interface SoakSample extends PathFigures {
  readonly elapsedSeconds: number;
  readonly load: number;
  readonly rssMb: number | null;
  readonly threads: number | null;
  readonly fds: number | null;
  readonly heapMb: number | null;
  readonly activeResources: number | null;
  readonly queued: number | null;
  readonly inFlight: number | null;
  readonly readsWaiting: number | null;
  readonly parkedRows: number | null;
  readonly loopDelayP99Ms: number | null;
  readonly loopDelayMaxMs: number | null;
  /** Mean of the cycles since the last sample; null if there was none. */
  readonly cycleMeanMs: number | null;
  readonly unmetNeeds: number | null;
  readonly differences: number | null;
  readonly sessions: number | null;
  readonly bindsPerSecond: number | null;
  readonly bindP50Ms: number | null;
  readonly bindP99Ms: number | null;
  /** Machines that clusters ask for and do not have yet. */
  readonly wanting: number | null;
  readonly providerRssMb: number | null;
  readonly operatorsRssMb: number | null;
}

export type ReportLine = Pick<FleetReport, 'elapsedSeconds' | 'binds' | 'sessions'>;

const SCRAPE_TIMEOUT_MS = 4_000;
const KIB_PER_MB = 1e6 / 1024;

/** Every sample of the exposition by `name` or `name{labels}`; comments and values that are not numbers are left out. */
export function parseExposition(text: string): Map<string, number> {
  const values = new Map<string, number>();
  for (const line of text.split('\n')) {
    const at = line.lastIndexOf(' ');
    if (at <= 0 || line.startsWith('#')) continue;
    const value = Number(line.slice(at + 1));
    if (!Number.isNaN(value)) values.set(line.slice(0, at), value);
  }
  return values;
}

export class SoakSampler {
  readonly #shardPid: number;
  readonly #otherPids: { readonly provider: number; readonly operators: number };
  readonly #metricsUrl: string;
  readonly #paths = new BindingPaths();
  #cycles: { readonly count: number; readonly sumSeconds: number } | null = null;
  #lastReport: ReportLine | null = null;
  #countedReport: ReportLine | null = null;

  constructor(shardPid: number, otherPids: { provider: number; operators: number }, http: string) {
    this.#shardPid = shardPid;
    this.#otherPids = otherPids;
    this.#metricsUrl = `${http}metrics`;
  }

  /** Takes a line of `flotilla operators --json`; ignores lines that do not report progress. */
  readReport(line: string): void {
    if (!line.startsWith('{"event":"progress"')) return;
    this.#lastReport = JSON.parse(line) as ReportLine;
  }

  async sample(elapsedSeconds: number): Promise<SoakSample> {
    const values = await this.#scrape();
    const read = (name: string, factor = 1): number | null => {
      const value = values?.get(name);
      return value === undefined ? null : value * factor;
    };
    return {
      elapsedSeconds: Math.round(elapsedSeconds * 10) / 10,
      load: loadavg()[0]!,
      ...processFigures(this.#shardPid),
      heapMb: read('nodejs_heap_size_used_bytes', 1e-6),
      activeResources: read('nodejs_active_resources_total'),
      queued: read('bigfleet_shard_action_queue_depth'),
      inFlight: read('bigfleet_shard_execute_inflight'),
      readsWaiting: read('flotilla_reads_waiting'),
      parkedRows: read('flotilla_parked_rows'),
      loopDelayP99Ms: read('flotilla_event_loop_delay_seconds{quantile="0.99"}', 1_000),
      loopDelayMaxMs: read('flotilla_event_loop_delay_seconds{quantile="1"}', 1_000),
      cycleMeanMs: this.#cycleMeanMs(values),
      unmetNeeds: read('flotilla_unmet_needs'),
      differences: read('flotilla_incremental_check_differences_total'),
      sessions: read('bigfleet_shard_active_sessions'),
      ...this.#binds(),
      ...this.#paths.read(values),
      providerRssMb: processFigures(this.#otherPids.provider).rssMb,
      operatorsRssMb: processFigures(this.#otherPids.operators).rssMb,
    };
  }

  async #scrape(): Promise<Map<string, number> | null> {
    try {
      const response = await fetch(this.#metricsUrl, { signal: AbortSignal.timeout(SCRAPE_TIMEOUT_MS) });
      return response.ok ? parseExposition(await response.text()) : null;
    } catch {
      return null;
    }
  }

  #cycleMeanMs(values: Map<string, number> | null): number | null {
    const count = values?.get('bigfleet_shard_cycle_duration_seconds_count');
    const sumSeconds = values?.get('bigfleet_shard_cycle_duration_seconds_sum');
    if (count === undefined || sumSeconds === undefined) return null;
    const before = this.#cycles;
    this.#cycles = { count, sumSeconds };
    if (before === null || count === before.count) return null;
    return ((sumSeconds - before.sumSeconds) / (count - before.count)) * 1_000;
  }

  /** Counts a report once: a second sample before the next report has null figures. */
  #binds(): Pick<SoakSample, 'bindsPerSecond' | 'bindP50Ms' | 'bindP99Ms' | 'wanting'> {
    const [now, before] = [this.#lastReport, this.#countedReport];
    const unknown = { bindsPerSecond: null, bindP50Ms: null, bindP99Ms: null, wanting: null };
    if (now === null || now === before) return unknown;
    this.#countedReport = now;
    const { count, p50Ms, p99Ms } = now.binds.latelyMs;
    const seconds = before === null ? 0 : now.elapsedSeconds - before.elapsedSeconds;
    return {
      bindsPerSecond:
        before === null || seconds <= 0 ? null : (now.binds.count - before.binds.count) / seconds,
      bindP50Ms: count === 0 ? null : p50Ms,
      bindP99Ms: count === 0 ? null : p99Ms,
      wanting: now.binds.waiting,
    };
  }
}

/** From Linux's /proc; null on other systems. */
export function processFigures(pid: number): Pick<SoakSample, 'rssMb' | 'threads' | 'fds'> {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
    return {
      rssMb: field('VmRSS') / KIB_PER_MB,
      threads: field('Threads'),
      fds: readdirSync(`/proc/${pid}/fd`).length,
    };
  } catch {
    return { rssMb: null, threads: null, fds: null };
  }
}
