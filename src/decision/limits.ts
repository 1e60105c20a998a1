/**
 * Limits on what a cluster may have (T8, E8), and ceilings on what the fleet costs (E7, ceilings.ts). They bar acquisition and preemption, never credit. A cluster without limits costs
 * one look into an array per unmet need. If a cluster with limits lacks something, its own machines are counted in that cycle,
 * and the machines of an offering when one of them is looked at; the rest of the fleet is not read.
 *
 * Prices count in millionths of a dollar and resources in their units: sums of integers are the same in any order, so an
 * engine that decides from scratch counts the same.
 */
import { CapacityType } from '../machine/capacity-type.ts';
import { ALL_STATES } from '../machine/state.ts';
import { type Ceilings, FleetCost, WHOLE_FLEET, WITHIN } from './ceilings.ts';
import { Offerings } from './offerings.ts';
import { type Fleet, Role } from './supply/fleet.ts';

/** An amount that is not limited is infinite. */
export interface ClusterLimits {
  readonly maxPriority: number;
  readonly maxMachines: number;
  /** Units by dimension name. */
  readonly maxResources: Readonly<Record<string, number>>;
  readonly maxDollarsPerHour: number;
  /** Of the machines of an offering, in any state; at least one machine. */
  readonly maxOfferingShare: number;
  /** E8: of the cluster's machines, the share that is not spot. 0: any. */
  readonly minNonSpotShare: number;
}

/** Where the engine reads limits from. `of` must answer the same while `version` stays. */
export interface LimitSource {
  readonly version: number;
  /** By cluster ref; null: no limits. */
  of(cluster: number): ClusterLimits | null;
  /** E7; absent or null: none. Read in every cycle. */
  readonly ceilings?: Ceilings | null;
}

/** Of a cluster, then of the fleet. */
export const Limit = {
  None: 0,
  Machines: 1,
  Resources: 2,
  Dollars: 3,
  OfferingShare: 4,
  NonSpotShare: 5,
  FleetCost: 6,
  BareMetalCost: 7,
  ReservedCost: 8,
  OnDemandCost: 9,
  SpotCost: 10,
} as const;
export type Limit = (typeof Limit)[keyof typeof Limit];

/** As in the configuration file; those of the fleet with their section. */
export type LimitName =
  | ''
  | 'max-machines'
  | 'max-resources'
  | 'max-dollars-per-hour'
  | 'max-offering-share'
  | 'min-non-spot-share'
  | `ceilings.${'' | 'bare-metal-' | 'reserved-' | 'on-demand-' | 'spot-'}usd-per-hour`;

export const LIMIT_NAMES: Readonly<Record<Limit, LimitName>> = {
  [Limit.None]: '',
  [Limit.Machines]: 'max-machines',
  [Limit.Resources]: 'max-resources',
  [Limit.Dollars]: 'max-dollars-per-hour',
  [Limit.OfferingShare]: 'max-offering-share',
  [Limit.NonSpotShare]: 'min-non-spot-share',
  [Limit.FleetCost]: 'ceilings.usd-per-hour',
  [Limit.BareMetalCost]: 'ceilings.bare-metal-usd-per-hour',
  [Limit.ReservedCost]: 'ceilings.reserved-usd-per-hour',
  [Limit.OnDemandCost]: 'ceilings.on-demand-usd-per-hour',
  [Limit.SpotCost]: 'ceilings.spot-usd-per-hour',
};

/** By capacity type; machines of none have no ceiling of their own. */
const LIMIT_OF_TYPE: Readonly<Record<number, Limit>> = {
  [CapacityType.BareMetal]: Limit.BareMetalCost,
  [CapacityType.Reserved]: Limit.ReservedCost,
  [CapacityType.OnDemand]: Limit.OnDemandCost,
  [CapacityType.Spot]: Limit.SpotCost,
};

/** In dollars per hour; NaN if the name is none of a ceiling. */
export function ceilingOf(ceilings: Ceilings, name: string): number {
  if (name === LIMIT_NAMES[Limit.FleetCost]) return ceilings.maxDollarsPerHour;
  const type = Object.keys(LIMIT_OF_TYPE).find((one) => LIMIT_NAMES[LIMIT_OF_TYPE[Number(one)]!] === name);
  return type === undefined ? Number.NaN : ceilings.maxByCapacityType[Number(type)]!;
}

/** Whether the limit is one of its cluster (T8, E8), not a ceiling of the fleet. */
export function isOfCluster(limit: number): boolean {
  return limit !== Limit.None && !isCeiling(limit as Limit);
}

function isCeiling(limit: Limit): boolean {
  return limit >= Limit.FleetCost;
}

