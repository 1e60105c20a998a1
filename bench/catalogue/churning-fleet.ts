/**
 * A fleet whose machines fail, heal and change their price, and whose clusters change their demand: the churn of
 * cycle-delta, and of the test that compares incremental decisions with decisions from scratch.
 */
import { Random } from '../../src/base/random.ts';
import { TypedFleet } from '../scenarios/cycle-steady.ts';
import { ClosedLoop } from './closed-loop.ts';
import { CYCLE_MS } from './engine-fleet.ts';

const MACHINES_CHANGED_MAX = 1_000;
/** In a small fleet at most this share changes instead of a thousand machines, so that most machines stay as they are. */
const CHANGED_SHARE_MAX = 0.02;
const ROLLUPS_CHANGED = 10;
/** The share of rows of a changed roll-up that ask for another number of machines. */
const ROWS_CHANGED_SHARE = 0.05;
const CONFIGURED_PERCENT = 97;

export class ChurningFleet {
  readonly fleet: TypedFleet;
  readonly machinesChanged: number;
  readonly #loop: ClosedLoop;
  readonly #random: Random;
  readonly #slots: Uint32Array;
  /** Machines that each need asks for now, by cluster and need. */
  readonly #wanted: Uint16Array[];

  constructor(machines: number, clusters: number, needs: number) {
    const machinesPerNeed = Math.floor((machines * CONFIGURED_PERCENT) / 100 / needs);
    this.fleet = new TypedFleet({ machines, needs, clusters, machinesPerNeed, isBound: true });
    this.fleet.inventory.ensureRanks();
    this.machinesChanged = Math.min(MACHINES_CHANGED_MAX, Math.floor(machines * CHANGED_SHARE_MAX));
    this.#loop = new ClosedLoop(this.fleet);
    this.#random = new Random(1);
    this.#slots = this.fleet.inventory.slotsById.slice();
    this.#wanted = Array.from({ length: clusters }, () =>
      new Uint16Array(this.fleet.needsPerCluster).fill(machinesPerNeed),
    );
    this.fleet.decide();
  }

  /** Executes the last decision; then more machines change until the wanted number has changed. */
  changeMachines(): void {
    const { changes } = this.fleet.inventory;
    this.settle();
    while (changes.count < this.machinesChanged) {
      this.#loop.change(this.#slots, this.machinesChanged - changes.count);
    }
  }

  settle(): void {
    this.#loop.execute();
    this.#loop.heal();
  }

  /** Some clusters ask for one machine more or less in some rows, and return to their first demand over time. */
  changeRollups(): void {
    const { fleet } = this;
    const clusters = new Set<number>();
    while (clusters.size < Math.min(ROLLUPS_CHANGED, fleet.clusterCount)) {
      clusters.add(this.#random.below(fleet.clusterCount));
    }
    const rowCount = Math.max(1, Math.round(fleet.needsPerCluster * ROWS_CHANGED_SHARE));
    for (const cluster of clusters) {
      const wanted = this.#wanted[cluster]!;
      const changed = new Set<number>();
      while (changed.size < rowCount) changed.add(this.#random.below(wanted.length));
      for (const need of changed) wanted[need] = this.#another(wanted[need]!);
      fleet.ask(cluster, (need) => wanted[need]!);
    }
  }

  #another(machines: number): number {
    const steady = this.fleet.plan.machinesPerNeed;
    if (machines !== steady) return steady;
    return this.#random.chance(0.5) ? steady + 1 : Math.max(1, steady - 1);
  }

  /** One untimed cycle. */
  decide(): void {
    this.fleet.nowMs += CYCLE_MS;
    this.fleet.decide();
  }
}
