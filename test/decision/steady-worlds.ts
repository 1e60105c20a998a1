/**
 * Worlds whose demand can be met and then stays the same, and the disturbances around it: roll-ups repeated in another
 * order, prices, large machines that come and go, time.
 */
import type { Random } from '../../src/base/random.ts';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { MachineState } from '../../src/machine/state.ts';
import { randomWorld } from '../oracle/generator.ts';
import { type MachineType, randomMachine, randomMenu } from '../oracle/generator-machines.ts';
import { GIBIBYTE_UNITS } from '../oracle/generator-needs.ts';
import { Operator, type World, type WorldMachine, type WorldNeed } from '../oracle/world.ts';
import type { ClosedLoop } from './closed-loop.ts';

const S = MachineState;
const HUGE: MachineType = {
  name: 'huge',
  capacity: { cpu: 16_000, memory: 64 * GIBIBYTE_UNITS, 'nvidia.com/gpu': 8_000 },
};
const MACHINES_MAX = 200;

/** A random world with demand that a fleet can meet, and a fleet with some room; no machine is stuck or in back-off. */
export function steadyWorld(random: Random): World {
  const world = randomWorld(random);
  for (const cluster of world.clusters) cluster.needs = cluster.needs.filter(isMeetable);
  for (const machine of world.machines) machine.stuck = machine.backoff = false;
  // Half of the fleets begin unbound. The others have machines whose needs are gone or unknown.
  if (random.chance(0.5)) world.machines = world.machines.filter(({ assignment }) => assignment === null);
  const menu = randomMenu(random);
  // Small fleets have no room for all needs, so preemption must meet the demand.
  for (let left = random.between(5, 80); left > 0; left--) {
    world.machines.push(unassignedMachine(world, menu, `more-${left}`, random));
  }
  return world;
}

function isMeetable(need: WorldNeed): boolean {
  const { aggregate, minUnit, requirements } = need;
  need.backoff = false;
  return (
    (aggregate.cpu ?? 0) <= 20_000 &&
    aggregate['example.com/nowhere'] === undefined &&
    (minUnit.cpu ?? 0) <= 4_000 &&
    requirements.every(({ operator }) => operator !== Operator.Unspecified)
  );
}

function unassignedMachine(
  world: World,
  menu: readonly MachineType[],
  id: string,
  random: Random,
): WorldMachine {
  return {
    ...randomMachine(world, menu, id, random),
    state: random.chance(0.4) ? S.Idle : S.Speculative,
    intent: 'none',
    waiting: false,
    assignment: null,
    stuck: false,
    backoff: false,
    drainFor: null,
    foundDraining: false,
    stateSinceMs: world.nowMs,
  };
}

/** Something that happens now and then while demand is steady. */
export type Disturbance = (loop: ClosedLoop, world: World, random: Random) => void;

export const repeatRollups: Disturbance = (loop, _world, random) => {
  for (const cluster of loop.clusters) {
    if (!loop.hasReported(cluster) || !random.chance(0.3)) continue;
    if (loop.repeatRollup(cluster) !== 'unchanged')
      throw new Error(`the order of ${cluster.id}’s rows mattered`);
  }
};

export const movePrices: Disturbance = ({ inventory, nowMs }, _world, random) => {
  if (!random.chance(0.3)) return;
  for (const slot of [...inventory.slotsById]) {
    if (!random.chance(0.3)) continue;
    const pricePerHourUsd = random.pick([0.5, 1, 2, 3]);
    const interruptionProbability = random.pick([0, 0.1, 0.5]);
    inventory.apply(slot, { pricePerHourUsd, interruptionProbability }, nowMs);
  }
};

/** Large machines appear, Idle or Speculative; unassigned ones of any size vanish. */
export const shiftSupply: Disturbance = (loop, world, random) => {
  if (random.chance(0.25)) {
    for (let left = random.between(1, 3); left > 0 && loop.inventory.count < MACHINES_MAX; left--) {
      const id = `huge-${random.uint32()}`;
      const machine = unassignedMachine({ ...world, nowMs: loop.nowMs }, [HUGE], id, random);
      loop.add({ ...machine, capacityType: random.pick([CapacityType.BareMetal, CapacityType.Spot]) });
    }
  }
  if (!random.chance(0.2)) return;
  for (const slot of loop.unassignedSlots()) if (random.chance(0.3)) loop.inventory.remove(slot);
};

export const skipTime: Disturbance = (loop, _world, random) => {
  if (random.chance(0.1)) loop.nowMs += 600_001;
};
