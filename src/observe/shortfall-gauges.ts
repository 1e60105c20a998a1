/** Shortfalls by age and by priority class. P5: a shortfall is what a profile still lacks after preemption. */
import type { Sample } from './families.ts';

export interface ShortfallFacts {
  readonly priority: number;
  readonly ageCycles: number;
}

/** Buckets with their least number of unmet cycles. */
const AGES = [
  ['1-9', 1],
  ['10-59', 10],
  ['60-299', 60],
  ['300+', 300],
] as const;

const PRIORITY_CLASSES = [
  ['critical', 1_000_000],
  ['service', 1_000],
  ['batch', 100],
  ['other', Number.NEGATIVE_INFINITY],
] as const;

/** A shortfall that began in this cycle has age 0 and is in no bucket. */
export function agedSamples(shortfalls: readonly ShortfallFacts[] | null): Sample[] | null {
  if (shortfalls === null) return null;
  return AGES.map(([bucket, from], index) => {
    const below = AGES[index + 1]?.[1] ?? Number.POSITIVE_INFINITY;
    const value = shortfalls.filter(({ ageCycles }) => ageCycles >= from && ageCycles < below).length;
    return { labels: { bucket }, value };
  });
}

export function prioritySamples(shortfalls: readonly ShortfallFacts[] | null): Sample[] | null {
  if (shortfalls === null) return null;
  return PRIORITY_CLASSES.map(([priorityClass, from], index) => {
    const below = PRIORITY_CLASSES[index - 1]?.[1] ?? Number.POSITIVE_INFINITY;
    const value = shortfalls.filter(({ priority }) => priority >= from && priority < below).length;
    return { labels: { priority_class: priorityClass }, value };
  });
}
