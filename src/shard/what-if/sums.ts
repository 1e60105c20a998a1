/** Sums over a fleet that an answer compares: machines by cluster, and what the fleet costs. */
import type { ColumnsImage } from '../../inventory/columns.ts';
import { MachineState } from '../../machine/state.ts';
import { isBound } from './changes.ts';

export interface FleetSums {
  /** By cluster ref: machines bound to it. */
  readonly machinesOf: ReadonlyMap<number, number>;
  /** Of the machines that exist. */
  readonly usdPerHour: number;
}

export function fleetSums({
  state,
  cluster,
  pricePerHourUsd,
}: Pick<ColumnsImage, 'state' | 'cluster' | 'pricePerHourUsd'>): FleetSums {
  const machines = new Uint32Array(65_536);
  let usdPerHour = 0;
  for (let slot = 1; slot < state.length; slot++) {
    if (isBound(state[slot]!)) machines[cluster[slot]!]!++;
    if (exists(state[slot]!)) usdPerHour += pricePerHourUsd[slot]!;
  }
  const machinesOf = new Map<number, number>();
  for (let ref = 1; ref < machines.length; ref++) if (machines[ref]! > 0) machinesOf.set(ref, machines[ref]!);
  return { machinesOf, usdPerHour };
}

/** An offer costs nothing, nor does a machine that is being created. */
function exists(state: number): boolean {
  return state !== 0 && state !== MachineState.Speculative && state !== MachineState.Creating;
}
