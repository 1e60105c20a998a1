/**
 * What must hold once accidents have stopped and time has passed: shard, provider and operators tell the same story, and
 * every need has what the fleet can give it, and no more than it needs.
 */
import { Flag, Intent } from '../inventory/intent.ts';
import { canBeBound, isTransitional, type MachineState, STATE_NAMES } from '../machine/state.ts';
import type { SimulatedWorld } from './world.ts';

/** Every difference as a sentence; none: converged. */
export function differences(world: SimulatedWorld): string[] {
  const { process } = world;
  if (process === null) return ['there is no shard'];
  return [...differencesOfMachines(world), ...differencesOfNodes(world), ...unrest(world)];
}

function differencesOfMachines(world: SimulatedWorld): string[] {
  const { inventory } = world.process!.shard;
  const found: string[] = [];
  const listed = world.provider.list();
  if (listed.kind !== 'ok') return ['the provider does not list'];
  const { machines } = listed.value;
  if (machines.length !== inventory.count)
    found.push(`${inventory.count} machines known, ${machines.length} there`);
  for (const machine of machines) {
    const slot = inventory.find(machine.id);
    if (slot === 0) {
      found.push(`${machine.id} is not known`);
      continue;
    }
    const known = inventory.get(slot);
    const isBound = canBeBound(machine.state as MachineState);
    if (known.state !== machine.state) {
      found.push(
        `${machine.id} is ${STATE_NAMES[machine.state as MachineState]}, known as ${STATE_NAMES[known.state]}`,
      );
    } else if (isBound && known.cluster !== machine.cluster) {
      found.push(`${machine.id} is bound to ${machine.cluster}, known as bound to ${known.cluster}`);
    }
    if (known.pricePerHourUsd !== machine.pricePerHour) found.push(`${machine.id} has another price`);
  }
  return found;
}

/** Each operator knows exactly the machines that are its own. */
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
        found.push(`${clusterId} was not told of ${machineId} (${STATE_NAMES[state]})`);
    }
    for (const machineId of nodes.keys()) {
      if (!machines.has(machineId)) found.push(`${clusterId} believes in ${machineId}`);
    }
  }
  return found;
}

/** Nothing is under way, and nothing is left over. */
function unrest(world: SimulatedWorld): string[] {
  const { shard } = world.process!;
  const { inventory, engine, needs } = shard;
  const found: string[] = [];
  for (let slot = 1; slot < inventory.columns.slotLimit; slot++) {
    const state = inventory.columns.state[slot]! as MachineState;
    if (inventory.columns.state[slot] === 0) continue;
    const id = inventory.idOf(slot);
    if (inventory.columns.intent[slot] !== Intent.None) found.push(`an action is under way for ${id}`);
    if (isTransitional(state)) found.push(`${id} is still ${STATE_NAMES[state]}`);
    if (state === 5 && engine.claimOf(slot) === null && !inventory.hasFlag(slot, Flag.Backoff)) {
      found.push(`${id} is Configured and serves no need`);
    }
  }
  for (const cluster of needs.clusterRefs()) {
    engine.verdictsOf(cluster, (row, verdict) => {
      if (verdict.bootstraps + verdict.provisions > 0)
        found.push(`need ${row} of ${cluster} is still being served`);
    });
  }
  return found;
}
