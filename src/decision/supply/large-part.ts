/**
 * From an eighth of the fleet on a change is not placed machine by machine. Placing one machine in an ordered list costs
 * a binary search, about eight reads that miss the cache; reading all machines in id order costs one read each and
 * appends. So 1/8 of the fleet × 8 reads = the fleet × 1 read.
 */
const LARGE_PART_DIVISOR = 8;

export function isLargePart(count: number, fleetCount: number): boolean {
  return count * LARGE_PART_DIVISOR > fleetCount;
}
