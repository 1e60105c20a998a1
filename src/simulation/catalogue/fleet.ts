/**
 * A steady fleet: N machines and the demand that they exactly cover. The same seed always gives the same fleet.
 * Machines are stored as columns and become records on request, so that half a million of them take tens of
 * megabytes:
 *
 *   column        bytes   unit, meaning
 *   priceFactor   8       f64, factor by which churn has changed the price, 1 at first
 *   rack          4       u32, index of the rack, which determines type, zone and capacity type
 *   cluster       4       i32, index of the cluster that the machine serves, -1 = none
 *   assignment    4       u32, index in the list of assignments, valid only with a cluster
 *   state         1       u8, MachineState; changes with churn
 *
 * Rows are in rack order, as a provider would list them. So the machines of a cluster are scattered over the
 * fleet, and a benchmark does not profit from an unrealistic locality.
 */
import { assert } from '../../base/assert.ts';
import { Random } from '../../base/random.ts';
import type { CapacityType } from '../../machine/capacity-type.ts';
import type { Assignment, Machine } from '../../machine/machine.ts';
import { MachineState } from '../../machine/state.ts';
import type { PlannedNeed } from './demand.ts';
import { FleetDraft } from './draft.ts';
import type { Rack } from './racks.ts';
import type { Rollup } from './rollup.ts';
import { DEMAND_SHARE, type DemandFigures, SteadyDemand } from './steady-demand.ts';

/** Share of the unbound machines that are Idle. */
export const IDLE_SHARE_OF_UNBOUND = 0.4;

export interface FleetFigures extends Omit<DemandFigures, 'machineCount'> {
  /** Share of all machines that are Configured, at most the demanded share. Default: the demanded share. */
  readonly configuredShare?: number;
  /** Share of the unbound machines that are Idle; the others are Speculative. */
  readonly idleShareOfUnbound?: number;
}

export class SteadyFleet {
  readonly machineCount: number;
  readonly demand: SteadyDemand;
  readonly state: Uint8Array;
  readonly priceFactor: Float64Array;
  readonly rack: Uint32Array;
  readonly cluster: Int32Array;
  readonly #assignment: Uint32Array;
  readonly #assignments: readonly Assignment[];
  readonly #racks: readonly Rack[];

  constructor(machineCount: number, seed = 1, figures: FleetFigures = {}) {
    assert(machineCount >= 0, 'the number of machines is negative');
    const random = new Random(seed);
    this.machineCount = machineCount;
    this.demand = new SteadyDemand({ ...figures, machineCount }, random);
    const draft = new FleetDraft(this.demand.catalogue, machineCount, {
      idle: figures.idleShareOfUnbound ?? IDLE_SHARE_OF_UNBOUND,
      placed: (figures.configuredShare ?? DEMAND_SHARE) / DEMAND_SHARE,
    });
    for (let cluster = 0; cluster < this.clusterCount; cluster++) {
      draft.bind(cluster, this.plan(cluster), random);
    }
    draft.addUnbound(random);
    const order = draft.inRackOrder();
    this.state = Uint8Array.from(order, (row) => draft.state[row]!);
    this.rack = order.map((row) => draft.rack[row]!);
    this.cluster = Int32Array.from(order, (row) => draft.cluster[row]!);
    this.#assignment = order.map((row) => draft.assignment[row]!);
    this.priceFactor = new Float64Array(machineCount).fill(1);
    this.#assignments = draft.assignments;
    this.#racks = draft.racks();
  }

  get clusterCount(): number {
    return this.demand.clusterCount;
  }

  /** All machines in listing order. */
  *machines(): Generator<Machine> {
    for (let row = 0; row < this.machineCount; row++) yield this.machineAt(row);
  }

  machineAt(row: number): Machine {
    const rack = this.#racks[this.rack[row]!]!;
    const state = this.state[row]! as MachineState;
    const isBound =
      state === MachineState.Configuring ||
      state === MachineState.Configured ||
      state === MachineState.Draining;
    const hasHost = state !== MachineState.Speculative && state !== MachineState.Creating;
    return {
      id: this.idAt(row),
      state,
      host: hasHost ? { provider: 'catalogue', ref: `host-${row}` } : null,
      instanceType: rack.type.name,
      zone: this.demand.catalogue.parts.zones[rack.zone]!,
      capacityType: rack.offer.capacityType,
      pricePerHourUsd: roundPrice(rack.pricePerHourUsd * this.priceFactor[row]!),
      interruptionProbability: rack.offer.interruptionProbability,
      capacity: rack.type.capacity,
      labels: rack.labels,
      cluster: isBound ? this.clusterId(this.cluster[row]!) : '',
      assignment: isBound ? this.#assignments[this.#assignment[row]!]! : null,
      lastError: '',
    };
  }

  /** Names the rack, as ids of real machines often do, and never changes. */
  idAt(row: number): string {
    const { type, name } = this.#racks[this.rack[row]!]!;
    return `${type.name}-${name}-${String(row).padStart(7, '0')}`;
  }

  capacityTypeAt(row: number): CapacityType {
    return this.#racks[this.rack[row]!]!.offer.capacityType;
  }

  clusterId(cluster: number): string {
    return this.demand.clusterId(cluster);
  }

  rollups(): Generator<Rollup> {
    return this.demand.rollups();
  }

  rollup(cluster: number): Rollup {
    return this.demand.rollup(cluster);
  }

  plan(cluster: number): PlannedNeed[] {
    return this.demand.plan(cluster);
  }
}

/** To hundredths of a cent, as in price lists; such numbers are short on the wire. */
function roundPrice(usd: number): number {
  return Math.round(usd * 10_000) / 10_000;
}
