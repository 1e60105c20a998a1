/** Needs with verdicts, page by page, compared with all of them read and sorted. */
import { describe, expect, it } from 'vitest';
import { compareBytewise } from '../../../src/base/dimensions.ts';
import type { NeedView } from '../../../src/shard/ports/view.ts';
import { SteadyFleet } from '../../../src/simulation/catalogue/fleet.ts';
import { rollupRowOf } from '../../decision/world-tables.ts';
import { assignmentFor, cluster, configured, cpus, idle, need, world } from '../../oracle/rules/worlds.ts';
import { viewOf } from './from-world.ts';
import { ViewWorld } from './view-world.ts';

/** 1,000 machines in four clusters. Some machines Failed, so some needs are unmet. */
function steady(): ViewWorld {
  const fleet = new SteadyFleet(1_000);
  const shard = new ViewWorld();
  for (const machine of fleet.machines()) shard.inventory.insert(machine, 0, shard.clock.nowMs());
  for (const { clusterId, rows } of fleet.rollups()) {
    shard.rollUp(clusterId, rows);
    shard.clock.advance(1_000);
  }
  const bound = shard.inventory.indexes.slotsInState(5).slice();
  for (let index = 0; index < bound.length; index += 7) {
    const change = { state: 8 as const, lastError: 'lost power' };
    shard.inventory.apply(bound[index]!, change, shard.clock.nowMs(), { force: true });
  }
  shard.decide();
  return shard;
}

async function readAll(shard: ViewWorld, query = {}): Promise<{ needs: NeedView[]; pageSizes: number[] }> {
  const { pages } = await shard.view.inspectNeeds(query);
  const needs: NeedView[] = [];
  const pageSizes: number[] = [];
  for await (const page of pages) {
    // Pages of the JSON API have no context.
    needs.push(...page.map(({ context: _, ...need }) => need));
    pageSizes.push(page.length);
  }
  return { needs, pageSizes };
}

/** N4: priority desc, arrival asc, cluster, fingerprint, group. */
function inOrder(needs: readonly NeedView[]): NeedView[] {
  return needs.toSorted(
    (a, b) =>
      b.priority - a.priority ||
      a.arrivalMs - b.arrivalMs ||
      compareBytewise(a.clusterId, b.clusterId) ||
      compareBytewise(a.fingerprint, b.fingerprint) ||
      compareBytewise(a.group, b.group),
  );
}

const nameOf = ({ clusterId, fingerprint, group }: NeedView) => `${clusterId} ${fingerprint} ${group}`;

