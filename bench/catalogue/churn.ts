/**
 * Churn: the changes that a provider's next listing and the operators' next roll-ups would report. Every step
 * is one that the lifecycle allows, machines return to their first state, and demand that grows in one roll-up
 * shrinks in another: after hours of churn the fleet has the same size and mix.
 */
import { formatQuantity, isInKib, parseDemand } from '../../src/base/quantity.ts';
import { Random } from '../../src/base/random.ts';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import type { Machine } from '../../src/machine/machine.ts';
import { MachineState } from '../../src/machine/state.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { NO_CLUSTER } from '../../src/simulation/catalogue/draft.ts';
import type { SteadyFleet } from '../../src/simulation/catalogue/fleet.ts';
import { type Rollup, rowsOf } from '../../src/simulation/catalogue/rollup.ts';

const S = MachineState;

/** A machine with a cluster leaves it and returns; one without is deleted and created again. */
const NEXT_WITH_CLUSTER: Readonly<Partial<Record<number, MachineState>>> = {
  [S.Configured]: S.Draining,
  [S.Draining]: S.Idle,
  [S.Idle]: S.Configuring,
  [S.Configuring]: S.Configured,
};
const NEXT_WITHOUT_CLUSTER: Readonly<Partial<Record<number, MachineState>>> = {
  [S.Idle]: S.Deleting,
  [S.Deleting]: S.Speculative,
  [S.Speculative]: S.Creating,
  [S.Creating]: S.Idle,
};

/** The share of changed spot machines that change their price; other machines never do. */
const SPOT_PRICE_SHARE = 0.8;
/** The share of changed small gangs that are replaced, not resized. */
const NEW_JOB_SHARE = 0.7;

interface SteadyRow {
  readonly row: RollupRow;
  readonly isSmall: boolean;
}

interface ChangingDemand {
  readonly steady: readonly SteadyRow[];
  readonly rows: RollupRow[];
}

export class FleetChurn {
  readonly #fleet: SteadyFleet;
  readonly #random: Random;
  /** Only clusters whose demand was ever changed; the demand of others is computed when it is read. */
  readonly #demands = new Map<number, ChangingDemand>();
  #jobNumber = 0;

  constructor(fleet: SteadyFleet, seed = 2) {
    this.#fleet = fleet;
    this.#random = new Random(seed);
  }

  /** Changes this share of the machines, each once, and returns their new records. */
  churnMachines(fraction: number): Machine[] {
    return this.#pick(this.#fleet.machineCount, fraction).map((row) => {
      this.#step(row);
      return this.#fleet.machineAt(row);
    });
  }

  /** The same concentrated on some clusters, each with changed roll-up rows and changed machines. */
  churnClusters(
    clusterFraction: number,
    rowFraction: number,
    machineFraction: number,
  ): { readonly rollups: Rollup[]; readonly machines: Machine[] } {
    const fleet = this.#fleet;
    const rollups = this.churnRollups(clusterFraction, rowFraction);
    const ids = new Set(rollups.map(({ clusterId }) => clusterId));
    const machines: Machine[] = [];
    for (let row = 0; row < fleet.machineCount; row++) {
      const cluster = fleet.cluster[row]!;
      if (cluster === NO_CLUSTER || !ids.has(fleet.clusterId(cluster))) continue;
      if (!this.#random.chance(machineFraction)) continue;
      this.#step(row);
      machines.push(fleet.machineAt(row));
    }
    return { rollups, machines };
  }

  /** New roll-ups of this share of the clusters; in each, this share of the rows has changed. */
  churnRollups(clusterFraction: number, rowFraction: number): Rollup[] {
    return this.#pick(this.#fleet.clusterCount, clusterFraction).map((cluster) => {
      const demand = this.#demandOf(cluster);
      for (const index of this.#pick(demand.rows.length, rowFraction)) {
        demand.rows[index] = this.#changed(demand.rows[index]!, demand.steady[index]!);
      }
      return { clusterId: this.#fleet.clusterId(cluster), rows: [...demand.rows] };
    });
  }

  #demandOf(cluster: number): ChangingDemand {
    const known = this.#demands.get(cluster);
    if (known !== undefined) return known;
    const steady = this.#fleet
      .plan(cluster)
      .flatMap((need) => rowsOf(need).map((row) => ({ row, isSmall: need.form === 'small' })));
    const demand = { steady, rows: steady.map(({ row }) => row) };
    this.#demands.set(cluster, demand);
    return demand;
  }

  #step(row: number): void {
    const fleet = this.#fleet;
    if (fleet.capacityTypeAt(row) === CapacityType.Spot && this.#random.chance(SPOT_PRICE_SHARE)) {
      // Around the list price, never compounding. At least 1 % away from the last price, so that it is a change.
      const last = fleet.priceFactor[row]!;
      const next = 0.8 + this.#random.unit() * 0.4;
      fleet.priceFactor[row] = Math.abs(next - last) < 0.01 ? last + 0.02 : next;
      return;
    }
    const next = fleet.cluster[row] === NO_CLUSTER ? NEXT_WITHOUT_CLUSTER : NEXT_WITH_CLUSTER;
    fleet.state[row] = next[fleet.state[row]!]!;
  }

  /**
   * Small gangs are jobs: mostly one ends and an equal one begins under a new name. Other rows grow or shrink by
   * a quarter, and return to their steady size with the next change.
   */
  #changed(row: RollupRow, steady: SteadyRow): RollupRow {
    if (steady.isSmall && this.#random.chance(NEW_JOB_SHARE)) {
      return { ...steady.row, group: `${steady.row.group}.${++this.#jobNumber}` };
    }
    if (row !== steady.row) return steady.row;
    return { ...row, aggregate: resized(row, this.#random.chance(0.5) ? 0.75 : 1.25) };
  }

  /** Distinct indexes below count, at least one if the fraction is not 0, in ascending order. */
  #pick(count: number, fraction: number): number[] {
    const wanted = fraction <= 0 ? 0 : Math.min(count, Math.max(1, Math.round(count * fraction)));
    const picked = new Set<number>();
    // If most are picked, it is cheaper to draw the ones left out.
    const invert = wanted > count / 2;
    while (picked.size < (invert ? count - wanted : wanted)) picked.add(this.#random.below(count));
    if (!invert) return [...picked].sort((a, b) => a - b);
    return Array.from({ length: count }, (_, index) => index).filter((index) => !picked.has(index));
  }
}

/** In whole devices, cores and mebibytes, and never to zero. */
function resized(row: RollupRow, factor: number): Record<string, string> {
  const entries = Object.entries(row.aggregate).map(([name, text]) => {
    const step = isInKib(name) ? 1_024 : 1_000;
    const units = Math.max(1, Math.round((parseDemand(name, text) * factor) / step)) * step;
    return [name, formatQuantity(name, units)] as const;
  });
  return Object.fromEntries(entries);
}
