import { describe, expect, it } from 'vitest';
import { NEW_ROWS_BURST, NEW_ROWS_PER_SECOND } from '../../src/session/limits.ts';
import { RollupPace } from '../../src/session/rollup-pace.ts';

describe('the pace of a cluster’s changes', () => {
  it('T7: lets a bucket of new rows pass at once, and then so many a second', () => {
    const pace = new RollupPace();
    pace.spend('east', NEW_ROWS_BURST, 1_000);
    expect(pace.waitMs('east', 1_000)).toBe(0);
    pace.spend('east', 2 * NEW_ROWS_PER_SECOND, 1_000);
    expect(pace.waitMs('east', 1_000)).toBe(2_000);
    expect(pace.waitMs('east', 2_500)).toBe(500);
    expect(pace.waitMs('east', 3_000)).toBe(0);
    expect(pace.waitMs('west', 1_000)).toBe(0);
  });

  it('T7: never delays the usual change of a cluster of 80,000 rows', () => {
    const pace = new RollupPace();
    pace.spend('east', 80_000, 0);
    expect(pace.waitMs('east', 0)).toBeGreaterThan(30_000);
    for (let atMs = 60_000; atMs < 600_000; atMs += 10_000) {
      expect(pace.waitMs('east', atMs)).toBe(0);
      pace.spend('east', 800, atMs);
    }
  });

  it('T12: keeps no bucket that is full again', () => {
    const pace = new RollupPace();
    for (let cluster = 0; cluster < 100_000; cluster++) pace.spend(`c-${cluster}`, 1, cluster * 1_000);
    expect(pace.bucketCount).toBeLessThanOrEqual(4_097);
  });
});
