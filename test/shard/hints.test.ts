import { describe, expect, it } from 'vitest';
import { DimensionTable } from '../../src/base/dimensions.ts';
import { StringTable } from '../../src/base/string-table.ts';
import { VectorTable } from '../../src/base/vectors.ts';
import { Flag } from '../../src/inventory/intent.ts';
import { Inventory } from '../../src/inventory/inventory.ts';
import type { Machine } from '../../src/machine/machine.ts';
import { MachineState as S } from '../../src/machine/state.ts';
import { NeedTable } from '../../src/needs/need-table.ts';
import { fingerprintOf, Operator, type Requirement } from '../../src/needs/requirements.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { CapacityHints, type CapacityHintsOptions } from '../../src/shard/hints/hints.ts';
import type { CapacityHint } from '../../src/shard/ports/operators.ts';
import { inState } from '../inventory/machines.ts';
import { isIn, row } from '../needs/support.ts';

interface Sent extends CapacityHint {
  readonly clusterId: string;
}

function world(options: Partial<CapacityHintsOptions> = {}) {
  const strings = (name: string) => StringTable.create({ name, entriesMax: 4_096, bytesMax: 1 << 20 });
  const shared = {
    clusters: strings('clusters'),
    fingerprints: strings('fingerprints'),
    groups: strings('groups'),
    vectors: new VectorTable(new DimensionTable()),
  };
  const inventory = new Inventory({ ...shared, machinesMax: 4_096 });
  const needs = new NeedTable(shared);
  const sent: Sent[] = [];
  const operators = {
    hintCapacity: (clusterId: string, hint: CapacityHint) => void sent.push({ ...hint, clusterId }),
  };
  const { clusters } = shared;
  const hints = new CapacityHints({ inventory, needs, clusters, operators, ...options });
  const put = (machine: Machine) => inventory.insert(machine, 0, 0);
  /** Sends since the last call, as [cluster, group of requirement values, count, confidence, cost]. */
  const take = () =>
    sent
      .splice(0)
      .map((one) => [
        one.clusterId,
        one.requirements.flatMap(({ values }) => values).join(),
        one.availableCount,
        one.confidence,
        one.costPerHourUsd,
      ]);
  return { inventory, needs, hints, put, take, sent, clusters };
}

const isNotIn = (key: string, value: string): Requirement => ({
  key,
  operator: Operator.NotIn,
  values: [value],
});

function wants(...requirements: Requirement[]): RollupRow {
  return row({ requirements, group: JSON.stringify(requirements) });
}

const ZONE = 'topology.kubernetes.io/zone';

