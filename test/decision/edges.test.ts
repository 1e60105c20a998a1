/**
 * Edge cases that take several cycles: labels, dimensions, shapes and clusters come and go while the engine runs. Each
 * step is compared with the oracle, or with a new engine.
 */
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { decideChecked } from '../../src/decision/check.ts';
import { Engine, type EngineOptions } from '../../src/decision/engine.ts';
import {
  assignmentFor,
  boundTo,
  cluster,
  configured,
  cpus,
  creating,
  did,
  gang,
  idle,
  inRack,
  isIn,
  keyOf,
  need,
  RACK,
  speculative,
  spreadOver,
  verdictOf,
  world,
} from '../oracle/rules/worlds.ts';
import type { Amounts, WorldMachine, WorldNeed } from '../oracle/world.ts';
import { ClosedLoop } from './closed-loop.ts';
import { decideInTurn } from './comparable.ts';
import { movePrices, shiftSupply, steadyWorld } from './steady-worlds.ts';
import { acceptAsArrived, insertMachine, makeTables, type Tables } from './world-tables.ts';

const NO_DIFFERENCES = { actions: 0, claims: 0, verdicts: 0 };
const HOLDS = { onDemandMs: 600_000, spotMs: 60_000 };

describe('labels with many values', () => {
  const racks = (from: number, to: number): WorldMachine[] =>
    Array.from({ length: to - from }, (_, index) => {
      const rack = `rack-${String(from + index).padStart(3, '0')}`;
      return [idle(`${rack}-a`, inRack(rack)), idle(`${rack}-b`, inRack(rack))];
    }).flat();

  it('turn fine while the engine runs, and every gang, spread and selector is decided as before', () => {
    const job = gang('job', 8);
    const web = need({ group: 'web', aggregate: cpus(12), spread: [spreadOver(RACK)], priority: 50 });
    const picky = need({ group: 'picky', requirements: [isIn(RACK, 'rack-070', 'rack-002')], priority: 20 });
    const bound = [
      configured('job-1', assignmentFor('alpha', job), inRack('rack-001')),
      configured('job-2', assignmentFor('alpha', job), inRack('rack-001')),
    ];
    const clusters = [cluster('alpha', [job, web, picky])];
    const [few, many, fewer, again] = decideInTurn([
      world([...bound, ...racks(0, 40)], clusters),
      world([...bound, ...racks(0, 80)], clusters), // 80 values: too many for families of their own
      world([...bound, ...racks(60, 80)], clusters),
      world([...bound, ...racks(0, 75)], clusters),
    ]);
    expect(few!.claims.get('job-1')).toBe(keyOf('alpha', job));
    for (const result of [few, many, fewer, again]) {
      expect(verdictOf(result!, 'alpha', job)).toMatchObject({
        satisfied: true,
        domain: 'rack-001',
        claimed: 2,
      });
      expect(verdictOf(result!, 'alpha', web)).toMatchObject({ satisfied: true, bootstraps: 3 });
    }
    expect(did(many!)).toContain('Bootstrap rack-002-a');
    expect(did(fewer!)).toContain('Bootstrap rack-070-a');
  });

  it('may all appear in the first cycle', () => {
    const job = gang('job', 8);
    const [first] = decideInTurn([world(racks(0, 100), [cluster('alpha', [job])])]);
    expect(did(first!)).toEqual(['Bootstrap rack-000-a', 'Bootstrap rack-000-b']);
  });
});

describe('dimensions', () => {
  const amounts = (from: number, to: number, units: number): Amounts =>
    Object.fromEntries(
      Array.from({ length: to - from }, (_, index) => [`example.com/d${from + index}`, units]),
    );

  it('may appear after the first cycle, in any number', () => {
    const plain = need();
    const wide = need({ group: 'wide', aggregate: { ...cpus(8), ...amounts(0, 12, 2_000) }, priority: 500 });
    const wider = gang('wider', 8, { aggregate: { ...cpus(8), ...amounts(10, 30, 2_000) }, priority: 900 });
    const machines = ['m-1', 'm-2'].map((id) => idle(id));
    const capable = ['w-1', 'w-2', 'w-3', 'w-4'].map((id) =>
      idle(id, { capacity: { ...cpus(4), ...amounts(0, 30, 1_000) } }),
    );
    const results = decideInTurn([
      world(machines, [cluster('alpha', [plain])]),
      world(machines, [cluster('alpha', [plain, wide])]),
      world([...machines, ...capable], [cluster('alpha', [plain, wide])]),
      world([...machines, ...capable], [cluster('alpha', [plain, wide, wider])]),
    ]);
    expect(verdictOf(results[1]!, 'alpha', wide)).toMatchObject({
      satisfied: false,
      deficit: amounts(0, 12, 2_000),
    });
    expect(verdictOf(results[2]!, 'alpha', wide)).toMatchObject({ satisfied: true });
    expect(verdictOf(results[3]!, 'alpha', wider)).toMatchObject({
      satisfied: true,
      domain: 'rack-1',
      claimed: 4,
    });
  });

  it('all count, up to the 64 of a roll-up', () => {
    const wide = need({ aggregate: amounts(0, 64, 3_000), minUnit: amounts(0, 64, 1) });
    const fleet = Array.from({ length: 4 }, (_, index) =>
      idle(`m-${index}`, {
        capacity: { ...amounts(0, 64, 1_000), 'example.com/d63': index === 3 ? 0 : 1_000 },
      }),
    );
    const [all] = decideInTurn([world(fleet, [cluster('alpha', [wide])])]);
    // m-3 lacks one dimension of min_unit.
    expect(did(all!)).toEqual(['Bootstrap m-0', 'Bootstrap m-1', 'Bootstrap m-2']);
    expect(verdictOf(all!, 'alpha', wide)).toMatchObject({ satisfied: true });
  });
});

