/**
 * Stamps: who a machine was taken for, as one number. A stamp is the triple (cluster, fingerprint,
 * group) of a need; machines carry the stamp of the need that they were bound or created for, needs carry
 * their own, so "the machines of this very need" is one list and "is it mine" one compare.
 *
 *   by stamp   cluster, fingerprint, group  u32   refs into the string tables; fingerprint and group are held by
 *                                                 a reference each, so that they keep their meaning (the engine
 *                                                 forgets a cluster before its ref stands for another one)
 *              references                   u32   needs and machines that carry it; 0 = free
 *              list                         u32   list of its machines in keep order; 0 = none yet
 *              held                         u32   machines Creating, Configuring, Configured or draining for it
 *              folds                        u32   folds that rows of its cluster could join, whose machines it marks
 *              fold                         u32   fold group that looks at its machines, as index in its cluster + 1
 *              live                         u32   needs of this cycle whose own machines it marks
 *              carriers                     u32   those of them whose very stamp it is (a fold has two)
 *              carrier                      u32   one of these, as index in its cluster + 1; 0 = none
 *              rowCount                     u32   rows of roll-ups that carry it (one, but for fingerprints alike)
 *              gang                         u32   the gang that carries it, as index in its cluster + 1; 0 = none
 *              unmetCount, parkCount        u32   ordinary cycles that A8 and A7 counted, which hold if …
 *              unmetAt, parkAt              f64   … the cycle in which they were last counted is the one before
 *   by group   stampsOf                     u32   stamps with that group: most groups of a roll-up have none
 *   buckets                                 u32   open addressing, linear probing, at most half full
 */
import { fail } from '../base/assert.ts';
import type { StringTable } from '../base/string-table.ts';
import { widerU32 } from './columns.ts';
import type { CountColumns } from './result.ts';

const STAMPS_AT_START = 64;
const NEVER = Number.NEGATIVE_INFINITY;

export interface StampCounts {
  readonly unmetCount: number;
  readonly unmetAt: number;
  readonly parkCount: number;
  readonly parkAt: number;
}

/** The same by name, as of the last cycle. */
export interface NeedCounts {
  readonly cluster: string;
  readonly fingerprint: string;
  readonly group: string;
  readonly unmetCycles: number;
  readonly parkedCycles: number;
}

export class StampTable {
  readonly #clusters: StringTable;
  readonly #fingerprints: StringTable;
  readonly #groups: StringTable;
  cluster = new Uint32Array(STAMPS_AT_START);
  fingerprint = new Uint32Array(STAMPS_AT_START);
  group = new Uint32Array(STAMPS_AT_START);
  references = new Uint32Array(STAMPS_AT_START);
  list = new Uint32Array(STAMPS_AT_START);
  held = new Uint32Array(STAMPS_AT_START);
  folds = new Uint32Array(STAMPS_AT_START);
  fold = new Uint32Array(STAMPS_AT_START);
  live = new Uint32Array(STAMPS_AT_START);
  carriers = new Uint32Array(STAMPS_AT_START);
  carrier = new Uint32Array(STAMPS_AT_START);
  rowCount = new Uint32Array(STAMPS_AT_START);
  gang = new Uint32Array(STAMPS_AT_START);
  unmetCount = new Uint32Array(STAMPS_AT_START);
  parkCount = new Uint32Array(STAMPS_AT_START);
  unmetAt = new Float64Array(STAMPS_AT_START);
  parkAt = new Float64Array(STAMPS_AT_START);
  #stampsOf = new Uint32Array(STAMPS_AT_START);
  #buckets = new Uint32Array(2 * STAMPS_AT_START);
  #free: number[] = [];
  /** The one that was asked for last. */
  #last = 0;
  #limit = 1;
  #liveCount = 0;

  constructor(clusters: StringTable, fingerprints: StringTable, groups: StringTable) {
    this.#clusters = clusters;
    this.#fingerprints = fingerprints;
    this.#groups = groups;
  }

  get count(): number {
    return this.#liveCount;
  }

  /** Every stamp is below this. */
  get limit(): number {
    return this.#limit;
  }

