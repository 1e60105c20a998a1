// Question: what does a cycle cost in which every cluster withdraws half of its demand, when 500,000 machines serve it?
// The fleet is settled and the engine warm; roll-ups are built and accepted untimed, and only `decide` is timed. Two ways
// to halve: every second need is withdrawn, or every need asks for half. The blast-radius cap comes after the decision, so
// a cycle emits every reclaim, also those beyond the cap: their cost is measured, too.
import { ActionKind } from '../../src/decision/actions.ts';
import { MachineState } from '../../src/machine/state.ts';
import type { BenchContext, Scenario } from '../harness.ts';
import { checkSettled, NEEDS, TypedFleet, timeCycle, timeQuietCycles } from './cycle-steady.ts';

const SHRINKS = 6;
const WARMUPS = 2;
const CAPPED_CYCLES = 5;
/** R2: a cycle reclaims at most this fraction of a cluster. This is the default. */
const CAP_FRACTION = 0.05;

function ask(fleet: TypedFleet, wanted?: (need: number) => number): void {
  for (let cluster = 0; cluster < fleet.clusterCount; cluster++) fleet.ask(cluster, wanted);
}

/** Restores the demand; no machine was reclaimed, so the fleet is unchanged. */
function restore(context: BenchContext, fleet: TypedFleet): void {
  ask(fleet);
  checkSettled(context, fleet, 'with its demand restored the fleet needs no action');
}

function timeShrink(context: BenchContext, name: string, fleet: TypedFleet, surplus: number): void {
  context.gc();
  const { ms, changedClusters, changedMachines } = timeCycle(context, name, fleet);
  context.check(
    changedClusters === fleet.clusterCount && changedMachines === 0,
    'every roll-up changed, and no machine',
  );
  context.sample(`${name}: per reclaim`, 'us', (ms * 1_000) / surplus);
  context.sample(`${name}: per cluster`, 'ms', ms / fleet.clusterCount);
  context.sample(`${name}: per need`, 'us', (ms * 1_000) / fleet.needs.count);
  checkReclaims(context, fleet, surplus);
}

/** Checks the number of reclaims: at most one per machine, cluster by cluster. */
function checkReclaims(context: BenchContext, fleet: TypedFleet, count: number): void {
  const { actions } = fleet.engine;
  context.check(actions.count === count, `there are ${count} reclaims (${actions.count})`);
  const reclaimed = new Set<number>();
  let clusterChanges = 0;
  for (let index = 0; index < count; index++) {
    context.check(actions.kind[index] === ActionKind.Reclaim, 'every action reclaims an unclaimed machine');
    reclaimed.add(actions.slot[index]!);
    if (index > 0 && actions.cluster[index] !== actions.cluster[index - 1]) clusterChanges++;
  }
  context.check(reclaimed.size === count, 'no machine is reclaimed twice');
  context.check(clusterChanges === fleet.clusterCount - 1, 'reclaims are ordered by cluster');
}

/** Executes as many reclaims as R2 allows: in each cluster the first ones become Idle. Returns how many. */
function reclaimCapped(fleet: TypedFleet, configuredMachines: number): number {
  const { engine, inventory, nowMs } = fleet;
  const { actions } = engine;
  const allowed = Math.max(1, Math.floor((CAP_FRACTION * configuredMachines) / fleet.clusterCount));
  let done = 0;
  let inCluster = 0;
  for (let index = 0; index < actions.count; index++) {
    inCluster = index > 0 && actions.cluster[index] === actions.cluster[index - 1] ? inCluster + 1 : 1;
    if (inCluster > allowed) continue;
    inventory.move(actions.slot[index]!, MachineState.Idle, nowMs, true);
    done++;
  }
  return done;
}

export const scenario: Scenario = {
  name: 'phase3-shrink',
  question: 'What does the cycle cost in which every cluster withdraws half of its demand?',
  defaults: { machines: 500_000, needs: NEEDS, seconds: 40 },
  targets: [],
  async run(context) {
    const { machines, needs, seconds } = context.params;
    const machinesPerNeed = Math.floor(machines / needs);
    const fleet = new TypedFleet({
      machines: machinesPerNeed * needs,
      needs,
      machinesPerNeed,
      isBound: true,
    });
    fleet.inventory.ensureRanks();
    fleet.decide();
    context.check(fleet.engine.actions.count === 0, 'every need has its machines');
    timeQuietCycles(context, 'nothing changed', fleet);

    const kept = Math.floor(machinesPerNeed / 2);
    const withdrawnNeeds = Math.floor(fleet.needsPerCluster / 2) * fleet.clusterCount;
    const ways = [
      [
        'every second need gone',
        (need: number) => (need % 2 === 0 ? machinesPerNeed : 0),
        withdrawnNeeds * machinesPerNeed,
      ],
      ['every need halved', () => kept, fleet.needCount * (machinesPerNeed - kept)],
    ] as const;
    context.check(kept > 0 && withdrawnNeeds > 0, 'there is something to halve');
    for (const [name, wanted, surplus] of ways) {
      context.progress(`${name}: up to ${SHRINKS} times`);
      const deadline = performance.now() + (seconds * 1_000) / ways.length;
      for (
        let shrink = -WARMUPS;
        shrink < SHRINKS && (shrink < 3 || performance.now() < deadline);
        shrink++
      ) {
        ask(fleet, wanted);
        if (shrink < 0) fleet.decide();
        else timeShrink(context, name, fleet, surplus);
        restore(context, fleet);
      }
      context.sample(`${name}: reclaims`, 'machines', surplus);
    }

    const [, wanted, surplus] = ways[0];
    ask(fleet, wanted);
    fleet.decide();
    timeQuietCycles(context, 'reclaims wait', fleet, surplus);
    let left = surplus;
    for (let cycle = 0; cycle < CAPPED_CYCLES && left > 0; cycle++) {
      left -= reclaimCapped(fleet, fleet.wantedMachines - surplus + left);
      context.gc();
      timeCycle(context, 'some reclaimed', fleet);
      checkReclaims(context, fleet, left);
    }
    context.sample('some reclaimed: reclaims left', 'machines', left);
  },
};
