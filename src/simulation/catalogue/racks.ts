/**
 * Racks of forty machines. A rack has one machine type, one capacity type and one zone; this triple is its
 * *pool*. The rack determines everything about a machine but its state and binding. Clusters share racks, as
 * they do when one provider serves many.
 */
import { Random } from '../../base/random.ts';
import { CAPACITY_TYPE_NAMES, CapacityType } from '../../machine/capacity-type.ts';
import type { Catalogue, Pool } from './catalogue.ts';
import { CAPACITY_TYPE_KEY, FAMILY_KEY, RACK_KEY, RACK_MACHINES_MAX } from './hardware.ts';

export interface Rack extends Pool {
  readonly name: string;
  readonly pricePerHourUsd: number;
  readonly labels: Readonly<Record<string, string>>;
}

/** Spot prices differ from rack to rack by up to this share; all others are list prices. */
const SPOT_PRICE_SWING = 0.15;

export function describeRack({ parts, pools }: Catalogue, rack: number, pool: number): Rack {
  const { type, offer, zone } = pools[pool]!;
  const swing =
    offer.capacityType === CapacityType.Spot ? (new Random(rack).unit() * 2 - 1) * SPOT_PRICE_SWING : 0;
  const zoneLetter = parts.zones[zone]!.slice(-1);
  const name = `${zoneLetter}${String(rack).padStart(5, '0')}`;
  return {
    type,
    offer,
    zone,
    name,
    pricePerHourUsd: offer.pricePerHourUsd * parts.zonePriceFactors[zone]! * (1 + swing),
    labels: {
      'kubernetes.io/arch': 'amd64',
      'topology.kubernetes.io/region': parts.region,
      [RACK_KEY]: `rack-${name}`,
      [CAPACITY_TYPE_KEY]: CAPACITY_TYPE_NAMES[offer.capacityType],
      [FAMILY_KEY]: type.family,
      ...type.labels,
    },
  };
}

/** Allocates places in racks. A gang needs all its places in one rack; a rack too full for it takes single machines. */
export class RackRoom {
  /** Pool of each rack. */
  readonly poolByRack: number[] = [];
  readonly #filled: number[] = [];
  readonly #openByPool: number[][];

  constructor(poolCount: number) {
    this.#openByPool = Array.from({ length: poolCount }, () => []);
  }

  /** A rack with room for `count` machines of the pool: the oldest one, or else a new one. */
  take(pool: number, count: number): number {
    const open = this.#openByPool[pool]!;
    let at = open.findIndex((rack) => this.#filled[rack]! + count <= RACK_MACHINES_MAX);
    if (at < 0) {
      this.poolByRack.push(pool);
      at = open.push(this.#filled.push(0) - 1) - 1;
    }
    const rack = open[at]!;
    this.#filled[rack]! += count;
    if (this.#filled[rack] === RACK_MACHINES_MAX) open.splice(at, 1); // keeps the list short
    return rack;
  }
}
