/**
 * Resource vectors, interned: demand and capacity repeat (ten instance types, a few gang sizes), so each
 * distinct vector is stored once, counted, and named by a small number. Equal vectors have equal refs,
 * which makes "equal aggregate" one compare and "covers" a question asked once per pair of refs. Sparse:
 * a dimension with zero units is never stored. Main thread only.
 *
 *   by ref       start       u32   first entry in the pools (free ref: the next free ref)
 *                length      u16   entries (a vector may have all 256 dimensions)
 *                #count      u32   references; 0 = free
 *                #hash       u32   of the entries, so that the buckets grow without reading the pools
 *   by entry     dims        u8    dimension; within a vector in bytewise order of names
 *                units       f64   integer, 1 … 2^53 − 1 (first of a free block: the next free block + 1)
 *   buckets      #buckets    u32   open addressing, linear probing, at most half full; 0 = empty
 *
 * 22 bytes a vector with its buckets, plus 9 an entry. Ref 0 is the zero vector and is not counted. The
 * arrays are replaced when they grow: read the getters again after anything that may intern.
 */
import { fail } from './assert.ts';
import { DIMENSIONS_MAX, DimensionTable } from './dimensions.ts';
import { ShardError } from './errors.ts';
import { UNITS_MAX } from './quantity.ts';

/** 776,000 needs bring at most two vectors each, and shapes a few thousand: four million is twice that. */
export const VECTORS_MAX = 4_194_304;

export class TooManyVectorsError extends ShardError {
  readonly code = 'too_many_vectors';
  readonly next = 'reject-input';

  constructor() {
    super(
      `The shard holds ${VECTORS_MAX} distinct resource vectors, its limit. It refused the input that brought one more; ` +
        'the last good state stays. Send demand with fewer distinct aggregates.',
    );
  }
}

const REFS_AT_START = 1024;
const ENTRIES_AT_START = 4096;
/** References of each restored vector: an image does not have them, and more than any part releases. */
const PINNED = 2 ** 30;

/** A table's vectors with their refs, for an image (image.ts). */
export interface VectorImage {
  readonly dimensionNames: readonly string[];
  readonly start: Uint32Array;
  readonly length: Uint16Array;
  readonly hash: Uint32Array;
  readonly dims: Uint8Array;
  readonly units: Float64Array;
}

export class VectorTable {
  readonly dimensions: DimensionTable;
  #start = new Uint32Array(REFS_AT_START);
  #length = new Uint16Array(REFS_AT_START);
  #count = new Uint32Array(REFS_AT_START);
  #hash = new Uint32Array(REFS_AT_START);
  #dims = new Uint8Array(ENTRIES_AT_START);
  #units = new Float64Array(ENTRIES_AT_START);
  #buckets = new Uint32Array(2 * REFS_AT_START);
  readonly #freeBlock = new Float64Array(DIMENSIONS_MAX + 1); // by length: first entry + 1, 0 = none
  #freeRef = 0;
  #refLimit = 1;
  #entryLimit = 0;
  #liveCount = 0;
  readonly #staged = new Float64Array(DIMENSIONS_MAX);
  readonly #stagedDims = new Uint8Array(DIMENSIONS_MAX);
  #stagedCount = 0;

  constructor(dimensions: DimensionTable) {
    this.dimensions = dimensions;
  }

  /** Views of what the table holds now. */
  image(): VectorImage {
    const { dimensions } = this;
    return {
      dimensionNames: Array.from({ length: dimensions.count }, (_, dim) => dimensions.nameOf(dim)),
      start: this.#start.subarray(0, this.#refLimit),
      length: this.#length.subarray(0, this.#refLimit),
      hash: this.#hash.subarray(0, this.#refLimit),
      dims: this.#dims.subarray(0, this.#entryLimit),
      units: this.#units.subarray(0, this.#entryLimit),
    };
  }

