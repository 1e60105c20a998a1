/**
 * Simulated worlds. A catalogue defines the machine types and the demand of a cluster of a given size; a seed
 * then gives a fleet (fleet.ts) and its demand (steady-demand.ts). Benchmarks, the simulated provider and the
 * simulated operators use the same catalogues, so that fleets and demand match.
 *
 *   catalogue   content
 *   realistic   ten machine types in three zones and racks of forty, six kinds of workload
 *   small       one machine type in one zone, two kinds of workload, easy to read
 */
import type { Random } from '../../base/random.ts';
import type { CapacityType } from '../../machine/capacity-type.ts';
import { type PlannedNeed, planCluster } from './demand.ts';
import {
  MACHINE_TYPES,
  type MachineType,
  type Offer,
  REGION,
  ZONE_PRICE_FACTORS,
  ZONES,
} from './hardware.ts';
import { planSmallCluster, SMALL_TYPE, SMALL_ZONES } from './small.ts';

export interface CatalogueParts {
  readonly name: string;
  readonly region: string;
  readonly zones: readonly string[];
  /** By zone. */
  readonly zonePriceFactors: readonly number[];
  readonly types: readonly MachineType[];
  /** Demand that exactly this many machines cover. */
  readonly planCluster: (random: Random, clusterId: string, machineCount: number) => PlannedNeed[];
}

/** A machine type with one capacity type in one zone. */
export interface Pool {
  readonly type: MachineType;
  readonly offer: Offer;
  readonly zone: number;
}

export class Catalogue {
  readonly parts: CatalogueParts;
  /** Every combination of machine type, offer and zone. */
  readonly pools: readonly Pool[];
  readonly #poolIndexes: ReadonlyMap<string, number>;

  constructor(parts: CatalogueParts) {
    this.parts = parts;
    this.pools = parts.types.flatMap((type) =>
      type.offers.flatMap((offer) => parts.zones.map((_, zone) => ({ type, offer, zone }))),
    );
    this.#poolIndexes = new Map(
      this.pools.map(({ type, offer, zone }, pool) => [poolKey(type, offer.capacityType, zone), pool]),
    );
  }

  poolOf(type: MachineType, capacityType: CapacityType, zone: number): number {
    return this.#poolIndexes.get(poolKey(type, capacityType, zone))!;
  }
}

function poolKey(type: MachineType, capacityType: CapacityType, zone: number): string {
  return `${type.name}/${capacityType}/${zone}`;
}

export const REALISTIC = new Catalogue({
  name: 'realistic',
  region: REGION,
  zones: ZONES,
  zonePriceFactors: ZONE_PRICE_FACTORS,
  types: MACHINE_TYPES,
  planCluster,
});

export const SMALL = new Catalogue({
  name: 'small',
  region: 'local',
  zones: SMALL_ZONES,
  zonePriceFactors: [1],
  types: [SMALL_TYPE],
  planCluster: planSmallCluster,
});

export const CATALOGUES: Readonly<Record<string, Catalogue>> = { realistic: REALISTIC, small: SMALL };
