// Question: what does a cycle cost while a large backlog is bound? 500,000 machines, of which 85 % are bound and 15 % are
// Idle or offered and mostly wanted, as `flotilla up --machines 500000 --clusters 2000` begins: 256 actions end in each
// cycle and as many begin, 1 % of the demand changes every ten seconds, one machine type has a burst of high priority,
// some clusters shrink, and spot prices move. Seed 1; the fleet is built untimed, and only `decide` is timed.
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { MachineState } from '../../src/machine/state.ts';
import { SteadyFleet } from '../../src/simulation/catalogue/fleet.ts';
import { timeLiveCycles } from '../catalogue/live-cycles.ts';
import { LiveFleet } from '../catalogue/live-fleet.ts';
import { QueuedLoop } from '../catalogue/queued-loop.ts';
import type { BenchContext, Scenario } from '../harness.ts';

const CONFIGURED_SHARE = 0.85;
const IDLE_SHARE = 0.05;
const CHURN_SHARE = 0.01;
/** Actions at a time, the shard's default, in a fleet of 500,000 machines; in proportion in another. */
const CONCURRENCY_SHARE = 256 / 500_000;
const WARMUPS = 10;
/** 256 bindings in each: 41,000 of the 60,000 that the backlog has, so that it lasts to the end. */
const CYCLES = 150;
/** The demonstration's interval is five seconds. */
const ORDINARY_EVERY = 50;
/** Share of the clusters that lose half of their needs. */
const SHRINK_SHARE = 0.05;
/** Share of the machines of one type that a burst asks for, in needs of up to so many machines. */
const BURST_SHARE = 0.06;
const BURST_MACHINES = 10;
const BURST_TYPE = 'cpu-service-16';
/** Spot prices move four times an hour, and a listing brings those of five seconds. */
const SPOT_PRICES_MOVED_SHARE = (4 * 5) / 3_600;

function burst(fleet: LiveFleet, type: number): void {
  let machinesLeft = 0;
  for (const { wantedByType } of fleet.clusters) machinesLeft += wantedByType[type]! * BURST_SHARE;
  for (const demand of fleet.random.shuffle([...fleet.clusters])) {
    if (machinesLeft < 1) return;
    demand.beginBurst(type, BURST_MACHINES);
    machinesLeft -= BURST_MACHINES;
  }
}

function moveSpotPrices(fleet: LiveFleet, spotSlots: Uint32Array, listPrices: Float64Array): void {
  const count = Math.round(spotSlots.length * SPOT_PRICES_MOVED_SHARE);
  for (let moved = 0; moved < count; moved++) {
    const at = fleet.random.below(spotSlots.length);
    const pricePerHourUsd = listPrices[at]! * (0.8 + fleet.random.unit() * 0.4);
    fleet.inventory.apply(spotSlots[at]!, { pricePerHourUsd }, fleet.nowMs);
  }
}

function load(context: BenchContext): { fleet: LiveFleet; spotSlots: Uint32Array } {
  const { machines } = context.params;
  context.progress('building the fleet');
  const steady = new SteadyFleet(machines, 1, {
    configuredShare: CONFIGURED_SHARE,
    idleShareOfUnbound: IDLE_SHARE / (1 - CONFIGURED_SHARE),
  });
  const fleet = new LiveFleet(machines, steady.demand, CHURN_SHARE);
  const spotSlots: number[] = [];
  for (const machine of steady.machines()) {
    fleet.insert(machine);
    if (machine.capacityType === CapacityType.Spot) spotSlots.push(fleet.inventory.find(machine.id));
  }
  fleet.reportAll();
  fleet.inventory.ensureRanks();
  return { fleet, spotSlots: Uint32Array.from(spotSlots) };
}

export const scenario: Scenario = {
  name: 'cycle-backlog',
  question: 'What does a cycle cost while 15 % of a fleet are to be bound, 256 actions at a time?',
  defaults: { machines: 500_000, seconds: 60 },
  targets: [
    { name: 'cycle with a backlog', metric: 'backlog', limit: 20, direction: 'below' },
    { name: 'its tail', metric: 'backlog', statistic: 'p99', limit: 60, direction: 'below' },
  ],
  async run(context) {
    const { fleet, spotSlots } = load(context);
    const { inventory } = fleet;
    const listPrices = Float64Array.from(spotSlots, (slot) => inventory.columns.pricePerHourUsd[slot]!);
    const loop = new QueuedLoop(fleet, Math.ceil(context.params.machines * CONCURRENCY_SHARE), 1);
    context.progress('the first cycle');
    const first = performance.now();
    const { unmetNeeds } = fleet.decide();
    context.sample('first cycle', 'ms', performance.now() - first);
    context.sample('first cycle: needs with a deficit', 'needs', unmetNeeds);
    context.sample('first cycle: actions decided', 'actions', fleet.engine.actions.count);
    loop.offer();

    burst(
      fleet,
      fleet.types.findIndex(({ name }) => name === BURST_TYPE),
    );
    for (const demand of fleet.clusters) demand.shrink(fleet.random.chance(SHRINK_SHARE));
    timeLiveCycles(context, fleet, loop, {
      name: 'backlog',
      warmups: WARMUPS,
      cycles: CYCLES,
      ordinaryEvery: ORDINARY_EVERY,
      changeMachines: () => {
        if (fleet.step % ORDINARY_EVERY === 0) moveSpotPrices(fleet, spotSlots, listPrices);
      },
    });
    context.sample(
      'bound at the end',
      '%',
      (100 * inventory.indexes.countInState(MachineState.Configured)) / inventory.count,
    );
    context.check(loop.boundCount > 0 && loop.queuedCount > 0, 'machines were bound, and a backlog is left');
  },
};
