/**
 * Families: shapes that differ only in their *fine* labels, those with many values, such as racks. A fleet in racks of 40
 * has twelve thousand shapes, one per rack, but only a few hundred families, so a requirement is matched a few hundred
 * times and an ordered list exists per family, not per rack. Which fine labels a machine has is a fact of its family;
 * their values are not. A requirement on a fine value is checked per shape (filters.ts).
 *
 *   by shape    familyOf                     u32            0 = unknown
 *               machinesIn                   u32            machines of any state
 *               unassignedIn                 u32            Idle and Speculative machines
 *               openIn                       u32            those, and orphaned Creating ones, that are not in back-off
 *               openPosition                 u32            position + 1 among its family's shapes with openIn > 0
 *   by family   machines, unassigned, open   u32            the sums of the above
 *               openedAt                     f64            openVersion when a machine last became open, or open again
 *               capacity                     f64 × stride   units by dimension
 *
 * A family number keeps its meaning until `regroup`.
 */

import type { VectorTable } from '../../base/vectors.ts';
import {
  attributeOf,
  INSTANCE_TYPE_KEY,
  type Shape,
  type ShapeTable,
  ZONE_KEY,
} from '../../inventory/shapes.ts';
import { columnF64, columnU32, widerF64, widerU32 } from '../columns/columns.ts';
import { leftBehindMax } from './left-behind.ts';

/** A label with more values than this is fine: a zone has three values, a rack label thousands. */
export const COARSE_VALUES_MAX = 64;

export class Families {
  readonly #shapes: ShapeTable;
  readonly #vectors: VectorTable;
  readonly #coarseValuesMax: number;
  readonly #byKey = new Map<string, number>();
  /** The values of each label that is not fine, with the number of shapes that have them. */
  readonly #valuesOf = new Map<string, Map<string, number>>();
  readonly fineKeys = new Set<string>();
  familyOf = columnU32(1024);
  machinesIn = columnU32(1024);
  unassignedIn = columnU32(1024);
  openIn = columnU32(1024);
  #openPosition = columnU32(1024);
  machines = columnU32(64);
  unassigned = columnU32(64);
  open = columnU32(64);
  openedAt = columnF64(64);
  capacity = columnF64(64 * 8);
  /** Doubles per family in `capacity`; at least the number of dimensions. */
  stride = 8;
  /** One shape of each family, whose attributes (fine values aside) are the family's. */
  readonly #sample: Shape[] = [];
  readonly #shapesOf: number[][] = [];
  readonly #openShapesOf: number[][] = [];
  #count = 0;
  /** Retired families. */
  #retiredCount = 0;
  /** Increases when a count changes that decides which gangs fold (A1). */
  unassignedVersion = 0;
  /** Increases when a machine becomes open; from 1. */
  openVersion = 1;
  /** Increases when a shape gets its first machine or loses its last one. */
  machinesVersion = 0;

  constructor(shapes: ShapeTable, vectors: VectorTable, coarseValuesMax: number = COARSE_VALUES_MAX) {
    this.#shapes = shapes;
    this.#vectors = vectors;
    this.#coarseValuesMax = coarseValuesMax;
  }

  /** Families are 1 … count. */
  get count(): number {
    return this.#count;
  }

  /** Families that have a shape. */
  get usedCount(): number {
    return this.#count - this.#retiredCount;
  }

  /** T12: whether labels or capacities that drift have left so many families behind that all shapes must be regrouped. */
  areMostlyRetired(machineCount: number): boolean {
    return this.#retiredCount > leftBehindMax(machineCount) && 2 * this.#retiredCount > this.#count;
  }

  /** Whether the family's last shape is gone. It has no machine, and none of its facts counts. */
  isRetired(family: number): boolean {
    return this.#shapesOf[family]!.length === 0;
  }

  sampleOf(family: number): Shape {
    return this.#sample[family]!;
  }

  /** Whether machines of the two families have the same capacity. */
  areAlike(familyA: number, familyB: number): boolean {
    return familyA === familyB || this.#sample[familyA]!.capacity === this.#sample[familyB]!.capacity;
  }

  shapesOf(family: number): readonly number[] {
    return this.#shapesOf[family]!;
  }

