/**
 * Resource dimensions: each Kubernetes resource name (`cpu`, `memory`, `nvidia.com/gpu`) gets one small number, so that a
 * vector entry is a byte and a dense working vector an array of at most 256 doubles. The table counts the vectors that
 * use a name. When none does, the number is free: it keeps its name until another one needs it (T6). Code that keeps a number
 * beyond a call must hold a reference to a vector with it, so that the number keeps its meaning.
 *
 *   dim            0 … count-1   u8, in order of first sight
 *   #names[dim]    string        the name
 *   #vectors[dim]  u32           vectors in use with the dimension, a staged one included
 *   #supply[dim]   u32           capacities of machines among them
 *   #isFree[dim]   u8            1 = the number may pass to another name
 *   rank[dim]      u8            position of the name in bytewise order; changes when names come and go, but two
 *                                dimensions in use never change places, so what was sorted by it stays sorted
 *   byName[i]      u8            dim of the i-th name in bytewise order
 */
import { assert, fail } from './assert.ts';
import { ShardError } from './errors.ts';

/** A dimension is one byte in a vector. A fleet has about ten; one roll-up may bring at most 64. */
export const DIMENSIONS_MAX = 256;
/** T6: names that no machine has. Demand leaves a quarter of all numbers to machines. */
export const DEMAND_DIMENSIONS_MAX = 192;

export class TooManyDimensionsError extends ShardError {
  readonly code = 'too_many_dimensions';
  readonly next = 'reject-input';

  constructor(name: string, limit = DIMENSIONS_MAX, kind = '') {
    super(
      `Resource ${JSON.stringify(name)} would be dimension ${limit + 1} ${kind}of this shard, which holds ` +
        `${limit}. The shard refused the input that names it; the dimensions it knows keep working. ` +
        'Correct the resource name, or move the workload to another shard.',
    );
  }
}

export class DimensionTable {
  readonly #names: string[] = [];
  readonly #dimByName = new Map<string, number>();
  readonly #vectors = new Uint32Array(DIMENSIONS_MAX);
  readonly #supply = new Uint32Array(DIMENSIONS_MAX);
  readonly #isFree = new Uint8Array(DIMENSIONS_MAX);
  readonly #byName = new Uint8Array(DIMENSIONS_MAX);
  readonly #rank = new Uint8Array(DIMENSIONS_MAX);
  #freeCount = 0;

  /** The dimension of a name; adds the name if it is new. */
  indexOf(name: string): number {
    const known = this.#dimByName.get(name);
    return known === undefined ? this.#add(name) : known;
  }

  /** The same for demand, which may use only so many names that no machine has. */
  indexOfDemand(name: string): number {
    const known = this.#dimByName.get(name);
    if (known !== undefined && this.#vectors[known]! > 0) return known;
    if (this.demandOnlyCount >= DEMAND_DIMENSIONS_MAX) {
      throw new TooManyDimensionsError(name, DEMAND_DIMENSIONS_MAX, 'without a machine ');
    }
    return known === undefined ? this.#add(name) : known;
  }

  /** The dimension of a name, or -1 if the shard does not know it. */
  find(name: string): number {
    return this.#dimByName.get(name) ?? -1;
  }

  nameOf(dim: number): string {
    const name = this.#names[dim];
    if (name === undefined) fail(`dimension ${dim} was never assigned`);
    return name;
  }

  /** Every dimension is below this. */
  get count(): number {
    return this.#names.length;
  }

  /** New names that still fit. */
  get room(): number {
    return DIMENSIONS_MAX - this.#names.length + this.#freeCount;
  }

  /** Names in use that no machine has. */
  get demandOnlyCount(): number {
    let count = 0;
    for (let dim = 0; dim < this.#names.length; dim++) {
      if (this.#vectors[dim]! > 0 && this.#supply[dim] === 0) count++;
    }
    return count;
  }

  isUsed(dim: number): boolean {
    return this.#vectors[dim]! > 0;
  }

  /** Whether a machine has the resource. */
  isSupplied(dim: number): boolean {
    return this.#supply[dim]! > 0;
  }

  /** Dimensions in bytewise order of their names. Sums of ratios add in this order, so that they are reproducible. */
  get byName(): Uint8Array {
    return this.#byName.subarray(0, this.#names.length);
  }

  /** Position in `byName`, by dimension. */
  get rank(): Uint8Array {
    return this.#rank;
  }

  /** One more vector has the dimension. */
  use(dim: number): void {
    if (this.#vectors[dim]!++ > 0 || this.#isFree[dim] === 0) return;
    this.#isFree[dim] = 0;
    this.#freeCount--;
  }

  /** One vector fewer has it: after the last, the number is free. */
  release(dim: number): void {
    assert(this.#vectors[dim]! > 0, 'only a used dimension is released');
    if (--this.#vectors[dim]! > 0) return;
    this.#isFree[dim] = 1;
    this.#freeCount++;
  }

  /** One capacity more (1) or fewer (-1) has the dimension. */
  changeSupply(dim: number, by: 1 | -1): void {
    this.#supply[dim]! += by;
  }

  #add(name: string): number {
    const dim = this.#freeCount > 0 ? this.#takeFree() : this.#names.length;
    if (dim === DIMENSIONS_MAX) throw new TooManyDimensionsError(name);
    let position = dim === this.#names.length ? dim : this.#names.length - 1;
    this.#names[dim] = name;
    this.#dimByName.set(name, dim);
    while (position > 0 && compareBytewise(name, this.#names[this.#byName[position - 1]!]!) < 0) {
      this.#byName[position] = this.#byName[position - 1]!;
      position--;
    }
    this.#byName[position] = dim;
    this.#renumber();
    return dim;
  }

  /** The lowest free number, without its name. Low numbers keep the engine's rows by dimension short. */
  #takeFree(): number {
    const dim = this.#isFree.indexOf(1);
    this.#isFree[dim] = 0;
    this.#freeCount--;
    this.#dimByName.delete(this.#names[dim]!);
    this.#byName.copyWithin(this.#rank[dim]!, this.#rank[dim]! + 1, this.#names.length);
    return dim;
  }

  #renumber(): void {
    for (let position = 0; position < this.#names.length; position++)
      this.#rank[this.#byName[position]!] = position;
  }
}

/**
 * Order of two strings by their UTF-8 bytes, without encoding them. UTF-16 units give that order except
 * that surrogates (U+10000 and up) sort before U+E000…U+FFFF; swapping those two ranges corrects it.
 * Surrogates come in pairs here: every string was decoded from UTF-8.
 */
export function compareBytewise(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index++) {
    const unitA = a.charCodeAt(index);
    const unitB = b.charCodeAt(index);
    if (unitA !== unitB) return utf8Order(unitA) - utf8Order(unitB);
    // Where one string has no unit of those ranges, the engine's own order is right, and much faster on long texts.
    if (index === UNITS_COMPARED && (!SWAPPED_UNIT.test(a) || !SWAPPED_UNIT.test(b)))
      return a < b ? -1 : a > b ? 1 : 0;
  }
  return a.length - b.length;
}

const UNITS_COMPARED = 64;
const SWAPPED_UNIT = /[\ud800-\uffff]/;

function utf8Order(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
