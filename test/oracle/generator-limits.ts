/** T8, E7: random limits and ceilings, near what a cluster of a small world has, so that they bar some of what it wants. */
import type { Random } from '../../src/base/random.ts';
import { GIBIBYTE_UNITS } from './generator-needs.ts';
import type { Amounts, World, WorldCluster } from './world.ts';

const NONE = Number.POSITIVE_INFINITY;

/** Gives the cluster limits; sometimes none. */
export function randomLimits(cluster: WorldCluster, random: Random): void {
  delete cluster.limits;
  if (random.chance(0.3)) return;
  cluster.limits = {
    maxPriority: random.chance(0.4) ? random.pick([-5, 10, 500, 1_000, 700_000]) : NONE,
    maxMachines: random.chance(0.5) ? random.pick([0, 1, 2, 3, 5, 8, 12]) : NONE,
    maxResources: random.chance(0.3) ? randomResources(random) : {},
    maxDollarsPerHour: random.chance(0.3) ? random.pick([0, 0.5, 2, 3.5, 6, 12]) : NONE,
    maxOfferingShare: random.chance(0.3) ? random.pick([0.1, 0.34, 0.5, 0.75]) : NONE,
    minNonSpotShare: random.chance(0.4) ? random.pick([0.2, 0.34, 0.5, 1]) : 0,
  };
}

/** Gives the fleet ceilings, near what a small world costs; sometimes none. */
export function randomCeilings(world: World, random: Random): void {
  delete world.ceilings;
  if (random.chance(0.4)) return;
  const some = (chance: number, values: readonly number[]) =>
    random.chance(chance) ? random.pick(values) : NONE;
  world.ceilings = {
    maxDollarsPerHour: some(0.4, [0, 2, 5, 10, 20, 30, 45]),
    maxByCapacityType: [
      NONE,
      some(0.2, [0, 3]),
      some(0.2, [0, 3]),
      some(0.6, [0, 3, 8, 15]),
      some(0.6, [0, 2, 6]),
    ],
  };
}

function randomResources(random: Random): Amounts {
  const most: Amounts = {};
  if (random.chance(0.7)) most.cpu = random.pick([0, 4, 9, 20, 40]) * 1_000;
  if (random.chance(0.4)) most.memory = random.pick([8, 32, 64]) * GIBIBYTE_UNITS;
  if (random.chance(0.3)) most['nvidia.com/gpu'] = random.pick([0, 2, 4]) * 1_000;
  if (random.chance(0.1)) most['example.com/unknown'] = 1_000;
  return most;
}
