/** When a shard checks itself, and how it reports the result. */
import { describe, expect, it } from 'vitest';
import { deriveAndCompare } from '../../../src/shard/check/derive.ts';
import type { CheckImage } from '../../../src/shard/check/image.ts';
import type { CheckPort, CheckResult } from '../../../src/shard/ports/check.ts';
import { CYCLE_MS, Fixture, machines, need } from '../fixture.ts';

const DEMAND = { c1: [need(3)], c2: [need(2, { priority: 5 })] };

function fixtureWith(checker: CheckPort, checkEveryCycles: number): Fixture {
  const fixture = new Fixture({
    machines: machines(8, 'm'),
    demand: DEMAND,
    settings: { checkEveryCycles },
    checker,
  });
  return fixture;
}

/** Counts requests; `answer` may change the result. */
function countingPort(answer: (image: CheckImage) => Promise<CheckResult>) {
  const counts = { opened: 0, closed: 0, ran: 0, openNow: 0, openMax: 0 };
  const port: CheckPort = {
    open: async (bytes) => {
      counts.opened++;
      counts.openMax = Math.max(counts.openMax, ++counts.openNow);
      return {
        buffer: new SharedArrayBuffer(bytes),
        run: async (image) => {
          counts.ran++;
          try {
            return await answer(image as CheckImage);
          } finally {
            counts.openNow--;
          }
        },
        close: () => {
          counts.closed++;
          counts.openNow--;
        },
      };
    },
  };
  return { port, counts };
}

describe('a shard that checks itself', () => {
  it('derives a cycle again every so many ordinary cycles, and finds nothing', async () => {
    const { port, counts } = countingPort(async (image) => deriveAndCompare(image));
    const fixture = fixtureWith(port, 5);
    await fixture.world.time.advance(24 * CYCLE_MS + 1);
    const ordinary = fixture.cycles.filter(({ isOrdinary }) => isOrdinary).length;
    expect(counts.ran).toBe(Math.floor(ordinary / 5));
    expect(counts.openMax).toBe(1);
    expect(fixture.shard.counters).toMatchObject({
      checksRun: counts.ran,
      checkDifferences: 0,
      checksFailed: 0,
    });
  });

  it('says what differs, with the machine’s id, and counts it', async () => {
    const { port } = countingPort(async (image) => {
      const slot = image.result.claims.claim.findIndex((claim) => claim !== 0);
      image.result.claims.claim[slot] = 0;
      return deriveAndCompare(image);
    });
    const fixture = fixtureWith(port, 6);
    await fixture.world.time.advance(6 * CYCLE_MS + 1);
    const found = fixture.events.filter((event) => event.kind === 'check_differs');
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({ level: 'error', actions: 0, claims: 1, verdicts: 0 });
    expect(found[0]!.examples[0]).toMatch(/^m-\d+: claimed by no need, from scratch by c[12]\//);
    expect(fixture.shard.counters).toMatchObject({ checksRun: 1, checkDifferences: 1 });
  });

  it('runs one check at a time, and waits for none', async () => {
    const { port, counts } = countingPort(() => new Promise(() => {}));
    const fixture = fixtureWith(port, 2);
    await fixture.world.time.advance(20 * CYCLE_MS);
    expect(counts).toMatchObject({ opened: 1, ran: 1 });
    expect(fixture.cycles.filter(({ isOrdinary }) => isOrdinary).length).toBeGreaterThanOrEqual(20);
    expect(fixture.shard.counters.checksRun).toBe(0);
  });

  it('counts and logs a check that fails, and tries again later', async () => {
    const { port, counts } = countingPort(() => Promise.reject(new Error('the thread died')));
    const fixture = fixtureWith(port, 3);
    await fixture.world.time.advance(13 * CYCLE_MS);
    expect(counts.ran).toBe(4);
    expect(fixture.shard.counters).toMatchObject({ checksRun: 0, checksFailed: 4 });
    expect(fixture.events.find(({ kind }) => kind === 'check_failed')).toEqual({
      kind: 'check_failed',
      level: 'warn',
      detail: 'the thread died',
    });
  });

  it('counts a lack of memory as a failed check', async () => {
    const fixture = fixtureWith({ open: () => Promise.reject(new Error('no memory')) }, 4);
    await fixture.world.time.advance(9 * CYCLE_MS);
    expect(fixture.shard.counters.checksFailed).toBeGreaterThan(1);
  });

  it('gives up a check whose memory the fleet has outgrown, and requests more the next time', async () => {
    const { port, counts } = countingPort(async (image) => deriveAndCompare(image));
    const small: CheckPort = { open: (bytes) => port.open(counts.opened === 0 ? 64 : bytes) };
    const fixture = fixtureWith(small, 3);
    await fixture.world.time.advance(6 * CYCLE_MS);
    expect(counts).toMatchObject({ opened: 2, closed: 1, ran: 1 });
    expect(fixture.shard.counters).toMatchObject({ checksRun: 1, checksFailed: 0 });
  });

  it('never checks with a setting of 0', async () => {
    const { port, counts } = countingPort(async (image) => deriveAndCompare(image));
    const fixture = fixtureWith(port, 0);
    await fixture.world.time.advance(10 * CYCLE_MS);
    expect(counts.opened).toBe(0);
  });

  it('closes an open check when it stops', async () => {
    const { port, counts } = countingPort(async (image) => deriveAndCompare(image));
    const fixture = fixtureWith(port, 4);
    await fixture.world.time.advance(2.5 * CYCLE_MS);
    expect(counts).toMatchObject({ opened: 1, closed: 0, ran: 0 });
    const stopped = fixture.shard.stop(0);
    await fixture.world.time.advance(CYCLE_MS);
    await stopped;
    expect(counts).toMatchObject({ opened: 1, closed: 1, ran: 0 });
  });
});
