import { describe, expect, it } from 'vitest';
import { CAPACITY_TYPE_NAMES, CapacityType, isCapacityType } from '../../src/machine/capacity-type.ts';
import { effectiveCostUsd } from '../../src/machine/cost.ts';
import {
  BUCKET_DOLLARS,
  bucketOfDollars,
  isPenaltyBucket,
  PENALTY_BUCKET_COUNT,
  PenaltyBucket,
} from '../../src/machine/penalty.ts';

const INFINITE = Number.POSITIVE_INFINITY;

describe('effective cost', () => {
  for (const [price, probability, penalty, cost] of [
    [1.5, 0, 100, 1.5],
    [1.5, 0.25, 8, 3.5],
    [0, 1, 2, 2],
    [2, 0, INFINITE, 2],
    [2, 0.001, INFINITE, INFINITE],
  ] as const) {
    it(`M6: $${price} an hour, lost with probability ${probability} at $${penalty}, costs $${cost}`, () => {
      expect(effectiveCostUsd(price, probability, penalty)).toBe(cost);
    });
  }
});

describe('penalty buckets', () => {
  for (const [bucket, dollars] of [
    [PenaltyBucket.Unspecified, 0],
    [PenaltyBucket.Zero, 0],
    [PenaltyBucket.HalfDollar, 0.5],
    [PenaltyBucket.OneDollar, 1],
    [4, 2],
    [5, 4],
    [PenaltyBucket.Largest, 8_388_608],
    [PenaltyBucket.Pinned, INFINITE],
  ] as const) {
    it(`N5: bucket ${bucket} stands for its upper bound, $${dollars}`, () => {
      expect(BUCKET_DOLLARS[bucket]).toBe(dollars);
    });
  }

  for (const [dollars, bucket, because] of [
    [0, 1, 'nothing'],
    [-5, 1, 'less than nothing counts as nothing'],
    [Number.NaN, 1, 'no number counts as nothing'],
    [0.01, 2, 'up to half a dollar'],
    [0.5, 2, 'the bound belongs to its bucket'],
    [0.51, 3, 'above half a dollar'],
    [1, 3, 'one dollar'],
    [3, 5, 'between 2 and 4'],
    [8_388_608, 26, 'the largest bound'],
    [8_388_609, 27, 'above all bounds: pinned'],
    [INFINITE, 27, 'infinite'],
  ] as const) {
    it(`M5: $${dollars} counts as bucket ${bucket}: ${because}`, () => {
      expect(bucketOfDollars(dollars)).toBe(bucket);
    });
  }

  it('M5: every bucket from zero on is the bucket of its own dollars', () => {
    for (let bucket: number = PenaltyBucket.Zero; bucket < PENALTY_BUCKET_COUNT; bucket++) {
      expect(bucketOfDollars(BUCKET_DOLLARS[bucket]!)).toBe(bucket);
    }
  });

  for (const value of [-1, 28, 0.5, Number.NaN]) {
    it(`V2: ${value} is not a penalty bucket`, () => {
      expect(isPenaltyBucket(value)).toBe(false);
    });
  }
});

describe('capacity types', () => {
  it('have the protocol’s numbers', () => {
    expect(CapacityType).toEqual({ Unspecified: 0, BareMetal: 1, Reserved: 2, OnDemand: 3, Spot: 4 });
    expect(Object.values(CapacityType).every(isCapacityType)).toBe(true);
    expect(CAPACITY_TYPE_NAMES[CapacityType.Spot]).toBe('spot');
  });

  for (const value of [-1, 5, 1.5, Number.NaN]) {
    it(`do not include ${value}`, () => {
      expect(isCapacityType(value)).toBe(false);
    });
  }
});
