/** Arithmetic on resource vectors. A dimension that a vector lacks is 0 (V3). */
import { compareBytes } from './bytes.ts';
import type { Amounts } from './world.ts';

export function amountOf(amounts: Amounts, dimension: string): number {
  return amounts[dimension] ?? 0;
}

/** The dimensions that are wanted (more than zero), in bytewise order of their names. */
export function wantedDimensions(wanted: Amounts): string[] {
  return Object.keys(wanted)
    .filter((dimension) => amountOf(wanted, dimension) > 0)
    .sort(compareBytes);
}

/** V3: "covering compares only the wanted side's dimensions". */
export function covers(have: Amounts, wanted: Amounts): boolean {
  return Object.keys(wanted).every((dimension) => amountOf(have, dimension) >= amountOf(wanted, dimension));
}

export function isNothing(amounts: Amounts): boolean {
  return !Object.keys(amounts).some((dimension) => amountOf(amounts, dimension) > 0);
}

/** The same vector with its zeros left out and its dimensions in order. */
export function withoutZeros(amounts: Amounts): Amounts {
  return Object.fromEntries(
    wantedDimensions(amounts).map((dimension) => [dimension, amountOf(amounts, dimension)]),
  );
}

/** A2: "subtract its capacity (never below zero per dimension)". */
export function subtract(from: Amounts, what: Amounts): Amounts {
  const left: Amounts = {};
  for (const dimension of Object.keys(from)) {
    left[dimension] = Math.max(0, amountOf(from, dimension) - amountOf(what, dimension));
  }
  return left;
}

export function sum(vectors: readonly Amounts[]): Amounts {
  const total: Amounts = {};
  for (const vector of vectors) {
    for (const dimension of Object.keys(vector)) {
      total[dimension] = amountOf(total, dimension) + amountOf(vector, dimension);
    }
  }
  return total;
}

export function maximum(vectors: readonly Amounts[]): Amounts {
  const highest: Amounts = {};
  for (const vector of vectors) {
    for (const dimension of Object.keys(vector)) {
      highest[dimension] = Math.max(amountOf(highest, dimension), amountOf(vector, dimension));
    }
  }
  return highest;
}

/** A2: "has more than zero of a dimension that still remains". */
export function hasSomeOf(capacity: Amounts, remaining: Amounts): boolean {
  return Object.keys(remaining).some(
    (dimension) => amountOf(remaining, dimension) > 0 && amountOf(capacity, dimension) > 0,
  );
}

/** A5: "sum over wanted dimensions (by name) of have/wanted, each capped at 1". */
export function coverage(have: Amounts, wanted: Amounts): number {
  let ratioSum = 0;
  for (const dimension of wantedDimensions(wanted)) {
    ratioSum += Math.min(1, amountOf(have, dimension) / amountOf(wanted, dimension));
  }
  return ratioSum;
}

/** A5: "sum of uncapped ratios". */
export function uncappedCoverage(have: Amounts, wanted: Amounts): number {
  let ratioSum = 0;
  for (const dimension of wantedDimensions(wanted)) {
    ratioSum += amountOf(have, dimension) / amountOf(wanted, dimension);
  }
  return ratioSum;
}

/** The aggregate of `gangCount` gangs. */
export function times(gangAggregate: Amounts, gangCount: number): Amounts {
  return Object.fromEntries(
    wantedDimensions(gangAggregate).map((dimension) => [
      dimension,
      gangCount * amountOf(gangAggregate, dimension),
    ]),
  );
}

/** How many whole gangs of this aggregate fit into one machine; infinitely many if they want nothing. */
export function wholeGangs(capacity: Amounts, gangAggregate: Amounts): number {
  let gangCount = Number.POSITIVE_INFINITY;
  for (const dimension of wantedDimensions(gangAggregate)) {
    const fitting = Math.floor(amountOf(capacity, dimension) / amountOf(gangAggregate, dimension));
    gangCount = Math.min(gangCount, fitting);
  }
  return gangCount;
}
