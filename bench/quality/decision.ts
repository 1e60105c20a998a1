/** One decision of the engine on a small world, judged by the objective: what it costs, and which needs it leaves unmet. */
import { ActionKind } from '../../src/decision/actions.ts';
import type { EngineOptions } from '../../src/decision/engine.ts';
import type { Machine } from '../../src/machine/machine.ts';
import { MachineState } from '../../src/machine/state.ts';
import { EngineFleet } from '../catalogue/engine-fleet.ts';
import { costUsd, unmetByPriority } from './objective.ts';
import { MACHINES_MAX, type SmallNeed, type SmallWorld } from './small-worlds.ts';
import type { Deficit } from './solver.ts';

export interface Judged {
  /** Of the machines that met needs get; what an unmet need gets counts for nothing, here and for the solver. */
  readonly costUsd: number;
  readonly unmet: readonly number[];
  /** What each need lacked before it acquired anything. */
  readonly deficits: readonly Deficit[];
}

export function decideWorld(world: SmallWorld, options: Partial<EngineOptions>): Judged {
  const fleet = new EngineFleet(MACHINES_MAX, options);
  const byId = new Map(world.machines.map((machine) => [machine.id, machine]));
  for (const machine of world.machines) fleet.insert(machine);
  for (const [clusterId, needs] of byCluster(world.needs))
    fleet.rollUp(
      clusterId,
      needs.map(({ row }) => row),
    );
  fleet.decide();
  const met = metNeeds(fleet, world.needs);
  const credited = creditedMachines(fleet, world);
  const { groups } = fleet.inventory.tables;
  const { actions } = fleet.engine;
  let cost = 0;
  for (let index = 0; index < actions.count; index++) {
    const kind = actions.kind[index]!;
    if (kind !== ActionKind.Bootstrap && kind !== ActionKind.Provision) continue;
    if (met.get(groups.get(actions.group[index]!)) === false) continue; // a fold has a group of its own: it is met
    cost += costUsd(
      byId.get(fleet.inventory.idOf(actions.slot[index]!))!,
      actions.interruptionPenalty[index]!,
    );
  }
  return {
    costUsd: cost,
    unmet: unmetByPriority(
      world.needs.map(({ row }) => ({ priority: row.priority, isMet: met.get(row.group)! })),
    ),
    deficits: world.needs.map((need) => ({
      need,
      lacking: lackingOf(need, credited.get(need.row.group) ?? []),
    })),
  };
}

/** Groups are unique in a small world. */
function metNeeds(fleet: EngineFleet, needs: readonly SmallNeed[]): Map<string, boolean> {
  const met = new Map<string, boolean>();
  const { groups } = fleet.inventory.tables;
  for (const ref of fleet.needs.clusterRefs()) {
    const start = fleet.needs.sliceStart(ref);
    fleet.engine.verdictsOf(ref, (row, { satisfied }) => {
      met.set(groups.get(fleet.needs.group[start + row]!), satisfied);
    });
  }
  for (const { row } of needs) if (!met.has(row.group)) throw new Error(`no verdict of ${row.group}`);
  return met;
}

function creditedMachines(fleet: EngineFleet, { machines }: SmallWorld): Map<string, Machine[]> {
  const credited = new Map<string, Machine[]>();
  for (const machine of machines) {
    if (machine.state !== MachineState.Configured) continue;
    const claim = fleet.engine.claimOf(fleet.inventory.find(machine.id));
    if (claim === null) continue;
    const group = fleet.inventory.tables.groups.get(claim.group);
    credited.set(group, [...(credited.get(group) ?? []), machine]);
  }
  return credited;
}

function lackingOf({ aggregate }: SmallNeed, credited: readonly Machine[]): Record<string, number> {
  const has = (dimension: string) =>
    credited.reduce((sum, { capacity }) => sum + (capacity[dimension] ?? 0), 0);
  return Object.fromEntries(
    Object.entries(aggregate).map(([dimension, units]) => [dimension, Math.max(0, units - has(dimension))]),
  );
}

function byCluster(needs: readonly SmallNeed[]): Map<string, SmallNeed[]> {
  const clusters = new Map<string, SmallNeed[]>();
  for (const need of needs) clusters.set(need.clusterId, [...(clusters.get(need.clusterId) ?? []), need]);
  return clusters;
}
