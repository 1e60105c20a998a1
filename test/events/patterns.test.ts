import { expect, it } from 'vitest';
import { CHURN_MS, Patterns } from '../../src/events/patterns.ts';
import { eventAt } from './event-arbitrary.ts';

const HOUR_MS = 3_600_000;

it('counts a machine that is given up soon after it joined, and no other', () => {
  const patterns = new Patterns();
  patterns.note(eventAt(0, { kind: 'bound', machineId: 'm-1' }));
  patterns.note(eventAt(0, { kind: 'bound', machineId: 'm-2' }));
  patterns.note(eventAt(0, { kind: 'bound', machineId: 'm-3' }));
  patterns.note(eventAt(CHURN_MS - 1, { kind: 'reclaim_started', machineId: 'm-1' }));
  patterns.note(eventAt(CHURN_MS, { kind: 'reclaim_started', machineId: 'm-2' }));
  patterns.note(eventAt(1, { kind: 'preempted', machineId: 'm-3' })); // another need got it: no churn
  patterns.note(eventAt(2, { kind: 'reclaim_started', machineId: 'm-4' })); // bound before the history began
  expect(patterns.counts(CHURN_MS).churned).toBe(1);
});

it('names what happens three times in an hour, and forgets it an hour later', () => {
  const patterns = new Patterns();
  const unmet = (atMs: number) =>
    patterns.note(eventAt(atMs, { kind: 'need_unmet', clusterId: 'c', group: 'g' }));
  const failed = (atMs: number, machineId: string) =>
    patterns.note(eventAt(atMs, { kind: 'create_failed', machineId, provider: 'p', offering: 'o' }));
  for (const atMs of [0, 10, 20]) {
    unmet(atMs);
    failed(atMs, `m-${atMs}`);
  }
  expect(patterns.counts(20)).toEqual({
    churned: 0,
    flippingNeeds: 1,
    failingMachines: 0, // three machines failed, each once
    failingOfferings: 1,
  });
  for (const atMs of [30, 40]) failed(atMs, 'm-0');
  expect(patterns.counts(40).failingMachines).toBe(1);
  expect(patterns.counts(HOUR_MS).flippingNeeds).toBe(1);
  expect(patterns.counts(HOUR_MS + 1).flippingNeeds).toBe(0);
  expect(patterns.counts(3 * HOUR_MS).failingMachines).toBe(0);
});
