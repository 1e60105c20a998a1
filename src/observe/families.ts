/**
 * Metrics with few, known label values. Counting is one addition in a typed array, and a scrape reads the array. A labelled
 * counter of the library hashes its labels, half a microsecond each time: a cycle with a hundred thousand suppressed
 * actions would spend 50 ms on it.
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { assert } from '../base/assert.ts';

/** Name and help text of a metric. */
export interface MetricText {
  readonly name: string;
  readonly help: string;
}

/** Label name and all of its values. */
export interface LabelValues<Name extends string = string, Value extends string = string> {
  readonly name: Name;
  readonly values: readonly Value[];
}

/** A counter over the product of at most two closed sets of label values. */
export class CounterTable<First extends string = never, Second extends string = never> {
  readonly #counts: Float64Array;
  readonly #indexOfFirst: ReadonlyMap<string, number>;
  readonly #indexOfSecond: ReadonlyMap<string, number>;
  readonly #stride: number;

  constructor(
    registry: Registry,
    { name, help }: MetricText,
    first?: LabelValues<string, First>,
    second?: LabelValues<string, Second>,
  ) {
    const firstValues: readonly string[] = first?.values ?? [''];
    const secondValues: readonly string[] = second?.values ?? [''];
    this.#stride = secondValues.length;
    this.#counts = new Float64Array(firstValues.length * this.#stride);
    this.#indexOfFirst = new Map(firstValues.map((value, index) => [value, index]));
    this.#indexOfSecond = new Map(secondValues.map((value, index) => [value, index]));
    const counts = this.#counts;
    const stride = this.#stride;
    const labelNames = [first, second].flatMap((label) => (label === undefined ? [] : [label.name]));
    new Counter({
      name,
      help,
      labelNames,
      registers: [registry],
      collect() {
        this.reset();
        counts.forEach((count, index) => {
          const labels: Record<string, string> = {};
          if (first !== undefined) labels[first.name] = firstValues[Math.floor(index / stride)]!;
          if (second !== undefined) labels[second.name] = secondValues[index % stride]!;
          // Expose zeros of a single label, so that a rate exists from the first scrape. Pairs would be too many.
          if (count > 0 || second === undefined) this.inc(labels, count);
        });
      },
    });
  }

  add(count: number, first: First | '' = '', second: Second | '' = ''): void {
    const row = this.#indexOfFirst.get(first);
    const column = this.#indexOfSecond.get(second);
    assert(row !== undefined && column !== undefined, `no such label values: ${first}, ${second}`);
    this.#counts[row * this.#stride + column]! += count;
  }
}

/** A counter that another part keeps; it is read at scrape time. */
export function counterFrom(
  registry: Registry,
  text: MetricText,
  read: () => number | Readonly<Record<string, number>> | null,
  label?: string,
): void {
  new Counter({
    ...text,
    labelNames: label === undefined ? [] : [label],
    registers: [registry],
    collect() {
      const value = read();
      this.reset();
      if (value === null && label === undefined) this.remove();
      if (typeof value === 'number') this.inc(value);
      else if (value !== null)
        for (const [key, count] of Object.entries(value)) this.inc({ [label!]: key }, count);
    },
  });
}

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A gauge that is computed at scrape time; null gives no samples. */
export function gaugeFrom(
  registry: Registry,
  text: MetricText,
  read: () => number | boolean | Iterable<Sample> | null,
  labelNames: readonly string[] = [],
): void {
  new Gauge({
    ...text,
    labelNames,
    registers: [registry],
    collect() {
      const value = read();
      this.reset();
      if (value === null) {
        // Without labels, `reset` leaves a zero.
        if (labelNames.length === 0) this.remove();
      } else if (typeof value === 'number' || typeof value === 'boolean') this.set(Number(value));
      else for (const sample of value) this.set(sample.labels, sample.value);
    },
  });
}

/** At most a few thousand observations per second, so the library's histogram is fast enough. */
export function histogram<Label extends string = never>(
  registry: Registry,
  text: MetricText,
  bucketsSeconds: readonly number[],
  labelNames: readonly Label[] = [],
): Histogram<Label> {
  return new Histogram({ ...text, labelNames, buckets: [...bucketsSeconds], registers: [registry] });
}

/** Main-thread work: 50 µs to 5 s. */
export const WORK_BUCKETS_SECONDS = [
  0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
] as const;
/** From need to node: 100 ms to 1 h, finest where a provider of a few seconds ends. */
export const BINDING_BUCKETS_SECONDS = [
  0.1, 0.25, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 7, 10, 15, 20, 30, 60, 120, 300, 900, 3600,
] as const;
/** Calls and waiting: 5 ms to 15 min. */
export const WAIT_BUCKETS_SECONDS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900,
] as const;
