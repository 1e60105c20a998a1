/** A steady clock measures elapsed time, even if the system clock is set. */
import { describe, expect, it } from 'vitest';
import { ManualClock, steadyClock, systemClock } from '../../src/base/clock.ts';

describe('a steady clock', () => {
  for (const [jump, byMs] of [
    ['back', -3_600_000],
    ['forward', 3_600_000],
  ] as const) {
    it(`keeps counting elapsed time when the system clock is set ${jump}`, () => {
      const wall = new ManualClock(1_700_000_000_000);
      let passedMs = 42.5;
      const clock = steadyClock(wall, () => passedMs);
      expect(clock.nowMs()).toBe(1_700_000_000_000);
      wall.advance(byMs);
      passedMs += 10_000;
      expect(clock.nowMs()).toBe(1_700_000_010_000);
    });
  }

  it('begins with the time of the system clock', () => {
    expect(Math.abs(steadyClock().nowMs() - systemClock.nowMs())).toBeLessThan(60_000);
  });
});
