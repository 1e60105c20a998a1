/**
 * From an eighth of the fleet on, changed machines are not placed one by one. Placing a machine in a long list is a
 * binary search, some eight reads that miss the cache; reading all machines in id order is one read each, and appends.
 * 1/8 of the fleet × 8 reads = the fleet × 1 read.
 */
const LARGE_PART_DIVISOR = 8;

export function isLargePart(count: number, fleetCount: number): boolean {
  return count * LARGE_PART_DIVISOR > fleetCount;
}
