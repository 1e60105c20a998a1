/**
 * Changes of demand in many clusters at once: bursts of high priority on one machine type, and clusters that
 * shrink to half for a while (an outage, a night).
 */
import type { Random } from '../../base/random.ts';
import { ARCHETYPES } from '../catalogue/archetypes.ts';
import type { MachineType } from '../catalogue/hardware.ts';
import { BURST_PRIORITY } from './burst.ts';
import type { FleetCluster } from './fleet-cluster.ts';

export interface Spell {
  /** 0: never. */
  readonly share: number;
  readonly everyMs: number;
  readonly lengthMs: number;
}

export interface WeatherSettings {
  /** Share of the machines of one random type, spread over random clusters. */
  readonly burst: Spell;
  /** Share of the clusters. */
  readonly shrink: Spell;
}

/** Limit on the machines that a burst asks for in one cluster. */
const BURST_CLUSTER_MACHINES_MAX = 20;

export class DemandWeather {
  readonly #clusters: readonly FleetCluster[];
  readonly #settings: WeatherSettings;
  readonly #random: Random;
  /** Types that needs of lower priority use. */
  readonly #types: readonly number[];
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(
    clusters: readonly FleetCluster[],
    types: readonly MachineType[],
    settings: WeatherSettings,
    random: Random,
  ) {
    this.#clusters = clusters;
    this.#settings = settings;
    this.#random = random;
    const isCritical = (name: string) =>
      ARCHETYPES.some(({ typeNames, priority }) => typeNames.includes(name) && priority >= BURST_PRIORITY);
    this.#types = types.flatMap(({ name }, index) => (isCritical(name) ? [] : [index]));
  }

  start(): void {
    const { burst, shrink } = this.#settings;
    if (burst.share > 0) this.#every(burst.everyMs, () => this.burst());
    if (shrink.share > 0) this.#every(shrink.everyMs, () => this.shrink());
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  /** Changes the demand now; operators report it with their next roll-ups. */
  burst(): void {
    const { share, lengthMs } = this.#settings.burst;
    const type = this.#random.pick(this.#types);
    let machinesLeft = 0;
    for (const { demand } of this.#clusters) machinesLeft += demand.wantedByType[type]!;
    machinesLeft = Math.ceil(machinesLeft * share);
    const struck = new Set<FleetCluster>();
    while (machinesLeft > 0 && struck.size < this.#clusters.length) {
      const cluster = this.#random.pick(this.#clusters);
      if (struck.has(cluster)) continue;
      const count = Math.min(machinesLeft, this.#random.between(1, BURST_CLUSTER_MACHINES_MAX));
      cluster.demand.beginBurst(type, count);
      struck.add(cluster);
      machinesLeft -= count;
    }
    this.#after(lengthMs, () => {
      for (const { demand } of struck) demand.endBurst();
    });
  }

  shrink(): void {
    const { share, lengthMs } = this.#settings.shrink;
    const struck = this.#clusters.filter(() => this.#random.chance(share));
    for (const { demand } of struck) demand.shrink(true);
    this.#after(lengthMs, () => {
      for (const { demand } of struck) demand.shrink(false);
    });
  }

  #every(intervalMs: number, run: () => void): void {
    this.#after(intervalMs, () => {
      run();
      this.#every(intervalMs, run);
    });
  }

  #after(delayMs: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, delayMs);
    this.#timers.add(timer);
  }
}
