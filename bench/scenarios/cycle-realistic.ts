// Question: what does a decision cost on a realistic fleet, all of it, and when 1 % of it changed? Seed 1; fleet
// and roll-ups are built untimed; ids are ranked at load, as a shard does when the first listing is applied.
import { EngineFleet } from '../catalogue/engine-fleet.ts';
import { FleetChurn } from '../catalogue/churn.ts';
import { SteadyFleet } from '../catalogue/fleet.ts';
import type { Scenario } from '../harness.ts';

export const scenario: Scenario = {
  name: 'cycle-realistic',
  question: 'What does a cycle cost on a realistic fleet: everything, 1 % clustered, 1 % spread, nothing?',
  defaults: { machines: 500_000, seconds: 20 },
  targets: [
    { name: 'full evaluation', metric: 'full', limit: 1_000, direction: 'below' },
    { name: 'clustered churn', metric: 'clustered', limit: 20, direction: 'below' },
    { name: 'spread churn', metric: 'spread', limit: 100, direction: 'below' },
    { name: 'no change', metric: 'quiet', limit: 1, direction: 'below' },
  ],
  async run(context) {
    const steady = new SteadyFleet(context.params.machines);
    const fleet = new EngineFleet(Math.ceil(context.params.machines * 1.05));
    context.progress('loading machines');
    for (const machine of steady.machines()) fleet.insert(machine);
    context.progress('loading roll-ups');
    let clusterNumber = 0;
    for (const { clusterId, rows } of steady.rollups()) {
      fleet.nowMs += clusterNumber++ % 40 === 0 ? 1 : 0;
      fleet.rollUp(clusterId, rows);
    }
    const rankStart = performance.now();
    fleet.inventory.ensureRanks();
    context.sample('id ranks at load', 'ms', performance.now() - rankStart);
    context.sample('needs', 'needs', fleet.needs.count);

    const full = await context.time(
      'full',
      'ms',
      () => {
        const engine = fleet.freshEngine();
        const cost = fleet.decide(engine, true);
        for (const [phase, ms] of fleet.phaseMs) context.sample(`full: ${phase}`, 'ms', ms);
        context.check(cost.changedMachines === context.params.machines, 'every machine was looked at');
        engine.close();
      },
      { samples: 3, warmups: 1 },
    );
    context.sample('full per need', 'µs', (full.median * 1_000) / fleet.needs.count);

    fleet.decide();
    context.sample('unmet needs at rest', 'needs', fleet.decide().unmetNeeds);
    await context.time('quiet', 'ms', () => fleet.decide(), { samples: 30, warmups: 3 });

    const churn = new FleetChurn(steady);
    let evaluated = 0;
    await context.time('clustered', 'ms', () => {
      evaluated = fleet.decide().evaluatedNeeds;
    }, {
      samples: 15,
      before: () => {
        fleet.nowMs += 10_000;
        const changed = churn.churnClusters(0.01, 0.05, 0.05);
        for (const machine of changed.machines) fleet.apply(machine);
        for (const { clusterId, rows } of changed.rollups) fleet.rollUp(clusterId, rows);
      },
    });
    for (const [phase, ms] of fleet.phaseMs) context.sample(`clustered: ${phase}`, 'ms', ms);
    context.check(evaluated > 0, 'needs were credited again');

    await context.time('spread', 'ms', () => {
      evaluated = fleet.decide().evaluatedNeeds;
    }, {
      samples: 15,
      before: () => {
        fleet.nowMs += 10_000;
        for (const machine of churn.churnMachines(0.01)) fleet.apply(machine);
        for (const { clusterId, rows } of churn.churnRollups(0.01, 0.05)) fleet.rollUp(clusterId, rows);
      },
    });
    for (const [phase, ms] of fleet.phaseMs) context.sample(`spread: ${phase}`, 'ms', ms);
    context.sample('spread: needs credited again', 'needs', evaluated);
    context.check(evaluated > 0, 'needs were credited again');
  },
};