describe('hints of available capacity', () => {
  it('H6: leave out cordoned machines, at once', () => {
    const { inventory, hints, needs, put, take } = world();
    const slot = put(inState(S.Idle, { id: 'a', zone: 'a', pricePerHourUsd: 1 }));
    put(inState(S.Idle, { id: 'b', zone: 'a', pricePerHourUsd: 3 }));
    needs.accept('east', [wants(isIn(ZONE, 'a'))], 0, 0);
    hints.sessionOpened('east');
    hints.run(1_000);
    expect(take()).toEqual([['east', 'a', 2, 4, 1]]);
    inventory.setFlag(slot, Flag.Cordoned, true);
    hints.run(60_000);
    expect(take()).toEqual([['east', 'a', 1, 4, 3]]);
  });

  it('O5: count matching Idle and Speculative machines, with the cheapest price and a confidence', () => {
    const { hints, needs, put, take, sent } = world();
    put(inState(S.Idle, { id: 'a', zone: 'a', pricePerHourUsd: 3 }));
    put(inState(S.Speculative, { id: 'b', zone: 'a', pricePerHourUsd: 2 }));
    put(inState(S.Speculative, { id: 'c', zone: 'b', pricePerHourUsd: 1 }));
    put(inState(S.Configured, { id: 'd', zone: 'c', pricePerHourUsd: 0.5 }));
    const rows = ['a', 'b', 'c'].map((zone) => wants(isIn(ZONE, zone)));
    needs.accept('east', rows, 1_000, 0);
    hints.sessionOpened('east');
    hints.run(1_000);
    const byZone = sent.map((one) => [one.requirements[0]!.values[0], one.fingerprint] as const);
    expect(Object.fromEntries(byZone).a).toBe(
      fingerprintOf({ ...rows[0]!, interruptionPenalty: 1, reclamationPenalty: 1 }),
    );
    expect(take().sort()).toEqual([
      ['east', 'a', 2, 4, 2],
      ['east', 'b', 1, 3, 1],
      ['east', 'c', 0, 1, 0],
    ]);
  });

  it('O5: are sent again only when the triple changed, and not before 5 s have passed', () => {
    const { hints, needs, inventory, put, take } = world();
    const slot = put(inState(S.Idle, { id: 'a', pricePerHourUsd: 3 }));
    needs.accept('east', [wants()], 1_000, 0);
    hints.sessionOpened('east');
    expect(hints.run(1_000)).toBe(false);
    expect(take()).toEqual([['east', '', 1, 4, 3]]);
    hints.run(20_000);
    expect(take()).toEqual([]);
    inventory.apply(slot, { pricePerHourUsd: 2.5 }, 20_000);
    hints.run(21_000);
    expect(take()).toEqual([['east', '', 1, 4, 2.5]]);
    put(inState(S.Speculative, { id: 'b', pricePerHourUsd: 9 }));
    expect(hints.run(24_000)).toBe(true);
    expect(take()).toEqual([]);
    put(inState(S.Speculative, { id: 'c', pricePerHourUsd: 8 }));
    expect(hints.run(26_000)).toBe(false);
    expect(take()).toEqual([['east', '', 3, 4, 2.5]]);
    inventory.move(slot, S.Deleting, 27_000);
    hints.run(40_000);
    expect(take()).toEqual([['east', '', 2, 3, 8]]);
  });

  it('O5: are forgotten when the session ends, and sent again to the next one', () => {
    const { hints, needs, put, take, clusters } = world();
    put(inState(S.Idle, { id: 'a', pricePerHourUsd: 3 }));
    needs.accept('east', [wants()], 1_000, 0);
    hints.sessionOpened('east');
    hints.run(1_000);
    hints.sessionClosed('east');
    put(inState(S.Idle, { id: 'b', pricePerHourUsd: 3 }));
    hints.run(10_000);
    expect(take()).toHaveLength(1);
    hints.sessionOpened('east');
    hints.run(10_100);
    expect(take()).toEqual([['east', '', 2, 4, 3]]);
    hints.sessionOpened('east'); // replaced
    hints.run(10_200);
    expect(take()).toHaveLength(1);
    hints.sessionClosed('east');
    needs.forget(clusters.find('east'));
    expect(hints.run(20_000)).toBe(false);
    expect([clusters.count, needs.profiles.count]).toEqual([0, 0]);
  });

  it('O5: follow the demand: new profiles get hints, withdrawn ones no longer', () => {
    const { hints, needs, put, take } = world();
    const slot = put(inState(S.Idle, { id: 'a', zone: 'a', pricePerHourUsd: 3 }));
    needs.accept('east', [wants(isIn(ZONE, 'a'))], 1_000, 0);
    hints.sessionOpened('east');
    hints.run(1_000);
    take();
    needs.accept('east', [wants(isIn(ZONE, 'a')), wants(isIn(ZONE, 'b', 'a'))], 2_000, 0);
    hints.run(2_000);
    expect(take()).toEqual([['east', 'a,b', 1, 4, 3]]);
    needs.accept('east', [wants(isIn(ZONE, 'b', 'a'))], 3_000, 0);
    put(inState(S.Idle, { id: 'b', zone: 'a', pricePerHourUsd: 3 }));
    hints.run(30_000);
    expect(take()).toEqual([['east', 'a,b', 2, 4, 3]]);
    expect(slot).toBeGreaterThan(0);
  });

  it('O5: are limited in frames per second, and go to the stalest key first', () => {
    const { hints, needs, put, sent } = world({ perSecondMax: 10 });
    put(inState(S.Idle, { id: 'a', zone: 'z0', pricePerHourUsd: 3 }));
    for (const clusterId of ['c1', 'c2', 'c3', 'c4', 'c5']) {
      const rows = Array.from({ length: 5 }, (_, index) => wants(isIn(ZONE, `z${index}`)));
      needs.accept(clusterId, rows, 1_000, 0);
      hints.sessionOpened(clusterId);
    }
    const told = () => new Set(sent.map((one) => `${one.clusterId} ${one.fingerprint}`)).size;
    expect(hints.run(1_000)).toBe(true);
    expect(sent).toHaveLength(10);
    hints.run(1_500);
    expect(sent).toHaveLength(15);
    // Every key changes again before all were sent once: those that were never sent come first.
    for (let zone = 0; zone < 5; zone++) put(inState(S.Idle, { id: `b${zone}`, zone: `z${zone}` }));
    hints.run(7_000);
    expect(sent).toHaveLength(25);
    expect(told()).toBe(25);
    hints.run(8_000);
    hints.run(9_000);
    expect(hints.run(15_000)).toBe(false);
    expect(sent).toHaveLength(40);
  });

  it('O5 T7: a long hint counts as several in the limit per second', () => {
    const { hints, needs, put, sent } = world({ perSecondMax: 10 });
    put(inState(S.Idle, { id: 'a', zone: 'a' }));
    const wide = Array.from({ length: 4 }, (_, index) =>
      wants(isIn(ZONE, 'a', `${index}`.padEnd(1_000, 'x'))),
    );
    const usual = Array.from({ length: 4 }, (_, index) => wants(isIn(ZONE, 'a', `${index}`)));
    needs.accept('east', [...wide, ...usual], 1_000, 0);
    hints.sessionOpened('east');
    let nowMs = 1_000;
    const perSecond: number[] = [];
    for (let more = true; more; nowMs += 1_000) {
      more = hints.run(nowMs);
      perSecond.push(sent.splice(0).length);
    }
    expect(perSecond.reduce((sum, count) => sum + count, 0)).toBe(8);
    // Two thousand characters are four times the usual size: ten pay for three of the long ones.
    expect(perSecond[0]).toBeLessThan(8);
  });

  it('O5: the answer for a requirement set is exact when the reading of the shapes had to stop in between', () => {
    const { hints, needs, put, take } = world();
    for (let index = 0; index < 200; index++)
      put(inState(S.Idle, { id: `m-${index}`, zone: `z-${index}`, pricePerHourUsd: 1 + index }));
    const many = Array.from({ length: 100 }, (_, index) => isNotIn(`key-${index}`, 'none'));
    needs.accept('east', [row({ requirements: many })], 1_000, 0);
    hints.sessionOpened('east');
    let runs = 1;
    for (let nowMs = 1_000; hints.run(nowMs); nowMs += 1_000) runs++;
    expect(runs).toBeGreaterThan(1);
    expect(take().map(([, , count, confidence, cost]) => [count, confidence, cost])).toEqual([[200, 4, 1]]);
  });

  it('O5: agree with a count over all machines while machines and shapes come and go', () => {
    const { hints, needs, inventory, put, sent } = world({ intervalMs: 0, perSecondMax: 1e9 });
    const sets: Requirement[][] = [
      [],
      [isIn(ZONE, 'a', 'b')],
      [{ key: ZONE, operator: Operator.NotIn, values: ['a'] }],
      [{ key: 'rack', operator: Operator.Exists, values: [] }],
      [{ key: 'rack', operator: Operator.DoesNotExist, values: [] }],
      [{ key: 'rack', operator: Operator.Same, values: [] }, isIn(ZONE, 'b')],
      [{ key: 'kubernetes.io/hostname', operator: Operator.Exists, values: [] }],
    ];
    needs.accept(
      'east',
      sets.map((requirements) => wants(...requirements)),
      0,
      0,
    );
    hints.sessionOpened('east');
    let seed = 7;
    const below = (count: number) => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
      return (seed >>> 8) % count;
    };
    const last = new Map<string, Sent>();
    for (let step = 1; step <= 400; step++) {
      for (let change = 0; change < 5; change++) {
        const id = `m-${below(60)}`;
        const known = inventory.find(id);
        if (known !== 0) inventory.remove(known);
        if (below(3) === 0) continue;
        const state = [S.Idle, S.Speculative, S.Configured][below(3)]!;
        const zone = ['a', 'b', 'c'][below(3)]!;
        const labels: Record<string, string> = below(2) === 0 ? {} : { rack: `r${below(100)}-${step % 50}` };
        put(inState(state, { id, zone, labels, pricePerHourUsd: 1 + below(9) }));
      }
      hints.run(step * 1_000);
      for (const one of sent.splice(0)) last.set(JSON.stringify(one.requirements), one);
      for (const requirements of sets) {
        const free = [...inventory.slotsById]
          .map((slot) => inventory.get(slot))
          .filter(({ state }) => state === S.Idle || state === S.Speculative)
          .filter((machine) => requirements.every((one) => isMet(one, machine)));
        const told = last.get(JSON.stringify(requirements))!;
        expect(told.availableCount).toBe(free.length);
        expect(told.costPerHourUsd).toBe(
          free.length === 0 ? 0 : Math.min(...free.map((machine) => machine.pricePerHourUsd)),
        );
        const isIdle = free.some(({ state }) => state === S.Idle);
        expect(told.confidence).toBe(isIdle ? 4 : free.length > 0 ? 3 : 1);
      }
    }
  });
});

function isMet({ key, operator, values }: Requirement, machine: Machine): boolean {
  if (key === 'kubernetes.io/hostname') return true; // labels of single machines are ignored
  const value = key === ZONE ? machine.zone : machine.labels[key];
  if (operator === Operator.In) return value !== undefined && values.includes(value);
  if (operator === Operator.NotIn) return value === undefined || !values.includes(value);
  return operator === Operator.DoesNotExist ? value === undefined : value !== undefined;
}
