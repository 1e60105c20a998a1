/**
 * Bytewise order of fingerprints as numbers. Needs are ordered by fingerprint after priority, arrival and
 * cluster, in loops that must not compare text. Reading the ranks brings them up to date: profiles added since
 * are sorted and inserted by binary search, and all ranks are numbered again. Two profiles never change places,
 * so a list sorted by rank stays sorted.
 *
 *   #sorted               u32, profile refs in order of fingerprint; may hold refs that were removed since
 *   by ref  #fingerprint  u32, ref in the string table; 0 = no such profile
 *           #state        u8, 0 absent, 1 in #pending, 2 in #sorted
 *           #rank         u32; equal fingerprints have equal ranks
 */
import type { StringTable } from '../base/string-table.ts';
import { grown } from '../base/vectors.ts';

const ABSENT = 0;
const PENDING = 1;
const SORTED = 2;

export class FingerprintRanks {
  readonly #fingerprints: StringTable;
  #sorted = new Uint32Array(0);
  #fingerprint = new Uint32Array(64);
  #state = new Uint8Array(64);
  #rank = new Uint32Array(64);
  #pending: number[] = [];
  #removedCount = 0;

  constructor(fingerprints: StringTable) {
    this.#fingerprints = fingerprints;
  }

  added(ref: number, fingerprintRef: number): void {
    if (ref >= this.#state.length) {
      const refs = 2 * Math.max(ref, this.#state.length);
      this.#fingerprint = grown(this.#fingerprint, new Uint32Array(refs));
      this.#state = grown(this.#state, new Uint8Array(refs));
      this.#rank = grown(this.#rank, new Uint32Array(refs));
    }
    this.#fingerprint[ref] = fingerprintRef;
    if (this.#state[ref] === PENDING) return; // added, removed and added again since the last reading
    this.#state[ref] = PENDING;
    this.#pending.push(ref);
  }

  removed(ref: number): void {
    this.#fingerprint[ref] = 0;
    if (this.#state[ref] !== SORTED) return;
    this.#state[ref] = ABSENT;
    this.#removedCount++;
  }

  /** Profiles whose rank the next reading must find. */
  get pendingCount(): number {
    return this.#pending.length;
  }

  /** Rank by profile ref, valid until a profile is added: read the array again after that. */
  read(): Uint32Array {
    if (this.#pending.length > 0 || this.#removedCount > 0) this.#renumber();
    return this.#rank;
  }

  #renumber(): void {
    // A removed ref that was added again is in #pending; its old place is stale too.
    if (this.#removedCount > 0) this.#sorted = this.#sorted.filter((ref) => this.#state[ref] === SORTED);
    const added: number[] = [];
    for (const ref of this.#pending) {
      this.#state[ref] = this.#fingerprint[ref] === 0 ? ABSENT : SORTED;
      if (this.#state[ref] === SORTED) added.push(ref);
    }
    added.sort((refA, refB) => this.#compare(refA, refB));
    this.#insert(added);
    this.#pending = [];
    this.#removedCount = 0;
    let rank = 0;
    let before = 0;
    for (let position = 0; position < this.#sorted.length; position++) {
      const ref = this.#sorted[position]!;
      const fingerprint = this.#fingerprint[ref]!;
      if (fingerprint !== before) rank++;
      this.#rank[ref] = rank;
      before = fingerprint;
    }
  }

  /** Merges sorted refs into #sorted: text compares for the binary search only, the rest is copying. */
  #insert(added: readonly number[]): void {
    if (added.length === 0) return;
    const old = this.#sorted;
    const merged = new Uint32Array(old.length + added.length);
    let taken = 0;
    for (const [index, ref] of added.entries()) {
      const place = this.#placeOf(ref, taken);
      merged.set(old.subarray(taken, place), taken + index);
      merged[place + index] = ref;
      taken = place;
    }
    merged.set(old.subarray(taken), taken + added.length);
    this.#sorted = merged;
  }

  /** The first position at or after `from` whose profile sorts after this one. */
  #placeOf(ref: number, from: number): number {
    let low = from;
    let high = this.#sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(this.#sorted[middle]!, ref) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #compare(refA: number, refB: number): number {
    return this.#fingerprints.compare(this.#fingerprint[refA]!, this.#fingerprint[refB]!);
  }
}
