// Question: what does a cycle cost in which 100 needs of high priority arrive, when all of 500,000 machines serve needs of
// lower priority and none is unassigned? The fleet is settled and the engine warm; roll-ups are built and accepted untimed,
// and only `decide` is timed. Actions for a burst are not executed until the last part, so every burst meets the same fleet.
// One more burst comes after some minutes of ordinary churn: past churn must not make a decision slower.

import { ActionKind } from '../../src/decision/actions.ts';
import { MachineState } from '../../src/machine/state.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { ClosedLoop } from '../catalogue/closed-loop.ts';
import { CYCLE_MS } from '../catalogue/engine-fleet.ts';
import type { BenchContext, Scenario } from '../harness.ts';
import { checkSettled, NEEDS, TypedFleet, timeCycle, timeQuietCycles } from './cycle-steady.ts';

const BURST_NEEDS = 100;
const BURST_CLUSTERS = 10;
/** Machines that each need of the burst asks for; fewer in a small fleet. */
const MACHINES_WANTED_MAX = 20;
const PRIORITY_LOWEST = 1_000_000;
const BURSTS = 12;
const WARMUPS = 3;
const CHURN_CYCLES = 40;
const MACHINES_CHANGED_MAX = 1_000;
/** Cycles in which the fleet must settle without further changes. */
const REST_CYCLES_MAX = 10;

/** The burst's needs for one cluster: ten priorities, all types, each need in a group of its own. */
function burstRows(fleet: TypedFleet, cluster: number, machines: number): RollupRow[] {
  return Array.from({ length: BURST_NEEDS / BURST_CLUSTERS }, (_, place) => {
    const need = cluster + place * BURST_CLUSTERS;
    const priority = PRIORITY_LOWEST + place * 10_000;
    return { ...fleet.row(place % fleet.typeCount, priority, machines, need), group: `urgent-${need}` };
  });
}

interface Burst {
  readonly name: string;
  /** Sends the burst's roll-ups; 0 machines withdraw it. */
  send(fleet: TypedFleet, machines: number): void;
  check(context: BenchContext, fleet: TypedFleet, machines: number, unmetNeeds: number): void;
}

/** Clusters without machines: every need of the burst lacks machines, and the engine must preempt those of others. */
const NEWCOMERS: Burst = {
  name: 'burst',
  send(fleet, machines) {
    for (let cluster = 0; cluster < BURST_CLUSTERS; cluster++) {
      fleet.rollUp(`urgent-${cluster}`, machines === 0 ? [] : burstRows(fleet, cluster, machines));
    }
  },
  check(context, fleet, machines, unmetNeeds) {
    context.check(unmetNeeds === BURST_NEEDS, 'only the burst has a deficit');
    checkVictims(context, fleet, BURST_NEEDS * machines);
  },
};

/** Clusters with machines: credit gives them to the burst, and the needs that lose them look for others. */
const RESIDENTS: Burst = {
  name: 'burst in old clusters',
  send(fleet, machines) {
    for (let cluster = 0; cluster < Math.min(BURST_CLUSTERS, fleet.clusterCount); cluster++) {
      fleet.ask(cluster, undefined, machines === 0 ? [] : burstRows(fleet, cluster, machines));
    }
  },
  check(context, fleet, _machines, unmetNeeds) {
    const { priority, count } = fleet.engine.actions;
    context.check(unmetNeeds > 0, 'the deficit passes to other needs');
    context.check(
      priority.subarray(0, count).every((one) => one < PRIORITY_LOWEST),
      'the burst has its machines',
    );
  },
};

const NEWCOMERS_LATER: Burst = { ...NEWCOMERS, name: 'burst after churn' };
const BURST_KINDS = 3;

/** Machines fail, heal and change their price, and every action is executed; then the fleet settles. */
function churn(context: BenchContext, fleet: TypedFleet): void {
  context.progress(`${CHURN_CYCLES} cycles of churn`);
  const loop = new ClosedLoop(fleet);
  const slots = fleet.inventory.slotsById.slice();
  let actions = 0;
  let done = 0;
  for (
    let cycle = 0;
    cycle < CHURN_CYCLES + REST_CYCLES_MAX && (cycle < CHURN_CYCLES || actions > 0);
    cycle++
  ) {
    fleet.nowMs += CYCLE_MS;
    done += loop.execute();
    loop.heal();
    if (cycle < CHURN_CYCLES)
      loop.change(slots, Math.min(MACHINES_CHANGED_MAX, Math.ceil(slots.length / 50)));
    const { unmetNeeds } = fleet.decide();
    actions = fleet.engine.actions.count + unmetNeeds;
  }
  context.check(done > 0, 'churn caused actions');
  context.check(actions === 0, 'the fleet settles when nothing changes');
}

/** Withdraws the burst; none of its actions was executed, so the fleet is unchanged. */
function withdraw(context: BenchContext, fleet: TypedFleet, burst: Burst): void {
  burst.send(fleet, 0);
  checkSettled(context, fleet, 'without the burst there are no actions');
}

