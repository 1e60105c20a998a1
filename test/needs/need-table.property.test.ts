import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDemand } from '../../src/base/quantity.ts';
import { fingerprintOf } from '../../src/needs/requirements.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { SLICE_ROWS_STEP, SliceAllocator } from '../../src/needs/slice-allocator.ts';
import {
  type Demand,
  demand,
  dirtyOf,
  isIn,
  isSame,
  leftovers,
  NOTHING_LEFT,
  needsOf,
  type ReadNeed,
  row,
} from './support.ts';

/** The rules over plain objects, slow and simple. */
class Model {
  readonly clusters = new Map<
    string,
    { needs: ReadNeed[]; rows: number; quarantined: number; reported: boolean; rejected: number }
  >();
  dirty = new Set<string>();

  accept(id: string, rows: readonly RollupRow[], nowMs: number, bound: number): string {
    const cluster = this.clusters.get(id) ?? {
      needs: [],
      rows: 0,
      quarantined: 0,
      reported: false,
      rejected: 0,
    };
    this.clusters.set(id, cluster);
    if (rows.some(isBad)) {
      cluster.rejected++;
      cluster.quarantined = 0;
      return 'rejected';
    }
    const drops = cluster.rows >= 10 && rows.length * 10 < cluster.rows;
    const silent = !cluster.reported && rows.length === 0 && bound >= 10;
    if ((drops || silent) && cluster.quarantined < 2) {
      cluster.quarantined++;
      return 'quarantined';
    }
    const needs = merged(rows, cluster.needs, nowMs);
    const isNews = !cluster.reported || JSON.stringify(needs) !== JSON.stringify(cluster.needs);
    Object.assign(cluster, { needs, rows: rows.length, quarantined: 0, reported: true });
    if (isNews) this.dirty.add(id);
    return isNews ? 'applied' : 'unchanged';
  }
}

function merged(rows: readonly RollupRow[], old: readonly ReadNeed[], nowMs: number): ReadNeed[] {
  const needs = new Map<string, ReadNeed>();
  for (const one of rows) {
    const { interruptionBucket: interruptionPenalty, reclamationBucket: reclamationPenalty } = one;
    const fingerprint = fingerprintOf({ ...one, interruptionPenalty, reclamationPenalty });
    const isIt = (need: ReadNeed) => need.fingerprint === fingerprint && need.group === one.group;
    const key = JSON.stringify([fingerprint, one.group]);
    const before = needs.get(key);
    needs.set(key, {
      fingerprint,
      group: one.group,
      priority: one.priority,
      aggregate: joined(before?.aggregate, one.aggregate, (a, b) => a + b),
      minUnit: joined(before?.minUnit, one.minUnit, Math.max),
      arrivalMs: old.find(isIt)?.arrivalMs ?? nowMs,
    });
  }
  const bytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
  return [...needs.values()].sort(
    (a, b) =>
      b.priority - a.priority ||
      a.arrivalMs - b.arrivalMs ||
      bytes(a.fingerprint, b.fingerprint) ||
      bytes(a.group, b.group),
  );
}

function joined(
  before: Readonly<Record<string, number>> = {},
  quantities: Readonly<Record<string, string>>,
  join: (a: number, b: number) => number,
): Record<string, number> {
  const names = [...new Set([...Object.keys(before), ...Object.keys(quantities)])].sort();
  const units = names.map((name) => join(before[name] ?? 0, parseDemand(name, quantities[name] ?? '0')));
  return Object.fromEntries(
    names.map((name, index) => [name, units[index]!] as const).filter(([, count]) => count > 0),
  );
}

function isBad({ priority }: RollupRow): boolean {
  return priority === BAD_PRIORITY;
}

const BAD_PRIORITY = 2 ** 40;