const UNLIMITED: ClusterLimits = {
  maxPriority: Number.POSITIVE_INFINITY,
  maxMachines: Number.POSITIVE_INFINITY,
  maxResources: {},
  maxDollarsPerHour: Number.POSITIVE_INFINITY,
  maxOfferingShare: Number.POSITIVE_INFINITY,
  minNonSpotShare: 0,
};

const MILLIONTHS = 1_000_000;

interface Counts {
  machines: number;
  /** Of `machines`, those that are spot. */
  spot: number;
  millionths: number;
  /** By limited dimension. */
  readonly units: Float64Array;
  /** By offering; empty unless its share is limited. */
  readonly byOffering: Map<number, number>;
}

interface Saved {
  readonly counts: Counts;
  readonly fleetCost: Float64Array | null;
}

/** What a cluster with limits has, what it took in this cycle included. */
export class ClusterUsage {
  readonly cluster: number;
  readonly limits: ClusterLimits;
  readonly #fleet: Fleet;
  readonly #offerings: Offerings;
  readonly #dims: number[];
  readonly #most: number[];
  readonly #millionthsMax: number;
  /** E8: in millionths, so that it is exact. */
  readonly #nonSpotShare: number;
  /** E8: in phase 2, what the cluster had of machines that are not spot after phase 1. */
  #nonSpotMost = Number.POSITIVE_INFINITY;
  /** E7: of all clusters together; null: no ceilings. */
  readonly #fleetCost: FleetCost | null;
  #counts: Counts;

