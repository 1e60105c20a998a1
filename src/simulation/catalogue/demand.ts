/**
 * The demand of one cluster that exactly a given number of machines covers: its rows, and the machines of each
 * need. Needs are drawn from the archetypes until all machines are used; then small gangs are added or dropped,
 * where their machines allow it, until the number of rows is right.
 *
 * Every need is exact: in its scarce dimension its machines cover it, and one machine fewer would not. So no need
 * lacks a machine or has one too many, and a decision over the steady fleet has nothing to do.
 */
import { AssertionError } from '../../base/assert.ts';
import type { Random } from '../../base/random.ts';
import type { CapacityType } from '../../machine/capacity-type.ts';
import type { ResourceAmounts } from '../../machine/machine.ts';
import { fingerprintOf } from '../../needs/requirements.ts';
import { ARCHETYPES, type Archetype } from './archetypes.ts';
import { MACHINE_TYPES, type MachineType, ZONES } from './hardware.ts';
import { type DrawnProfile, drawProfile, foldProfile } from './profile.ts';

/** One machine of a need, before it has a rack and an id. */
export interface Place {
  readonly type: MachineType;
  readonly capacityType: CapacityType;
  readonly zone: number;
}

export interface PlannedNeed {
  readonly form: Form;
  readonly profile: DrawnProfile;
  /** Aggregate of one row. A folded need has one row per group, all equal. */
  readonly aggregate: ResourceAmounts;
  readonly minUnit: ResourceAmounts;
  /** One per row; '' for a plain need. */
  readonly groups: string[];
  readonly places: readonly Place[];
  /** Gangs that fit one machine; 1 for other forms. */
  readonly gangsPerMachine: number;
}

export type Form = 'plain' | 'small' | 'spanning';

/** A cluster of 250 machines, of which 97 % are bound, has 388 rows. */
const ROWS_PER_BOUND_MACHINE = 388 / 242.5;
/** Shares of the bound machines and of the rows in a mixed fleet, where most rows are small gangs. */
const SPANNING_MACHINE_SHARE = 0.3;
const PLAIN_ROW_SHARE = 0.175;
const PLAIN_MACHINE_SHARE_MAX = 0.5;
/** Machines of a plain need and of a fold, with their weights. */
const PLAIN_SIZES = [1, 2, 3] as const;
const PLAIN_SIZE_WEIGHTS = [86, 10, 4] as const;
const FOLD_SIZE_WEIGHTS = [35, 40, 25] as const;
const PARTS_WEIGHTS = [35, 40, 25] as const;
/** Limit on draws of a new profile. Each archetype has hundreds. */
const DRAWS_MAX = 1_000;

const TYPE_BY_NAME = new Map(MACHINE_TYPES.map((type) => [type.name, type]));

export function planCluster(random: Random, clusterId: string, machineCount: number): PlannedNeed[] {
  const needs = new ClusterPlan(random, clusterId, machineCount);
  needs.addSpanning(Math.floor(machineCount * SPANNING_MACHINE_SHARE));
  const rowCount = Math.round(machineCount * ROWS_PER_BOUND_MACHINE);
  needs.addPlain(Math.round(rowCount * PLAIN_ROW_SHARE), Math.floor(machineCount * PLAIN_MACHINE_SHARE_MAX));
  needs.addSmall();
  needs.trimRows(rowCount);
  return needs.planned;
}

class ClusterPlan {
  readonly planned: PlannedNeed[] = [];
  readonly #random: Random;
  readonly #clusterId: string;
  readonly #known = new Set<string>();
  #machinesLeft: number;
  #groupNumber = 0;

  constructor(random: Random, clusterId: string, machineCount: number) {
    this.#random = random;
    this.#clusterId = clusterId;
    this.#machinesLeft = machineCount;
  }

