/**
 * Filters: which machines a need may take at all. A filter is a requirement set together with a min_unit, interned and
 * reference-counted, because thousands of needs share it; the answer per family is one byte. If a requirement names a
 * value of a fine label (one rack of thousands), the family answers only "perhaps" and the filter checks the shape, once;
 * if it names a label of the single machine (its host name), the filter checks the machine.
 */
import type { Inventory } from '../../inventory/inventory.ts';
import { attributeOf, INSTANCE_TYPE_KEY, type Shape, ZONE_KEY } from '../../inventory/shapes.ts';
import type { ProfileTable } from '../../needs/profiles.ts';
import { matches, Operator, type Requirement } from '../../needs/requirements.ts';
import { columnU32, widerU8 } from '../columns/columns.ts';
import { type Families, FINE, familyAttribute } from './families.ts';
import type { SlotAttributes } from './slot-attributes.ts';

/** How closely a filter must look: the family decides, the shape decides, or the machine's own labels decide. */
export const MatchLevel = { Family: 0, Shape: 1, Machine: 2 } as const;
export type MatchLevel = (typeof MatchLevel)[keyof typeof MatchLevel];

/** 4,096 places: a fleet has a few thousand filters. */
const MEMO_SHIFT = 20;

export interface Filter {
  /** Small and dense, for columns; reused after the last reference is gone. */
  readonly id: number;
  readonly requirementSet: number;
  /** A profile with this requirement set; the reference keeps the set's number from being reused. */
  readonly profile: number;
  readonly minUnit: number;
  readonly requirements: readonly Requirement[];
  matchLevel: MatchLevel;
  /** By family: 1 = its machines match (perhaps, beyond MatchLevel.Family) and cover min_unit. */
  eligible: Uint8Array;
  /** The eligible families. */
  readonly families: number[];
  /** The highest family that was checked; later ones are new. */
  familiesSeen: number;
  /** By shape, beyond MatchLevel.Family: 0 not checked, 1 matches (perhaps), 2 does not. */
  shapeAnswer: Uint8Array;
  /** By family, for E2: 0 not asked, 1 its needs compete for the family, 2 they do not. */
  competes: Uint8Array;
  references: number;
  /** A1 (folding): whole gangs of aggregate `gangsOf` that the unassigned machines hold, as of unassignedVersion `gangsAt`. */
  gangsOf: number;
  gangsAt: number;
  gangs: number;
  /** A8: whether any machine, in any state, could serve its needs, as of machinesVersion `existsAt`. */
  exists: boolean;
  existsAt: number;
}

export class Filters {
  readonly #inventory: Inventory;
  readonly #profiles: ProfileTable;
  readonly #families: Families;
  readonly #attributes: SlotAttributes;
  /** By requirement set, then by min_unit. */
  readonly #bySet: (Map<number, Filter> | undefined)[] = [];
  /** By requirement set, while it has filters: the answer of each family. */
  readonly #answers: (Uint8Array | undefined)[] = [];
  readonly #beyondFamily = new Set<Filter>();
  readonly #byId: (Filter | undefined)[] = [undefined];
  readonly #freeIds: number[] = [];
  /** Ids of recently interned filters, by hash. */
  readonly #memo = columnU32(2 ** (32 - MEMO_SHIFT));

  constructor(inventory: Inventory, profiles: ProfileTable, families: Families, attributes: SlotAttributes) {
    this.#inventory = inventory;
    this.#profiles = profiles;
    this.#families = families;
    this.#attributes = attributes;
  }

  /** Filters in use. */
  get count(): number {
    return this.#byId.length - 1 - this.#freeIds.length;
  }

  get(id: number): Filter {
    return this.#byId[id]!;
  }

