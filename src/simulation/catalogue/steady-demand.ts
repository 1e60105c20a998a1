/**
 * The demand of the clusters of a steady fleet. Seed, cluster number and share of the machines alone determine a
 * cluster's demand. So a simulated operator draws it without the fleet, and it matches the machines of a
 * simulated provider with the same figures. Plans are drawn again on each request: 776,000 rows as objects
 * would dominate the memory of the process.
 */
import { assert } from '../../base/assert.ts';
import { Random } from '../../base/random.ts';
import { type Catalogue, REALISTIC } from './catalogue.ts';
import type { PlannedNeed } from './demand.ts';
import { type Rollup, rowsOf } from './rollup.ts';

export const MACHINES_PER_CLUSTER = 250;
/** Share of all machines that the clusters ask for together. The rest leaves room for changes. */
export const DEMAND_SHARE = 0.97;
/** A cluster of twice this size would run out of distinct profiles. */
export const MACHINES_PER_CLUSTER_MAX = 5_000;

export interface DemandFigures {
  readonly machineCount: number;
  /** Default: one for every 250 machines. */
  readonly clusterCount?: number;
  readonly catalogue?: Catalogue;
}

export function defaultClusterCount(machineCount: number): number {
  return Math.max(1, Math.round(machineCount / MACHINES_PER_CLUSTER));
}

export class SteadyDemand {
  readonly clusterCount: number;
  /** Machines that the clusters ask for together. */
  readonly wantedCount: number;
  readonly catalogue: Catalogue;
  readonly #clusterSeeds: Uint32Array;

  /** Draws exactly one number per cluster from `random`. */
  constructor(figures: DemandFigures, random: Random) {
    this.clusterCount = figures.clusterCount ?? defaultClusterCount(figures.machineCount);
    assert(this.clusterCount >= 1, 'a demand has at least one cluster');
    this.wantedCount = Math.round(figures.machineCount * DEMAND_SHARE);
    this.catalogue = figures.catalogue ?? REALISTIC;
    this.#clusterSeeds = Uint32Array.from({ length: this.clusterCount }, () => random.uint32());
  }

  clusterId(cluster: number): string {
    return `cluster-${String(cluster).padStart(4, '0')}`;
  }

  /** Every cluster's roll-up. */
  *rollups(): Generator<Rollup> {
    for (let cluster = 0; cluster < this.clusterCount; cluster++) yield this.rollup(cluster);
  }

  rollup(cluster: number): Rollup {
    return { clusterId: this.clusterId(cluster), rows: this.plan(cluster).flatMap(rowsOf) };
  }

  /** The needs behind the roll-up, each with its machines. */
  plan(cluster: number): PlannedNeed[] {
    const before = Math.floor((this.wantedCount * cluster) / this.clusterCount);
    const after = Math.floor((this.wantedCount * (cluster + 1)) / this.clusterCount);
    const random = new Random(this.#clusterSeeds[cluster]!);
    return this.catalogue.parts.planCluster(random, this.clusterId(cluster), after - before);
  }
}
