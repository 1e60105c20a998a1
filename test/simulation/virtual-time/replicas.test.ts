/** Two replicas on virtual time; `npm run sim -- replicas` runs as many histories as wanted. */
import { expect, it } from 'vitest';
import { runReplicaHistory } from '../../../src/simulation/virtual-time/replica-history.ts';

const HISTORIES = 12;
/** A restored backup gave the revision of a replaced replica's entry to its successor, whose controls the former one then overwrote. */
const FOUND = [3_000_662];

it('F1, F2, F3, F4: at most one of two replicas is confirmed and removes machines, and a takeover takes none from a cluster', {
  timeout: 120_000,
}, async () => {
  let takeovers = 0;
  let removals = 0;
  let accidents = 0;
  const seeds = [...Array.from({ length: HISTORIES }, (_, index) => index + 1), ...FOUND];
  for (const seed of seeds) {
    const result = await runReplicaHistory({ seed, cycles: FOUND.includes(seed) ? 30 : 20 });
    takeovers += result.takeovers;
    removals += result.removals;
    for (const count of Object.values(result.accidents)) accidents += count;
  }
  expect(takeovers).toBeGreaterThan(2 * HISTORIES);
  expect(removals).toBeGreaterThan(HISTORIES);
  expect(accidents).toBeGreaterThan(10 * HISTORIES);
});