const quantities = fc.dictionary(
  fc.constantFrom('cpu', 'memory', 'nvidia.com/gpu'),
  fc.constantFrom('0', '1', '2', '500m', '0.0001', '8Gi'),
);
const requirements = fc.shuffledSubarray(
  [isIn('zone', 'a', 'b'), isIn('zone', 'c'), isSame('rack'), isIn('arch', 'x')],
  { maxLength: 3 },
);
const rows = fc.record({
  requirements,
  aggregate: quantities,
  minUnit: quantities,
  priority: fc.oneof(
    { weight: 200, arbitrary: fc.constantFrom(-1, 100, 1_000) },
    { weight: 3, arbitrary: fc.constant(BAD_PRIORITY) },
  ),
  spread: fc.shuffledSubarray(
    [
      { topologyKey: 'zone', maxSkew: 1, whenUnsatisfiable: 1 },
      { topologyKey: 'rack', maxSkew: 2, whenUnsatisfiable: 2 },
    ],
    { maxLength: 1 },
  ),
  interruptionBucket: fc.constantFrom(0, 9, 27),
  reclamationBucket: fc.constantFrom(1, 9),
  group: fc.constantFrom('', 'gpu-2', 'gpu-10', 'é', '\uFFFD', '\u{1F600}'),
});

/** Each step sends a new roll-up, or the cluster's last rows in another order, less some, plus some. */
const step = fc.record({
  cluster: fc.constantFrom('east', 'west', 'north'),
  kind: fc.constantFrom(
    'new' as const,
    'repeat' as const,
    'edit' as const,
    'edit' as const,
    'empty' as const,
  ),
  newRows: fc.array(rows, { maxLength: 24, size: 'max' }),
  edits: fc.array(rows, { maxLength: 3 }),
  removed: fc.nat(5),
  seed: fc.nat(1_000_000),
  afterMs: fc.nat(2),
  bound: fc.constantFrom(0, 9, 10),
  digested: fc.boolean(),
});

describe('the need table against plain objects', () => {
  it('N1 N3 N4 N6 N7: agrees on outcomes, needs, order, arrivals, dirty clusters and counts over any history, and ends empty', () => {
    const seen: Record<string, number> = {};
    let decodes = 0;
    let sent = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 8, maxLength: 30, size: 'max' }), (steps) => {
        const world = demand();
        const model = new Model();
        const last = new Map<string, RollupRow[]>();
        const digests = new Map<string, number>();
        let nowMs = 1_000;
        for (const one of steps) {
          nowMs += one.afterMs;
          const list = nextRows(one, last.get(one.cluster) ?? []);
          if (!list.some(isBad)) last.set(one.cluster, list);
          const expected = model.accept(one.cluster, list, nowMs, one.bound);
          const words = Uint32Array.from(list.flatMap((each) => digestOf(each, digests)));
          const decode = (index: number) => {
            decodes++;
            return list[index]!;
          };
          let outcome: string;
          try {
            outcome = one.digested
              ? world.table.acceptDigested(one.cluster, words, decode, nowMs, one.bound)
              : world.table.accept(one.cluster, list, nowMs, one.bound);
          } catch {
            outcome = 'rejected';
          }
          if (one.digested) sent += list.length;
          seen[outcome] = (seen[outcome] ?? 0) + 1;
          expect(outcome).toBe(expected);
          expect(dirtyOf(world)).toEqual([...model.dirty].sort());
          model.dirty.clear();
          expectSame(world, model);
        }
        for (const [id] of model.clusters) world.table.forget(world.clusters.find(id));
        expect(leftovers(world)).toEqual(NOTHING_LEFT);
        expect(world.clusters.count).toBe(0);
      }),
      { numRuns: 80 },
    );
    for (const outcome of ['applied', 'unchanged', 'quarantined', 'rejected'])
      expect(seen[outcome] ?? 0, outcome).toBeGreaterThan(20);
    expect(sent - decodes).toBeGreaterThan(300);
  });

  it('N4: merging does not depend on the order of rows, or of the lists and maps inside them', () => {
    fc.assert(
      fc.property(fc.array(rows, { maxLength: 20, size: 'max' }), fc.nat(1_000_000), (list, seed) => {
        const good = list.filter((one) => !isBad(one));
        const [one, other] = [demand(), demand()];
        one.table.accept('east', good, 1_000, 0);
        other.table.accept('east', shuffled(good, seed).map(turnedInside), 1_000, 0);
        expect(needsOf(other, 'east')).toEqual(needsOf(one, 'east'));
        expect(one.table.accept('east', shuffled(good, seed + 1).map(turnedInside), 2_000, 0)).toBe(
          'unchanged',
        );
      }),
    );
  });

  it('never gives a row to two slices, and reuses freed rows', () => {
    const sizes = fc.array(fc.record({ owner: fc.nat(9), count: fc.nat(100) }), {
      minLength: 20,
      maxLength: 120,
      size: 'max',
    });
    let refused = 0;
    fc.assert(
      fc.property(sizes, (steps) => {
        const rowsMax = 40 * SLICE_ROWS_STEP;
        const slices = new SliceAllocator(rowsMax);
        const held = new Map<number, { start: number; room: number }>();
        for (const { owner, count } of steps) {
          const old = held.get(owner) ?? { start: 0, room: 0 };
          const start = slices.replace(old.start, old.room, count);
          if (start < 0) refused++;
          else held.set(owner, { start, room: Math.ceil(count / SLICE_ROWS_STEP) * SLICE_ROWS_STEP });
          const inOrder = [...held.values()].filter(({ room }) => room > 0).sort((a, b) => a.start - b.start);
          const isApart = inOrder.every(
            (one, index) => index === 0 || inOrder[index - 1]!.start + inOrder[index - 1]!.room <= one.start,
          );
          expect(isApart).toBe(true);
          expect(slices.rowLimit).toBeLessThanOrEqual(rowsMax);
        }
        for (const { start, room } of held.values()) slices.replace(start, room, 0);
        expect(slices.replace(0, 0, rowsMax)).toBe(0);
      }),
      { numRuns: 40 },
    );
    expect(refused).toBeGreaterThan(10);
  });
});

