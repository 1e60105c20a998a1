/** The from-scratch check counts no difference where the engine is right, and every difference that a test plants. */
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { countDifferences, decideChecked, deriveFromScratch } from '../../src/decision/check.ts';
import { Engine, type EngineOptions } from '../../src/decision/engine.ts';
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
} from '../oracle/rules/worlds.ts';
import type { WorldMachine, WorldNeed } from '../oracle/world.ts';
import { ClosedLoop } from './closed-loop.ts';
import { movePrices, repeatRollups, shiftSupply, steadyWorld } from './steady-worlds.ts';
import { acceptAsArrived, insertMachine, makeTables } from './world-tables.ts';

const NO_DIFFERENCES = { actions: 0, claims: 0, verdicts: 0 };
const INPUT = { nowMs: 1_000_000_000, isOrdinary: true };

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

describe('the from-scratch check', () => {
  it('finds no difference in a closed loop with changing prices, supply, drains and demand', () => {
    let actionCount = 0;
    for (let seed = 1; seed <= 20; seed++) {
      const random = new Random(seed);
      const start = steadyWorld(random);
      const pace = { beginMax: 1, createMax: 4, configureMax: 1, drainMax: 8, reclaimsMax: 1 };
      const loop = new ClosedLoop(start, pace, random, [undefined, 1, 3][seed % 3]);
      for (let cycle = 0; cycle < 30; cycle++) {
        const reporting = start.clusters[cycle / 4];
        if (reporting?.reported) loop.report(reporting);
        if (cycle === 20) loop.withdrawUnmet();
        for (const disturb of [movePrices, shiftSupply, repeatRollups]) disturb(loop, start, random);
        const { actions, differences } = loop.checkedCycle(random.chance(0.8));
        expect(differences, `seed ${seed}, cycle ${cycle}`).toEqual(NO_DIFFERENCES);
        actionCount += actions.length;
      }
    }
    expect(actionCount).toBeGreaterThan(200);
  });

  it('reports a price change that the change log missed as different claims and actions', () => {
    const { inventory, options, live } = shardOf(
      [configured('m-1', boundTo('alpha')), configured('m-2', boundTo('alpha'), { price: 2 })],
      [need()],
    );
    expect(decideChecked(live, options, INPUT).differences).toEqual(NO_DIFFERENCES);
    inventory.columns.pricePerHourUsd[inventory.find('m-1')] = 3;
    expect(decideChecked(live, options, INPUT).differences).toEqual({ actions: 1, claims: 2, verdicts: 0 });
  });

  it('reports a different order of actions', () => {
    const { inventory, options, live } = shardOf([idle('m-1'), idle('m-2')], [need({ aggregate: cpus(8) })]);
    // The test executes no action, so the next cycle decides the same.
    expect(decideChecked(live, options, INPUT).differences).toEqual(NO_DIFFERENCES);
    inventory.columns.pricePerHourUsd[inventory.find('m-1')] = 3;
    expect(decideChecked(live, options, INPUT).differences).toEqual({ actions: 2, claims: 0, verdicts: 0 });
  });

  it('reports a drain that only one of the engines knows as a superfluous action', () => {
    const urgent = need({ priority: 500 });
    const idler = need({ priority: 1 });
    const { inventory, needs, options, live } = shardOf(
      [
        draining('m-1', boundTo('alpha'), drainFor('alpha', urgent)),
        configured('m-2', assignmentFor('beta', idler)),
      ],
      [urgent],
    );
    acceptAsArrived(needs, 'beta', [], [idler]);
    const ignorant = new Engine(options); // does not adopt the live engine's drains
    ignorant.decideFromScratch(INPUT);
    const knowing = deriveFromScratch(live, options, INPUT);
    live.decide(INPUT);
    expect(countDifferences(live, knowing, inventory, needs)).toEqual(NO_DIFFERENCES);
    // It preempts m-2 although m-1 drains already (P6).
    expect(countDifferences(live, ignorant, inventory, needs)).toEqual({ ...NO_DIFFERENCES, actions: 1 });
    for (const engine of [ignorant, knowing, live]) engine.close();
  });

  it('reports counts that a new engine did not adopt as different verdicts', () => {
    const { inventory, needs, options, live } = shardOf([idle('m-1')], [gang('job', 8)]);
    for (let cycle = 0; cycle < 12; cycle++) {
      expect(decideChecked(live, options, INPUT).differences).toEqual(NO_DIFFERENCES);
    }
    const newborn = new Engine(options);
    newborn.decideFromScratch(INPUT);
    live.decide(INPUT);
    expect(countDifferences(live, newborn, inventory, needs).verdicts).toBe(1);
  });

  it('leaves no reference in the shared tables', () => {
    const { inventory, needs, options, live } = shardOf([idle('m-1'), idle('m-2')], [gang('job', 8), need()]);
    decideChecked(live, options, INPUT);
    const { clusters, fingerprints, groups, shapes } = inventory.tables;
    const held = () =>
      [clusters, fingerprints, groups, shapes, shapes.vectors, needs.profiles].map(({ count }) => count);
    const before = held();
    for (let count = 0; count < 5; count++) decideChecked(live, options, INPUT);
    expect(held()).toEqual(before);
    for (const slot of [...inventory.slotsById]) inventory.remove(slot);
    for (const ref of [...needs.clusterRefs()]) needs.forget(ref);
    decideChecked(live, options, INPUT);
    live.close();
    expect(held()).toEqual([0, 0, 0, 0, 0, 0]);
  });
});
