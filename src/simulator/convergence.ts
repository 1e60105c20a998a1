/**
 * What must hold once accidents have stopped and time has passed: shard, provider and operators tell the same story, and
 * every need has what the fleet can give it, and no more than it needs.
 */
import { Flag, Intent } from '../inventory/intent.ts';
import { canBeBound, isTransitional, MachineState, STATE_NAMES } from '../machine/state.ts';
import { isMatch, type ServedNeed, servedNeeds } from './served-needs.ts';
import type { SimulatedWorld } from './world.ts';

/** Every difference as a sentence; none: converged. */
export function differences(world: SimulatedWorld): string[] {
  const { process } = world;
  if (process === null) return ['there is no shard'];
  if (process.life.isStopped() || process.shard.isFenced) return ['the shard stands still'];
  return [...differencesOfMachines(world), ...differencesOfNodes(world), ...unrest(world), ...wants(world)];
}

function differencesOfMachines(world: SimulatedWorld): string[] {
  const { inventory } = world.process!.shard;
  const found: string[] = [];
  const machines = world.links.flatMap(({ provider }) => {
    const listed = provider.list();
    return listed.kind === 'ok' ? listed.value.machines : [];
  });
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
  const { inventory, engine } = shard;
  const found: string[] = [];
  for (let slot = 1; slot < inventory.columns.slotLimit; slot++) {
    const state = inventory.columns.state[slot]! as MachineState;
    if (inventory.columns.state[slot] === 0) continue;
    const id = inventory.idOf(slot);
    if (inventory.columns.intent[slot] !== Intent.None) found.push(`an action is under way for ${id}`);
    if (inventory.hasFlag(slot, Flag.Backoff) && isBackoffOver(world, slot))
      found.push(`${id} is left alone, and its back-off is over`);
    if (isTransitional(state)) found.push(`${id} is still ${STATE_NAMES[state]}`);
    if (
      state === MachineState.Configured &&
      engine.claimOf(slot) === null &&
      !inventory.hasFlag(slot, Flag.Backoff)
    ) {
      found.push(`${id} is Configured and serves no need`);
    }
  }
  return found;
}

/** Back-offs end with a cycle: one that ended before the last one is late. */
function isBackoffOver({ process }: SimulatedWorld, slot: number): boolean {
  const { backoffs, cycle } = process!.shard;
  const untilMs = Math.max(backoffs.ofMachine(slot)?.untilMs ?? 0, backoffs.ofOffering(slot)?.untilMs ?? 0);
  return untilMs < cycle.lastAtMs;
}

/** Every need has what the fleet can give it, and nothing beyond what covers it. */
function wants(world: SimulatedWorld): string[] {
  const { shard } = world.process!;
  const found: string[] = [];
  const needs = servedNeeds(shard);
  for (const need of needs.values()) {
    const { clusterId, claimed, machinesWanted, isSatisfied } = need;
    const name = `the need for ${machinesWanted} ${need.type} of ${clusterId}`;
    if (claimed.length > machinesWanted) found.push(`${name} has ${claimed.length}`);
    if (isSatisfied !== claimed.length >= machinesWanted)
      found.push(`${name} has ${claimed.length} and counts as ${isSatisfied ? 'covered' : 'not covered'}`);
    const missed = isSatisfied || need.isGang || need.isSpread ? '' : supplyFor(world, need, needs);
    if (missed !== '') found.push(`${name} has ${claimed.length}, and ${missed}`);
  }
  return found;
}

/** A machine that a plain need could have: free, or serving a need of lower priority. */
function supplyFor(world: SimulatedWorld, need: ServedNeed, needs: ReadonlyMap<string, ServedNeed>): string {
  const { shard } = world.process!;
  const { columns } = shard.inventory;
  const { needBackoffs } = shard;
  if (needBackoffs.isBarred(need.cluster, need.fingerprint, need.group)) return '';
  for (let slot = 1; slot < columns.slotLimit; slot++) {
    const state = columns.state[slot];
    if (state === 0 || !isMatch(shard, slot, need)) continue;
    const id = shard.inventory.idOf(slot);
    if (state === MachineState.Idle || state === MachineState.Speculative) return `${id} is free`;
  }
  for (const other of needs.values()) {
    if (other.priority >= need.priority) continue;
    const slot = other.claimed.find((machine) => isMatch(shard, machine, need));
    if (slot !== undefined) return `${shard.inventory.idOf(slot)} serves a need of lower priority`;
  }
  return '';
}
