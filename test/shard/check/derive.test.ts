/** The check on a copy finds nothing where the engine is right, and finds planted faults. */
import { describe, expect, it } from 'vitest';
import { Random } from '../../../src/base/random.ts';
import { type CycleInput, Engine, type EngineOptions } from '../../../src/decision/engine.ts';
import { type ClusterLimits, LIMIT_NAMES, type Limit } from '../../../src/decision/limits.ts';
import { deriveAndCompare } from '../../../src/shard/check/derive.ts';
import { VerdictReader } from '../../../src/shard/check/verdict-reader.ts';
import { ClosedLoop } from '../../decision/closed-loop.ts';
import { movePrices, repeatRollups, shiftSupply, steadyWorld } from '../../decision/steady-worlds.ts';
import { acceptAsArrived, insertMachine, makeTables } from '../../decision/world-tables.ts';
import {
  assignmentFor,
  boundTo,
  configured,
  cpus,
  drainFor,
  draining,
  gang,
  idle,
  need,
  speculative,
} from '../../oracle/rules/worlds.ts';
import type { WorldMachine, WorldNeed } from '../../oracle/world.ts';
import { copyOfCycle, countsOf, decideChecked, NO_DIFFERENCES } from './checked.ts';

const INPUT: CycleInput = { nowMs: 1_000_000_000, isOrdinary: true };

function shardOf(machines: readonly WorldMachine[], wanted: readonly WorldNeed[]) {
  const { inventory, needs } = makeTables();
  const options: EngineOptions = {
    inventory,
    needs,
    hasSession: () => true,
    holds: { onDemandMs: 600_000, spotMs: 60_000 },
  };
  const live = new Engine(options);
  for (const machine of machines) insertMachine(inventory, live, machine);
  acceptAsArrived(needs, 'alpha', [], wanted);
  return { inventory, needs, options, live };
}

function livingLoop(seed: number): { loop: ClosedLoop; disturb: (cycle: number) => boolean } {
  const random = new Random(seed);
  const start = steadyWorld(random);
  const pace = { beginMax: 1, createMax: 4, configureMax: 1, drainMax: 8, reclaimsMax: 1 };
  const loop = new ClosedLoop(start, pace, random, [undefined, 1, 3][seed % 3]);
  const disturb = (cycle: number) => {
    const reporting = start.clusters[cycle / 4];
    if (reporting?.reported) loop.report(reporting);
    if (cycle === 20) loop.withdrawUnmet();
    for (const change of [movePrices, shiftSupply, repeatRollups]) change(loop, start, random);
    return random.chance(0.8);
  };
  return { loop, disturb };
}