  /** The filter of a profile's requirement set and a min_unit, with one more reference. */
  intern(profile: number, minUnit: number): Filter {
    const requirementSet = this.#profiles.columns.requirementSet[profile]!;
    const place = (Math.imul(requirementSet, 0x9e3779b1) ^ Math.imul(minUnit, 0x85ebca77)) >>> MEMO_SHIFT;
    const remembered = this.#byId[this.#memo[place]!];
    if (remembered?.requirementSet === requirementSet && remembered.minUnit === minUnit) {
      remembered.references++;
      return remembered;
    }
    let ofSet = this.#bySet[requirementSet];
    if (ofSet === undefined) {
      ofSet = new Map();
      this.#bySet[requirementSet] = ofSet;
    }
    let filter = ofSet.get(minUnit);
    if (filter === undefined) {
      filter = this.#make(requirementSet, profile, minUnit);
      ofSet.set(minUnit, filter);
      this.#byId[filter.id] = filter;
      if (filter.matchLevel !== MatchLevel.Family) this.#beyondFamily.add(filter);
    }
    filter.references++;
    this.#memo[place] = filter.id;
    return filter;
  }

  retain(filter: Filter): Filter {
    filter.references++;
    return filter;
  }

  release(filter: Filter): void {
    if (--filter.references > 0) return;
    const ofSet = this.#bySet[filter.requirementSet]!;
    ofSet.delete(filter.minUnit);
    if (ofSet.size === 0) this.#answers[filter.requirementSet] = undefined; // the number may be reused for another set
    this.#byId[filter.id] = undefined;
    this.#freeIds.push(filter.id);
    this.#beyondFamily.delete(filter);
    this.#profiles.release(filter.profile);
    this.#inventory.shapes.vectors.release(filter.minUnit);
  }

