import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compareBytewise,
  DIMENSIONS_MAX,
  DimensionTable,
  TooManyDimensionsError,
} from '../../src/base/dimensions.ts';
import { VectorTable } from '../../src/base/vectors.ts';

type Amounts = Record<string, number>;

describe('dimensions', () => {
  it('gives each name one number, and lists them in bytewise order of names', () => {
    const table = new DimensionTable();
    const names = ['memory', 'cpu', 'nvidia.com/gpu', 'Cpu', 'é', '\u{1F600}', '\uFF5E', 'a'];
    const dims = names.map((name) => table.indexOf(name));
    expect(dims).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(names.map((name) => table.indexOf(name))).toEqual(dims);
    const inBytes = [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect([...table.byName].map((dim) => table.nameOf(dim))).toEqual(inBytes);
    for (const [position, dim] of table.byName.entries()) expect(table.rank[dim]).toBe(position);
    expect([table.find('cpu'), table.find('disk'), table.count]).toEqual([1, -1, 8]);
  });

  it('refuses a name beyond its limit, and keeps working with those it has', () => {
    const table = new DimensionTable();
    for (let index = 0; index < DIMENSIONS_MAX; index++) table.indexOf(`example.com/resource-${index}`);
    expect(() => table.indexOf('one-more')).toThrow(TooManyDimensionsError);
    expect(table.count).toBe(DIMENSIONS_MAX);
    expect(table.indexOf('example.com/resource-7')).toBe(7);
    const vectors = new VectorTable(table);
    const all = Object.fromEntries([...table.byName].map((dim) => [table.nameOf(dim), dim + 1]));
    expect(vectors.amountsOf(vectors.intern(all))).toEqual(all);
  });

  it('T6: a name that no vector uses gives its number to the next new name, and the order by name stays right', () => {
    const table = new DimensionTable();
    const vectors = new VectorTable(table);
    const kept = vectors.intern({ memory: 1, cpu: 2 });
    const odd = vectors.intern({ cpu: 2, beta: 3, zeta: 4 });
    const dims = [table.find('beta'), table.find('zeta')];
    vectors.release(odd);
    expect([table.find('beta'), table.room]).toEqual([dims[0], 254]);
    const more = vectors.intern({ yotta: 1, alpha: 2, memory: 3 });
    expect([table.find('beta'), table.find('zeta')]).toEqual([-1, -1]);
    expect([table.find('yotta'), table.find('alpha')].sort()).toEqual(dims.sort());
    expect([...table.byName].map((dim) => table.nameOf(dim))).toEqual(['alpha', 'cpu', 'memory', 'yotta']);
    expect(Object.keys(vectors.amountsOf(more))).toEqual(['alpha', 'memory', 'yotta']);
    expect(vectors.amountsOf(kept)).toEqual({ cpu: 2, memory: 1 });
  });

  it('T6: any history of vectors keeps every vector in use exact, and never holds more names than they have', () => {
    const amounts = fc.dictionary(
      fc.integer({ min: 0, max: 600 }).map((name) => `example.com/${name}`),
      fc.integer({ min: 1, max: 5 }),
      { maxKeys: 12 },
    );
    let reused = 0;
    fc.assert(
      fc.property(fc.array(fc.tuple(amounts, fc.nat()), { minLength: 60, maxLength: 120 }), (history) => {
        const table = new DimensionTable();
        const vectors = new VectorTable(table);
        const live: { ref: number; plain: Amounts }[] = [];
        const seen = new Set<string>();
        for (const [plain, pick] of history) {
          live.push({ ref: vectors.intern(plain), plain: { ...plain } });
          for (const name of Object.keys(plain)) seen.add(name);
          if (live.length > 15) vectors.release(live.splice(pick % live.length, 1)[0]!.ref);
        }
        for (const { ref, plain } of live) expect(vectors.amountsOf(ref)).toEqual(plain);
        const names = [...table.byName].map((dim) => table.nameOf(dim));
        expect(names).toEqual(names.toSorted(compareBytewise));
        for (const [position, dim] of table.byName.entries()) expect(table.rank[dim]).toBe(position);
        const used = new Set(live.flatMap(({ plain }) => Object.keys(plain)));
        expect(DIMENSIONS_MAX - table.room).toBe(used.size);
        if (seen.size > table.count) reused++;
        const restored = VectorTable.restore(structuredClone(vectors.image()));
        for (const { ref, plain } of live) expect(restored.amountsOf(ref)).toEqual(plain);
        for (const { ref } of live) vectors.release(ref);
        expect(table.room).toBe(DIMENSIONS_MAX);
      }),
      { numRuns: 50 },
    );
    expect(reused).toBeGreaterThan(25);
  });

  it('N4: strings compare by their UTF-8 bytes', () => {
    const texts = fc.string({
      unit: fc.constantFrom('a', 'b', 'é', '\uD7FF', '\uE000', '\uFFFF', '\u{10000}', '\u{10FFFF}'),
    });
    fc.assert(
      fc.property(texts, texts, (a, b) => {
        expect(Math.sign(compareBytewise(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
    );
  });
});

describe('interned vectors', () => {
  it('gives equal vectors equal refs, whatever the order of names and the zeros in them', () => {
    const vectors = new VectorTable(new DimensionTable());
    const ref = vectors.intern({ cpu: 4_000, memory: 8 });
    expect(vectors.intern({ memory: 8, pods: 0, cpu: 4_000 })).toBe(ref);
    expect(vectors.intern({ cpu: 4_000 })).not.toBe(ref);
    expect(vectors.intern({})).toBe(0);
    expect(vectors.intern({ cpu: 0 })).toBe(0);
    expect([vectors.isZero(0), vectors.isZero(ref), vectors.count]).toEqual([true, false, 2]);
    expect(vectors.referenceCount(ref)).toBe(2);
    expect(Object.keys(vectors.amountsOf(ref))).toEqual(['cpu', 'memory']);
  });

  it('V3: covering compares only the demanded dimensions, and a missing one counts as zero', () => {
    const vectors = new VectorTable(new DimensionTable());
    const ref = (amounts: Amounts) => vectors.intern(amounts);
    const have = ref({ cpu: 4, memory: 8, 'a/gpu': 1 });
    for (const [want, covered] of [
      [{}, true],
      [{ cpu: 4 }, true],
      [{ cpu: 5 }, false],
      [{ 'a/gpu': 1, memory: 8 }, true],
      [{ cpu: 1, disk: 1 }, false],
      [{ aaa: 1 }, false],
      [{ cpu: 4, memory: 8, 'a/gpu': 1 }, true],
    ] as const)
      expect(vectors.covers(have, ref(want)), JSON.stringify(want)).toBe(covered);
    expect(vectors.covers(0, have)).toBe(false);
    expect(vectors.covers(0, 0)).toBe(true);
  });

  it('V3: sums stop at 2^53 − 1 units', () => {
    const vectors = new VectorTable(new DimensionTable());
    const most = vectors.intern({ cpu: Number.MAX_SAFE_INTEGER });
    expect(vectors.add(most, vectors.intern({ cpu: 1 }))).toBe(most);
  });

  it('refuses amounts that are not an integer number of units', () => {
    const vectors = new VectorTable(new DimensionTable());
    for (const units of [-1, 0.5, Number.NaN, 2 ** 53, Number.POSITIVE_INFINITY])
      expect(() => vectors.intern({ cpu: units }), String(units)).toThrow(/integer/);
    expect(vectors.intern({ memory: 1 })).toBe(vectors.intern({ memory: 1 }));
    expect(vectors.count).toBe(1);
  });

  it('agrees with plain objects over any history, and ends empty', () => {
    const names = ['memory', 'cpu', 'pods', 'a/gpu', 'zz'];
    const amounts = fc.dictionary(
      fc.constantFrom(...names),
      fc.constantFrom(0, 1, 2, 1_000, 2 ** 33, 2 ** 40 + 7),
    );
    const step = fc.oneof(
      fc.record({ kind: fc.constant('intern' as const), amounts }),
      fc.record({ kind: fc.constantFrom('add' as const, 'max' as const), a: fc.nat(), b: fc.nat() }),
      fc.record({ kind: fc.constantFrom('retain' as const, 'release' as const), a: fc.nat() }),
    );
    let shared = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 80, size: 'max' }), (steps) => {
        const vectors = new VectorTable(new DimensionTable());
        const held: { ref: number; amounts: Amounts }[] = [];
        const hold = (ref: number, plain: Amounts) => {
          const twin = held.find((other) => sameAmounts(other.amounts, plain));
          if (twin !== undefined) shared++;
          if (twin !== undefined) expect(ref).toBe(twin.ref);
          else for (const other of held) expect(other.ref).not.toBe(ref);
          held.push({ ref, amounts: plain });
        };
        for (const one of steps) {
          if (one.kind === 'intern') hold(vectors.intern(one.amounts), withoutZeros(one.amounts));
          if (held.length === 0) continue;
          if (one.kind === 'retain') {
            const { ref, amounts: plain } = held[one.a % held.length]!;
            vectors.retain(ref);
            held.push({ ref, amounts: plain });
          } else if (one.kind === 'release') {
            vectors.release(held.splice(one.a % held.length, 1)[0]!.ref);
          } else if (one.kind === 'add' || one.kind === 'max') {
            const a = held[one.a % held.length]!;
            const b = held[one.b % held.length]!;
            const join = (x: number, y: number) =>
              one.kind === 'add' ? Math.min(Number.MAX_SAFE_INTEGER, x + y) : Math.max(x, y);
            hold(vectors[one.kind](a.ref, b.ref), joined(a.amounts, b.amounts, join));
            const wanted = Object.entries(b.amounts);
            expect(vectors.covers(a.ref, b.ref)).toBe(
              wanted.every(([name, units]) => (a.amounts[name] ?? 0) >= units),
            );
          }
          expect(vectors.count).toBe(new Set(held.map(({ ref }) => ref).filter((ref) => ref !== 0)).size);
          for (const { ref, amounts: plain } of held) {
            expect(vectors.amountsOf(ref)).toEqual(plain);
            expect(vectors.unitsOf(ref, vectors.dimensions.indexOf('cpu'))).toBe(plain.cpu ?? 0);
          }
        }
        for (const { ref } of held) vectors.release(ref);
        expect(vectors.count).toBe(0);
      }),
      { numRuns: 25 },
    );
    expect(shared).toBeGreaterThan(50);
  });

  it('keeps every vector through growth, and reuses refs and room after release', () => {
    const vectors = new VectorTable(new DimensionTable());
    const plain = (index: number): Amounts => ({ cpu: index + 1, memory: (index % 97) + 1, pods: index % 3 });
    const refs = Array.from({ length: 20_000 }, (_, index) => vectors.intern(plain(index)));
    for (const [index, ref] of refs.entries()) {
      expect(vectors.unitsOf(ref, 0)).toBe(index + 1);
      expect(vectors.intern(plain(index))).toBe(ref);
    }
    const { refLimit } = vectors;
    const pool = vectors.dims.length;
    for (const ref of refs) for (let reference = 0; reference < 2; reference++) vectors.release(ref);
    expect(vectors.count).toBe(0);
    for (let index = 0; index < 20_000; index++) vectors.intern({ ...plain(index), memory: 200 + index });
    expect(vectors.refLimit).toBe(refLimit);
    expect(vectors.dims.length).toBe(pool);
    expect(() => vectors.release(refLimit - 1 + 1)).toThrow(/not in use/);
  });
});

function withoutZeros(amounts: Amounts): Amounts {
  return Object.fromEntries(Object.entries(amounts).filter(([, units]) => units !== 0));
}

function joined(a: Amounts, b: Amounts, join: (x: number, y: number) => number): Amounts {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Object.fromEntries([...names].map((name) => [name, join(a[name] ?? 0, b[name] ?? 0)]));
}

function sameAmounts(a: Amounts, b: Amounts): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
