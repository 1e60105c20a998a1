/**
 * Random worlds for comparing two decisions. They are small and drawn from few distinct values, so that ties, shared
 * machines, folds, orphans and starvation are common. `step` (step.ts) turns them into histories.
 */

import type { Random } from '../../src/base/random.ts';
import { MachineState } from '../../src/machine/state.ts';
import { randomCeilings, randomLimits } from './generator-limits.ts';
import { MACHINES_MAX, randomMachine, randomMenu } from './generator-machines.ts';
import { addNeed, CLUSTER_IDS, NEEDS_MAX } from './generator-needs.ts';
import { fingerprintOf, sameKeysOf } from './profile.ts';
import { needKey, type World, type WorldCluster, type WorldNeed } from './world.ts';

export { step } from './step.ts';

const START_MS = 1_700_000_000_000;

export function randomWorld(random: Random): World {
  const world: World = {
    nowMs: START_MS,
    cycle: random.between(1, 500),
    ordinary: random.chance(0.8),
    machines: [],
    clusters: [],
    parking: new Map(),
    unmet: new Map(),
    holdOnDemandMs: 600_000,
    holdSpotMs: 60_000,
  };
  addClusters(world, random);
  addMachines(world, random);
  for (const cluster of world.clusters)
    for (const need of cluster.needs) addCounts(world, cluster, need, random);
  if (random.chance(0.4)) randomCeilings(world, random);
  return world;
}

function addClusters(world: World, random: Random): void {
  const clusterCount = random.chance(0.04) ? 0 : random.between(1, CLUSTER_IDS.length);
  const needCount = random.chance(0.06) ? 0 : random.between(1, NEEDS_MAX);
  for (const id of CLUSTER_IDS.slice(0, clusterCount)) {
    world.clusters.push({ id, hasSession: !random.chance(0.1), reported: !random.chance(0.12), needs: [] });
  }
  for (let count = 0; count < needCount; count++) addNeed(world, random);
  if (random.chance(0.4)) for (const cluster of world.clusters) randomLimits(cluster, random);
  for (const cluster of world.clusters) if (random.chance(0.06)) cluster.paused = true;
}

function addMachines(world: World, random: Random): void {
  const menu = randomMenu(random);
  const machineCount = random.chance(0.04) ? 0 : random.between(1, MACHINES_MAX);
  // `gpu-10` sorts before `gpu-2`: ids count from a random start, so that both kinds are common.
  const firstNumber = random.pick([1, 2, 8, 95]);
  for (let count = 0; count < machineCount; count++) {
    const id = `${random.pick(['gpu', 'cpu'])}-${firstNumber + count}`;
    world.machines.push(randomMachine(world, menu, id, random));
  }
  if (random.chance(0.3)) starve(world, random);
}

/** A fleet without unassigned machines: only preemption helps. */
function starve(world: World, random: Random): void {
  const { Idle, Speculative } = MachineState;
  world.machines = world.machines.filter(
    (machine) => (machine.state !== Idle && machine.state !== Speculative) || random.chance(0.1),
  );
}

/** Counts near the limits of A7: a gang is parked from 8 on and tried at multiples of 32. */
function addCounts(world: World, cluster: WorldCluster, need: WorldNeed, random: Random): void {
  const key = needKey(cluster.id, need.group, fingerprintOf(need));
  if (random.chance(0.5)) world.unmet.set(key, random.between(1, 40));
  if (sameKeysOf(need.requirements).length === 0 || !random.chance(0.5)) return;
  world.parking.set(key, random.pick([1, 6, 7, 8, 9, 31, 32, 33, 64]));
}
