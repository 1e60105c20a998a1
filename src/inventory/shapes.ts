/**
 * Shapes: machines with equal (instance type, zone, capacity type, labels, capacity) share one interned
 * shape, so that a requirement is matched with a few thousand shapes, not with half a million machines. The
 * row of a machine holds only the ref of its shape.
 *
 *   by shape ref      object        Shape: one object per shape, never one per machine
 *                     u16 u16 u8    instance type, zone, capacity type: for counters
 *   keys              StringTable   canonical bytes (shape-key.ts) → shape ref, readable from workers
 *
 * Counted: every machine of a shape holds one reference, and others (the decision engine) may hold more. The last
 * release frees the shape's ref, its strings and its vector.
 */
import { assert, fail } from '../base/assert.ts';
import { type SharedStringTable, type StringImage, StringTable } from '../base/string-table.ts';
import type { SharedAmong } from '../base/table-shares.ts';
import type { VectorTable } from '../base/vectors.ts';
import type { CapacityType } from '../machine/capacity-type.ts';
import { isCapacityType } from '../machine/capacity-type.ts';
import { ShapeKeyBuilder } from './shape-key.ts';
import { parseShapeKey } from './shape-key-reader.ts';

export interface Shape {
  readonly ref: number;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
  /** Without own labels (shape-key.ts). */
  readonly labels: ReadonlyMap<string, string>;
  /** Ref of the capacity in the vector table. */
  readonly capacity: number;
  readonly instanceTypeRef: number;
  readonly zoneRef: number;
}

/** A fleet of 1,000,000 in racks of 40 has 25,000 shapes; five times that is more likely a label that is unique per machine. */
export const SHAPES_MAX_DEFAULT = 131_072;
/** Refs of instance types are u16 in the machine columns, and zones have the same limit. */
const NAMES_MAX = 65_535;

export const INSTANCE_TYPE_KEY = 'node.kubernetes.io/instance-type';
export const ZONE_KEY = 'topology.kubernetes.io/zone';

/**
 * Distinct types, zones and label keys and values that the table shares as JavaScript strings. A fleet has a few hundred; a
 * provider whose labels drift would add some with every listing. Past this the table starts over: shapes keep their strings.
 * T12: so that it is small where the fleet is, there are 1,024 of them and four for each shape: with twelve thousand shapes, one
 * for each rack, 49,000 of 100 bytes.
 */
const NAMES_SHARED_MIN = 1_024;
const NAMES_SHARED_PER_SHAPE = 4;

/** V4: instance type and zone come before labels of the same key. Undefined if the shape lacks the attribute. */
export function attributeOf(shape: Shape, key: string): string | undefined {
  if (key === INSTANCE_TYPE_KEY && shape.instanceType !== '') return shape.instanceType;
  if (key === ZONE_KEY && shape.zone !== '') return shape.zone;
  return shape.labels.get(key);
}

export interface ShapeTableOptions {
  readonly vectors: VectorTable;
  readonly shapesMax?: number;
  readonly ownLabelKeys?: readonly string[];
  /** Restored keys: their shapes exist from the start, under the same refs. */
  readonly keys?: StringTable;
}

export class ShapeTable {
  readonly vectors: VectorTable;
  readonly shapesMax: number;
  readonly instanceTypes: StringTable;
  readonly zones: StringTable;
  /** Builds keys for `internKey`; its own-label bytes are valid until the next build. */
  readonly builder: ShapeKeyBuilder;
  /** By shape ref, for counters. */
  readonly instanceTypeOf: Uint16Array;
  readonly zoneOf: Uint16Array;
  readonly capacityTypeOf: Uint8Array;
  readonly #keys: StringTable;
  readonly #shapes: (Shape | undefined)[] = [undefined];
  /** One JavaScript string for each type, zone and label key, however many shapes have it. */
  readonly #names = new Map<string, string>();
  #version = 0;

  constructor(options: ShapeTableOptions) {
    const shapesMax = options.keys?.entriesMax ?? options.shapesMax ?? SHAPES_MAX_DEFAULT;
    this.shapesMax = shapesMax;
    this.vectors = options.vectors;
    this.builder = new ShapeKeyBuilder(options.ownLabelKeys);
    // A key with ten labels is about 400 bytes.
    this.#keys =
      options.keys ??
      StringTable.create({ name: 'shapes', entriesMax: shapesMax, bytesMax: shapesMax * 1024 });
    const namesMax = Math.min(NAMES_MAX, shapesMax);
    const names = { entriesMax: namesMax, bytesMax: namesMax * 256 };
    this.instanceTypes = StringTable.create({ name: 'instance types', ...names });
    this.zones = StringTable.create({ name: 'zones', ...names });
    this.instanceTypeOf = new Uint16Array(shapesMax + 1);
    this.zoneOf = new Uint16Array(shapesMax + 1);
    this.capacityTypeOf = new Uint8Array(shapesMax + 1);
    if (options.keys !== undefined) this.#restore(options.keys);
  }