/** Repeats the burst for a part of the scenario's time. */
function timeBursts(context: BenchContext, burst: Burst, fleet: TypedFleet, machines: number): void {
  context.progress(`${burst.name}: up to ${BURSTS} times`);
  const deadline = performance.now() + (context.params.seconds * 1_000) / BURST_KINDS;
  for (let number = -WARMUPS; number < BURSTS && (number < 3 || performance.now() < deadline); number++) {
    burst.send(fleet, machines);
    if (number < 0) fleet.decide();
    else timeBurst(context, burst, fleet, machines);
    withdraw(context, fleet, burst);
  }
}

function timeBurst(context: BenchContext, burst: Burst, fleet: TypedFleet, machines: number): void {
  context.gc();
  const { ms, unmetNeeds, changedMachines, changedClusters } = timeCycle(context, burst.name, fleet);
  context.sample(`${burst.name}: per need of it`, 'us', (ms * 1_000) / BURST_NEEDS);
  context.sample(`${burst.name}: needs with a deficit`, 'needs', unmetNeeds);
  context.check(changedMachines === 0 && changedClusters === BURST_CLUSTERS, 'only demand has changed');
  burst.check(context, fleet, machines, unmetNeeds);
}

/** Checks the number of victims, each once, each Configured for a need of lower priority. */
function checkVictims(context: BenchContext, fleet: TypedFleet, count: number): void {
  const { actions } = fleet.engine;
  const { state, priority } = fleet.inventory.columns;
  context.check(actions.count === count, `there are ${count} victims (${actions.count})`);
  const victims = new Set<number>();
  for (let index = 0; index < actions.count; index++) {
    const slot = actions.slot[index]!;
    victims.add(slot);
    context.check(
      actions.kind[index] === ActionKind.Preempt,
      'no machine is unassigned, so every action preempts',
    );
    context.check(state[slot] === MachineState.Configured, 'a victim is Configured');
    context.check(priority[slot]! < actions.priority[index]!, 'a victim has a lower priority');
  }
  context.check(victims.size === count, 'no machine is a victim twice');
}

/** P6: draining victims count as draining credit for the needs that preempted them. */
function drainVictims(fleet: TypedFleet): number[] {
  const { engine, inventory, nowMs } = fleet;
  const { actions } = engine;
  const slots: number[] = [];
  for (let index = 0; index < actions.count; index++) {
    const slot = actions.slot[index]!;
    inventory.move(slot, MachineState.Draining, nowMs);
    engine.preemptionBegan(
      slot,
      actions.forCluster[index]!,
      actions.fingerprint[index]!,
      actions.group[index]!,
    );
    slots.push(slot);
  }
  return slots;
}

/** Follows the burst to its end: its victims drain, become Idle, and are bound. */
function timeAftermath(context: BenchContext, fleet: TypedFleet, wanted: number): void {
  const victims = drainVictims(fleet);
  const draining = timeCycle(context, 'victims drain', fleet);
  context.check(draining.changedMachines === wanted, 'the victims drain');
  context.sample('victims drain: needs with a deficit', 'needs', draining.unmetNeeds);
  const { actions } = fleet.engine;
  for (let index = 0; index < actions.count; index++) {
    context.check(actions.priority[index]! < PRIORITY_LOWEST, 'no second victim is taken for the burst');
  }
  for (const slot of victims) fleet.inventory.move(slot, MachineState.Idle, fleet.nowMs);
  timeCycle(context, 'victims are Idle', fleet);
  let bound = 0;
  for (let index = 0; index < actions.count; index++) {
    if (actions.kind[index] === ActionKind.Bootstrap && actions.priority[index]! >= PRIORITY_LOWEST) bound++;
  }
  context.check(bound === wanted, 'the burst gets the machines that drained for it');
}

export const scenario: Scenario = {
  name: 'phase2-burst',
  question: 'What does the cycle cost in which 100 important needs meet a fleet without a free machine?',
  defaults: { machines: 500_000, needs: NEEDS, seconds: 40 },
  targets: [
    { name: 'the cycle of the burst', metric: 'burst', limit: 60, direction: 'below' },
    { name: 'the same after churn', metric: 'burst after churn', limit: 60, direction: 'below' },
  ],
  async run(context) {
    const { machines, needs } = context.params;
    const machinesPerNeed = Math.floor(machines / needs);
    const fleet = new TypedFleet({
      machines: machinesPerNeed * needs,
      needs,
      machinesPerNeed,
      isBound: true,
    });
    const wantedEach = Math.min(MACHINES_WANTED_MAX, Math.floor(machines / 10 / BURST_NEEDS));
    const wanted = BURST_NEEDS * wantedEach;
    context.check(wanted > 0, 'the fleet is large enough for the burst');
    fleet.inventory.ensureRanks();
    fleet.decide();
    context.check(fleet.engine.actions.count === 0, 'every need has its machines');
    timeQuietCycles(context, 'nothing changed', fleet);

    timeBursts(context, NEWCOMERS, fleet, wantedEach);
    NEWCOMERS.send(fleet, wantedEach);
    fleet.decide();
    timeQuietCycles(context, 'burst still waits', fleet, wanted);
    withdraw(context, fleet, NEWCOMERS);
    timeBursts(context, RESIDENTS, fleet, wantedEach);
    churn(context, fleet);
    timeBursts(context, NEWCOMERS_LATER, fleet, wantedEach);
    NEWCOMERS.send(fleet, wantedEach);
    fleet.decide();
    timeAftermath(context, fleet, wanted);
    context.sample('victims', 'machines', wanted);
  },
};