  find(cluster: number, fingerprint: number, group: number): number {
    const mask = this.#buckets.length - 1;
    let bucket = hashOf(cluster, fingerprint, group) & mask;
    for (let stamp = this.#buckets[bucket]!; stamp !== 0; stamp = this.#buckets[bucket]!) {
      if (
        this.fingerprint[stamp] === fingerprint &&
        this.cluster[stamp] === cluster &&
        this.group[stamp] === group
      ) {
        return stamp;
      }
      bucket = (bucket + 1) & mask;
    }
    return 0;
  }

  /** Whether any stamp has this group: no look-up, and mostly enough to know that there is none. */
  isGroupStamped(group: number): boolean {
    return group < this.#stampsOf.length && this.#stampsOf[group]! > 0;
  }

  /** The stamp of the triple, with one more reference. */
  intern(cluster: number, fingerprint: number, group: number): number {
    const last = this.#last; // the machines of a need mostly come together
    if (
      this.fingerprint[last] === fingerprint &&
      this.group[last] === group &&
      this.cluster[last] === cluster &&
      this.references[last]! > 0
    ) {
      this.references[last]!++;
      return last;
    }
    this.#last = this.#internOther(cluster, fingerprint, group);
    return this.#last;
  }

  #internOther(cluster: number, fingerprint: number, group: number): number {
    const mask = this.#buckets.length - 1;
    let bucket = hashOf(cluster, fingerprint, group) & mask;
    for (let known = this.#buckets[bucket]!; known !== 0; known = this.#buckets[bucket]!) {
      if (
        this.fingerprint[known] === fingerprint &&
        this.group[known] === group &&
        this.cluster[known] === cluster
      ) {
        this.references[known]!++;
        return known;
      }
      bucket = (bucket + 1) & mask;
    }
    const stamp = this.#free.pop() ?? this.#nextStamp();
    this.#fingerprints.retain(fingerprint);
    this.#groups.retain(group);
    this.cluster[stamp] = cluster;
    this.fingerprint[stamp] = fingerprint;
    this.group[stamp] = group;
    this.#stampsOf = widerU32(this.#stampsOf, group);
    this.#stampsOf[group]!++;
    this.references[stamp] = 1;
    this.forgetCounts(stamp);
    const before = this.countsBefore === null ? undefined : this.countsBefore.get(this.#nameOf(stamp));
    if (before !== undefined) {
      this.unmetCount[stamp] = before.unmetCount;
      this.unmetAt[stamp] = before.unmetAt;
      this.parkCount[stamp] = before.parkCount;
      this.parkAt[stamp] = before.parkAt;
    }
    this.#liveCount++;
    if (this.#liveCount * 2 > this.#buckets.length) this.#growBuckets();
    else this.#buckets[bucket] = stamp;
    return stamp;
  }

  /** Counts that another engine had, by triple: a stamp that is made here starts with its own. */
  countsBefore: ReadonlyMap<string, StampCounts> | null = null;

  /** The same by refs of these tables. */
  expectCounts(counts: CountColumns): void {
    const { cluster, fingerprint, group, unmetCount, unmetAt, parkCount, parkAt } = counts;
    const before = new Map<string, StampCounts>();
    for (let index = 0; index < cluster.length; index++) {
      before.set(this.#nameOfRefs(cluster[index]!, fingerprint[index]!, group[index]!), {
        unmetCount: unmetCount[index]!,
        unmetAt: unmetAt[index]!,
        parkCount: parkCount[index]!,
        parkAt: parkAt[index]!,
      });
    }
    this.countsBefore = before;
  }

