/**
 * What must hold some time after the last accident: shard, providers and operators agree, and every need has the machines
 * that the fleet can give it and no more than it asks for.
 */
import { BARRED, Flag, Intent } from '../../inventory/intent.ts';
import { CapacityType } from '../../machine/capacity-type.ts';
import { canBeBound, isTransitional, MachineState, STATE_NAMES } from '../../machine/state.ts';
import type { Shard } from '../../shard/shard.ts';
import { isMatch, type ServedNeed, servedNeeds } from './served-needs.ts';
import type { SimulatedWorld } from './world.ts';

/** Empty if the world has converged. */
export function differences(world: SimulatedWorld): string[] {
  const { process } = world;
  if (process === null) return ['no shard process runs'];
  if (process.life.isStopped() || process.shard.fence.isRaised)
    return ['the shard process is stopped or fenced'];
  // The verdicts belong to the rows that the last cycle read.
  if (process.shard.needs.dirtyCount > 0) return ['a roll-up waits for the next cycle'];
  return [...differencesOfMachines(world), ...differencesOfNodes(world), ...unrest(world), ...wants(world)];
}

function differencesOfMachines(world: SimulatedWorld): string[] {
  const { inventory } = world.process!.shard;
  const found: string[] = [];
  const machines = world.allLinks.flatMap(({ provider }) => {
    const listed = provider.list();
    return listed.kind === 'ok' ? listed.value.machines : [];
  });
  if (machines.length !== inventory.count)
    found.push(`the shard has ${inventory.count} machines, the providers have ${machines.length}`);
  for (const machine of machines) {
    const slot = inventory.find(machine.id);
    const say = (text: string) => found.push(`${machine.id} ${text}`);
    if (slot === 0) {
      say('is missing in the inventory');
      continue;
    }
    const known = inventory.get(slot);
    const isBound = canBeBound(machine.state as MachineState);
    if (known.state !== machine.state) {
      say(
        `is ${STATE_NAMES[machine.state as MachineState]}, but ${STATE_NAMES[known.state]} in the inventory`,
      );
    } else if (isBound && known.cluster !== machine.cluster) {
      say(`is bound to ${machine.cluster}, but to ${known.cluster} in the inventory`);
    }
    if (known.pricePerHourUsd !== machine.pricePerHour) say('has another price in the inventory');
  }
  return found;
}

/** Each operator knows exactly the machines of its cluster. */
function differencesOfNodes(world: SimulatedWorld): string[] {
  const { inventory } = world.process!.shard;
  const found: string[] = [];
  const bound = new Map<string, Map<string, MachineState>>();
  for (const id of world.clusters.keys()) bound.set(id, new Map());
  for (let slot = 1; slot < inventory.columns.slotLimit; slot++) {
    const state = inventory.columns.state[slot]! as MachineState;
    if (inventory.columns.state[slot] === 0 || !canBeBound(state)) continue;
    const cluster = inventory.tables.clusters.get(inventory.columns.cluster[slot]!);
    if (cluster !== '') bound.get(cluster)?.set(inventory.idOf(slot), state);
  }
  for (const [clusterId, machines] of bound) {
    const { nodes } = world.clusters.get(clusterId)!;
    for (const [machineId, state] of machines) {
      if (nodes.get(machineId) !== state)
        found.push(`the operator of ${clusterId} does not know that ${machineId} is ${STATE_NAMES[state]}`);
    }
    for (const machineId of nodes.keys()) {
      if (!machines.has(machineId))
        found.push(`the operator of ${clusterId} has a node ${machineId} that left the cluster`);
    }
  }
  return found;
}

