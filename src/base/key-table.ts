/**
 * Byte strings → small integers, in shared memory: machine ids and all interned names are built on it. The
 * caller chooses the ref of each entry (a machine's slot, or the next free number), so an entry needs no
 * column but its address.
 *
 *   offset                 bytes          content
 *   0                      4              magic, refuses a foreign buffer
 *   4                      4              version, i32, Atomics only, odd while an entry is added or removed
 *   8                      4              entriesMax: refs are 1…entriesMax
 *   12                     4              segmentCount
 *   16                     4              bucketsMax of a segment
 *   20                     4·segments     buckets of each segment that are in use now
 *   then                   4·max·segments bucket: tag << refBits | ref, 0 = empty
 *   then                   4·(max + 1)    address of each ref's bytes in the arena (byte-arena.ts)
 *
 * Open addressing with linear probing, at least 5 buckets to 4 entries. The high bits of a hash choose the segment. A
 * segment has room for its share of all entries and doubles the part in use when that fills up: a table for three million
 * entries that holds half a million touches memory for those only, and a doubling moves a few thousand entries at a time.
 * The tag is as many low bits of the hash as the word has left; it avoids nearly every comparison of bytes that would
 * fail. Removal shifts the entries behind the hole back, so there are no tombstones and look-ups never grow slower.
 *
 * One thread writes. A reader in another thread repeats its look-up if the version changed meanwhile (seqlock.ts).
 */
import { assert } from './assert.ts';
import { ByteArena } from './byte-arena.ts';
import { hashBytes } from './hash.ts';
import { beginWrite, endWrite, isBeingWritten, isUnchanged, pauseReader } from './seqlock.ts';

const MAGIC = 0x464b5432; // "FKT2"
const VERSION = 1;
const HEADER_WORDS = 5;
/** A table for fewer entries is one segment; doubling it takes less than a millisecond. */
const SEGMENTED_ENTRIES_MIN = 65_536;
const SEGMENTS = 64;
const BUCKETS_AT_START = 16;
const BUCKETS_PER_ENTRY = 1.25;
/** Hashes are not spread evenly: the fullest of 64 segments has about 2 % more than the average of 10,000 entries. */
const SHARE_MARGIN = 1.125;

export interface SharedKeyTable {
  readonly words: SharedArrayBuffer;
  readonly arena: SharedArrayBuffer;
}

export class KeyTable {
  readonly entriesMax: number;
  readonly arena: ByteArena;
  readonly #isWriter: boolean;
  readonly #versions: Int32Array<SharedArrayBuffer>;
  readonly #buckets: Uint32Array<SharedArrayBuffer>;
  readonly #addresses: Uint32Array<SharedArrayBuffer>;
  /** Buckets in use, by segment. */
  readonly #sizes: Uint32Array<SharedArrayBuffer>;
  /** Entries, by segment. Only the writer has them. */
  readonly #counts: Uint32Array;
  readonly #segmentBuckets: number;
  /** segmentCount / 2^32. Scales a hash: the whole part is the segment, the fraction the place in it. */
  readonly #segmentScale: number;
  readonly #refMask: number;

  private constructor(words: SharedArrayBuffer, arena: ByteArena, isWriter: boolean) {
    const header = new Uint32Array(words, 0, HEADER_WORDS);
    assert(header[0] === MAGIC, 'not the buffer of a key table');
    this.entriesMax = header[2]!;
    const segmentCount = header[3]!;
    this.#segmentBuckets = header[4]!;
    this.#versions = new Int32Array(words, 0, HEADER_WORDS);
    const bucketWords = segmentCount * this.#segmentBuckets;
    this.#sizes = new Uint32Array(words, HEADER_WORDS * 4, segmentCount);
    this.#buckets = new Uint32Array(words, (HEADER_WORDS + segmentCount) * 4, bucketWords);
    const addressesAt = HEADER_WORDS + segmentCount + bucketWords;
    this.#addresses = new Uint32Array(words, addressesAt * 4, this.entriesMax + 1);
    this.#counts = new Uint32Array(isWriter ? segmentCount : 0);
    this.#segmentScale = segmentCount / 0x1_0000_0000;
    this.#refMask = 2 ** (32 - Math.clz32(this.entriesMax)) - 1;
    this.arena = arena;
    this.#isWriter = isWriter;
  }

  static create(entriesMax: number, bytesMax: number): KeyTable {
    assert(
      Number.isInteger(entriesMax) && entriesMax >= 1 && entriesMax < 2 ** 31,
      'entriesMax in [1, 2^31)',
    );
    return new KeyTable(wordsFor(entriesMax), ByteArena.create(bytesMax), true);
  }

  /** For reading in another thread. */
  static attach(shared: SharedKeyTable): KeyTable {
    return new KeyTable(shared.words, new ByteArena(shared.arena), false);
  }