  /**
   * T1: shapes, instance types and zones have a part for each provider. Capacities need none: a shape has one, and there is room
   * for 4,194,304 of them.
   */
  shareAmong(among: SharedAmong): void {
    for (const table of [this.#keys, this.instanceTypes, this.zones]) table.shareAmong(among);
  }

  get count(): number {
    return this.#keys.count;
  }

  /** Every ref in use is below this. */
  get refLimit(): number {
    return this.#keys.refLimit;
  }

  /** Grows whenever a shape is added or dropped. */
  get version(): number {
    return this.#version;
  }

  get(ref: number): Shape {
    const shape = this.#shapes[ref];
    if (shape === undefined) fail(`shape ${ref} is not in use`);
    return shape;
  }

  isHeld(ref: number): boolean {
    return this.#shapes[ref] !== undefined;
  }

  /** The ref of the shape, with one more reference. Own labels stay in the builder. */
  intern(
    instanceType: string,
    zone: string,
    capacityType: CapacityType,
    labels: Readonly<Record<string, string>>,
    capacity: Readonly<Record<string, number>>,
    owner = 0,
  ): number {
    this.builder.build(instanceType, zone, capacityType, labels, capacity);
    return this.internKey(this.builder.bytes, 0, this.builder.length, owner);
  }

  /** The same from canonical bytes, as a worker sends them. A new shape counts for its owner (base/table-shares.ts). */
  internKey(bytes: Uint8Array, start: number, end: number, owner = 0): number {
    const ref = this.#keys.internBytes(bytes, start, end, owner);
    if (this.#shapes[ref] !== undefined) return ref;
    try {
      this.#add(ref, bytes, start, end, owner);
    } catch (error) {
      this.#keys.release(ref);
      throw error;
    }
    return ref;
  }

  findKey(bytes: Uint8Array, start: number, end: number): number {
    return this.#keys.findBytes(bytes, start, end);
  }

  retain(ref: number): void {
    this.#keys.retain(ref);
  }

  release(ref: number): void {
    const shape = this.get(ref);
    this.#keys.release(ref);
    if (this.#keys.referenceCount(ref) > 0) return;
    this.#shapes[ref] = undefined;
    if (this.#keys.count === 0) this.#names.clear();
    this.instanceTypes.release(shape.instanceTypeRef);
    this.zones.release(shape.zoneRef);
    this.vectors.changeSupply(shape.capacity, -1);
    this.vectors.release(shape.capacity);
    this.#version++;
  }

  referenceCount(ref: number): number {
    return this.#keys.referenceCount(ref);
  }

  keyImage(): StringImage {
    return this.#keys.image();
  }

  /** For workers: canonical bytes → shape ref. */
  shareKeys(): SharedStringTable {
    return this.#keys.share();
  }

  get keyBytesTouched(): number {
    return this.#keys.bytesTouched;
  }

  get keyBytesUsed(): number {
    return this.#keys.bytesUsed;
  }

  #restore(keys: StringTable): void {
    for (let ref = 1; ref < keys.refLimit; ref++) {
      const length = keys.referenceCount(ref) === 0 ? 0 : keys.byteLength(ref);
      if (length === 0) continue;
      const bytes = new Uint8Array(length);
      keys.copyBytes(ref, bytes, 0);
      this.#add(ref, bytes, 0, length);
    }
  }

  #add(ref: number, bytes: Uint8Array, start: number, end: number, owner = 0): void {
    if (this.#names.size > NAMES_SHARED_MIN + NAMES_SHARED_PER_SHAPE * this.count) this.#names.clear();
    const {
      instanceType,
      zone,
      capacityType,
      labels,
      capacity: amounts,
    } = parseShapeKey(bytes, start, end, this.#names);
    assert(isCapacityType(capacityType), 'a shape key has a known capacity type');
    const capacity = this.vectors.intern(amounts);
    let instanceTypeRef = 0;
    let zoneRef: number;
    try {
      instanceTypeRef = this.instanceTypes.intern(instanceType, owner);
      zoneRef = this.zones.intern(zone, owner);
    } catch (error) {
      this.instanceTypes.release(instanceTypeRef);
      this.vectors.release(capacity);
      throw error;
    }
    this.#shapes[ref] = { ref, instanceType, zone, capacityType, labels, capacity, instanceTypeRef, zoneRef };
    this.vectors.changeSupply(capacity, 1);
    this.instanceTypeOf[ref] = instanceTypeRef;
    this.zoneOf[ref] = zoneRef;
    this.capacityTypeOf[ref] = capacityType;
    this.#version++;
  }
}
