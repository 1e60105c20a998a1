import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hashBytes } from '../../src/base/hash.ts';
import { KeyTable } from '../../src/base/key-table.ts';
import { Random } from '../../src/base/random.ts';
import { IdRanks } from '../../src/inventory/id-ranks.ts';

class RankedIds {
  readonly ids: KeyTable;
  readonly rank: Uint32Array;
  readonly ranks: IdRanks;
  readonly slots = new Map<string, number>();
  readonly free: number[] = [];
  #limit = 1;

  constructor(machinesMax: number) {
    this.ids = KeyTable.create(machinesMax, machinesMax * 64);
    this.rank = new Uint32Array(machinesMax + 1);
    this.ranks = new IdRanks(this.ids, this.rank, machinesMax);
  }

  add(id: string): void {
    const slot = this.free.pop() ?? this.#limit++;
    const bytes = Buffer.from(id);
    this.ids.add(slot, hashBytes(bytes, 0, bytes.length), bytes, 0, bytes.length);
    this.ranks.add(slot);
    this.slots.set(id, slot);
  }

  remove(id: string): void {
    const slot = this.slots.get(id)!;
    this.ids.remove(slot);
    this.ranks.remove(slot);
    this.slots.delete(id);
  }

  ensure(): void {
    this.ranks.ensure((slot) => this.free.push(slot));
  }

  expectOrdered(): void {
    const expected = [...this.slots.keys()].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect([...this.ranks.slotsById].map((slot) => this.ids.textOf(slot))).toEqual(expected);
    const ranks = [...this.ranks.slotsById].map((slot) => this.rank[slot]!);
    expect(ranks.every((rank, index) => rank > (index === 0 ? 0 : ranks[index - 1]!))).toBe(true);
  }
}

describe('id ranks', () => {
  it('A0: order ids bytewise: gpu-10 comes before gpu-2', () => {
    const ranked = new RankedIds(8);
    for (const id of ['gpu-2', 'gpu-10', 'gpu', 'é', 'z']) ranked.add(id);
    ranked.ensure();
    ranked.expectOrdered();
    expect(ranked.rank[ranked.slots.get('gpu-10')!]).toBeLessThan(ranked.rank[ranked.slots.get('gpu-2')!]!);
  });

  it('stay in order when every new id falls into the same gap, one batch at a time', () => {
    const ranked = new RankedIds(3_000);
    ranked.add('a');
    ranked.add('z');
    for (let index = 0; index < 1_500; index++) {
      ranked.add(`m-${String(index).padStart(5, '0')}`); // always just below z
      if (index % 3 === 0) ranked.add(`b-${String(9_999 - index)}`); // always just above a
      ranked.ensure();
    }
    ranked.expectOrdered();
  });

  it('keep the order of any two ids when a gap is renumbered', () => {
    const ranked = new RankedIds(1_000);
    const random = new Random(5);
    let before: string[] = [];
    let ranksBefore = new Map<string, number>();
    let relabelled = 0;
    for (let round = 0; round < 200; round++) {
      for (let index = 0; index < 4; index++) {
        const id = `x${'0'.repeat(random.below(30))}${random.uint32()}`;
        if (!ranked.slots.has(id)) ranked.add(id);
      }
      ranked.ensure();
      const order = [...before].sort(
        (a, b) => ranked.rank[ranked.slots.get(a)!]! - ranked.rank[ranked.slots.get(b)!]!,
      );
      expect(order).toEqual(before);
      for (const id of before) if (ranked.rank[ranked.slots.get(id)!] !== ranksBefore.get(id)) relabelled++;
      before = [...ranked.ranks.slotsById].map((slot) => ranked.ids.textOf(slot));
      ranksBefore = new Map(before.map((id) => [id, ranked.rank[ranked.slots.get(id)!]!]));
    }
    expect(relabelled).toBeGreaterThan(0);
    ranked.expectOrdered();
  });

  it('release a slot only when it is out of the order, even if its id was added and removed unranked', () => {
    const ranked = new RankedIds(8);
    ranked.add('kept');
    ranked.add('gone');
    ranked.ensure();
    ranked.add('fleeting');
    ranked.remove('gone');
    ranked.remove('fleeting');
    expect(ranked.free).toEqual([]);
    ranked.ensure();
    expect([...ranked.free].sort()).toEqual([2, 3]);
    ranked.expectOrdered();
  });

  it('agree with a sort after any additions and removals, in small and in large batches', () => {
    let bulkRemovals = 0;
    const idArb = fc.string({ unit: 'binary', minLength: 1, maxLength: 14 });
    const batchArb = fc.record({
      added: fc.array(
        fc.oneof(idArb, fc.string({ unit: fc.constantFrom('a', '\0'), minLength: 1, maxLength: 9 })),
        {
          maxLength: 60,
          size: 'max',
        },
      ),
      removed: fc.array(fc.nat(), { maxLength: 40, size: 'max' }),
    });
    fc.assert(
      fc.property(fc.array(batchArb, { maxLength: 12 }), (batches) => {
        const ranked = new RankedIds(2_000);
        for (const { added, removed } of batches) {
          for (const id of added) if (!ranked.slots.has(id)) ranked.add(id);
          for (const pick of removed) {
            const all = [...ranked.slots.keys()];
            if (all.length > 0) ranked.remove(all[pick % all.length]!);
          }
          if (removed.length > 10) bulkRemovals++;
          ranked.ensure();
          ranked.expectOrdered();
        }
      }),
      { numRuns: 60 },
    );
    expect(bulkRemovals).toBeGreaterThan(20);
  });

  it('sort thousands of ids with long common prefixes', () => {
    const ranked = new RankedIds(5_000);
    const random = new Random(3);
    for (let index = 0; index < 4_000; index++) {
      const type = random.pick(['m5.4xlarge', 'm5.4xlarge-metal', 'c5.large']);
      ranked.add(`aws-use1${random.pick(['a', 'b'])}-${type}-${String(random.below(5)).repeat(3)}${index}`);
    }
    ranked.ensure();
    ranked.expectOrdered();
  });
});
