/** Phase 3: reclaims unclaimed machines (R1) and releases Idle ones (R3). The rails apply R2's cap after the decision. */
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { MachineState } from '../../src/machine/state.ts';
import { compareBytes, firstDifference } from './bytes.ts';
import { isPastGate, withdrawal } from './preempt.ts';
import { byId, type Cycle, compareKeep, inState, isKept, isOrphan } from './view.ts';
import type { World, WorldMachine } from './world.ts';

/** X3: actions that wait although no need is credited their machines are withdrawn, by id. */
export function withdraw(cycle: Cycle): void {
  const withdrawn = new Set(cycle.actions.map((action) => action.machine));
  const unclaimed = inState(cycle.world, MachineState.Creating)
    .filter((machine) => machine.waiting && !withdrawn.has(machine.id))
    .filter((machine) => !cycle.claims.has(machine.id) || isOrphan(machine, cycle.needs))
    .sort(byId);
  for (const machine of unclaimed) cycle.actions.push(withdrawal(machine, null));
}

/**
 * R1: "Every Configured machine that phase 1 did not claim and phase 2 did not take, of a cluster past N6, is a Reclaim,
 * grace 10 min, emitted by cluster id, then in keep order; machines in back-off (X12) are left out before any cap."
 * C1: a woken cycle "emits no Reclaim".
 */
export function reclaim(cycle: Cycle): void {
  if (!cycle.world.ordinary) return;
  const preempted = new Set(cycle.actions.map((action) => action.machine));
  const excess = inState(cycle.world, MachineState.Configured)
    .filter((machine) => !cycle.claims.has(machine.id) && !preempted.has(machine.id))
    .filter((machine) => isPastGate(cycle.world, machine) && !isKept(machine, 'reclaim'))
    .sort((left, right) =>
      firstDifference(
        compareBytes(left.assignment!.cluster, right.assignment!.cluster),
        compareKeep(left, right),
      ),
    );
  for (const machine of excess) {
    cycle.actions.push({
      kind: 'Reclaim',
      machine: machine.id,
      cluster: machine.assignment!.cluster,
      forCluster: '',
      fingerprint: '',
      group: '',
      reason: 'phase3.excess',
      graceSeconds: 600,
      isClaimedVictim: false,
      isGangVictim: false,
    });
  }
}

/**
 * R3: "a machine that has been Idle for longer than its hold, and is unclaimed in this cycle, is a Delete: on-demand […],
 * spot […]; bare metal, reserved and unspecified never. […] N6 does not apply. Emitted by id."
 * READING: X12's "not acted on again" excludes machines in back-off here too.
 */
export function release(cycle: Cycle): void {
  const { world } = cycle;
  const overdue = inState(world, MachineState.Idle)
    .filter((machine) => !cycle.claims.has(machine.id))
    .filter((machine) =>
      machine.releasing === true
        ? !isKept({ ...machine, cordoned: false, releasing: false }, 'release')
        : !isKept(machine, 'release') && world.nowMs - machine.stateSinceMs > holdMsOf(world, machine),
    )
    .sort(byId);
  for (const machine of overdue) {
    cycle.actions.push({
      kind: 'Delete',
      machine: machine.id,
      cluster: '',
      forCluster: '',
      fingerprint: '',
      group: '',
      reason: 'phase3.release',
      graceSeconds: 0,
      isClaimedVictim: false,
      isGangVictim: false,
    });
  }
}

function holdMsOf(world: World, machine: WorldMachine): number {
  if (machine.capacityType === CapacityType.OnDemand) return world.holdOnDemandMs;
  return machine.capacityType === CapacityType.Spot ? world.holdSpotMs : Number.POSITIVE_INFINITY;
}