function expectSame(world: Demand, model: Model): void {
  let needCount = 0;
  for (const [id, { needs, quarantined, reported, rejected }] of model.clusters) {
    const ref = world.clusters.find(id);
    needCount += needs.length;
    expect(needsOf(world, id)).toEqual(needs);
    expect([
      world.table.quarantinedRollups(ref),
      world.table.hasReported(ref),
      world.table.rejectedRollups(ref),
    ]).toEqual([quarantined, reported, rejected]);
  }
  expect(world.table.count).toBe(needCount);
  const reported = [...model.clusters].filter(([, cluster]) => cluster.reported).map(([id]) => id);
  expect([...world.table.clusterRefs()].map((ref) => world.clusters.get(ref)).sort()).toEqual(
    reported.sort(),
  );
}

interface Step {
  readonly kind: 'new' | 'repeat' | 'edit' | 'empty';
  readonly newRows: readonly RollupRow[];
  readonly edits: readonly RollupRow[];
  readonly removed: number;
  readonly seed: number;
}

function nextRows({ kind, newRows, edits, removed, seed }: Step, last: readonly RollupRow[]): RollupRow[] {
  if (kind === 'empty') return [];
  if (kind === 'new') return [...newRows];
  const again = shuffled(last, seed).map(seed % 4 === 0 ? turnedInside : (one) => one);
  return kind === 'repeat' ? again : [...again.slice(removed), ...edits];
}

/** The same row with every list and map reversed. */
function turnedInside(one: RollupRow): RollupRow {
  const turned = (map: Readonly<Record<string, string>>) => Object.fromEntries(Object.entries(map).reverse());
  return row({
    ...one,
    requirements: one.requirements.map((each) => ({ ...each, values: each.values.toReversed() })).reverse(),
    spread: one.spread.toReversed(),
    aggregate: turned(one.aggregate),
    minUnit: turned(one.minUnit),
  });
}

/** Two words per distinct row; insensitive to the order of map entries, as the wire's digest is. */
function digestOf(one: RollupRow, known: Map<string, number>): [low: number, high: number] {
  const sorted = (map: Readonly<Record<string, string>>) => Object.entries(map).sort();
  const text = JSON.stringify({ ...one, aggregate: sorted(one.aggregate), minUnit: sorted(one.minUnit) });
  const number = known.get(text) ?? known.size + 1;
  known.set(text, number);
  return [number, Math.imul(number, 0x9e3779b1) >>> 0];
}

function shuffled<T>(items: readonly T[], seed: number): T[] {
  return items
    .map((item, index) => ({ item, key: Math.imul(seed + index + 1, 0x9e3779b1) >>> 0 }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}
