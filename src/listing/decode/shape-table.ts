/**
 * Shapes of one answer: machines with equal instance type, zone, capacity type, labels and capacity share one. Later
 * stages read labels and quantities once per shape. Refs are dense from 0 in order of first occurrence and mean nothing
 * outside of the answer.
 *
 *   words of one shape, from wordStart[shape] to wordStart[shape + 1]
 *   0      string ref of the instance type
 *   1      string ref of the zone
 *   2      capacity type
 *   3      number of labels
 *   4 …    per label: string ref of the key, string ref of the value; by key ref
 *   …      per dimension: string ref of the name, low and high word of the units (a double); by name ref
 *
 * The words identify a shape completely, in one canonical order, so shapes are equal if their words are. Amounts are
 * units: 16Gi and 17179869184 are one shape.
 */
import type { EntryList } from './entry-list.ts';
import { grownUint32, sharedUint32 } from './shared-columns.ts';

const SHAPES_MIN = 64;
const WORDS_MIN = 2048;
const HEAD_WORDS = 4;

export class ShapeTable {
  count = 0;
  wordStart = sharedUint32(SHAPES_MIN);
  words = sharedUint32(WORDS_MIN);
  #latest = 0;
  #hash = new Uint32Array(SHAPES_MIN);
  /** 1 + shape, 0 = empty. */
  #buckets = new Uint32Array(4 * SHAPES_MIN);

  reset(): void {
    this.count = 0;
    this.#latest = 0;
    this.wordStart[0] = 0;
    this.#buckets.fill(0);
  }

  intern(
    instanceType: number,
    zone: number,
    capacityType: number,
    labels: EntryList,
    capacity: EntryList,
  ): number {
    // Write the candidate where the next shape would be: if it is new, it stays there.
    const start = this.wordStart[this.count]!;
    const end = start + HEAD_WORDS + 2 * labels.count + 3 * capacity.count;
    while (end > this.words.length) this.words = grownUint32(this.words, 2 * this.words.length);
    const { words } = this;
    words[start] = instanceType;
    words[start + 1] = zone;
    words[start + 2] = capacityType;
    words[start + 3] = labels.count;
    let at = start + HEAD_WORDS;
    for (let label = 0; label < labels.count; label++) {
      words[at++] = labels.keys[label]!;
      words[at++] = labels.low[label]!;
    }
    for (let dimension = 0; dimension < capacity.count; dimension++) {
      words[at++] = capacity.keys[dimension]!;
      words[at++] = capacity.low[dimension]!;
      words[at++] = capacity.high[dimension]!;
    }
    // Listings often go rack by rack: the previous machine most likely has the same shape.
    if (this.#latest < this.count && this.#isEqual(this.#latest, start, end)) return this.#latest;
    this.#latest = this.#find(hashWords(words, start, end), start, end);
    return this.#latest;
  }

  #find(hash: number, start: number, end: number): number {
    const buckets = this.#buckets;
    const mask = buckets.length - 1;
    for (let bucket = hash & mask; ; bucket = (bucket + 1) & mask) {
      const shape = buckets[bucket]! - 1;
      if (shape < 0) return this.#add(bucket, hash, end);
      if (this.#hash[shape] === hash && this.#isEqual(shape, start, end)) return shape;
    }
  }

  #isEqual(shape: number, start: number, end: number): boolean {
    const { words } = this;
    const known = this.wordStart[shape]!;
    if (this.wordStart[shape + 1]! - known !== end - start) return false;
    for (let at = start; at < end; at++) if (words[at] !== words[known + at - start]) return false;
    return true;
  }

  #add(bucket: number, hash: number, end: number): number {
    const shape = this.count++;
    if (this.count === this.wordStart.length) {
      this.wordStart = grownUint32(this.wordStart, 2 * this.count);
      const hashes = new Uint32Array(2 * this.count);
      hashes.set(this.#hash);
      this.#hash = hashes;
    }
    this.wordStart[this.count] = end;
    this.#hash[shape] = hash;
    this.#buckets[bucket] = this.count;
    if (2 * this.count > this.#buckets.length) this.#growBuckets();
    return shape;
  }

  #growBuckets(): void {
    const buckets = new Uint32Array(2 * this.#buckets.length);
    const mask = buckets.length - 1;
    for (let shape = 0; shape < this.count; shape++) {
      let bucket = this.#hash[shape]! & mask;
      while (buckets[bucket] !== 0) bucket = (bucket + 1) & mask;
      buckets[bucket] = shape + 1;
    }
    this.#buckets = buckets;
  }
}

function hashWords(words: Uint32Array, start: number, end: number): number {
  let hash = end - start;
  for (let at = start; at < end; at++) {
    hash = Math.imul(hash ^ words[at]!, 0x2c1b3c6d);
    hash ^= hash >>> 15;
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x297a2d39);
  return (hash ^ (hash >>> 15)) >>> 0;
}