  constructor(
    cluster: number,
    limits: ClusterLimits,
    fleet: Fleet,
    offerings: Offerings,
    fleetCost: FleetCost | null,
  ) {
    const names = Object.keys(limits.maxResources);
    const { dimensions } = fleet.inventory.shapes.vectors;
    this.cluster = cluster;
    this.limits = limits;
    this.#fleet = fleet;
    this.#offerings = offerings;
    this.#fleetCost = fleetCost;
    this.#dims = names.map((name) => dimensions.find(name));
    this.#most = names.map((name) => limits.maxResources[name]!);
    this.#millionthsMax = Math.round(limits.maxDollarsPerHour * MILLIONTHS);
    this.#nonSpotShare = Math.round(limits.minNonSpotShare * MILLIONTHS);
    this.#counts = {
      machines: 0,
      spot: 0,
      millionths: 0,
      units: new Float64Array(names.length),
      byOffering: new Map(),
    };
  }

  /** The counts as they are now, for `restore`. */
  save(): Saved {
    const { machines, spot, millionths, units, byOffering } = this.#counts;
    const counts = { machines, spot, millionths, units: units.slice(), byOffering: new Map(byOffering) };
    return { counts, fleetCost: this.#fleetCost?.save() ?? null };
  }

  restore({ counts, fleetCost }: Saved): void {
    this.#counts = counts;
    this.#fleetCost?.restore(fleetCost);
  }

  /** Whether the cluster has as many machines as it may have. */
  get hasAllMachines(): boolean {
    return this.#counts.machines >= this.limits.maxMachines;
  }

  /** The first limit that one more machine would exceed, the cluster's before the fleet's; none if the machine counts already. */
  barredBy(slot: number): Limit {
    const limit = this.#barredApartFromShare(slot);
    if (limit !== Limit.None && !isCeiling(limit)) return limit;
    return this.#exceedsShare(slot, 1) ? Limit.NonSpotShare : limit;
  }

  /** The same in phase 1. E8: an unassigned Creating machine is bound later, and the share is checked then. */
  barsAcquiring(slot: number): Limit {
    const isOrphan = this.#fleet.role[slot] === Role.Creating;
    return isOrphan ? this.#barredApartFromShare(slot) : this.barredBy(slot);
  }

  /** The same for a machine of a gang, whose machines the share judges together (`barsGang`). */
  barsOfGang(slot: number): Limit {
    return this.#barredApartFromShare(slot);
  }

  /** E8: whether the cluster has too few machines that are not spot, once all of these that were taken count. */
  barsGang(slots: readonly number[]): Limit {
    const isBound = (slot: number) => this.#fleet.role[slot] !== Role.Creating;
    return slots.some((slot) => isBound(slot) && this.#exceedsShare(slot, 0))
      ? Limit.NonSpotShare
      : Limit.None;
  }

  /** E8: whether the machine is spot, and with so many more the others would be too small a share of all. */
  #exceedsShare(slot: number, more: number): boolean {
    if (this.#nonSpotShare === 0 || !this.isSpot(slot) || this.#isCounted(slot)) return false;
    const { machines, spot } = this.#counts;
    const nonSpot = Math.min(machines - spot, this.#nonSpotMost);
    return !this.#isShareOf(nonSpot, nonSpot + spot + more);
  }

  #isShareOf(nonSpot: number, machines: number): boolean {
    return nonSpot * MILLIONTHS >= this.#nonSpotShare * machines;
  }

  isSpot(slot: number): boolean {
    return this.#fleet.inventory.columns.capacityType[slot] === CapacityType.Spot;
  }

  /** E8: whether the share holds with the machine, and no longer without it. */
  isNeededForShare(slot: number): boolean {
    if (this.#nonSpotShare === 0 || this.isSpot(slot)) return false;
    const { machines, spot } = this.#counts;
    const nonSpot = machines - spot;
    return this.#isShareOf(nonSpot, machines) && !this.#isShareOf(nonSpot - 1, machines - 1);
  }

  /** E8: counts machines of a plan in the share alone, or no longer. */
  countInShare(slots: readonly number[], sign: 1 | -1): void {
    if (this.#nonSpotShare === 0) return;
    for (const slot of slots) {
      if (this.#isCounted(slot)) continue;
      this.#counts.machines += sign;
      if (this.isSpot(slot)) this.#counts.spot += sign;
    }
  }

  /** E8: machines that are not spot and that phase 2 frees count for the share when they are bound. */
  beginPhase2(): void {
    this.#nonSpotMost = Math.min(this.#nonSpotMost, this.#counts.machines - this.#counts.spot);
  }

  #barredApartFromShare(slot: number): Limit {
    if (this.#isCounted(slot)) return Limit.None;
    const limit = this.limits === UNLIMITED ? Limit.None : this.#barredByOwn(slot);
    if (limit !== Limit.None || this.#fleetCost === null) return limit;
    const ceiling = this.#fleetCost.barredBy(slot);
    if (ceiling === WITHIN) return Limit.None;
    return ceiling === WHOLE_FLEET ? Limit.FleetCost : LIMIT_OF_TYPE[ceiling]!;
  }

  #barredByOwn(slot: number): Limit {
    const { machines, millionths, units, byOffering } = this.#counts;
    if (machines + 1 > this.limits.maxMachines) return Limit.Machines;
    for (let index = 0; index < units.length; index++) {
      const more = this.#unitsOf(slot, index);
      if (more > 0 && units[index]! + more > this.#most[index]!) return Limit.Resources;
    }
    const price = this.#millionthsOf(slot);
    const isPriced = this.#fleet.inventory.columns.pricePerHourUsd[slot]! > 0;
    if (isPriced && millionths + price > this.#millionthsMax) return Limit.Dollars;
    if (this.limits.maxOfferingShare === Number.POSITIVE_INFINITY) return Limit.None;
    const offering = this.#offerings.of(slot);
    const most = Math.max(1, Math.floor(this.limits.maxOfferingShare * this.#offerings.countOf(offering)));
    return (byOffering.get(offering) ?? 0) + 1 > most ? Limit.OfferingShare : Limit.None;
  }

  /** The machine counts from now on. */
  take(slot: number): void {
    if (this.#isCounted(slot)) return;
    this.add(slot);
    this.#fleetCost?.take(slot);
  }

  add(slot: number): void {
    const counts = this.#counts;
    counts.machines++;
    if (this.isSpot(slot)) counts.spot++;
    counts.millionths += this.#millionthsOf(slot);
    for (let index = 0; index < counts.units.length; index++)
      counts.units[index]! += this.#unitsOf(slot, index);
    if (this.limits.maxOfferingShare === Number.POSITIVE_INFINITY) return;
    const offering = this.#offerings.of(slot);
    counts.byOffering.set(offering, (counts.byOffering.get(offering) ?? 0) + 1);
  }

  /** The limit that leaves no room for what is lacking, whatever machine would bring it. */
  exhausted(lackingOf: (dim: number) => number): Limit {
    const { machines, millionths, units } = this.#counts;
    if (machines >= this.limits.maxMachines) return Limit.Machines;
    for (let index = 0; index < units.length; index++) {
      if (units[index]! >= this.#most[index]! && lackingOf(this.#dims[index]!) > 0) return Limit.Resources;
    }
    return millionths >= this.#millionthsMax ? Limit.Dollars : Limit.None;
  }

  /** The same for a gang that lacks something yet: it needs one more machine at least, and that much of the resources. */
  barsRestOfGang(lackingOf: (dim: number) => number): Limit {
    const { machines, units } = this.#counts;
    if (machines + 1 > this.limits.maxMachines) return Limit.Machines;
    for (let index = 0; index < units.length; index++) {
      const lacking = lackingOf(this.#dims[index]!);
      if (lacking > 0 && units[index]! + lacking > this.#most[index]!) return Limit.Resources;
    }
    return Limit.None;
  }

  /** One of the cluster's machines; binding it again after a drain changes no count. */
  #isCounted(slot: number): boolean {
    return this.#fleet.cluster[slot] === this.cluster && isHeld(this.#fleet.role[slot]!);
  }

  #millionthsOf(slot: number): number {
    return Math.round(this.#fleet.inventory.columns.pricePerHourUsd[slot]! * MILLIONTHS);
  }

  #unitsOf(slot: number, index: number): number {
    const dim = this.#dims[index]!;
    const { families, shape } = this.#fleet;
    return dim < 0 ? 0 : families.unitsOf(families.familyOf[shape[slot]!]!, dim);
  }
}

export class Limits {
  readonly #source: LimitSource | null;
  readonly #fleet: Fleet;
  readonly #offerings: Offerings;
  /** By cluster ref; of clusters with demand. */
  readonly #byRef: (ClusterLimits | null | undefined)[] = [];
  #version = Number.NaN;
  /** By cluster ref, counted in this cycle. */
  readonly #usages = new Map<number, ClusterUsage>();
  /** Null: no ceilings. */
  #fleetCost: FleetCost | null = null;
  /** By need: the limit that kept a gang from reserving in this cycle, and bars it until the next. */
  readonly barredGangs = new Map<number, Limit>();

  constructor(source: LimitSource | undefined, fleet: Fleet) {
    this.#source = source ?? null;
    this.#fleet = fleet;
    this.#offerings = new Offerings(fleet.inventory);
  }

  /** Begins a cycle: whether the limits of clusters that are known may have changed. */
  beginCycle(): boolean {
    if (this.#source === null) return false;
    this.#usages.clear();
    this.#offerings.beginCycle();
    this.barredGangs.clear();
    const ceilings = this.#source.ceilings ?? null;
    this.#fleetCost = ceilings === null ? null : new FleetCost(ceilings, this.#fleet.inventory);
    const isNew = this.#version !== this.#source.version;
    this.#version = this.#source.version;
    return isNew;
  }

  /** Reads the limits of a cluster again: its demand is new, or the limits are. Whether its maximum priority changed. */
  refresh(cluster: number): boolean {
    if (this.#source === null) return false;
    const before = this.maxPriority(cluster);
    this.#byRef[cluster] = this.#source.of(cluster);
    return this.maxPriority(cluster) !== before;
  }

  maxPriority(cluster: number): number {
    return this.#byRef[cluster]?.maxPriority ?? Number.POSITIVE_INFINITY;
  }

  isLimited(cluster: number): boolean {
    return (this.#byRef[cluster] ?? null) !== null;
  }

  /** What the cluster has, for phase 1; null if neither it nor the fleet has limits. */
  usageOf(cluster: number): ClusterUsage | null {
    const limits = this.#byRef[cluster] ?? null;
    if (limits === null && this.#fleetCost === null) return null;
    let usage = this.#usages.get(cluster);
    if (usage === undefined) {
      usage = new ClusterUsage(cluster, limits ?? UNLIMITED, this.#fleet, this.#offerings, this.#fleetCost);
      // Without limits of its own nothing that it has matters.
      if (limits !== null) for (const slot of this.machinesOf(cluster)) usage.add(slot);
      this.#usages.set(cluster, usage);
    }
    return usage;
  }

  /** The same for phase 2, in which ceilings bar nothing: null if the cluster has no limits of its own. */
  ownUsageOf(cluster: number): ClusterUsage | null {
    if (!this.isLimited(cluster)) return null;
    const usage = this.usageOf(cluster);
    usage?.beginPhase2();
    return usage;
  }

  /** The machines that count for a cluster. */
  *machinesOf(cluster: number): Generator<number> {
    const { role, inventory } = this.#fleet;
    const { indexes } = inventory;
    for (const state of ALL_STATES) {
      const start = indexes.startOfCluster(cluster, state);
      const end = start + indexes.countOfCluster(cluster, state);
      for (let position = start; position < end; position++) {
        const slot = indexes.clusterSlots[position]!;
        if (isHeld(role[slot]!)) yield slot;
      }
    }
  }
}

/** The states that count. X1: an enqueued Bootstrap or Provision counts as Creating. */
function isHeld(role: number): boolean {
  return role === Role.Creating || role === Role.Configuring || role === Role.Configured;
}