  /** A table with the same vectors under the same refs, which it never frees, and room for more. */
  static restore(image: VectorImage): VectorTable {
    const dimensions = new DimensionTable();
    for (const name of image.dimensionNames) dimensions.indexOf(name);
    const table = new VectorTable(dimensions);
    const refs = Math.max(REFS_AT_START, image.start.length);
    const entries = Math.max(ENTRIES_AT_START, image.dims.length);
    table.#start = grown(image.start, new Uint32Array(refs));
    table.#length = grown(image.length, new Uint16Array(refs));
    table.#hash = grown(image.hash, new Uint32Array(refs));
    table.#count = new Uint32Array(refs);
    table.#dims = grown(image.dims, new Uint8Array(entries));
    table.#units = grown(image.units, new Float64Array(entries));
    table.#refLimit = image.start.length;
    table.#entryLimit = image.dims.length;
    let buckets = table.#buckets.length;
    for (let ref = 1; ref < table.#refLimit; ref++) {
      if (table.#length[ref] === 0) continue; // free
      table.#count[ref] = PINNED;
      table.#liveCount++;
      const end = table.#start[ref]! + table.#length[ref]!;
      for (let entry = table.#start[ref]!; entry < end; entry++) dimensions.use(table.#dims[entry]!);
    }
    while (table.#liveCount * 2 > buckets) buckets *= 2;
    table.#growBuckets(buckets);
    return table;
  }

  /** Distinct vectors in use, the zero vector not counted. */
  get count(): number {
    return this.#liveCount;
  }

  /** Every ref is below this. */
  get refLimit(): number {
    return this.#refLimit;
  }

  get start(): Uint32Array {
    return this.#start;
  }

  get length(): Uint16Array {
    return this.#length;
  }

  get dims(): Uint8Array {
    return this.#dims;
  }

  get units(): Float64Array {
    return this.#units;
  }

  /** The ref of these amounts, with one more reference. */
  intern(amounts: Readonly<Record<string, number>>): number {
    this.stage();
    for (const name of Object.keys(amounts)) {
      const units = amounts[name]!;
      if (units !== 0) this.put(this.dimensions.indexOf(name), units);
    }
    return this.commit();
  }

  /** Begins a vector: `stage()`, any number of `put` and `putMax`, `commit()`. Discards a vector not committed. */
  stage(): void {
    for (let index = 0; index < this.#stagedCount; index++) {
      this.#staged[this.#stagedDims[index]!] = 0;
      this.dimensions.release(this.#stagedDims[index]!);
    }
    this.#stagedCount = 0;
  }

  /** Adds to a dimension of the staged vector; stops at 2^53 − 1, where doubles stop being exact. */
  put(dim: number, units: number): void {
    this.#touch(dim, units);
    this.#staged[dim] = Math.min(UNITS_MAX, this.#staged[dim]! + units);
  }

  /** Raises a dimension of the staged vector to at least this. */
  putMax(dim: number, units: number): void {
    this.#touch(dim, units);
    if (units > this.#staged[dim]!) this.#staged[dim] = units;
  }

  /** The ref of the staged vector, with one more reference. Allocates nothing if it is known. */
  commit(): number {
    return this.#commit(VECTORS_MAX);
  }

  retain(ref: number): void {
    if (ref === 0) return;
    if (this.#count[ref] === 0) fail(`vector ${ref} is not in use`);
    this.#count[ref]!++;
  }

  release(ref: number): void {
    if (ref === 0) return;
    if (this.#count[ref] === 0) fail(`vector ${ref} is not in use`);
    if (--this.#count[ref]! === 0) this.#remove(ref);
  }

  referenceCount(ref: number): number {
    return this.#count[ref] ?? 0;
  }

  /** T6: one capacity of machines more (1) or fewer (-1) is this vector. */
  changeSupply(ref: number, by: 1 | -1): void {
    const end = this.#start[ref]! + this.#length[ref]!;
    for (let entry = this.#start[ref]!; entry < end; entry++) {
      this.dimensions.changeSupply(this.#dims[entry]!, by);
    }
  }

  unitsOf(ref: number, dim: number): number {
    const end = this.#start[ref]! + this.#length[ref]!;
    for (let entry = this.#start[ref]!; entry < end; entry++) {
      if (this.#dims[entry] === dim) return this.#units[entry]!;
    }
    return 0;
  }

  /** By name, in bytewise order of names. For the edges: allocates. */
  amountsOf(ref: number): Record<string, number> {
    const entries: [string, number][] = [];
    const end = this.#start[ref]! + this.#length[ref]!;
    for (let entry = this.#start[ref]!; entry < end; entry++) {
      entries.push([this.dimensions.nameOf(this.#dims[entry]!), this.#units[entry]!]);
    }
    return Object.fromEntries(entries);
  }

  isZero(ref: number): boolean {
    return ref === 0;
  }

  /** The sum, with one more reference; each dimension stops at 2^53 − 1. */
  add(a: number, b: number): number {
    this.stage();
    this.#putAll(a);
    this.#putAll(b);
    return this.commit();
  }

  /** The greater of each dimension, with one more reference. */
  max(a: number, b: number): number {
    this.#stageMax(a, b);
    return this.commit();
  }

  /**
   * The same for a decision, which must not be refused (T1). A decision derives at most two vectors from each gang, so the
   * vectors of both kinds stay below VECTORS_MAX and twice the needs.
   */
  derivedMax(a: number, b: number): number {
    this.#stageMax(a, b);
    return this.#commit(Number.POSITIVE_INFINITY);
  }

  /** Whether `have` is at least `want` in every dimension. Both are in the same order, so one pass is enough. */
  covers(have: number, want: number): boolean {
    if (have === want) return true;
    const dims = this.#dims;
    const units = this.#units;
    let held = this.#start[have]!;
    const heldEnd = held + this.#length[have]!;
    const wantedEnd = this.#start[want]! + this.#length[want]!;
    for (let wanted = this.#start[want]!; wanted < wantedEnd; wanted++) {
      while (held < heldEnd && dims[held] !== dims[wanted]) held++;
      if (held === heldEnd || units[held]! < units[wanted]!) return false;
    }
    return true;
  }

  #commit(vectorsMax: number): number {
    const entryCount = this.#stagedCount;
    if (entryCount === 0) return 0;
    this.#sortStaged();
    const hash = this.#hashStaged();
    let bucket = this.#bucketOf(hash);
    for (let ref = this.#buckets[bucket]!; ref !== 0; ref = this.#buckets[bucket]!) {
      if (this.#hash[ref] === hash && this.#equalsStaged(ref)) {
        this.#count[ref]!++;
        this.stage();
        return ref;
      }
      bucket = (bucket + 1) & (this.#buckets.length - 1);
    }
    const ref = this.#addStaged(hash, vectorsMax);
    this.stage();
    return ref;
  }

  #stageMax(a: number, b: number): void {
    this.stage();
    this.#putAll(a);
    const end = this.#start[b]! + this.#length[b]!;
    for (let entry = this.#start[b]!; entry < end; entry++) {
      this.putMax(this.#dims[entry]!, this.#units[entry]!);
    }
  }

  #touch(dim: number, units: number): void {
    if (!(Number.isSafeInteger(units) && units >= 0))
      fail(`${units} units are not an integer in 0 … 2^53 − 1`);
    if (!(dim >= 0 && dim < this.dimensions.count)) fail(`dimension ${dim} was never assigned`);
    if (this.#staged[dim] !== 0 || units === 0) return;
    this.#stagedDims[this.#stagedCount++] = dim;
    this.dimensions.use(dim); // until the next `stage`: the next name must not get the number
  }

  #putAll(ref: number): void {
    const end = this.#start[ref]! + this.#length[ref]!;
    for (let entry = this.#start[ref]!; entry < end; entry++) {
      this.put(this.#dims[entry]!, this.#units[entry]!);
    }
  }

  /** Insertion sort: a handful of entries, mostly staged in order already. */
  #sortStaged(): void {
    const rank = this.dimensions.rank;
    const dims = this.#stagedDims;
    for (let index = 1; index < this.#stagedCount; index++) {
      const dim = dims[index]!;
      let at = index;
      for (; at > 0 && rank[dims[at - 1]!]! > rank[dim]!; at--) dims[at] = dims[at - 1]!;
      dims[at] = dim;
    }
  }

  #hashStaged(): number {
    let hash = this.#stagedCount;
    for (let index = 0; index < this.#stagedCount; index++) {
      const dim = this.#stagedDims[index]!;
      const units = this.#staged[dim]!;
      hash = Math.imul(hash ^ dim ^ (units >>> 0), 0x9e3779b1);
      hash = Math.imul(hash ^ (hash >>> 15) ^ Math.floor(units / 0x1_0000_0000), 0x85ebca77);
      hash ^= hash >>> 13;
    }
    return hash >>> 0;
  }

  #equalsStaged(ref: number): boolean {
    if (this.#length[ref] !== this.#stagedCount) return false;
    const start = this.#start[ref]!;
    for (let index = 0; index < this.#stagedCount; index++) {
      const dim = this.#stagedDims[index]!;
      if (this.#dims[start + index] !== dim || this.#units[start + index] !== this.#staged[dim]) return false;
    }
    return true;
  }

  #addStaged(hash: number, vectorsMax: number): number {
    const ref = this.#takeRef(vectorsMax);
    const start = this.#takeBlock(this.#stagedCount);
    for (let index = 0; index < this.#stagedCount; index++) {
      const dim = this.#stagedDims[index]!;
      this.#dims[start + index] = dim;
      this.dimensions.use(dim);
      this.#units[start + index] = this.#staged[dim]!;
    }
    this.#start[ref] = start;
    this.#length[ref] = this.#stagedCount;
    this.#count[ref] = 1;
    this.#hash[ref] = hash;
    this.#liveCount++;
    if (this.#liveCount * 2 > this.#buckets.length) this.#growBuckets();
    else this.#link(ref);
    return ref;
  }

  #takeRef(vectorsMax: number): number {
    if (this.#liveCount >= vectorsMax) throw new TooManyVectorsError();
    const free = this.#freeRef;
    if (free !== 0) {
      this.#freeRef = this.#start[free]!;
      return free;
    }
    if (this.#refLimit === this.#start.length) {
      const refs = 2 * this.#start.length;
      this.#start = grown(this.#start, new Uint32Array(refs));
      this.#length = grown(this.#length, new Uint16Array(refs));
      this.#count = grown(this.#count, new Uint32Array(refs));
      this.#hash = grown(this.#hash, new Uint32Array(refs));
    }
    return this.#refLimit++;
  }

  /** A freed block of just this length, else the end of the pools: lengths are few and repeat. */
  #takeBlock(entryCount: number): number {
    const free = this.#freeBlock[entryCount]!;
    if (free !== 0) {
      this.#freeBlock[entryCount] = this.#units[free - 1]!;
      return free - 1;
    }
    while (this.#entryLimit + entryCount > this.#dims.length) {
      this.#dims = grown(this.#dims, new Uint8Array(2 * this.#dims.length));
      this.#units = grown(this.#units, new Float64Array(2 * this.#units.length));
    }
    const start = this.#entryLimit;
    this.#entryLimit += entryCount;
    return start;
  }

  #remove(ref: number): void {
    this.#unlink(ref);
    const entryCount = this.#length[ref]!;
    this.#releaseDimensions(ref);
    this.#units[this.#start[ref]!] = this.#freeBlock[entryCount]!;
    this.#freeBlock[entryCount] = this.#start[ref]! + 1;
    this.#length[ref] = 0;
    this.#start[ref] = this.#freeRef;
    this.#freeRef = ref;
    this.#liveCount--;
  }

  #releaseDimensions(ref: number): void {
    const end = this.#start[ref]! + this.#length[ref]!;
    for (let entry = this.#start[ref]!; entry < end; entry++) this.dimensions.release(this.#dims[entry]!);
  }

  #bucketOf(hash: number): number {
    return hash & (this.#buckets.length - 1);
  }

  #link(ref: number): void {
    const mask = this.#buckets.length - 1;
    let bucket = this.#bucketOf(this.#hash[ref]!);
    while (this.#buckets[bucket] !== 0) bucket = (bucket + 1) & mask;
    this.#buckets[bucket] = ref;
  }

  /** Closes the hole by moving later entries of the run back: no tombstones, so probes stay short. */
  #unlink(ref: number): void {
    const mask = this.#buckets.length - 1;
    let hole = this.#bucketOf(this.#hash[ref]!);
    while (this.#buckets[hole] !== ref) hole = (hole + 1) & mask;
    for (let next = (hole + 1) & mask; this.#buckets[next] !== 0; next = (next + 1) & mask) {
      const moved = this.#buckets[next]!;
      const home = this.#bucketOf(this.#hash[moved]!);
      if (((next - home) & mask) < ((next - hole) & mask)) continue;
      this.#buckets[hole] = moved;
      hole = next;
    }
    this.#buckets[hole] = 0;
  }

  #growBuckets(length = 2 * this.#buckets.length): void {
    this.#buckets = new Uint32Array(length);
    for (let ref = 1; ref < this.#refLimit; ref++) if (this.#count[ref] !== 0) this.#link(ref);
  }
}

/** For tables that grow: copies the smaller array to the start of the larger one. */
export function grown<From, T extends { set(from: From): void }>(from: From, to: T): T {
  to.set(from);
  return to;
}