  addSpanning(machinesMax: number): void {
    let left = machinesMax;
    for (;;) {
      const archetype = this.#pickArchetype('spanning');
      const size = this.#random.between(...archetype.gangMachines);
      if (size > left) return;
      left -= size;
      const type = this.#pickType(archetype);
      const profile = drawProfile(this.#random, archetype, type, { colocated: true, spread: false });
      const aggregate = filled(type, size - this.#random.below(4) / 8);
      // A training process takes most of a machine, a database process half.
      const minUnit = filled(type, archetype.name === 'training' ? 0.875 : 0.5);
      this.#add('spanning', profile, aggregate, minUnit, 1, this.#places(profile, type, size, false), 1);
    }
  }

  addPlain(rowCount: number, machinesMax: number): void {
    let left = machinesMax;
    for (let row = 0; row < rowCount; row++) {
      const archetype = this.#pickArchetype('plain');
      const type = this.#pickType(archetype);
      const size = PLAIN_SIZES[this.#random.weighted(PLAIN_SIZE_WEIGHTS)]!;
      if (size > left) return;
      left -= size;
      const spread = size > 1 && this.#random.chance(archetype.spreadShare);
      const profile = this.#drawNew('plain', () =>
        drawProfile(this.#random, archetype, type, { colocated: false, spread }),
      );
      const aggregate = filled(type, size - this.#random.below(4) / 8);
      this.#add(
        'plain',
        profile,
        aggregate,
        filled(type, 0.25),
        1,
        this.#places(profile, type, size, spread),
        1,
      );
    }
  }

  /** Uses all remaining machines. */
  addSmall(): void {
    while (this.#machinesLeft > 0) {
      const archetype = this.#pickArchetype('small');
      const type = this.#pickType(archetype, (candidate) => candidate.gangsPerMachine.length > 0);
      const parts = this.#pickParts(type);
      const size = Math.min(this.#machinesLeft, 1 + this.#random.weighted(FOLD_SIZE_WEIGHTS));
      // Gangs with the same aggregate and profile would join one fold.
      const profile = this.#drawNew(`small ${type.name} ${parts}`, () =>
        drawProfile(this.#random, archetype, type, { colocated: true, spread: false }),
      );
      const gangCount = size * parts - this.#random.below(parts);
      const aggregate = filled(type, 1 / parts);
      const minUnit = filled(type, 1 / (2 * parts));
      this.#add(
        'small',
        profile,
        aggregate,
        minUnit,
        gangCount,
        this.#places(profile, type, size, false),
        parts,
      );
    }
  }

  /** Adds or drops single small gangs without changing the number of machines of any fold. */
  trimRows(rowCount: number): void {
    let surplus = this.planned.reduce((count, need) => count + need.groups.length, 0) - rowCount;
    const folds = this.#random.shuffle(this.planned.filter((need) => need.form === 'small'));
    for (let moved = true; surplus !== 0 && moved; ) {
      moved = false;
      for (const fold of folds) {
        const gangsMax = fold.places.length * fold.gangsPerMachine;
        const gangsMin = gangsMax - fold.gangsPerMachine + 1;
        if (surplus > 0 && fold.groups.length > gangsMin) {
          fold.groups.pop();
          surplus--;
          moved = true;
        } else if (surplus < 0 && fold.groups.length < gangsMax) {
          fold.groups.push(this.#newGroup());
          surplus++;
          moved = true;
        }
      }
    }
  }

  #add(
    form: Form,
    profile: DrawnProfile,
    aggregate: ResourceAmounts,
    minUnit: ResourceAmounts,
    rowCount: number,
    places: readonly Place[],
    gangsPerMachine: number,
  ): void {
    const groups = Array.from({ length: rowCount }, () => (form === 'plain' ? '' : this.#newGroup()));
    this.planned.push({ form, profile, aggregate, minUnit, groups, places, gangsPerMachine });
    this.#machinesLeft -= places.length;
  }

  #newGroup(): string {
    return `${this.#clusterId}/job-${this.#groupNumber++}`;
  }

  #pickArchetype(form: Form): Archetype {
    return ARCHETYPES[this.#random.weighted(ARCHETYPES.map((archetype) => archetype.weights[form]))]!;
  }

  #pickType(archetype: Archetype, fits: (type: MachineType) => boolean = () => true): MachineType {
    return this.#random.pick(archetype.typeNames.map((name) => TYPE_BY_NAME.get(name)!).filter(fits));
  }

  #pickParts(type: MachineType): number {
    const weights = PARTS_WEIGHTS.slice(0, type.gangsPerMachine.length);
    return type.gangsPerMachine[this.#random.weighted(weights)]!;
  }

  /** A profile that is new in this cluster for this use: equal rows would merge into one need. */
  #drawNew(use: string, draw: () => DrawnProfile): DrawnProfile {
    for (let attempt = 0; attempt < DRAWS_MAX; attempt++) {
      const profile = draw();
      const key = `${use} ${fingerprintOf(foldProfile(profile))}`;
      if (this.#known.has(key)) continue;
      this.#known.add(key);
      return profile;
    }
    throw new AssertionError(`cluster ${this.#clusterId} already has every possible profile for ${use}`);
  }

  #places(profile: DrawnProfile, type: MachineType, count: number, spread: boolean): Place[] {
    const offers = type.offers.filter((offer) => profile.capacityTypes.includes(offer.capacityType));
    const offer = offers[this.#random.weighted(offers.map((candidate) => candidate.weight))]!;
    const first = profile.zone ?? this.#random.below(ZONES.length);
    return Array.from({ length: count }, (_, index) => ({
      type,
      capacityType: offer.capacityType,
      zone: spread ? (first + index) % ZONES.length : first,
    }));
  }
}

/**
 * The amounts that fill this many machines of a type in its scarce dimension, and four fifths of them in the
 * others: real workloads never fill all dimensions at once. Devices are whole numbers, memory is whole Mi, and
 * storage is left out.
 */
export function filled(type: MachineType, machines: number): ResourceAmounts {
  const amounts: Record<string, number> = {};
  for (const [name, units] of Object.entries(type.capacity)) {
    if (name === 'ephemeral-storage') continue;
    if (name === 'nvidia.com/gpu') amounts[name] = Math.ceil((units * machines) / 1_000) * 1_000;
    else if (name === type.scarce) amounts[name] = units * machines;
    else if (name === 'memory') amounts[name] = Math.floor((units * machines * 0.8) / 1_024) * 1_024;
    else amounts[name] = Math.floor(units * machines * 0.8);
  }
  return amounts;
}