describe('equal machines and needs', () => {
  it('are ordered by id, cluster, fingerprint and group, whatever the order of the input', () => {
    const needs = Array.from({ length: 6 }, (_, index) => need({ group: `g-${index}`, aggregate: cpus(4) }));
    const fleet = Array.from({ length: 9 }, (_, index) => speculative(`m-${index}`));
    const clusters = ['alpha', 'beta'].map((id) => cluster(id, needs));
    const random = new Random(7);
    const shuffled = Array.from({ length: 4 }, () =>
      world(random.shuffle([...fleet]), [
        ...random.shuffle(clusters.map((one) => ({ ...one, needs: random.shuffle([...needs]) }))),
      ]),
    );
    const results = shuffled.map((one) => decideInTurn([one])[0]!);
    expect(results[0]!.actions.map(({ machine, cluster: of, group }) => `${machine} ${of} ${group}`)).toEqual(
      [
        ...needs.map(({ group }, index) => `m-${index} alpha ${group}`),
        ...needs.slice(0, 3).map(({ group }, index) => `m-${6 + index} beta ${group}`),
      ],
    );
    for (const result of results) expect(result.actions).toEqual(results[0]!.actions);
  });
});

describe('a need that is withdrawn', () => {
  it('A1: leaves its Creating machine to a gang that folds for it, in the same cycle', () => {
    const web = need({ group: 'web', priority: 500 });
    const job = gang('job', 2);
    const coming = creating('m-1', assignmentFor('alpha', web));
    const [before, after] = decideInTurn([
      world([coming], [cluster('alpha', [web, job])]),
      world([coming], [cluster('alpha', [job])]),
    ]);
    expect(verdictOf(before!, 'alpha', job)).toMatchObject({ satisfied: false });
    expect(verdictOf(after!, 'alpha', job)).toMatchObject({ satisfied: true, domain: '', claimed: 1 });
  });
});

describe('the number of a cluster', () => {
  const job = gang('job', 8);
  const web = need({ group: 'web' });

  function started() {
    const tables = makeTables();
    const options: EngineOptions = { ...tables, hasSession: () => true, holds: HOLDS };
    const engine = new Engine(options);
    const decide = () =>
      decideChecked(engine, options, { nowMs: 1_000_000_000, isOrdinary: true }).differences;
    return { tables, engine, decide };
  }

  function demand({ needs }: Tables, clusterId: string, wanted: readonly WorldNeed[]): void {
    acceptAsArrived(needs, clusterId, [], wanted);
  }

  const actionsOf = ({ inventory }: Tables, { actions }: Engine): string[] =>
    Array.from(
      actions.slot.subarray(0, actions.count),
      (slot, index) =>
        `${inventory.idOf(slot)} for ${inventory.tables.clusters.get(actions.cluster[index]!)}`,
    );

  for (const [when, cyclesBetween] of [
    ['in the same cycle', 0],
    ['cycles later', 2],
  ] as const) {
    it(`may become another cluster’s ${when}, which inherits nothing from the old one`, () => {
      const { tables, engine, decide } = started();
      const { inventory, needs } = tables;
      const own = ['m-1', 'm-2'].map((id) =>
        insertMachine(inventory, engine, configured(id, assignmentFor('old', job))),
      );
      insertMachine(inventory, engine, idle('m-3'));
      demand(tables, 'old', [job, web]);
      expect(decide()).toEqual(NO_DIFFERENCES);
      const ref = inventory.tables.clusters.find('old');
      for (const slot of own) inventory.remove(slot);
      needs.forget(ref);
      for (let cycle = 0; cycle < cyclesBetween; cycle++) expect(decide()).toEqual(NO_DIFFERENCES);
      demand(tables, 'new', [job]);
      expect(inventory.tables.clusters.find('new')).toBe(ref);
      insertMachine(inventory, engine, configured('m-4', assignmentFor('new', job)));
      expect(decide()).toEqual(NO_DIFFERENCES);
      expect(actionsOf(tables, engine)).toEqual(['m-3 for new']);
      expect(engine.verdict(ref, 0)).toMatchObject({ satisfied: true, claimed: 2, domain: 'rack-1' });
    });
  }

  it('N6: may become that of a cluster that has not reported, whose machines then stay', () => {
    const { tables, engine, decide } = started();
    const { inventory, needs } = tables;
    const slot = insertMachine(inventory, engine, configured('m-1', boundTo('old')));
    demand(tables, 'old', []);
    expect(decide()).toEqual(NO_DIFFERENCES);
    expect(actionsOf(tables, engine)).toEqual(['m-1 for old']);
    const ref = inventory.tables.clusters.find('old');
    inventory.remove(slot);
    needs.forget(ref);
    insertMachine(inventory, engine, configured('m-2', boundTo('new')));
    expect(inventory.tables.clusters.find('new')).toBe(ref);
    expect(decide()).toEqual(NO_DIFFERENCES);
    expect(actionsOf(tables, engine)).toEqual([]);
  });
});

