/**
 * Which machines match a need, and what the others lack. Requirements and min unit are matched with shapes; only labels
 * of single machines are matched with machines. V4: instance type and zone are attributes of their own, other keys labels.
 */
import type { Inventory } from '../../../inventory/inventory.ts';
import { attributeOf, type Shape } from '../../../inventory/shapes.ts';
import { matches, type Requirement } from '../../../needs/requirements.ts';
import type { Miss } from '../../ports/explain.ts';

/** Shapes tested in one turn, about a millisecond: a fleet with racks has tens of thousands. */
const SHAPES_PER_TURN = 4_096;
/** Shapes per turn when their misses are collected. */
export const MISSES_PER_TURN = 512;

export class Matcher {
  readonly #inventory: Inventory;
  readonly #ofShape: readonly Requirement[];
  readonly #ofMachine: readonly Requirement[];
  readonly #minUnit: Readonly<Record<string, number>>;
  readonly #minUnits: readonly { readonly dim: number; readonly units: number }[];

  constructor(
    inventory: Inventory,
    requirements: readonly Requirement[],
    minUnit: Readonly<Record<string, number>>,
  ) {
    const own = new Set(inventory.tables.ownLabelKeys);
    this.#inventory = inventory;
    this.#ofShape = requirements.filter(({ key }) => !own.has(key));
    this.#ofMachine = requirements.filter(({ key }) => own.has(key));
    this.#minUnit = minUnit;
    const { dimensions } = inventory.shapes.vectors;
    this.#minUnits = Object.entries(minUnit).map(([name, units]) => ({ dim: dimensions.find(name), units }));
  }

  /** Whether the shape alone decides. */
  get isByShape(): boolean {
    return this.#ofMachine.length === 0;
  }

  missesOf(shape: Shape): Miss[] {
    const misses: Miss[] = [];
    for (const requirement of this.#ofShape) {
      const has = attributeOf(shape, requirement.key);
      if (matches(requirement, has)) continue;
      misses.push({ kind: 'requirement', ...requirement, has: has ?? null });
    }
    const { vectors } = this.#inventory.shapes;
    for (const [dimension, wanted] of Object.entries(this.#minUnit)) {
      const dim = vectors.dimensions.find(dimension);
      const has = dim < 0 ? 0 : vectors.unitsOf(shape.capacity, dim);
      if (has < wanted) misses.push({ kind: 'min_unit', dimension, wanted, has });
    }
    return misses;
  }

  /** Cheaper than `missesOf`, for every shape. */
  admitsShape(shape: Shape): boolean {
    for (const requirement of this.#ofShape) {
      if (!matches(requirement, attributeOf(shape, requirement.key))) return false;
    }
    const { vectors } = this.#inventory.shapes;
    for (const { dim, units } of this.#minUnits) {
      if (dim < 0 || vectors.unitsOf(shape.capacity, dim) < units) return false;
    }
    return true;
  }

  /** Call only for a machine whose shape is admitted. */
  admitsSlot(slot: number): boolean {
    if (this.#ofMachine.length === 0) return true;
    const labels = this.#inventory.labelsOf(slot);
    return this.#ofMachine.every((requirement) => matches(requirement, labels[requirement.key]));
  }

  /** Refs of the admitted shapes. */
  async shapes(nextTurn: () => Promise<void>): Promise<number[]> {
    const { shapes } = this.#inventory;
    const found: number[] = [];
    for (let ref = 1; ref < shapes.refLimit; ref++) {
      if (ref % SHAPES_PER_TURN === 0) await nextTurn();
      if (shapes.isHeld(ref) && this.admitsShape(shapes.get(ref))) found.push(ref);
    }
    return found;
  }
}