  /** Shapes of the family that have open machines. */
  openShapesOf(family: number): readonly number[] {
    return this.#openShapesOf[family]!;
  }

  /** Reads the labels of a new shape; true if one of them turned fine, so that all shapes must be regrouped. */
  countLabels(shape: number): boolean {
    let turned = false;
    for (const [key, value] of this.#shapes.get(shape).labels) {
      if (this.fineKeys.has(key)) continue;
      let values = this.#valuesOf.get(key);
      if (values === undefined) {
        values = new Map();
        this.#valuesOf.set(key, values);
      }
      values.set(value, (values.get(value) ?? 0) + 1);
      if (values.size > this.#coarseValuesMax) {
        this.fineKeys.add(key);
        this.#valuesOf.delete(key);
        turned = true;
      }
    }
    return turned;
  }

  /** Puts a shape whose labels were counted into its family, and holds a reference to it. */
  admit(ref: number): number {
    const shape = this.#shapes.get(ref);
    const key = this.#keyOf(shape);
    let family = this.#byKey.get(key);
    if (family === undefined) {
      family = ++this.#count;
      this.#byKey.set(key, family);
      this.#sample[family] = shape;
      this.#shapesOf[family] = [];
      this.#openShapesOf[family] = [];
      this.machines = widerU32(this.machines, family);
      this.unassigned = widerU32(this.unassigned, family);
      this.open = widerU32(this.open, family);
      this.openedAt = widerF64(this.openedAt, family);
      this.#vectors.retain(shape.capacity);
      this.#writeCapacity(family, shape.capacity);
    }
    this.familyOf = widerU32(this.familyOf, ref);
    this.machinesIn = widerU32(this.machinesIn, ref);
    this.unassignedIn = widerU32(this.unassignedIn, ref);
    this.openIn = widerU32(this.openIn, ref);
    this.#openPosition = widerU32(this.#openPosition, ref);
    this.familyOf[ref] = family;
    this.#shapesOf[family]!.push(ref);
    this.#shapes.retain(ref);
    return family;
  }

  /** Releases a shape that has no machine left. */
  dismiss(ref: number): void {
    const family = this.familyOf[ref]!;
    const shapes = this.#shapesOf[family]!;
    shapes[shapes.indexOf(ref)] = shapes[shapes.length - 1]!;
    shapes.pop();
    if (shapes.length === 0) this.#retire(family);
    this.familyOf[ref] = 0;
    for (const [key, value] of this.#shapes.get(ref).labels) {
      const values = this.#valuesOf.get(key);
      const left = (values?.get(value) ?? 0) - 1;
      if (left > 0) values!.set(value, left);
      else values?.delete(value);
      if (values?.size === 0) this.#valuesOf.delete(key);
    }
    this.#shapes.release(ref);
  }

