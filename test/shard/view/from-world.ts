/** The hand-made worlds of the rules' tests as a readable shard, after one cycle. */
import { MachineState } from '../../../src/machine/state.ts';
import { acceptAsArrived, insertMachine } from '../../decision/world-tables.ts';
import { NOW_MS } from '../../oracle/rules/worlds.ts';
import type { World } from '../../oracle/world.ts';
import { ViewWorld } from './view-world.ts';

export function viewOf(world: World, cycles = 1): ViewWorld {
  const shard = new ViewWorld({ startMs: NOW_MS });
  for (const machine of world.machines) {
    insertMachine(shard.inventory, shard.engine, machine);
    if (machine.backoff) {
      const backoff = { untilMs: NOW_MS + 30_000, failures: 1, text: 'quota exceeded' };
      shard.machineBackoffs.set(machine.id, backoff);
    }
  }
  shard.tenants.set(
    world.clusters.flatMap(({ id, limits }) => (limits === undefined ? [] : [{ cluster: id, ...limits }])),
  );
  shard.tenants.ceilings = world.ceilings ?? null;
  for (const cluster of world.clusters) {
    if (!cluster.hasSession) shard.disconnected.add(cluster.id);
    if (cluster.reported) acceptAsArrived(shard.needs, cluster.id, [], cluster.needs);
    for (const need of cluster.needs) {
      if (!need.backoff) continue;
      const backoff = { untilMs: NOW_MS + 40_000, failures: 3, text: 'no token for this node group' };
      shard.needBackoffs.set(`${cluster.id}/${need.group}`, backoff);
    }
  }
  for (let cycle = 0; cycle < cycles; cycle++) shard.decide();
  return shard;
}

/** The machine begins to drain for the need that the last cycle chose it for, and a cycle decides again. */
export function drainVictim(shard: ViewWorld, machineId: string): void {
  const { inventory, engine, clock } = shard;
  const slot = inventory.find(machineId);
  const { slot: slots, forCluster, fingerprint, group } = engine.actions;
  const at = slots.indexOf(slot);
  inventory.move(slot, MachineState.Draining, clock.nowMs());
  engine.preemptionBegan(slot, forCluster[at]!, fingerprint[at]!, group[at]!);
  shard.decide();
}