describe('a decision derived from a copy', () => {
  it('equals the running engine’s while prices, supply, drains and demand change', () => {
    let actionCount = 0;
    let unmetCount = 0;
    for (let seed = 1; seed <= 12; seed++) {
      const { loop, disturb } = livingLoop(seed);
      const { engine } = loop;
      const decide = engine.decide.bind(engine);
      let where = '';
      engine.decide = (input) => {
        const image = copyOfCycle(engine, loop.options, input, (given) => decide(given));
        unmetCount += image.result.unmet.need.length;
        const result = deriveAndCompare(image);
        expect(countsOf(result), `${where}: ${JSON.stringify(result.examples)}`).toEqual(NO_DIFFERENCES);
        return { changedMachines: 0, changedClusters: 0, evaluatedNeeds: 0, unmetNeeds: 0 };
      };
      for (let cycle = 0; cycle < 30; cycle++) {
        where = `seed ${seed}, cycle ${cycle}`;
        actionCount += loop.cycle(disturb(cycle)).length;
      }
    }
    expect(actionCount).toBeGreaterThan(100);
    expect(unmetCount).toBeGreaterThan(100);
  });

  it('reads the same verdicts from columns as the engine gives', () => {
    let unsatisfied = 0;
    for (let seed = 21; seed <= 28; seed++) {
      const { loop, disturb } = livingLoop(seed);
      const { inventory, needs, engine } = loop;
      for (let cycle = 0; cycle < 20; cycle++) {
        loop.cycle(disturb(cycle));
        const { vectors } = inventory.shapes;
        const reader = new VerdictReader(engine.result(), vectors);
        for (const cluster of needs.clusterRefs()) {
          let rows = 0;
          engine.verdictsOf(cluster, (row, verdict) => {
            const start = needs.sliceStart(cluster);
            const { sameKeys } = needs.profiles.get(needs.profile[start + row]!);
            const { deficit, limitedBy: limit, ...facts } = reader.read(cluster, row, sameKeys);
            const limitedBy = LIMIT_NAMES[limit as Limit];
            const amounts: Record<string, number> = {};
            for (let at = 0; at < deficit.length; at += 2) {
              amounts[vectors.dimensions.nameOf(deficit[at]!)] = deficit[at + 1]!;
            }
            expect({ ...facts, deficit: amounts, limitedBy }).toEqual(verdict);
            if (!verdict.satisfied) unsatisfied++;
            rows++;
          });
          expect(reader.rowCount(cluster)).toBe(rows);
        }
      }
    }
    expect(unsatisfied).toBeGreaterThan(50);
  });

  it('shows a price that bypassed the change log as other claims and actions', () => {
    const { inventory, options, live } = shardOf(
      [configured('m-1', boundTo('alpha')), configured('m-2', boundTo('alpha'), { price: 2 })],
      [need()],
    );
    expect(countsOf(decideChecked(live, options, INPUT))).toEqual(NO_DIFFERENCES);
    inventory.columns.pricePerHourUsd[inventory.find('m-1')] = 3;
    const result = decideChecked(live, options, INPUT);
    expect(countsOf(result)).toEqual({ actions: 1, claims: 2, verdicts: 0 });
    const texts = result.examples.map(({ text }) => text);
    expect(texts[0]).toMatch(/^action 0: Reclaim of slot 2 for .*, from scratch Reclaim of slot 1 for/);
    expect(texts[1]).toMatch(/^claimed by alpha\/ \(p=.*\), from scratch by no need$/);
  });

  it('shows a flipped claim and a flipped verdict of the running engine', () => {
    const { options, live } = shardOf(
      [configured('m-1', boundTo('alpha')), configured('m-2', boundTo('alpha'))],
      [need({ aggregate: cpus(8) })],
    );
    const image = copyOfCycle(live, options, INPUT);
    image.result.claims.claim[1] = 0;
    image.result.needs.creditCount.fill(1);
    const result = deriveAndCompare(image);
    expect(countsOf(result)).toEqual({ actions: 0, claims: 1, verdicts: 1 });
    expect(result.examples.map(({ slot }) => slot)).toEqual([1, 0]);
    expect(result.examples[1]!.text).toMatch(/^need alpha\/ \(p=.*\): claimed 1, from scratch 2$/);
  });

  it('P6: includes the drains, which no table holds', () => {
    const urgent = need({ priority: 500 });
    const idler = need({ priority: 1 });
    const { needs, options, live } = shardOf(
      [
        draining('m-1', boundTo('alpha'), drainFor('alpha', urgent)),
        configured('m-2', assignmentFor('beta', idler)),
      ],
      [urgent],
    );
    acceptAsArrived(needs, 'beta', [], [idler]);
    const image = copyOfCycle(live, options, INPUT);
    expect(image.memory.drains.slot).toHaveLength(1);
    expect(countsOf(deriveAndCompare(image))).toEqual(NO_DIFFERENCES);
    const { memory } = new Engine(options).remember();
    // It preempts m-2 although m-1 is draining for the need.
    expect(countsOf(deriveAndCompare({ ...image, memory }))).toEqual({ ...NO_DIFFERENCES, actions: 1 });
  });

  it('A7, A8: includes the counts, which no table holds', () => {
    const { options, live } = shardOf([idle('m-1')], [gang('job', 8)]);
    for (let cycle = 0; cycle < 12; cycle++) {
      expect(countsOf(decideChecked(live, options, INPUT))).toEqual(NO_DIFFERENCES);
    }
    const image = copyOfCycle(live, options, INPUT);
    expect(image.memory.counts.unmetCount).toEqual(Uint32Array.of(12));
    const { memory } = new Engine(options).remember();
    expect(deriveAndCompare({ ...image, memory }).verdicts).toBe(1);
  });

  it('A9: knows which clusters are connected and which needs are in back-off', () => {
    const { inventory, needs, options } = shardOf([idle('m-1'), idle('m-2')], [need()]);
    const alpha = inventory.tables.clusters.find('alpha');
    const { fingerprintRef } = needs.profiles.get(needs.profile[needs.sliceStart(alpha)]!);
    const barred = [alpha, fingerprintRef, 0];
    const isBarred = (...refs: number[]) => refs.every((ref, index) => ref === barred[index]);
    for (const change of [{ hasSession: () => false }, { inBackoff: isBarred }]) {
      const other = new Engine({ ...options, ...change });
      const image = copyOfCycle(other, { ...options, ...change }, INPUT, () =>
        other.decideFromScratch(INPUT),
      );
      const inputs = { ...image.inputs, barred: Uint32Array.from('inBackoff' in change ? barred : []) };
      expect(countsOf(deriveAndCompare({ ...image, inputs }))).toEqual(NO_DIFFERENCES);
      const ignorant = { ...inputs, barred: new Uint32Array(0), sessions: inputs.sessions.map(() => 1) };
      expect(deriveAndCompare({ ...image, inputs: ignorant }).actions).toBeGreaterThan(0);
      other.close();
    }
  });

  it('T8: knows the limits of clusters', () => {
    const { inventory, options } = shardOf([idle('m-1'), idle('m-2')], [need({ aggregate: cpus(8) })]);
    const alpha = inventory.tables.clusters.find('alpha');
    const limits: ClusterLimits = {
      maxPriority: 50,
      maxMachines: 1,
      maxResources: {},
      maxDollarsPerHour: Number.POSITIVE_INFINITY,
      maxOfferingShare: Number.POSITIVE_INFINITY,
      minNonSpotShare: 0,
    };
    const limited: EngineOptions = {
      ...options,
      limits: { version: 1, of: (cluster) => (cluster === alpha ? limits : null) },
    };
    const other = new Engine(limited);
    const image = copyOfCycle(other, limited, INPUT, () => other.decideFromScratch(INPUT));
    expect(other.actions.count).toBe(1);
    expect(countsOf(deriveAndCompare(image))).toEqual(NO_DIFFERENCES);
    const ignorant = { ...image.inputs, limits: [] };
    expect(deriveAndCompare({ ...image, inputs: ignorant })).toMatchObject({ actions: 2, verdicts: 1 });
    other.close();
  });

  it('E7: knows the ceilings of the fleet', () => {
    const offer = (id: string) => speculative(id, { price: 1 });
    const { options } = shardOf([offer('m-1'), offer('m-2')], [need({ aggregate: cpus(8) })]);
    const ceilings = { maxDollarsPerHour: 1, maxByCapacityType: new Array(5).fill(Number.POSITIVE_INFINITY) };
    const limited: EngineOptions = { ...options, limits: { version: 1, of: () => null, ceilings } };
    const other = new Engine(limited);
    const image = copyOfCycle(other, limited, INPUT, () => other.decideFromScratch(INPUT));
    expect(other.actions.count).toBe(1);
    expect(countsOf(deriveAndCompare(image))).toEqual(NO_DIFFERENCES);
    const ignorant = { ...image.inputs, ceilings: null };
    expect(deriveAndCompare({ ...image, inputs: ignorant }).verdicts).toBe(1);
    other.close();
  });

  it('copies labels of single machines if a need uses one', () => {
    const { inventory, needs } = makeTables({ ownLabelKeys: ['host'] });
    const options: EngineOptions = {
      inventory,
      needs,
      hasSession: () => true,
      holds: { onDemandMs: 600_000, spotMs: 60_000 },
    };
    const live = new Engine(options);
    for (const id of ['m-1', 'm-2', 'm-3']) {
      insertMachine(inventory, live, idle(id, { labels: { host: `host-of-${id}` } }));
    }
    const picky = need({ requirements: [{ key: 'host', operator: 1, values: ['host-of-m-2'] }] });
    acceptAsArrived(needs, 'alpha', [], [need({ group: 'any' })]);
    expect(copyOfCycle(live, options, INPUT).inventory.texts).toBe(null);
    acceptAsArrived(needs, 'alpha', [], [picky]);
    const image = copyOfCycle(live, options, INPUT);
    expect(image.inventory.texts).not.toBe(null);
    expect(image.result.actions.slot).toEqual(Uint32Array.of(inventory.find('m-2')));
    expect(countsOf(deriveAndCompare(image))).toEqual(NO_DIFFERENCES);
  });

  it('leaves nothing behind in the tables of the shard', () => {
    const { inventory, needs, options, live } = shardOf([idle('m-1'), idle('m-2')], [gang('job', 8), need()]);
    decideChecked(live, options, INPUT);
    const { clusters, fingerprints, groups, shapes } = inventory.tables;
    const held = () =>
      [clusters, fingerprints, groups, shapes, shapes.vectors, needs.profiles].map(({ count }) => count);
    for (let count = 0; count < 3; count++) decideChecked(live, options, INPUT);
    for (const slot of [...inventory.slotsById]) inventory.remove(slot);
    for (const ref of [...needs.clusterRefs()]) needs.forget(ref);
    decideChecked(live, options, INPUT);
    live.close();
    expect(held()).toEqual([0, 0, 0, 0, 0, 0]);
  });
});
