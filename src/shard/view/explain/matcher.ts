/**
 * Which machines a need could take at all, and what the others lack: requirements (V4) and min_unit, asked of shapes; only
 * labels that are a machine's own are asked of machines.
 */
import type { Inventory } from '../../../inventory/inventory.ts';
import { attributeOf, type Shape } from '../../../inventory/shapes.ts';
import { matches, type Requirement } from '../../../needs/requirements.ts';
import type { Miss } from '../../ports/explain.ts';

export class Matcher {
  readonly #inventory: Inventory;
  readonly #ofShape: readonly Requirement[];
  readonly #ofMachine: readonly Requirement[];
  readonly #minUnit: Readonly<Record<string, number>>;

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
  }

  /** Whether shapes alone decide. */
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

  admitsShape(shape: Shape): boolean {
    return this.missesOf(shape).length === 0;
  }

  /** Of a machine whose shape is admitted. */
  admitsSlot(slot: number): boolean {
    if (this.#ofMachine.length === 0) return true;
    const labels = this.#inventory.labelsOf(slot);
    return this.#ofMachine.every((requirement) => matches(requirement, labels[requirement.key]));
  }

  /** Refs of the admitted shapes that have machines. */
  shapes(): number[] {
    const { shapes } = this.#inventory;
    const found: number[] = [];
    for (let ref = 1; ref < shapes.refLimit; ref++) {
      if (shapes.isHeld(ref) && this.admitsShape(shapes.get(ref))) found.push(ref);
    }
    return found;
  }
}