describe('what the engine holds in the tables it shares', () => {
  it('is released: once the last machine and need are gone and the engine is closed, no reference is left', () => {
    for (let seed = 1; seed <= 25; seed++) {
      const random = new Random(seed);
      const start = steadyWorld(random);
      const pace = { beginMax: 1, createMax: 4, configureMax: 1, drainMax: 8, reclaimsMax: 1_000 };
      const loop = new ClosedLoop(start, pace, random, [undefined, 1, 3][seed % 3]);
      for (const one of start.clusters) if (one.reported) loop.report(one);
      for (let cycle = 0; cycle < 20; cycle++) {
        movePrices(loop, start, random);
        shiftSupply(loop, start, random);
        loop.cycle();
      }
      const { inventory, needs, engine } = loop;
      for (const slot of [...inventory.slotsById]) inventory.remove(slot);
      for (const ref of [...needs.clusterRefs()]) needs.forget(ref);
      // Half of the engines decide a cycle on the empty tables, the others are closed at once.
      if (seed % 2 === 0) engine.decide({ nowMs: loop.nowMs, isOrdinary: true });
      engine.close();
      const { clusters, fingerprints, groups, shapes } = inventory.tables;
      const { profiles } = needs;
      const left = [clusters, fingerprints, groups, shapes, shapes.vectors, profiles].map(
        ({ count }) => count,
      );
      expect(left, `seed ${seed}`).toEqual([0, 0, 0, 0, 0, 0]);
    }
  });

  it('does not grow: shapes that come and go while the engine runs are released', () => {
    const { inventory, needs } = makeTables();
    const engine = new Engine({ inventory, needs, hasSession: () => true, holds: HOLDS });
    acceptAsArrived(needs, 'alpha', [], [gang('job', 8, { requirements: [isIn(RACK, 'nowhere')] })]);
    for (let round = 0; round < 100; round++) {
      const slots = ['a', 'b'].map((name) =>
        insertMachine(inventory, engine, idle(`m-${round}-${name}`, inRack(`rack-${round}`))),
      );
      engine.decide({ nowMs: 1_000_000_000, isOrdinary: true });
      expect(inventory.shapes.count).toBe(1);
      for (const slot of slots) inventory.remove(slot);
      engine.decide({ nowMs: 1_000_000_000, isOrdinary: true });
      expect(inventory.shapes.count).toBe(0);
    }
  });
});

describe('a machine whose action waits for its turn', () => {
  it('P1: is a victim again once its need has returned', () => {
    const web = need({ group: 'web', priority: 10 });
    const urgent = need({ priority: 1_000, aggregate: cpus(100) });
    const machines = [
      configured('m-1', assignmentFor('beta', web)),
      creating('m-2', assignmentFor('beta', web), { waiting: true }),
    ];
    const given = (needs: WorldNeed[], hasSession: boolean) =>
      world(machines, [cluster('alpha', [urgent], { hasSession }), cluster('beta', needs)]);
    const gone = given([], false);
    const results = decideInTurn([given([web], false), gone, gone, given([web], true)]);
    expect(results.at(-1)!.actions).toMatchObject([
      { kind: 'Withdraw', machine: 'm-2', forCluster: 'alpha' },
      { kind: 'Preempt', machine: 'm-1', forCluster: 'alpha' },
    ]);
  });
});
