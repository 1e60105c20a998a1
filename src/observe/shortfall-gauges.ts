/** Shortfalls by age and by priority class. P5: a shortfall is what a profile still lacks after preemption. */
import type { Sample } from './families.ts';
import { AGES, PRIORITY_CLASSES } from './label-values.ts';

export interface ShortfallFacts {
  readonly priority: number;
  readonly ageCycles: number;
}

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
