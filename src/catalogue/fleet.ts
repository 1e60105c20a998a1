/**
 * A steady fleet: N machines and the demand that they just cover. The same seed gives the same fleet on
 * every machine. Machines are kept as columns and become records when asked for, so that half a million
 * of them cost tens of megabytes and a reader pays only for those it reads:
 *
 *   column        bytes   meaning
 *   priceFactor   8       f64, what churn has multiplied the price with, 1 at first
 *   rack          4       u32, index of the rack, which fixes type, zone and capacity type
 *   cluster       4       i32, index of the cluster that the machine serves, -1 = none
 *   assignment    4       u32, index in the list of stamps, meaningful with a cluster
 *   state         1       MachineState; moves with churn
 *
 * Rows are in rack order, as a provider would list them: the machines of a cluster lie all over the fleet,
 * and a benchmark does not profit from a neighbourhood that nobody has in earnest. Roll-ups are planned
 * again from the cluster's own seed whenever they are asked for: 776,000 rows as objects would be the
 * largest thing in the process.
 */
import { assert } from '../base/assert.ts';
import { Random } from '../base/random.ts';
import type { CapacityType } from '../machine/capacity-type.ts';
import type { Assignment, Machine } from '../machine/machine.ts';
import { MachineState } from '../machine/state.ts';
import { type PlannedNeed, planCluster } from './demand.ts';
import { FleetDraft } from './draft.ts';
import { ZONES } from './hardware.ts';
import type { Rack } from './racks.ts';
import { type Rollup, rowsOf } from './rollup.ts';

export const MACHINES_PER_CLUSTER = 250;
const BOUND_SHARE = 0.97;

export class SteadyFleet {
  readonly machineCount: number;
  readonly clusterCount: number;
  readonly state: Uint8Array;
  readonly priceFactor: Float64Array;
  readonly rack: Uint32Array;
  readonly cluster: Int32Array;
  readonly #assignment: Uint32Array;
  readonly #assignments: readonly Assignment[];
  readonly #racks: readonly Rack[];
  readonly #clusterSeeds: Uint32Array;
  readonly #boundCount: number;

  constructor(machineCount: number, seed = 1) {
    assert(machineCount >= 1, 'a fleet has at least one machine');
    const random = new Random(seed);
    this.machineCount = machineCount;
    this.clusterCount = Math.max(1, Math.round(machineCount / MACHINES_PER_CLUSTER));
    this.#clusterSeeds = Uint32Array.from({ length: this.clusterCount }, () => random.uint32());
    this.#boundCount = Math.round(machineCount * BOUND_SHARE);
    const draft = new FleetDraft(machineCount);
    for (let cluster = 0; cluster < this.clusterCount; cluster++) draft.bind(cluster, this.plan(cluster));
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

  /** Every machine, in the order of a listing. */
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
      zone: ZONES[rack.zone]!,
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

  /** Fixed for life: names the rack, as ids of real machines often do. */
  idAt(row: number): string {
    const { type, name } = this.#racks[this.rack[row]!]!;
    return `${type.name}-${name}-${String(row).padStart(7, '0')}`;
  }

  capacityTypeAt(row: number): CapacityType {
    return this.#racks[this.rack[row]!]!.offer.capacityType;
  }

  clusterId(cluster: number): string {
    return `cluster-${String(cluster).padStart(4, '0')}`;
  }

  /** Every cluster's demand. */
  *rollups(): Generator<Rollup> {
    for (let cluster = 0; cluster < this.clusterCount; cluster++) yield this.rollup(cluster);
  }

  rollup(cluster: number): Rollup {
    return { clusterId: this.clusterId(cluster), rows: this.plan(cluster).flatMap(rowsOf) };
  }

  /** What lies behind the roll-up: the needs with the machines that each holds. */
  plan(cluster: number): PlannedNeed[] {
    const before = Math.floor((this.#boundCount * cluster) / this.clusterCount);
    const after = Math.floor((this.#boundCount * (cluster + 1)) / this.clusterCount);
    return planCluster(new Random(this.#clusterSeeds[cluster]!), this.clusterId(cluster), after - before);
  }
}

/** Hundredths of a cent: what price lists use, and short on the wire. */
function roundPrice(usd: number): number {
  return Math.round(usd * 10_000) / 10_000;
}