  /** A writer over copies of another table's `addressesBelow` and arena, with room for `spareEntries` more. */
  static restore(addresses: Uint32Array, arena: ByteArena, spareEntries: number): KeyTable {
    const entriesMax = Math.max(1, addresses.length - 1 + spareEntries);
    const table = new KeyTable(wordsFor(entriesMax), arena, true);
    table.#addresses.set(addresses);
    for (let ref = 1; ref < addresses.length; ref++) {
      if (addresses[ref] !== 0) table.#enter(ref, table.#hashAt(addresses[ref]!));
    }
    return table;
  }

  /** The addresses of all refs below this; 0 = not in use. */
  addressesBelow(refLimit: number): Uint32Array {
    return this.#addresses.subarray(0, refLimit);
  }

  share(): SharedKeyTable {
    return { words: this.#buckets.buffer, arena: this.arena.buffer };
  }

  /** Bytes of memory that the table has touched with refs up to `refLimit`. */
  bytesTouched(refLimit: number): number {
    let bucketCount = 0;
    for (const size of this.#sizes) bucketCount += size;
    return (bucketCount + refLimit) * 4 + this.arena.bytesTouched;
  }

  /**
   * Changes with every entry that is added or removed. A ref that was looked up under an even version stays valid while
   * the version stays the same.
   */
  get version(): number {
    return Atomics.load(this.#versions, VERSION);
  }

  /** The ref of these bytes, 0 if absent. `hash` must be their hash. */
  find(hash: number, bytes: Uint8Array, start: number, end: number): number {
    if (this.#isWriter) return this.#probe(hash, bytes, start, end);
    for (let tries = 0; ; tries++) {
      const version = Atomics.load(this.#versions, VERSION);
      if (!isBeingWritten(version)) {
        const ref = this.#probe(hash, bytes, start, end);
        if (isUnchanged(this.#versions, VERSION, version)) return ref;
      }
      pauseReader(tries);
    }
  }

  /** Adds bytes that `find` did not find, under a ref that has none. False if there is no room for them. */
  add(ref: number, hash: number, bytes: Uint8Array, start: number, end: number): boolean {
    assert(this.#isWriter && ref >= 1 && ref <= this.entriesMax, 'the writer adds refs 1…entriesMax');
    if (this.#counts[this.#segmentOf(hash)]! + 1 >= this.#segmentBuckets) return false;
    this.#beginWrite();
    const address = this.arena.store(bytes, start, end);
    if (address !== 0) {
      this.#enter(ref, hash);
      this.#addresses[ref] = address;
    }
    this.#endWrite();
    return address !== 0;
  }

  remove(ref: number): void {
    const address = this.#addresses[ref]!;
    assert(this.#isWriter && address !== 0, 'the writer removes a ref that is in use');
    const hash = this.#hashAt(address);
    const word = this.#bucketWord(hash, ref);
    const segment = this.#segmentOf(hash);
    const size = this.#sizes[segment]!;
    const buckets = this.#bucketsOf(segment);
    let hole = this.#homeOf(hash, size);
    while (buckets[hole] !== word) if (++hole === size) hole = 0;
    this.#beginWrite();
    this.#closeHole(buckets, size, hole);
    this.#counts[segment]!--;
    this.#addresses[ref] = 0;
    this.arena.free(address);
    this.#endWrite();
  }

  /** Whether the ref stands for exactly these bytes: cheaper than a look-up for a caller with a good guess. */
  equals(ref: number, bytes: Uint8Array, start: number, end: number): boolean {
    if (this.#isWriter) return this.#equalsNow(ref, bytes, start, end);
    for (let tries = 0; ; tries++) {
      const version = Atomics.load(this.#versions, VERSION);
      if (!isBeingWritten(version)) {
        const equal = this.#equalsNow(ref, bytes, start, end);
        if (isUnchanged(this.#versions, VERSION, version)) return equal;
      }
      pauseReader(tries);
    }
  }

  /** The text of a ref; '' if it has none. */
  textOf(ref: number): string {
    if (this.#isWriter) return this.#addresses[ref] === 0 ? '' : this.arena.textOf(this.#addresses[ref]!);
    for (let tries = 0; ; tries++) {
      const version = Atomics.load(this.#versions, VERSION);
      if (!isBeingWritten(version)) {
        const address = this.#addresses[ref]!;
        const start = this.arena.startOf(address);
        const end = start + this.arena.lengthOf(address);
        // Check before the copy too: a half-written length could ask for gigabytes.
        if (isUnchanged(this.#versions, VERSION, version)) {
          const text = address === 0 ? '' : this.arena.decode(start, end);
          if (isUnchanged(this.#versions, VERSION, version)) return text;
        }
      }
      pauseReader(tries);
    }
  }

  /** Where the ref's bytes are in the arena, 0 if it has none. The writer's thread only. */
  addressOf(ref: number): number {
    return this.#addresses[ref]!;
  }

  /** Bytewise order of two refs' bytes; a ref without bytes comes first. The writer's thread only. */
  compare(refA: number, refB: number): number {
    const addressA = this.#addresses[refA]!;
    const addressB = this.#addresses[refB]!;
    if (addressA === 0 || addressB === 0) return addressA === addressB ? 0 : addressA === 0 ? -1 : 1;
    return this.arena.compare(addressA, addressB);
  }

  /** The caller has checked that there is room. */
  #enter(ref: number, hash: number): void {
    const segment = this.#segmentOf(hash);
    const count = ++this.#counts[segment]!;
    const size = this.#sizes[segment]!;
    if (count * BUCKETS_PER_ENTRY > size && size < this.#segmentBuckets) this.#enlarge(segment);
    this.#place(segment, hash, ref);
  }

  #place(segment: number, hash: number, ref: number): void {
    const buckets = this.#buckets;
    const size = this.#sizes[segment]!;
    const start = segment * this.#segmentBuckets;
    let bucket = this.#homeOf(hash, size);
    while (buckets[start + bucket] !== 0) if (++bucket === size) bucket = 0;
    buckets[start + bucket] = this.#bucketWord(hash, ref);
  }

  #enlarge(segment: number): void {
    const size = Math.min(this.#segmentBuckets, Math.max(BUCKETS_AT_START, 2 * this.#sizes[segment]!));
    const buckets = this.#bucketsOf(segment);
    const words = buckets.slice(0, this.#sizes[segment]!);
    buckets.fill(0, 0, words.length);
    this.#sizes[segment] = size;
    for (const word of words) {
      const ref = (word & this.#refMask) >>> 0;
      if (word !== 0) this.#place(segment, this.#hashAt(this.#addresses[ref]!), ref);
    }
  }

  #probe(hash: number, bytes: Uint8Array, start: number, end: number): number {
    const buckets = this.#buckets;
    const refMask = this.#refMask;
    const tag = this.#bucketWord(hash, 0);
    const segment = this.#segmentOf(hash);
    const size = this.#sizes[segment]!;
    const first = segment * this.#segmentBuckets;
    let bucket = this.#homeOf(hash, size);
    // The bound is for a reader that races with removals; the writer always meets an empty bucket first.
    for (let step = 0; step < size; step++) {
      const word = buckets[first + bucket]!;
      if (word === 0) return 0;
      if ((word & ~refMask) >>> 0 === tag) {
        const ref = (word & refMask) >>> 0;
        if (this.#equalsNow(ref, bytes, start, end)) return ref;
      }
      if (++bucket === size) bucket = 0;
    }
    return 0;
  }

  #equalsNow(ref: number, bytes: Uint8Array, start: number, end: number): boolean {
    const address = this.#addresses[ref]!;
    return address !== 0 && this.arena.equals(address, bytes, start, end);
  }

  #closeHole(buckets: Uint32Array, size: number, freed: number): void {
    let hole = freed;
    let next = freed;
    for (;;) {
      if (++next === size) next = 0;
      const word = buckets[next]!;
      if (word === 0) break;
      const home = this.#homeOf(this.#hashAt(this.#addresses[(word & this.#refMask) >>> 0]!), size);
      // The entry may fill the hole unless its home lies behind the hole, cyclically.
      const stays = hole <= next ? hole < home && home <= next : hole < home || home <= next;
      if (stays) continue;
      buckets[hole] = word;
      hole = next;
    }
    buckets[hole] = 0;
  }

  #beginWrite(): void {
    beginWrite(this.#versions, VERSION, (this.#versions[VERSION]! + 1) | 0);
  }

  #endWrite(): void {
    endWrite(this.#versions, VERSION, (this.#versions[VERSION]! + 1) | 0);
  }

  #segmentOf(hash: number): number {
    return Math.floor(hash * this.#segmentScale);
  }

  /** The bucket, within its segment, at which a probe starts. */
  #homeOf(hash: number, size: number): number {
    const position = hash * this.#segmentScale;
    return Math.floor((position - Math.floor(position)) * size);
  }

  #bucketsOf(segment: number): Uint32Array {
    const start = segment * this.#segmentBuckets;
    return this.#buckets.subarray(start, start + this.#segmentBuckets);
  }

  #bucketWord(hash: number, ref: number): number {
    return ((Math.imul(hash, this.#refMask + 1) & ~this.#refMask) | ref) >>> 0;
  }

  #hashAt(address: number): number {
    const start = this.arena.startOf(address);
    return hashBytes(this.arena.bytes, start, start + this.arena.lengthOf(address));
  }
}

function wordsFor(entriesMax: number): SharedArrayBuffer {
  const segmentCount = entriesMax < SEGMENTED_ENTRIES_MIN ? 1 : SEGMENTS;
  const share = (entriesMax / segmentCount) * (segmentCount === 1 ? 1 : SHARE_MARGIN);
  // At least one bucket stays empty: it ends a probe.
  const segmentBuckets = Math.ceil(share * BUCKETS_PER_ENTRY) + 1;
  const wordCount = HEADER_WORDS + segmentCount + segmentCount * segmentBuckets + entriesMax + 1;
  const words = new SharedArrayBuffer(wordCount * 4);
  new Uint32Array(words, 0, HEADER_WORDS).set([MAGIC, 0, entriesMax, segmentCount, segmentBuckets]);
  return words;
}
