import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BindTickets, BindTotals } from '../../../src/simulation/operators/bind-tickets.ts';
import { LatencyHistogram } from '../../../src/simulation/operators/latency-histogram.ts';

/** After the resync, unless a test says otherwise. */
function book() {
  const totals = new BindTotals();
  const tickets = new BindTickets(2, totals);
  tickets.settle();
  return { totals, tickets };
}

const wanted = (...counts: number[]) => Int32Array.from(counts);

describe('binding latency', () => {
  it('runs from the first roll-up that asked until the node is Configured', () => {
    const { totals, tickets } = book();
    tickets.onRollup(wanted(1, 0), 1_000);
    tickets.onRollup(wanted(1, 0), 11_000); // the same demand again opens no ticket
    tickets.onConfigured(0, true, 13_000);
    expect(totals.asked.summary()).toMatchObject({ count: 1, maxMs: 12_000 });
    expect(tickets.openCount).toBe(0);
  });

  it('has two parts: until the shard asks for a blob, and from then on', () => {
    const { totals, tickets } = book();
    tickets.onRollup(wanted(2, 0), 1_000);
    tickets.onBlob(0, 8_000);
    tickets.onConfigured(0, true, 10_000);
    tickets.onConfigured(0, true, 11_000); // without a blob that the operator knows of
    expect(totals.asked.count).toBe(2);
    expect(totals.untilBlob.summary()).toMatchObject({ count: 1, maxMs: 7_000 });
    expect(totals.fromBlob.summary()).toMatchObject({ count: 1, maxMs: 2_000 });
  });

  it('matches the n-th missing machine with the n-th new node of its type', () => {
    const { totals, tickets } = book();
    tickets.onRollup(wanted(1, 1), 0);
    tickets.onRollup(wanted(3, 1), 1_000);
    tickets.onConfigured(0, true, 5_000);
    tickets.onConfigured(0, true, 6_000);
    expect(totals.asked.count).toBe(2);
    expect(totals.asked.percentileMs(50)).toBeCloseTo(5_000, -2);
    expect(totals.asked.summary().maxMs).toBe(5_000);
    expect(tickets.openCount).toBe(2);
    expect(tickets.oldestMs()).toBe(0); // that of the other type
  });

  it('does not count a node that was bound before: no blob, and never seen Configuring', () => {
    const { totals, tickets } = book();
    tickets.onRollup(wanted(2, 0), 0);
    tickets.onConfigured(0, false, 10);
    expect(totals.asked.count).toBe(0);
    expect(totals.found).toBe(1);
    tickets.onBlob(0, 20);
    tickets.onConfigured(0, false, 500); // a newer update superseded its Configuring
    expect(totals.asked.summary()).toMatchObject({ count: 1, maxMs: 500 });
  });

  it('forgets blobs of an ended stream: nodes that the next stream shows first were bound before', () => {
    const { totals, tickets } = book();
    tickets.onRollup(wanted(1, 0), 0);
    tickets.onBlob(0, 5);
    tickets.onStream();
    tickets.onConfigured(0, false, 10);
    expect(totals.found).toBe(1);
  });

  it('gives bindings during a resync the tickets that found nodes leave', () => {
    const { totals, tickets } = book();
    tickets.onStream();
    tickets.onRollup(wanted(3, 0), 0); // two of them are already bound, but not yet reported
    tickets.onRollup(wanted(4, 0), 20_000);
    tickets.onConfigured(0, true, 22_000);
    tickets.onConfigured(0, false, 25_000);
    tickets.onConfigured(0, false, 26_000);
    expect(totals.asked.count).toBe(0);
    expect(tickets.openCount).toBe(1);
    tickets.settle();
    expect(totals.found).toBe(2);
    expect(totals.asked.summary()).toMatchObject({ count: 1, maxMs: 22_000 }); // the third of the first roll-up
    tickets.onConfigured(0, true, 23_000);
    expect(totals.asked.summary()).toMatchObject({ count: 2, p50Ms: expect.closeTo(3_000, -2) });
  });

  it('counts a binding as extra if all missing machines turn out to be bound already', () => {
    const { totals, tickets } = book();
    tickets.onStream();
    tickets.onRollup(wanted(1, 0), 0);
    tickets.onConfigured(0, true, 5_000);
    tickets.onRollup(wanted(2, 0), 6_000);
    tickets.onConfigured(0, false, 7_000);
    tickets.settle();
    expect(totals).toMatchObject({ found: 1, extra: 1 });
    expect(tickets.openCount).toBe(0);
  });

  it('withdraws the newest ticket when the demand shrinks, without a latency', () => {
    const { totals, tickets } = book();
    tickets.onRollup(wanted(1, 0), 0);
    tickets.onRollup(wanted(2, 0), 1_000);
    tickets.onRollup(wanted(1, 0), 2_000);
    expect(totals.withdrawn).toBe(1);
    expect(tickets.oldestMs()).toBe(0);
  });

  it('measures losses separately, from the loss, and only if the machine is still wanted', () => {
    const { totals, tickets } = book();
    tickets.onRollup(wanted(1, 0), 0);
    tickets.onConfigured(0, false, 10);
    tickets.onLost(0, 5_000);
    tickets.onConfigured(0, true, 7_500);
    expect(totals.asked.count).toBe(0);
    expect(totals.lost.summary()).toMatchObject({ count: 1, maxMs: 2_500 });
    tickets.onRollup(wanted(0, 0), 8_000);
    tickets.onLost(0, 9_000);
    expect(tickets.openCount).toBe(0);
  });

  it('never has more open tickets than missing machines', () => {
    let bindings = 0;
    const steps = fc.array(
      fc.oneof(
        fc.record({ kind: fc.constant('rollup' as const), count: fc.nat(5) }),
        fc.record({
          kind: fc.constantFrom(
            'configured' as const,
            'configured' as const,
            'lost' as const,
            'blob' as const,
            'stream' as const,
            'settle' as const,
          ),
        }),
      ),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(steps, (history) => {
        const { totals, tickets } = book();
        let configured = 0;
        let asked = 0;
        for (const [nowMs, step] of history.entries()) {
          if (step.kind === 'rollup') {
            asked = step.count;
            tickets.onRollup(wanted(asked, 0), nowMs);
          } else if (step.kind === 'blob') tickets.onBlob(0, nowMs);
          else if (step.kind === 'stream') tickets.onStream();
          else if (step.kind === 'settle') tickets.settle();
          else if (step.kind === 'configured') {
            configured++;
            tickets.onConfigured(0, nowMs % 2 === 0, nowMs);
          } else if (configured > 0) {
            configured--;
            tickets.onLost(0, nowMs);
          }
          expect(tickets.openCount).toBe(Math.max(0, asked - configured));
        }
        tickets.settle();
        bindings += totals.bindCount;
      }),
    );
    expect(bindings).toBeGreaterThan(20);
  });
});

