// Question: what does a cycle cost when 1,000 of 500,000 machines changed and 10 of 50 clusters sent a changed roll-up?
// And does that depend on the size of the fleet? Seed 1. Every action of a cycle is done before the next cycle
// (closed-loop.ts), untimed; only `decide` is timed.
//
// The second answer is a ratio of medians. One process measures three fleets with the same churn in turn, so that other
// load on the machine slows all of them: the fleet itself; half the machines in half the clusters; and half the machines
// in the same clusters, with half as many per need. Clusters have the same number of needs in all three, so that a
// changed roll-up is the same amount of change.
import { ChurningFleet } from '../catalogue/churning-fleet.ts';
import type { BenchContext, Scenario } from '../harness.ts';
import { timeCycle, timeQuietCycles } from './cycle-steady.ts';

const WARMUPS = 6;
const CYCLES = 30;
const PART_CYCLES = 10;
const LARGE_NEED_CYCLES = 4;
/** 48,500 needs in 50 clusters. */
const NEEDS_PER_CLUSTER = 970;
/** Needs of a thousand machines instead of ten: each change makes the engine scan the whole need. */
const LARGE_NEED_FACTOR = 100;

function timeDelta(context: BenchContext, name: string, churning: ChurningFleet): void {
  const { fleet, machinesChanged } = churning;
  context.gc();
  const { changedMachines, changedClusters, evaluatedNeeds, unmetNeeds, ms } = timeCycle(
    context,
    name,
    fleet,
  );
  context.sample(`${name}: needs walked`, 'needs', evaluatedNeeds);
  context.sample(`${name}: per need walked`, 'us', (ms * 1_000) / Math.max(1, evaluatedNeeds));
  context.sample(`${name}: needs with a deficit`, 'needs', unmetNeeds);
  context.sample(`${name}: actions`, 'actions', fleet.engine.actions.count);
  context.check(changedMachines + changedClusters > 0, `${name}: something changed`);
  context.check(changedMachines <= machinesChanged * 2, `${name}: one cycle decides little`);
  context.check(
    evaluatedNeeds > 0 && fleet.engine.actions.count > 0,
    `${name}: the cycle evaluated needs and decided actions`,
  );
}

/** Without further changes the fleet settles. */
function rest(context: BenchContext, churning: ChurningFleet): void {
  let actions = -1;
  for (let cycle = 0; cycle < 10 && actions !== 0; cycle++) {
    churning.settle();
    churning.decide();
    actions = churning.fleet.engine.actions.count;
  }
  context.check(actions === 0, 'the fleet settles when nothing changes');
  context.check(churning.fleet.engine.shortfalls.length === 0, 'no need has a shortfall');
}

export const scenario: Scenario = {
  name: 'cycle-delta',
  question:
    'What do 1,000 changed machines and 10 changed roll-ups cost, and does the size of the fleet matter?',
  defaults: { machines: 500_000, needs: 48_500, seconds: 60 },
  targets: [
    { name: 'delta cycle', metric: 'delta', limit: 25, direction: 'below' },
    {
      name: 'twice the machines in twice the clusters',
      ratio: 'delta ÷ half the clusters',
      limit: 1.25,
      direction: 'below',
    },
    {
      name: 'twice the machines in each cluster',
      ratio: 'delta ÷ half of each cluster',
      limit: 1.25,
      direction: 'below',
    },
  ],
  growth: {
    metrics: ['delta', 'nothing changed'],
    note:
      'Clusters of 10,000 machines with 970 needs, more of them in a larger fleet; 1,000 machines change and 10 roll-ups, ' +
      'below 50,000 machines 2 % of the machines and as many roll-ups as there are clusters.',
  },
  async run(context) {
    const { machines, needs, seconds } = context.params;
    const clusters = 2 * Math.max(1, Math.round(needs / NEEDS_PER_CLUSTER / 2));
    const half = Math.floor(machines / 2);
    context.progress('loading three fleets');
    const whole = new ChurningFleet(machines, clusters, needs);
    const fleets = [
      ['delta', whole],
      ['half the clusters', new ChurningFleet(half, clusters / 2, needs / 2)],
      ['half of each cluster', new ChurningFleet(half, clusters, needs)],
    ] as const;
    const deadline = performance.now() + seconds * 1_000;
    context.progress(`up to ${CYCLES} cycles of each`);
    for (let cycle = -WARMUPS; cycle < CYCLES && (cycle < 3 || performance.now() < deadline); cycle++) {
      for (const [name, churning] of fleets) {
        churning.changeMachines();
        churning.changeRollups();
        if (cycle < 0) churning.decide();
        else {
          const isExact = churning.fleet.inventory.changes.count === churning.machinesChanged;
          context.check(isExact, `${name}: exactly the planned machines changed`);
          timeDelta(context, name, churning);
        }
      }
    }
    for (const other of ['half the clusters', 'half of each cluster']) {
      context.ratio(`delta ÷ ${other}`, 'delta', other);
      context.ratio(`delta ÷ ${other}, by CPU time`, 'delta: cpu', `${other}: cpu`);
    }

    for (let cycle = 0; cycle < PART_CYCLES; cycle++) {
      whole.changeMachines();
      timeDelta(context, 'machines alone', whole);
    }
    for (let cycle = 0; cycle < PART_CYCLES; cycle++) {
      rest(context, whole);
      whole.changeRollups();
      timeDelta(context, 'roll-ups alone', whole);
    }
    for (const [, churning] of fleets) rest(context, churning);
    timeQuietCycles(context, 'nothing changed', whole.fleet);

    const fewNeeds = Math.floor(needs / LARGE_NEED_FACTOR);
    if (fewNeeds < clusters) return;
    context.progress('a fleet of few, large needs');
    const large = new ChurningFleet(machines, clusters, fewNeeds);
    for (let cycle = -1; cycle < LARGE_NEED_CYCLES; cycle++) {
      large.changeMachines();
      if (cycle < 0) large.decide();
      else timeDelta(context, 'machines alone, large needs', large);
    }
  },
};