  /**
   * The family's last shape is gone. T6: its capacity would hold resource names that no machine has, so it is given back now,
   * and a shape that returns gets another family. The number stays until `regroup`.
   */
  #retire(family: number): void {
    const sample = this.#sample[family]!;
    this.#byKey.delete(this.#keyOf(sample));
    this.#vectors.release(sample.capacity);
    this.#retiredCount++;
  }

  /** Forgets what the labels said: `countLabels` must read those of all shapes again. */
  forgetLabels(): void {
    this.fineKeys.clear();
    this.#valuesOf.clear();
  }

  /** Forgets every family and releases every shape; no machine may be attached. Fine labels stay fine. */
  regroup(): void {
    for (let family = 1; family <= this.#count; family++) {
      if (!this.isRetired(family)) this.#vectors.release(this.#sample[family]!.capacity);
      for (const shape of [...this.#shapesOf[family]!]) {
        this.familyOf[shape] = 0;
        this.#shapes.release(shape);
      }
      this.unassigned[family] = this.machines[family] = this.open[family] = 0;
    }
    this.#count = this.#retiredCount = 0;
    this.#byKey.clear();
    this.#sample.length = this.#shapesOf.length = this.#openShapesOf.length = 0;
    this.capacity.fill(0);
    this.unassignedVersion++;
    this.machinesVersion++;
  }

  changeUnassigned(shape: number, by: 1 | -1): void {
    this.unassignedIn[shape]! += by;
    this.unassigned[this.familyOf[shape]!]! += by;
    this.unassignedVersion++;
  }

  changeMachines(shape: number, by: 1 | -1): void {
    const count = this.machinesIn[shape]! + by;
    this.machinesIn[shape] = count;
    this.machines[this.familyOf[shape]!]! += by;
    if (count === 0 || (count === 1 && by === 1)) this.machinesVersion++;
  }

  /** A machine of the family that no need could have in the last cycle may be acquired in this one. */
  noteOpened(family: number): void {
    this.openedAt[family] = ++this.openVersion;
  }

  changeOpen(shape: number, by: 1 | -1): void {
    const family = this.familyOf[shape]!;
    if (by === 1) this.noteOpened(family);
    this.open[family]! += by;
    const before = this.openIn[shape]!;
    this.openIn[shape] = before + by;
    const openShapes = this.#openShapesOf[family]!;
    if (before === 0) {
      openShapes.push(shape);
      this.#openPosition[shape] = openShapes.length;
    } else if (before + by === 0) {
      const position = this.#openPosition[shape]! - 1;
      const moved = openShapes[openShapes.length - 1]!;
      openShapes[position] = moved;
      this.#openPosition[moved] = position + 1;
      openShapes.pop();
    }
  }

  /** Units that a machine of the family has of a dimension. */
  unitsOf(family: number, dim: number): number {
    return dim < this.stride ? this.capacity[family * this.stride + dim]! : 0;
  }

  /** Whole gangs of this aggregate that fit on one machine of the family; infinitely many if the aggregate is empty. */
  gangsPerMachine(family: number, aggregate: number): number {
    const { start, length, dims, units } = this.#vectors;
    const end = start[aggregate]! + length[aggregate]!;
    let gangs = Number.POSITIVE_INFINITY;
    for (let entry = start[aggregate]!; entry < end; entry++) {
      const fitting = Math.floor(this.unitsOf(family, dims[entry]!) / units[entry]!);
      if (fitting < gangs) gangs = fitting;
    }
    return gangs;
  }

  /** Makes room for new dimensions, so that `capacity` has a column for every dimension. */
  fitDimensions(): void {
    const needed = this.#vectors.dimensions.count;
    if (needed <= this.stride) return;
    this.stride = 2 * needed;
    this.capacity = columnF64((this.#count + 64) * this.stride);
    for (let family = 1; family <= this.#count; family++) {
      if (this.isRetired(family)) continue;
      this.#writeCapacity(family, this.#sample[family]!.capacity);
    }
  }

  #writeCapacity(family: number, capacity: number): void {
    this.capacity = widerF64(this.capacity, (family + 1) * this.stride);
    const { start, length, dims, units } = this.#vectors;
    const end = start[capacity]! + length[capacity]!;
    const row = family * this.stride;
    for (let entry = start[capacity]!; entry < end; entry++)
      this.capacity[row + dims[entry]!] = units[entry]!;
  }

  /** Lengths separate the parts, whatever they contain. Labels are in a fixed order, as in the shape's key. */
  #keyOf(shape: Shape): string {
    const { instanceType, zone, capacityType, capacity } = shape;
    let text = `${capacityType} ${capacity} ${instanceType.length} ${instanceType}${zone.length} ${zone}`;
    for (const [key, value] of shape.labels) {
      text += this.fineKeys.has(key)
        ? `${key.length} ${key}`
        : `${key.length} ${key}=${value.length} ${value}`;
    }
    return text;
  }
}

/** The family's machines have the label, with values that differ from shape to shape. */
export const FINE = Symbol('fine');

/** The attribute of a family as a requirement sees it. */
export function familyAttribute(
  families: Families,
  family: number,
  key: string,
): string | undefined | typeof FINE {
  const sample = families.sampleOf(family);
  const value = attributeOf(sample, key);
  if (value === undefined || !families.fineKeys.has(key)) return value;
  // Zone and instance type are facts of the family where they are set; only labels can be fine.
  return sample.labels.get(key) === value && !isFact(sample, key) ? FINE : value;
}

function isFact(shape: Shape, key: string): boolean {
  return (key === ZONE_KEY && shape.zone !== '') || (key === INSTANCE_TYPE_KEY && shape.instanceType !== '');
}