/** No action is in flight, and no Configured machine is without a need. */
function unrest(world: SimulatedWorld): string[] {
  const { shard } = world.process!;
  const { inventory, engine } = shard;
  const found: string[] = [];
  for (let slot = 1; slot < inventory.columns.slotLimit; slot++) {
    const state = inventory.columns.state[slot]! as MachineState;
    if (inventory.columns.state[slot] === 0) continue;
    const id = inventory.idOf(slot);
    const say = (text: string) => found.push(`${id} ${text}`);
    if (inventory.columns.intent[slot] !== Intent.None) say('has an action in flight');
    if (inventory.hasFlag(slot, Flag.Backoff) && isBackoffOver(world, slot))
      say('is still in back-off although its back-off has expired');
    if (inventory.hasFlag(slot, Flag.Disputed)) say('is still in dispute although one provider lists it');
    if (isTransitional(state)) say(`is still ${STATE_NAMES[state]}`);
    if (
      state === MachineState.Configured &&
      engine.claimOf(slot) === null &&
      !inventory.hasFlag(slot, BARRED)
    ) {
      say('is Configured and serves no need');
    }
  }
  return found;
}

/** A cycle ends expired back-offs, so one that expired before the last cycle must have ended. */
function isBackoffOver({ process }: SimulatedWorld, slot: number): boolean {
  const { backoffs, failures, cycle, inventory } = process!.shard;
  const { state, cluster } = inventory.columns;
  if (state[slot] === MachineState.Configured && failures.drains.isBarred(cluster[slot]!, 0, 0)) return false;
  const own = backoffs.ofMachine(slot)?.untilMs ?? 0;
  const untilMs = Math.max(own, backoffs.ofOffering(slot)?.untilMs ?? 0, failures.faults.untilMs(slot));
  return untilMs < cycle.lastAtMs;
}

/** Every need has the machines that the fleet can give it, and none beyond those that cover it. */
function wants(world: SimulatedWorld): string[] {
  const { shard } = world.process!;
  const found: string[] = [];
  const needs = servedNeeds(shard);
  for (const need of needs.values()) {
    const { clusterId, claimed, machinesWanted, isSatisfied } = need;
    const has = `the need of ${clusterId} for ${machinesWanted} ${need.type} has ${claimed.length}`;
    if (claimed.length > machinesWanted) found.push(has);
    if (isSatisfied !== claimed.length >= machinesWanted)
      found.push(`${has} and counts as ${isSatisfied ? 'covered' : 'not covered'}`);
    const missed = isSatisfied || need.isGang || need.isSpread ? '' : supplyFor(world, need, needs);
    if (missed !== '') found.push(`${has}, and ${missed}`);
  }
  return found;
}

function hasSpotShare({ tenants }: Shard, cluster: number): boolean {
  return (tenants.of(cluster)?.minNonSpotShare ?? 0) > 0;
}

/** A machine that a plain need could get: unassigned, or serving a need of lower priority. */
function supplyFor(world: SimulatedWorld, need: ServedNeed, needs: ReadonlyMap<string, ServedNeed>): string {
  const { shard } = world.process!;
  const { columns } = shard.inventory;
  const { needBackoffs } = shard;
  if (needBackoffs.isBarred(need.cluster, need.fingerprint, need.group)) return '';
  for (let slot = 1; slot < columns.slotLimit; slot++) {
    const state = columns.state[slot];
    if (state === 0 || !isMatch(shard, slot, need)) continue;
    const id = shard.inventory.idOf(slot);
    // E8: with a minimum share of others the shard may bind no spot machine.
    if (hasSpotShare(shard, need.cluster) && columns.capacityType[slot] === CapacityType.Spot) continue;
    // E7: with a ceiling the shard may create no machine.
    const isOffered = state === MachineState.Speculative && shard.rails.ceilings === null;
    if (state === MachineState.Idle || isOffered) return `${id} is unassigned`;
  }
  for (const other of needs.values()) {
    if (other.priority >= need.priority) continue;
    const isSpotBarred = hasSpotShare(shard, need.cluster);
    const slot = other.claimed.find(
      (machine) =>
        isMatch(shard, machine, need) &&
        !(isSpotBarred && columns.capacityType[machine] === CapacityType.Spot),
    );
    if (slot !== undefined) return `${shard.inventory.idOf(slot)} serves a need of lower priority`;
  }
  return '';
}
