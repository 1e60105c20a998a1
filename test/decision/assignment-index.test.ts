/** The index against a plain map: tables grow, move and empty, and clusters stay separate. */
import { expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { AssignmentIndex } from '../../src/decision/supply/assignment-index.ts';

const CLUSTERS = 5;
const FINGERPRINTS = 12;
const GROUPS = 40;

it('finds what a map of triples finds, after any additions and removals', () => {
  let removedCount = 0;
  for (let seed = 1; seed <= 20; seed++) {
    const random = new Random(seed);
    const names = { fingerprint: new Uint32Array(3_001), group: new Uint32Array(3_001) };
    const index = new AssignmentIndex(names);
    const expected = new Map<string, number>();
    for (let step = 1; step <= 3_000; step++) {
      // Tables fill in the first half and empty in the second.
      const isFilling = step < 1_500 ? random.chance(0.8) : random.chance(0.2);
      const triple = [
        1 + random.below(CLUSTERS),
        1 + random.below(FINGERPRINTS),
        random.below(GROUPS),
      ] as const;
      const key = triple.join();
      const known = expected.get(key) ?? 0;
      expect(index.find(...triple)).toBe(known);
      if (known === 0 && isFilling) {
        [, names.fingerprint[step], names.group[step]] = triple;
        index.add(triple[0], step);
        expected.set(key, step);
      } else if (known !== 0 && !isFilling) {
        index.remove(triple[0], known);
        expected.delete(key);
        removedCount++;
      }
    }
    for (const [key, assignment] of expected) {
      const [cluster, fingerprint, group] = key.split(',').map(Number);
      expect(index.find(cluster!, fingerprint!, group!)).toBe(assignment);
    }
  }
  expect(removedCount).toBeGreaterThan(5_000);
});

it('finds nothing in a cluster without assignments, before its first and after its last', () => {
  const index = new AssignmentIndex({ fingerprint: new Uint32Array(5).fill(1), group: new Uint32Array(5) });
  expect(index.find(7, 1, 0)).toBe(0);
  index.add(7, 3);
  index.add(8, 4);
  index.remove(7, 3);
  expect(index.find(7, 1, 0)).toBe(0);
  expect(index.find(8, 1, 0)).toBe(4);
});
