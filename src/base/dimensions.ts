/**
 * Resource dimensions: each Kubernetes resource name (`cpu`, `memory`, `nvidia.com/gpu`) gets one small
 * number for the life of the process, so that a vector entry is a byte and a dense working vector an
 * array of at most 256 doubles. A number never passes to another name: working vectors that outlive a
 * cycle stay valid.
 *
 *   dim          0 … count-1   u8, in order of first sight
 *   #names[dim]  string        the name
 *   rank[dim]    u8            position of the name in bytewise order; changes when a name is added, but
 *                              two dimensions never change places, so what was sorted by it stays sorted
 *   byName[i]    u8            dim of the i-th name in bytewise order
 */
import { fail } from './assert.ts';
import { ShardError } from './errors.ts';

/** A dimension is one byte in a vector. A fleet has about ten; one roll-up may bring at most 64. */
export const DIMENSIONS_MAX = 256;

export class TooManyDimensionsError extends ShardError {
  readonly code = 'too_many_dimensions';
  readonly next = 'reject-input';

  constructor(name: string) {
    super(
      `Resource ${JSON.stringify(name)} would be dimension ${DIMENSIONS_MAX + 1} of this shard, which holds ` +
        `${DIMENSIONS_MAX}. The shard refused the input that names it; the dimensions it knows keep working. ` +
        'Correct the resource name, or move the workload to another shard.',
    );
  }
}

export class DimensionTable {
  readonly #names: string[] = [];
  readonly #dimByName = new Map<string, number>();
  readonly #byName = new Uint8Array(DIMENSIONS_MAX);
  readonly #rank = new Uint8Array(DIMENSIONS_MAX);

  /** The dimension of a name; adds the name if it is new. */
  indexOf(name: string): number {
    const known = this.#dimByName.get(name);
    return known === undefined ? this.#add(name) : known;
  }

  /** The dimension of a name, or -1 if the shard has not seen it. */
  find(name: string): number {
    return this.#dimByName.get(name) ?? -1;
  }

  nameOf(dim: number): string {
    const name = this.#names[dim];
    if (name === undefined) fail(`dimension ${dim} was never assigned`);
    return name;
  }

  get count(): number {
    return this.#names.length;
  }

  /** Dimensions in bytewise order of their names. Sums of ratios add in this order, so that they are reproducible. */
  get byName(): Uint8Array {
    return this.#byName.subarray(0, this.#names.length);
  }

  /** Position in `byName`, by dimension. */
  get rank(): Uint8Array {
    return this.#rank;
  }

  #add(name: string): number {
    const dim = this.#names.length;
    if (dim === DIMENSIONS_MAX) throw new TooManyDimensionsError(name);
    this.#names.push(name);
    this.#dimByName.set(name, dim);
    let position = dim;
    while (position > 0 && compareBytewise(name, this.#names[this.#byName[position - 1]!]!) < 0) {
      this.#byName[position] = this.#byName[position - 1]!;
      position--;
    }
    this.#byName[position] = dim;
    for (let moved = position; moved <= dim; moved++) this.#rank[this.#byName[moved]!] = moved;
    return dim;
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
  }
  return a.length - b.length;
}

function utf8Order(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