  /** Checks the families that are new since the last time. */
  refresh(filter: Filter): void {
    const families = this.#families;
    if (filter.familiesSeen === families.count) return;
    const { vectors } = this.#inventory.shapes;
    filter.eligible = widerU8(filter.eligible, families.count);
    for (let family = filter.familiesSeen + 1; family <= families.count; family++) {
      if (families.isRetired(family)) continue;
      if (!this.#mayMatch(filter.requirementSet, filter.requirements, family)) continue;
      if (!vectors.covers(families.sampleOf(family).capacity, filter.minUnit)) continue;
      filter.eligible[family] = 1;
      filter.families.push(family);
    }
    filter.familiesSeen = families.count;
  }

  refreshAll(): void {
    for (const filter of this.#byId) if (filter !== undefined) this.refresh(filter);
  }

  /** Whether a machine of an eligible family really matches; for filters beyond MatchLevel.Family. */
  admitsSlot(filter: Filter, slot: number): boolean {
    if (!this.admitsShape(filter, this.#inventory.columns.shape[slot]!)) return false;
    if (filter.matchLevel !== MatchLevel.Machine) return true;
    return filter.requirements.every((requirement) =>
      matches(requirement, this.#attributes.of(slot, requirement.key)),
    );
  }

  /** The same for a shape; at MatchLevel.Machine: whether one of its machines may match. */
  admitsShape(filter: Filter, shape: number): boolean {
    if (filter.eligible[this.#families.familyOf[shape]!] !== 1) return false;
    if (filter.matchLevel === MatchLevel.Family) return true;
    filter.shapeAnswer = widerU8(filter.shapeAnswer, shape);
    let answer = filter.shapeAnswer[shape]!;
    if (answer === 0) {
      const known = this.#inventory.shapes.get(shape);
      const own = this.#attributes.ownKeys;
      const admitted = filter.requirements.every(
        (requirement) =>
          own.has(requirement.key) || matches(requirement, attributeOf(known, requirement.key)),
      );
      answer = admitted ? 1 : 2;
      filter.shapeAnswer[shape] = answer;
    }
    return answer === 1;
  }

  /** E2: whether needs of the filter compete for the family, as far as size, zone and instance type tell. */
  competes(filter: Filter, family: number): boolean {
    filter.competes = widerU8(filter.competes, this.#families.count);
    if (filter.competes[family] === 0) {
      const { vectors } = this.#inventory.shapes;
      const sample = this.#families.sampleOf(family);
      const isMet = (requirement: Requirement): boolean => {
        const fact = factOf(sample, requirement.key);
        return fact === '' || matches(requirement, fact);
      };
      const does = vectors.covers(sample.capacity, filter.minUnit) && filter.requirements.every(isMet);
      filter.competes[family] = does ? 1 : 2;
    }
    return filter.competes[family] === 1;
  }

  /** Whether a filter of this profile looks at each shape, or each machine. */
  looksBeyondFamilies(profile: number): boolean {
    return this.#matchLevelOf(this.#profiles.get(profile).requirements) !== MatchLevel.Family;
  }

  /** Families were rebuilt: every filter checks them again. */
  regroup(): void {
    this.#beyondFamily.clear();
    this.#answers.length = 0;
    for (const filter of this.#byId) {
      if (filter === undefined) continue;
      filter.matchLevel = this.#matchLevelOf(filter.requirements);
      filter.eligible = new Uint8Array(this.#families.count + 1);
      filter.shapeAnswer = new Uint8Array(0);
      filter.competes = new Uint8Array(0);
      filter.families.length = 0;
      filter.familiesSeen = 0;
      if (filter.matchLevel !== MatchLevel.Family) this.#beyondFamily.add(filter);
    }
  }

  /** Whether any filter reads the labels of single machines, which change without their shape. */
  get readMachines(): boolean {
    for (const { matchLevel } of this.#beyondFamily) if (matchLevel === MatchLevel.Machine) return true;
    return false;
  }

  /** A shape is gone: its number may be reused. */
  forgetShape(shape: number): void {
    for (const filter of this.#beyondFamily) {
      if (shape < filter.shapeAnswer.length) filter.shapeAnswer[shape] = 0;
    }
  }

  #make(requirementSet: number, profile: number, minUnit: number): Filter {
    const { requirements } = this.#profiles.get(profile);
    this.#profiles.retain(profile);
    this.#inventory.shapes.vectors.retain(minUnit);
    const filter: Filter = {
      id: this.#freeIds.pop() ?? this.#byId.length,
      requirementSet,
      profile,
      minUnit,
      requirements,
      matchLevel: this.#matchLevelOf(requirements),
      eligible: new Uint8Array(this.#families.count + 1),
      families: [],
      familiesSeen: 0,
      shapeAnswer: new Uint8Array(0),
      competes: new Uint8Array(0),
      references: 0,
      gangsOf: -1,
      gangsAt: -1,
      exists: false,
      existsAt: -1,
      gangs: 0,
    };
    this.refresh(filter);
    return filter;
  }

  #matchLevelOf(requirements: readonly Requirement[]): MatchLevel {
    let matchLevel: MatchLevel = MatchLevel.Family;
    for (const { key, values } of requirements) {
      if (this.#attributes.ownKeys.has(key)) matchLevel = MatchLevel.Machine;
      else if (matchLevel === MatchLevel.Family && values.length > 0 && this.#families.fineKeys.has(key))
        matchLevel = MatchLevel.Shape;
    }
    return matchLevel;
  }

  /** The same for every min_unit, so checked once per requirement set: 0 not checked, 1 yes, 2 no. */
  #mayMatch(requirementSet: number, requirements: readonly Requirement[], family: number): boolean {
    let answers = this.#answers[requirementSet];
    if (answers === undefined || answers.length <= family) {
      answers = widerU8(answers ?? new Uint8Array(this.#families.count + 1), this.#families.count);
      this.#answers[requirementSet] = answers;
    }
    if (answers[family] === 0) answers[family] = this.#ask(requirements, family) ? 1 : 2;
    return answers[family] === 1;
  }

  #ask(requirements: readonly Requirement[], family: number): boolean {
    for (const requirement of requirements) {
      if (this.#attributes.ownKeys.has(requirement.key)) continue;
      const attribute = familyAttribute(this.#families, family, requirement.key);
      if (attribute !== FINE) {
        if (!matches(requirement, attribute)) return false;
      } else if (
        requirement.operator === Operator.DoesNotExist ||
        requirement.operator === Operator.Unspecified
      ) {
        return false;
      }
    }
    return true;
  }
}

/** The zone or the instance type, where the provider sets it; '' for any other key. */
function factOf({ zone, instanceType }: Shape, key: string): string {
  return key === ZONE_KEY ? zone : key === INSTANCE_TYPE_KEY ? instanceType : '';
}
