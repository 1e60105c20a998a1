/**
 * Penalty buckets: what losing a machine would cost the workload on it, as powers of two in dollars.
 * A bucket stands for its upper bound, so one byte in a column is enough. Numbers are the protocol's.
 */
export const PenaltyBucket = {
  Unspecified: 0,
  Zero: 1,
  HalfDollar: 2,
  OneDollar: 3, // from here each number is one power of two more
  Largest: 26, // $8,388,608
  Pinned: 27, // above that: never worth interrupting
} as const;
export type PenaltyBucket = number;

export const PENALTY_BUCKET_COUNT = 28;

/** Dollars by bucket: the bucket's upper bound; unspecified counts as zero, pinned is infinite. */
export const BUCKET_DOLLARS: Float64Array = Float64Array.from(
  { length: PENALTY_BUCKET_COUNT },
  (_, bucket) => {
    if (bucket <= PenaltyBucket.Zero) return 0;
    if (bucket === PenaltyBucket.Pinned) return Number.POSITIVE_INFINITY;
    return 2 ** (bucket - PenaltyBucket.OneDollar);
  },
);

export function isPenaltyBucket(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value < PENALTY_BUCKET_COUNT;
}

/** The first bucket whose upper bound is at least this many dollars. */
export function bucketOfDollars(dollars: number): PenaltyBucket {
  if (!(dollars > 0)) return PenaltyBucket.Zero;
  for (let bucket: number = PenaltyBucket.HalfDollar; bucket < PenaltyBucket.Pinned; bucket++) {
    if (dollars <= BUCKET_DOLLARS[bucket]!) return bucket;
  }
  return PenaltyBucket.Pinned;
}
