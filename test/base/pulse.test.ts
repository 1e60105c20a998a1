import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../src/base/clock.ts';
import { Pulse } from '../../src/base/pulse.ts';

const STALL_MS = 2_000;

/** A main thread and a sender with clocks that the test moves. */
class TwoThreads {
  readonly wall = new ManualClock(1_000_000);
  uptimeMs = 500;
  readonly clocks = { wall: this.wall, uptime: () => this.uptimeMs };
  readonly main = Pulse.create(STALL_MS, this.clocks);
  readonly sender = Pulse.open(this.main.shared, this.clocks);

  pass(ms: number): void {
    this.uptimeMs += ms;
    this.wall.advance(ms);
  }
}

describe('the pulse of the main loop', () => {
  it('X16: is current while beats come in time', () => {
    const threads = new TwoThreads();
    for (let beat = 0; beat < 10; beat++) {
      threads.pass(STALL_MS);
      expect(threads.sender.isCurrent(0)).toBe(true);
      expect(threads.main.beat()).toBe(0);
    }
    expect(threads.main.stretch).toBe(0);
  });

  it('X16: holds calls from before a stall, if the sender wakes up first', () => {
    const threads = new TwoThreads();
    threads.pass(STALL_MS + 1);
    expect(threads.sender.isCurrent(0)).toBe(false);
  });

  it('X16: holds calls from before a stall, if the main thread wakes up first', () => {
    const threads = new TwoThreads();
    threads.pass(STALL_MS + 1);
    expect(threads.main.beat()).toBe(STALL_MS + 1);
    expect(threads.sender.isCurrent(0)).toBe(false);
    expect(threads.sender.isCurrent(threads.main.stretch)).toBe(true);
  });

  it('X16: counts the time of a suspended machine, which only the wall clock shows', () => {
    const threads = new TwoThreads();
    threads.wall.advance(60_000);
    expect(threads.sender.isCurrent(0)).toBe(false);
    expect(threads.main.beat()).toBe(60_000);
  });

  it('X16: counts the uptime, if the wall clock was set back', () => {
    const threads = new TwoThreads();
    threads.pass(STALL_MS + 1);
    threads.wall.advance(-3_600_000);
    expect(threads.sender.isCurrent(0)).toBe(false);
    expect(threads.main.beat()).toBe(STALL_MS + 1);
  });
});
