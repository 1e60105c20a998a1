/**
 * One run of one scenario: takes the samples and keeps them until they are summarized. Short operations go
 * through tinybench; where a scenario prepares state between two samples, the loop is our own.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Bench } from 'tinybench';
import { ShardError } from '../src/base/errors.ts';
import type { BenchContext, Params, TimeOptions } from './harness.ts';
import { type Metric, NANOSECONDS, summarize, type TimeUnit } from './statistics.ts';

export class BenchmarkNotRealError extends ShardError {
  readonly code = 'benchmark_not_real';
  readonly next = 'stop';

  constructor(scenario: string, text: string) {
    super(`Scenario ${scenario} did not do the work that it measures: ${text}. Its figures are discarded.`);
  }
}

/** Fewer samples than this say nothing, however long one takes. */
const SAMPLES_MIN = 3;
const SAMPLES_DEFAULT = 30;

export class MeasuredRun implements BenchContext {
  readonly params: Params;
  readonly ratios = new Map<string, number>();
  readonly notes: string[] = [];
  readonly #scenario: string;
  readonly #onProgress: (text: string) => void;
  readonly #values = new Map<string, { unit: string; values: number[] }>();
  /** What tinybench has summarized already. */
  readonly #summarized = new Map<string, Metric>();

  constructor(scenario: string, params: Params, onProgress: (text: string) => void) {
    this.#scenario = scenario;
    this.params = params;
    this.#onProgress = onProgress;
  }

  note(text: string): void {
    this.notes.push(text);
    this.progress(text);
  }

  progress(text: string): void {
    this.#onProgress(text);
  }

  async time(name: string, unit: TimeUnit, fn: () => unknown, options: TimeOptions = {}): Promise<Metric> {
    const { samples = SAMPLES_DEFAULT, warmups = 1, operations = 1, before } = options;
    const samplesMin = Math.min(SAMPLES_MIN, samples);
    const perUnit = NANOSECONDS[unit] * operations;
    this.progress(`${name}: up to ${samples} samples`);
    const values: number[] = [];
    const deadline = performance.now() + this.params.seconds * 1_000;
    for (let call = -warmups; call < samples; call++) {
      if (call >= samplesMin && performance.now() > deadline) break;
      if (before !== undefined) await before();
      const started = process.hrtime.bigint();
      const result = fn();
      if (result instanceof Promise) await result;
      const tookNs = Number(process.hrtime.bigint() - started);
      if (call >= 0) values.push(tookNs / perUnit);
      // Yield between samples: sockets, timers and other threads of the scenario must get their turn.
      await sleep(0);
    }
    for (const value of values) this.sample(name, unit, value);
    return summarize(unit, values);
  }

  async loop(
    name: string,
    unit: TimeUnit,
    fn: () => unknown,
    options: Pick<TimeOptions, 'operations'> = {},
  ): Promise<Metric> {
    this.progress(`${name}: repeated for ${this.params.seconds} s`);
    const timeMs = this.params.seconds * 1_000;
    const bench = new Bench({ time: timeMs, warmupTime: timeMs / 10, throws: true });
    // The result is discarded on purpose: tinybench would read an object's fields as overridden times.
    bench.add(name, () => {
      fn();
    });
    const [task] = await bench.run();
    const result = task?.result;
    if (result?.state !== 'completed') {
      throw new BenchmarkNotRealError(this.#scenario, `the loop "${name}" ended as ${result?.state}`);
    }
    const perUnit = (NANOSECONDS[unit] * (options.operations ?? 1)) / NANOSECONDS.ms;
    const { p50, p99, samplesCount } = result.latency;
    const metric: Metric = { unit, median: p50 / perUnit, p99: p99 / perUnit, samples: samplesCount };
    this.#summarized.set(name, metric);
    return metric;
  }

  sample(name: string, unit: string, value: number): void {
    this.check(Number.isFinite(value), `${name} is a number (it was ${value})`);
    const known = this.#values.get(name);
    if (known === undefined) {
      this.#values.set(name, { unit, values: [value] });
      return;
    }
    this.check(known.unit === unit, `${name} keeps its unit (${known.unit}, then ${unit})`);
    known.values.push(value);
  }

  ratio(name: string, slow: string | number, fast: string | number): number {
    const value = this.#comparable(slow) / this.#comparable(fast);
    this.check(!Number.isNaN(value), `${name} compares two figures that were measured`);
    this.ratios.set(name, value);
    return value;
  }

  check(condition: boolean, text: string): void {
    if (!condition) throw new BenchmarkNotRealError(this.#scenario, `expected that ${text}`);
  }

  gc(): void {
    globalThis.gc?.();
  }

  metrics(): Record<string, Metric> {
    const all: Record<string, Metric> = {};
    for (const [name, { unit, values }] of this.#values) all[name] = summarize(unit, values);
    for (const [name, metric] of this.#summarized) all[name] = metric;
    return all;
  }

  /** Converts times to nanoseconds, so that metrics in milliseconds and microseconds can be divided. */
  #comparable(figure: string | number): number {
    if (typeof figure === 'number') return figure;
    const metric = this.metrics()[figure];
    if (metric === undefined) {
      throw new BenchmarkNotRealError(this.#scenario, `a ratio needs "${figure}", which was not measured`);
    }
    return metric.median * (NANOSECONDS[metric.unit as TimeUnit] ?? 1);
  }
}
