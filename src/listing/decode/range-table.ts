/**
 * Interned byte ranges of one answer: equal bytes get equal refs. Refs are dense from 1 in order of first occurrence; 0
 * is the empty string. They mean nothing outside of the answer.
 *
 *   records, 4 words a ref      u32, meaning
 *   0                           hash
 *   1, 2                        start and end of their first occurrence in the answer
 *   3                           offset of their copy in the arena
 *
 *   text, by ref                u8, 1 = valid UTF-8 (checked once per distinct string)
 *   arena                       the bytes of all refs, one after the other
 *   buckets                     u32 ref, 0 = empty; linear probing, at most half full
 *   recent                      u32, the latest ref with this sample of the bytes, 0 = none
 *
 * A fleet repeats a few hundred strings far more often than all others. `recent` finds these by two words of their bytes
 * and confirms them with one comparison, without a hash. All others cost a hash, a bucket, a record and a comparison.
 * Comparisons use the copies in the arena, which lie close together; first occurrences are scattered over an answer of
 * hundreds of megabytes.
 */
import { AnswerTooLargeError } from './errors.ts';
import { equalRanges, hashRange, isText, sampleRange } from './ranges.ts';
import { grownUint8, grownUint32, sharedUint8, sharedUint32 } from './shared-columns.ts';

const REFS_MIN = 64;
/** 30 unique strings for each of 500,000 machines; at 40 bytes each, 670 MB. */
const REFS_MAX = 2 ** 24;
const ARENA_BYTES_MIN = 4096;
/** 4 KiB: stays in the L1 cache. */
const RECENT_BITS = 10;
const RECENT_LENGTH_MIN = 8;
const RECORD_WORDS = 4;
const HASH = 0;
const START = 1;
const END = 2;
const COPY = 3;

/** The first occurrence of a string. Free functions: a table that came from another thread has no methods. */
export function startOf(table: Pick<RangeTable, 'records'>, ref: number): number {
  return table.records[RECORD_WORDS * ref + START]!;
}

export function endOf(table: Pick<RangeTable, 'records'>, ref: number): number {
  return table.records[RECORD_WORDS * ref + END]!;
}

export class RangeTable {
  count = 0;
  records = sharedUint32(RECORD_WORDS * REFS_MIN);
  text = sharedUint8(REFS_MIN);
  #arena = new Uint8Array(ARENA_BYTES_MIN);
  #arenaView = new DataView(this.#arena.buffer);
  #arenaEnd = 0;
  readonly #recent = new Uint32Array(1 << RECENT_BITS);
  #buckets = new Uint32Array(2 * REFS_MIN);
  #bytes: Uint8Array = new Uint8Array();
  #view: DataView = new DataView(new ArrayBuffer(0));

  /** Removes everything; keeps the memory for the next answer. */
  reset(bytes: Uint8Array, view: DataView): void {
    this.#bytes = bytes;
    this.#view = view;
    this.#buckets.fill(0);
    this.#recent.fill(0);
    this.records.fill(0, 0, RECORD_WORDS);
    this.#arenaEnd = 0;
    this.count = 0;
    this.text[0] = 1;
  }

  intern(start: number, end: number): number {
    const length = end - start;
    if (length < RECENT_LENGTH_MIN) return length === 0 ? 0 : this.#find(start, end);
    const view = this.#view;
    const place = sampleRange(view, start, end) >>> (32 - RECENT_BITS);
    const recent = this.#recent[place]!;
    const record = RECORD_WORDS * recent;
    if (
      this.records[record + END]! - this.records[record + START]! === length &&
      equalRanges(view, start, this.#arenaView, this.records[record + COPY]!, length)
    ) {
      return recent;
    }
    const ref = this.#find(start, end);
    this.#recent[place] = ref;
    return ref;
  }

  #find(start: number, end: number): number {
    const view = this.#view;
    const hash = hashRange(view, start, end);
    const buckets = this.#buckets;
    const { records } = this;
    const mask = buckets.length - 1;
    for (let bucket = hash & mask; ; bucket = (bucket + 1) & mask) {
      const ref = buckets[bucket]!;
      if (ref === 0) return this.#add(bucket, hash, start, end);
      const record = RECORD_WORDS * ref;
      if (records[record + HASH] !== hash) continue;
      const length = end - start;
      if (records[record + END]! - records[record + START]! !== length) continue;
      if (equalRanges(view, start, this.#arenaView, records[record + COPY]!, length)) return ref;
    }
  }

  #add(bucket: number, hash: number, start: number, end: number): number {
    if (this.count === REFS_MAX) throw new AnswerTooLargeError('distinct strings', REFS_MAX);
    const ref = ++this.count;
    if (ref === this.text.length) {
      this.records = grownUint32(this.records, 2 * RECORD_WORDS * ref);
      this.text = grownUint8(this.text, 2 * ref);
    }
    const record = RECORD_WORDS * ref;
    this.records[record + HASH] = hash;
    this.records[record + START] = start;
    this.records[record + END] = end;
    this.records[record + COPY] = this.#copy(start, end);
    this.text[ref] = isText(this.#bytes, this.#view, start, end) ? 1 : 0;
    this.#buckets[bucket] = ref;
    if (2 * ref > this.#buckets.length) this.#growBuckets();
    return ref;
  }

  #copy(start: number, end: number): number {
    const at = this.#arenaEnd;
    this.#arenaEnd += end - start;
    if (this.#arenaEnd > this.#arena.length) {
      const grown = new Uint8Array(Math.max(this.#arenaEnd, 2 * this.#arena.length));
      grown.set(this.#arena);
      this.#arena = grown;
      this.#arenaView = new DataView(grown.buffer);
    }
    this.#arena.set(this.#bytes.subarray(start, end), at);
    return at;
  }

  #growBuckets(): void {
    const buckets = new Uint32Array(2 * this.#buckets.length);
    const mask = buckets.length - 1;
    for (let ref = 1; ref <= this.count; ref++) {
      let bucket = this.records[RECORD_WORDS * ref + HASH]! & mask;
      while (buckets[bucket] !== 0) bucket = (bucket + 1) & mask;
      buckets[bucket] = ref;
    }
    this.#buckets = buckets;
  }
}
