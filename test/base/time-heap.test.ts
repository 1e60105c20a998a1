import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TimeHeap } from '../../src/base/time-heap.ts';

describe('a heap of times', () => {
  it('is empty at first', () => {
    const heap = new TimeHeap();
    expect([heap.size, heap.first, heap.firstTimeMs]).toEqual([0, undefined, Number.POSITIVE_INFINITY]);
  });

  it('returns the earliest first, equal times by number, after any history of pushes and pops', () => {
    const steps = fc.array(fc.option(fc.tuple(fc.nat(50), fc.nat(20)), { nil: null, freq: 2 }), {
      minLength: 50,
      maxLength: 200,
      size: 'max',
    });
    let taken = 0;
    fc.assert(
      fc.property(steps, (words) => {
        const heap = new TimeHeap();
        const model: (readonly [item: number, timeMs: number])[] = [];
        for (const word of words) {
          if (word !== null) {
            heap.push(word[0], word[1]);
            model.push(word);
            model.sort(([itemA, timeA], [itemB, timeB]) => timeA - timeB || itemA - itemB);
          } else if (model.length > 0) {
            expect([heap.first, heap.firstTimeMs]).toEqual(model[0]);
            expect(heap.pop()).toBe(model.shift()![0]);
            taken++;
          }
          expect(heap.size).toBe(model.length);
        }
      }),
    );
    expect(taken).toBeGreaterThan(500);
  });
});
