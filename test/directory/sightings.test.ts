/** When sightings of its own entry confirm a replica, step by step. */
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../src/base/clock.ts';
import { Confirmation } from '../../src/base/confirmation.ts';
import { instantOf } from '../../src/directory/election/options.ts';
import { Sightings } from '../../src/directory/election/sightings.ts';

const TTL_MS = 6_000;
const MARGIN_MS = 1_000;

function stage(waitsMs: number) {
  const uptime = new ManualClock(100);
  const wall = new ManualClock(1_700_000_000_000);
  const clocks = { wall, uptime: () => uptime.nowMs() };
  const sightings = new Sightings(clocks, MARGIN_MS, waitsMs);
  const pass = (ms: number) => {
    uptime.advance(ms);
    wall.advance(ms);
  };
  /** A round whose answers take so long. */
  const see = (tookMs: number) => {
    const startedAt = instantOf(clocks);
    pass(tookMs);
    sightings.seen(startedAt, TTL_MS);
  };
  return { sightings, wall, pass, see };
}

describe('sightings', () => {
  it('F2: the time counts from before the request, not from its answer', () => {
    const { sightings, pass, see } = stage(0);
    see(3_000);
    expect(sightings.isConfirmed).toBe(true);
    pass(1_999);
    expect(sightings.isConfirmed).toBe(true);
    pass(1);
    expect(sightings.isConfirmed).toBe(false);
  });

  it('F2: an answer that took as long as the lease confirms nothing', () => {
    const { sightings, see } = stage(0);
    see(TTL_MS - MARGIN_MS);
    expect(sightings.isConfirmed).toBe(false);
  });

  it('F2: after a break it must see itself for a lease again', () => {
    const { sightings, pass, see } = stage(0);
    see(10);
    pass(TTL_MS);
    for (let round = 0; round < 3; round++) {
      see(10);
      expect(sightings.isConfirmed, `round ${round}`).toBe(false);
      pass(1_990);
    }
    see(10);
    expect(sightings.isConfirmed).toBe(true);
  });

  it('F2: a wait with a break in it begins again', () => {
    const { sightings, pass, see } = stage(TTL_MS);
    see(10);
    pass(TTL_MS + 1_000);
    see(10);
    expect(sightings.isConfirmed).toBe(false);
  });

  it('F2: a jump of the wall clock ends it, and a clock that was set back does not bring it back', () => {
    const { sightings, wall, pass, see } = stage(0);
    see(10);
    wall.advance(3_600_000);
    expect(sightings.isConfirmed).toBe(false);
    wall.advance(-7_200_000);
    pass(TTL_MS);
    expect(sightings.isConfirmed).toBe(false);
  });

  it('F2: other threads see the same, at once', () => {
    const { sightings, see, wall } = stage(0);
    const elsewhere = Confirmation.open(structuredClone(sightings.confirmation.shared));
    const now = { uptimeMs: 120, wallMs: wall.nowMs() };
    expect(elsewhere.isConfirmed(now)).toBe(false);
    see(10);
    expect(elsewhere.isConfirmed(now)).toBe(true);
    sightings.broken(TTL_MS);
    expect(elsewhere.isConfirmed(now)).toBe(false);
  });
});
