import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BlockPool, ROOM } from '../../src/inventory/block-pool.ts';

describe('a block pool', () => {
  it('never allocates overlapping blocks, whatever is allocated and freed while it grows', () => {
    let freed = 0;
    const stepArb = fc.tuple(fc.integer({ min: 0, max: 3 }), fc.nat(14), fc.nat());
    fc.assert(
      fc.property(fc.array(stepArb, { maxLength: 400, size: 'max' }), (steps) => {
        const pool = new BlockPool(0);
        const held: { block: number; sizeClass: number; mark: number }[] = [];
        steps.forEach(([what, sizeClass, pick], index) => {
          if (what > 0 || held.length === 0) {
            const block = pool.allocate(sizeClass);
            expect(block).toBeGreaterThan(0);
            pool.items.fill(index + 1, block, block + ROOM[sizeClass]!);
            held.push({ block, sizeClass, mark: index + 1 });
          } else {
            const [gone] = held.splice(pick % held.length, 1);
            pool.free(gone!.block, gone!.sizeClass);
            freed++;
          }
        });
        for (const { block, sizeClass, mark } of held) {
          expect(pool.items.subarray(block, block + ROOM[sizeClass]!).every((item) => item === mark)).toBe(
            true,
          );
        }
      }),
      { numRuns: 60 },
    );
    expect(freed).toBeGreaterThan(100);
  });

  it('joins small freed blocks to large ones, so that growing lists do not fragment it', () => {
    const pool = new BlockPool(0);
    // A thousand lists grow side by side from 4 to 256 slots, as the lists of clusters do while a fleet is loaded.
    const largest = 11;
    expect(ROOM[largest]).toBe(256);
    let blocks = Array.from({ length: 1_000 }, () => pool.allocate(0));
    for (let sizeClass = 1; sizeClass <= largest; sizeClass++) {
      blocks = blocks.map((block) => {
        const grown = pool.allocate(sizeClass);
        pool.free(block, sizeClass - 1);
        return grown;
      });
    }
    const heldBytes = 1_000 * ROOM[largest]! * 4;
    expect(pool.bytesTouched).toBeLessThan(1.6 * heldBytes);
    for (const block of blocks) pool.free(block, largest);
    const touched = pool.bytesTouched;
    for (let count = 0; count < 60; count++) pool.allocate(largest + 8); // 4,096 slots each
    expect(pool.bytesTouched).toBe(touched);
  });
});
