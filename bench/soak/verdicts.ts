/**
 * Judges whether anything grew. The time after the warm-up is cut into quarters, and the median of the last is compared with
 * that of the first: a sawtooth of garbage collection or one bad minute moves neither. The slope of the straight line
 * through all samples is shown beside it and is not judged.
 */
import { quantile } from '../statistics.ts';
import type { SoakSample } from './samples.ts';

export interface Verdict {
  readonly name: string;
  readonly first: number;
  readonly last: number;
  readonly slopePerHour: number;
  /** Maximum for `last`. */
  readonly limit: number;
  readonly unit: string;
  readonly held: boolean;
}

type Figure = Exclude<keyof SoakSample, 'elapsedSeconds'>;

interface Rule {
  readonly name: string;
  readonly figure: Figure;
  readonly unit: string;
  limit(first: number): number;
}

const RSS_DRIFT_MAX = 0.05;
/** Queues vary with the churn: half as much again, or one batch of reads (X13: 64 reads in flight), is not growth. */
const breathing = (first: number) => first * 1.5 + 64;
/** A listing's connection, a scrape, a file: they come and go. */
const FDS_SLACK = 8;

const RULES: readonly Rule[] = [
  { name: 'memory of the shard', figure: 'rssMb', unit: 'MB', limit: (first) => first * (1 + RSS_DRIFT_MAX) },
  { name: 'actions queued', figure: 'queued', unit: 'actions', limit: breathing },
  { name: 'reads waiting', figure: 'readsWaiting', unit: 'reads', limit: breathing },
  { name: 'rows parked', figure: 'parkedRows', unit: 'rows', limit: breathing },
  { name: 'machines that clusters wait for', figure: 'wanting', unit: 'machines', limit: breathing },
  { name: 'file descriptors', figure: 'fds', unit: '', limit: (first) => first * 1.01 + FDS_SLACK },
  { name: 'threads', figure: 'threads', unit: '', limit: (first) => first },
];

/** Fewer samples in a quarter say nothing. */
const QUARTER_SAMPLES_MIN = 3;
const SECONDS_PER_HOUR = 3_600;
/** A shard that leaves a larger share of scrapes unanswered is overloaded. */
const HOLES_SHARE_MAX = 0.1;

export interface Judgement {
  readonly verdicts: readonly Verdict[];
  /** One line for each fault; empty if nothing grew. */
  readonly violations: readonly string[];
}

export function judge(samples: readonly SoakSample[], warmUpSeconds: number): Judgement {
  const judged = samples.filter(({ elapsedSeconds }) => elapsedSeconds >= warmUpSeconds);
  const violations: string[] = [];
  const verdicts: Verdict[] = [];
  for (const rule of RULES) {
    const points = pointsOf(judged, rule.figure);
    const quarter = Math.floor(points.length / 4);
    if (quarter < QUARTER_SAMPLES_MIN) {
      violations.push(
        `${rule.name} cannot be judged: ${points.length} samples after the warm-up are too few`,
      );
      continue;
    }
    const first = medianOf(points.slice(0, quarter));
    const last = medianOf(points.slice(-quarter));
    const limit = rule.limit(first);
    const held = last <= limit;
    verdicts.push({ ...named(rule), first, last, limit, held, slopePerHour: slopePerHour(points) });
    if (!held) {
      violations.push(
        `${rule.name} grew from ${first.toFixed(0)} to ${last.toFixed(0)} ${rule.unit}; the limit is ${limit.toFixed(0)}`,
      );
    }
  }
  const holes = judged.filter(({ heapMb }) => heapMb === null).length;
  if (holes > judged.length * HOLES_SHARE_MAX) {
    violations.push(`the shard did not answer ${holes} of ${judged.length} scrapes`);
  }
  const differences = Math.max(0, ...samples.map((sample) => sample.differences ?? 0));
  if (differences > 0)
    violations.push(`${differences} incremental decisions differed from the decision from scratch`);
  return { verdicts, violations };
}

function named({ name, unit }: Rule): Pick<Verdict, 'name' | 'unit'> {
  return { name, unit };
}

type Point = readonly [seconds: number, value: number];

export function pointsOf(samples: readonly SoakSample[], figure: Figure): Point[] {
  return samples.flatMap((sample) => {
    const value = sample[figure] ?? null; // an older record lacks the newer figures
    return value === null ? [] : [[sample.elapsedSeconds, value] as const];
  });
}

export function medianOf(points: readonly Point[]): number {
  return quantile(Float64Array.from(points, ([, value]) => value).sort(), 0.5);
}

/** By least squares. */
export function slopePerHour(points: readonly Point[]): number {
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / points.length;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / points.length;
  let covariance = 0;
  let variance = 0;
  for (const [x, y] of points) {
    covariance += (x - meanX) * (y - meanY);
    variance += (x - meanX) ** 2;
  }
  return variance === 0 ? 0 : (covariance / variance) * SECONDS_PER_HOUR;
}