  copyCounts(): Map<string, StampCounts> {
    const counts = new Map<string, StampCounts>(this.countsBefore ?? []);
    for (let stamp = 1; stamp < this.#limit; stamp++) {
      if (this.references[stamp] === 0 || Math.max(this.unmetAt[stamp]!, this.parkAt[stamp]!) === NEVER)
        continue;
      counts.set(this.#nameOf(stamp), {
        unmetCount: this.unmetCount[stamp]!,
        unmetAt: this.unmetAt[stamp]!,
        parkCount: this.parkCount[stamp]!,
        parkAt: this.parkAt[stamp]!,
      });
    }
    return counts;
  }

  /** Its need is gone: should it come back, A7 and A8 count from nothing. */
  forgetCounts(stamp: number): void {
    this.unmetAt[stamp] = NEVER;
    this.parkAt[stamp] = NEVER;
  }

  /** Makes room for this many at once: a first cycle brings a million. */
  reserve(count: number): void {
    if (count > this.cluster.length) this.#widen(count);
    let buckets = this.#buckets.length;
    while (count * 2 > buckets) buckets *= 2;
    if (buckets > this.#buckets.length) this.#growBuckets(buckets);
  }

  retain(stamp: number): void {
    this.references[stamp]!++;
  }

  /** Gives a reference back; with the last one goes the stamp (its machines are off its list by then). */
  release(stamp: number): void {
    if (this.references[stamp] === 0) fail(`stamp ${stamp} is not in use`);
    if (--this.references[stamp]! > 0) return;
    if (this.list[stamp] !== 0) fail(`stamp ${stamp} is given back with machines on its list`);
    this.#unlink(stamp);
    this.#stampsOf[this.group[stamp]!]!--;
    this.#fingerprints.release(this.fingerprint[stamp]!);
    this.#groups.release(this.group[stamp]!);
    this.held[stamp] = 0;
    this.folds[stamp] = 0;
    this.fold[stamp] = 0;
    this.live[stamp] = 0;
    this.carriers[stamp] = 0;
    this.carrier[stamp] = 0;
    this.gang[stamp] = 0;
    this.#free.push(stamp);
    this.#liveCount--;
  }

  /** A stamp in words, good across engines and processes. */
  static nameOf(cluster: string, fingerprint: string, group: string): string {
    return JSON.stringify([cluster, fingerprint, group]);
  }

  #nameOf(stamp: number): string {
    return this.#nameOfRefs(this.cluster[stamp]!, this.fingerprint[stamp]!, this.group[stamp]!);
  }

  #nameOfRefs(cluster: number, fingerprint: number, group: number): string {
    return StampTable.nameOf(
      this.#clusters.get(cluster),
      this.#fingerprints.get(fingerprint),
      this.#groups.get(group),
    );
  }

  #nextStamp(): number {
    if (this.#limit === this.cluster.length) this.#widen(2 * this.#limit);
    return this.#limit++;
  }

  #widen(length: number): void {
    for (const column of [
      'cluster',
      'fingerprint',
      'group',
      'references',
      'list',
      'held',
      'folds',
      'fold',
      'live',
      'carriers',
      'carrier',
      'rowCount',
      'gang',
      'unmetCount',
      'parkCount',
    ] as const) {
      const wider = new Uint32Array(length);
      wider.set(this[column]);
      this[column] = wider;
    }
    for (const column of ['unmetAt', 'parkAt'] as const) {
      const wider = new Float64Array(length);
      wider.set(this[column]);
      this[column] = wider;
    }
  }

  #home(stamp: number): number {
    const hash = hashOf(this.cluster[stamp]!, this.fingerprint[stamp]!, this.group[stamp]!);
    return hash & (this.#buckets.length - 1);
  }

  #link(stamp: number): void {
    const mask = this.#buckets.length - 1;
    let bucket = this.#home(stamp);
    while (this.#buckets[bucket] !== 0) bucket = (bucket + 1) & mask;
    this.#buckets[bucket] = stamp;
  }

  /** Closes the hole by moving later members of the run back: no tombstones, so probes stay short. */
  #unlink(stamp: number): void {
    const mask = this.#buckets.length - 1;
    let hole = this.#home(stamp);
    while (this.#buckets[hole] !== stamp) hole = (hole + 1) & mask;
    for (let next = (hole + 1) & mask; this.#buckets[next] !== 0; next = (next + 1) & mask) {
      const moved = this.#buckets[next]!;
      if (((next - this.#home(moved)) & mask) < ((next - hole) & mask)) continue;
      this.#buckets[hole] = moved;
      hole = next;
    }
    this.#buckets[hole] = 0;
  }

  #growBuckets(length = 2 * this.#buckets.length): void {
    this.#buckets = new Uint32Array(length);
    for (let stamp = 1; stamp < this.#limit; stamp++) if (this.references[stamp] !== 0) this.#link(stamp);
  }
}

function hashOf(cluster: number, fingerprint: number, group: number): number {
  let hash = Math.imul(fingerprint ^ Math.imul(cluster, 0x9e3779b1), 0x85ebca77);
  hash = Math.imul(hash ^ (hash >>> 15) ^ group, 0xc2b2ae3d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
