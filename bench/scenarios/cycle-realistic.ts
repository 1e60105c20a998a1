// Question: what does a decision cost on a realistic fleet, from scratch and when 1 % of the fleet changed? Seed 1; fleet
// and roll-ups are built untimed; ids are ranked at load, as a shard does when it applies its first listing. Between
// two cycles every action is executed (closed-loop.ts), untimed; only `decide` is timed.

import { SteadyFleet } from '../../src/simulation/catalogue/fleet.ts';
import { FleetChurn } from '../catalogue/churn.ts';
import { ClosedLoop } from '../catalogue/closed-loop.ts';
import { EngineFleet } from '../catalogue/engine-fleet.ts';
import type { BenchContext, Scenario } from '../harness.ts';

const CYCLES = 12;
/** Cycles with the same churn before the first sample: the fleet settles, and code is compiled. */
const WARMUPS = 4;

async function timeCycles(
  context: BenchContext,
  fleet: EngineFleet,
  name: string,
  churn: () => void,
): Promise<void> {
  let evaluated = 0;
  let changed = 0;
  let unmet = 0;
  const loop = (): void => {
    ({ evaluatedNeeds: evaluated, changedMachines: changed, unmetNeeds: unmet } = fleet.decide());
  };
  await context.time(name, 'ms', loop, { samples: CYCLES, warmups: WARMUPS, before: churn });
  for (const [phase, ms] of fleet.phaseMs) context.sample(`${name}: ${phase}`, 'ms', ms);
  context.sample(`${name}: machines changed`, 'machines', changed);
  context.sample(`${name}: needs walked`, 'needs', evaluated);
  context.sample(`${name}: needs with a deficit`, 'needs', unmet);
  context.check(evaluated > 0 && changed > 0, `${name}: the cycle evaluated changed needs`);
}

export const scenario: Scenario = {
  name: 'cycle-realistic',
  question: 'What does a cycle cost on a realistic fleet: everything, 1 % clustered, 1 % spread, nothing?',
  defaults: { machines: 500_000, seconds: 60 },
  targets: [
    { name: 'full evaluation', metric: 'full', limit: 1_000, direction: 'below' },
    { name: 'clustered churn', metric: 'clustered', limit: 20, direction: 'below' },
    { name: 'spread churn', metric: 'spread', limit: 100, direction: 'below' },
    { name: 'no change', metric: 'quiet', limit: 1, direction: 'below' },
  ],
  growth: {
    metrics: ['full', 'clustered', 'quiet'],
    note: 'Clusters of 250 machines; the demand and what changes (1 % of the clusters) grow with the fleet.',
  },
  async run(context) {
    const machineCount = context.params.machines;
    const steady = new SteadyFleet(machineCount);
    const fleet = new EngineFleet(Math.ceil(machineCount * 1.05));
    context.progress('loading machines');
    for (const machine of steady.machines()) fleet.insert(machine);
    context.progress('loading roll-ups');
    let clusterNumber = 0;
    for (const { clusterId, rows } of steady.rollups()) {
      fleet.nowMs += clusterNumber++ % 40 === 0 ? 1 : 0;
      fleet.rollUp(clusterId, rows);
    }
    const started = performance.now();
    fleet.inventory.ensureRanks();
    context.sample('id ranks at load', 'ms', performance.now() - started);
    context.sample('needs', 'needs', fleet.needs.count);

    let engine = fleet.newEngine();
    const full = await context.time(
      'full',
      'ms',
      () => {
        const { changedMachines } = fleet.decide(engine, true);
        context.check(changedMachines === machineCount, 'every machine was evaluated');
      },
      {
        samples: 3,
        warmups: 2,
        before: () => {
          engine.close();
          engine = fleet.newEngine();
          context.gc();
        },
      },
    );
    for (const [phase, ms] of fleet.phaseMs) context.sample(`full: ${phase}`, 'ms', ms);
    context.sample('full per need', 'µs', (full.median * 1_000) / fleet.needs.count);
    engine.close();

    fleet.decide();
    context.check(fleet.decide().unmetNeeds === 0, 'the fleet is steady: nothing is unmet at rest');
    await context.time('quiet', 'ms', () => fleet.decide(), { samples: 30, warmups: 3 });

    const loop = new ClosedLoop(fleet);
    const rollups = new FleetChurn(steady);
    const all = Uint32Array.from({ length: machineCount }, (_, row) =>
      fleet.inventory.find(steady.idAt(row)),
    );
    const next = (): void => {
      fleet.nowMs += 10_000;
      loop.execute();
      loop.heal();
    };
    await timeCycles(context, fleet, 'clustered', () => {
      next();
      const changed = rollups.churnRollups(0.01, 0.05);
      for (const { clusterId, rows } of changed) fleet.rollUp(clusterId, rows);
      const ids = new Set(changed.map(({ clusterId }) => clusterId));
      const isInside = (row: number) => ids.has(steady.clusterId(steady.cluster[row]!));
      const inside = all.filter((_, row) => isInside(row));
      loop.change(inside, Math.round(inside.length * 0.05));
    });
    await timeCycles(context, fleet, 'spread', () => {
      next();
      for (const { clusterId, rows } of rollups.churnRollups(0.01, 0.05)) fleet.rollUp(clusterId, rows);
      loop.change(all, Math.round(machineCount * 0.01));
    });
  },
};