describe('the needs of all clusters', () => {
  it('N4: come in one order over all clusters, each need once, in pages with turns between', async () => {
    const shard = steady();
    const { needs, pageSizes } = await readAll(shard);
    expect(needs).toHaveLength(shard.needs.count);
    expect(needs.map(nameOf)).toEqual(inOrder(needs).map(nameOf));
    expect(new Set(needs.map(nameOf)).size).toBe(needs.length);
    expect(pageSizes.length).toBeGreaterThan(2);
    expect(Math.max(...pageSizes)).toBeLessThanOrEqual(500);
    expect(shard.turns).toBeGreaterThanOrEqual(pageSizes.length - 1);
  });

  it('A8: carry the verdict of their own row', async () => {
    const shard = steady();
    const { clusters, groups } = shard.inventory.tables;
    const expected = new Map<string, object>();
    for (const ref of shard.needs.clusterRefs()) {
      shard.engine.verdictsOf(ref, (row, verdict) => {
        const tableRow = shard.needs.sliceStart(ref) + row;
        const { fingerprint } = shard.needs.profiles.get(shard.needs.profile[tableRow]!);
        const group = groups.get(shard.needs.group[tableRow]!);
        expected.set(`${clusters.get(ref)} ${fingerprint} ${group}`, verdict);
      });
    }
    const { needs } = await readAll(shard);
    for (const one of needs) expect(one).toMatchObject(expected.get(nameOf(one))!);
  });

  it('are those with an unmet verdict if only those are requested', async () => {
    const shard = steady();
    const { needs } = await readAll(shard);
    const unmet = needs.filter(({ satisfied }) => !satisfied);
    const asked = await readAll(shard, { unmetOnly: true });
    expect(unmet.length).toBeGreaterThan(20);
    expect(asked.needs).toEqual(unmet);
    const { header } = await shard.view.inspectNeeds({});
    expect(header).toMatchObject({ cycle: 1, totalNeeds: needs.length, unmetNeeds: unmet.length });
  });

  it('follow the filters: cluster, limit and group', async () => {
    const shard = steady();
    const { needs } = await readAll(shard);
    const clusterId = 'cluster-0002';
    const ofCluster = needs.filter((one) => one.clusterId === clusterId);
    expect((await readAll(shard, { clusterId })).needs).toEqual(ofCluster);
    expect((await readAll(shard, { limit: 7 })).needs).toEqual(needs.slice(0, 7));
    expect((await readAll(shard, { limit: 777 })).needs).toEqual(needs.slice(0, 777));
    const { group } = needs.find((one) => one.group !== '')!;
    expect((await readAll(shard, { group })).needs).toEqual(needs.filter((one) => one.group === group));
    expect((await readAll(shard, { clusterId: 'nobody' })).needs).toEqual([]);
    expect((await shard.view.inspectNeeds({ clusterId: 'nobody' })).header.totalNeeds).toBe(0);
    expect((await shard.view.inspectNeeds({ clusterId, limit: 1 })).header.totalNeeds).toBe(ofCluster.length);
  });

  it('are the same by cursor, each once, for every page size', async () => {
    const shard = steady();
    const { needs } = await readAll(shard);
    for (const limit of [1, 97, 500]) {
      const paged: NeedView[] = [];
      let after = '';
      for (let page = 0; page < (limit === 1 ? 60 : 100); page++) {
        const answer = await shard.view.needsPage({ limit }, after);
        paged.push(...answer.needs);
        after = answer.next;
        if (after === '') break;
      }
      expect(paged.map(nameOf)).toEqual(needs.slice(0, paged.length).map(nameOf));
      if (limit > 1) expect(paged).toHaveLength(needs.length);
    }
  });

  it('are refused for an invalid cursor, with what a cursor is', async () => {
    const shard = steady();
    for (const cursor of ['x', 'WzFd', Buffer.from('[1,2,3,4,5,6]').toString('base64url')]) {
      await expect(shard.view.needsPage({}, cursor)).rejects.toMatchObject({ code: 'bad_cursor' });
    }
  });

  it('continue at the reader’s place when they change between two pages, never with an old verdict', async () => {
    const shard = steady();
    const { header, pages } = await shard.view.inspectNeeds({});
    const iterator = pages[Symbol.asyncIterator]();
    const first = (await iterator.next()).value as NeedView[];
    const kept = [need({ priority: -5, group: 'late', aggregate: cpus(4) })].map(rollupRowOf);
    shard.rollUp('cluster-0001', kept);
    let isRead = false;
    const second = iterator.next().then(({ value }) => {
      isRead = true;
      return value as NeedView[];
    });
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(isRead).toBe(false); // the demand has changed and no cycle has read it yet
    shard.decide(false);
    const rest = [...(await second)];
    for (let page = await iterator.next(); page.done !== true; page = await iterator.next()) {
      rest.push(...page.value);
    }
    expect(header.cycle).toBe(1);
    const ofChanged = rest.filter(({ clusterId }) => clusterId === 'cluster-0001');
    expect(ofChanged.map(({ group }) => group)).toEqual(['late']);
    const names = new Set(first.map(nameOf));
    expect(rest.some((one) => names.has(nameOf(one)))).toBe(false);
  });

  it('are empty at once for a shard without needs', async () => {
    const shard = new ViewWorld();
    expect((await readAll(shard)).needs).toEqual([]);
    const page = await shard.view.needsPage({}, '');
    expect(page).toMatchObject({ needs: [], next: '', totalNeeds: 0, unmetNeeds: 0 });
  });
});

describe('shortfalls and the report', () => {
  it('P5: have the highest priority first, at most 100, and the report counts the fleet', () => {
    const needs = Array.from({ length: 120 }, (_, index) =>
      need({ priority: index, group: `g-${index}`, aggregate: cpus(4) }),
    );
    const held = need({ priority: 500, group: 'held' });
    const machines = [configured('m-1', assignmentFor('alpha', held)), idle('m-2', { zone: 'zone-2' })];
    const shard = viewOf(world(machines, [cluster('alpha', [held, ...needs])]));
    const facts = shard.view.reportFacts();
    expect(facts).toMatchObject({
      shardId: 'shard-test',
      epoch: 7,
      cycle: 1,
      totalMachines: 2,
      freeMachines: 1,
    });
    expect(facts.perInstanceType).toEqual({ standard: 2 });
    expect(facts.perZone).toEqual({ 'zone-1': 1, 'zone-2': 1 });
    expect(facts.shortfalls).toHaveLength(100);
    expect(facts.shortfalls.map(({ priority }) => priority)).toEqual(
      Array.from({ length: 100 }, (_, index) => 118 - index),
    );
    expect(facts.shortfalls[0]).toMatchObject({ ageCycles: 1, deficit: cpus(4), interruptionPenalty: 0 });
  });

  it('name missing dimensions with unusual names', async () => {
    const shard = new ViewWorld();
    const amounts = Object.fromEntries([
      ['__proto__', '2'],
      ['cpu', '1'],
    ]);
    const row = { ...rollupRowOf(need({ group: 'g' })), aggregate: amounts, minUnit: {} };
    shard.rollUp('alpha', [row]);
    shard.decide();
    const [only] = (await readAll(shard)).needs;
    const missing = [
      ['__proto__', 2_000],
      ['cpu', 1_000],
    ];
    expect(Object.entries(only!.deficit)).toEqual(missing);
    expect(Object.entries(shard.view.shortfalls()[0]!.deficit)).toEqual(missing);
  });

  it('count machines of a type and a zone with unusual names', () => {
    const names = { instanceType: '__proto__', zone: '__proto__' };
    const facts = viewOf(world([idle('m-1', names)], [])).view.reportFacts();
    expect(Object.entries(facts.perInstanceType)).toEqual([['__proto__', 1]]);
    expect(Object.entries(facts.perZone)).toEqual([['__proto__', 1]]);
  });
});