describe('a latency histogram', () => {
  it('gives percentiles within 2 % of the exact ones', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 1, max: 1e7, noNaN: true }), { minLength: 1, maxLength: 300 }),
        fc.constantFrom(1, 50, 90, 99, 100),
        (latencies, percent) => {
          const histogram = new LatencyHistogram();
          for (const latency of latencies) histogram.add(latency);
          const sorted = latencies.toSorted((a, b) => a - b);
          const exact = sorted[Math.ceil((sorted.length * percent) / 100) - 1]!;
          const found = histogram.percentileMs(percent);
          expect(found).toBeGreaterThanOrEqual(exact * 0.999);
          expect(found).toBeLessThanOrEqual(exact * 1.021);
        },
      ),
    );
  });

  it('accepts no samples, zero and a month', () => {
    const histogram = new LatencyHistogram();
    expect(histogram.summary()).toEqual({ count: 0, p50Ms: 0, p90Ms: 0, p99Ms: 0, maxMs: 0 });
    histogram.add(0);
    histogram.add(30 * 86_400_000);
    expect(histogram.summary()).toMatchObject({ count: 2, p50Ms: 1, maxMs: 30 * 86_400_000 });
    histogram.clear();
    expect(histogram.percentileMs(99)).toBe(0);
  });
});
