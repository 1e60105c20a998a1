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
 *              unmetFor, parkFor            u32   … this is the cycle for which they were counted last; 0 = never. Few are
 *                                                 ever written: pages of zeros take no memory
 *   by group   stampsOf                     u32   stamps with that group: most groups of a roll-up have none
 *   index                                         by triple (assignment-index.ts)
 */
import { fail } from '../../base/assert.ts';
import type { StringTable } from '../../base/string-table.ts';
import { columnU32, widerU32 } from '../columns/columns.ts';
import type { CountColumns } from '../verdicts/result.ts';
import { StampIndex } from './assignment-index.ts';

const STAMPS_AT_START = 64;
const NEVER = 0;

export interface StampCounts {
  readonly unmetCount: number;
  readonly unmetFor: number;
  readonly parkCount: number;
  readonly parkFor: number;
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
  cluster = columnU32(STAMPS_AT_START);
  fingerprint = columnU32(STAMPS_AT_START);
  group = columnU32(STAMPS_AT_START);
  references = columnU32(STAMPS_AT_START);
  list = columnU32(STAMPS_AT_START);
  held = columnU32(STAMPS_AT_START);
  folds = columnU32(STAMPS_AT_START);
  fold = columnU32(STAMPS_AT_START);
  live = columnU32(STAMPS_AT_START);
  carriers = columnU32(STAMPS_AT_START);
  carrier = columnU32(STAMPS_AT_START);
  rowCount = columnU32(STAMPS_AT_START);
  gang = columnU32(STAMPS_AT_START);
  unmetCount = columnU32(STAMPS_AT_START);
  parkCount = columnU32(STAMPS_AT_START);
  unmetFor = columnU32(STAMPS_AT_START);
  parkFor = columnU32(STAMPS_AT_START);
  #stampsOf = columnU32(STAMPS_AT_START);
  readonly #index = new StampIndex(this);
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
    return this.#index.find(cluster, fingerprint, group);
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
    const known = this.#index.find(cluster, fingerprint, group);
    if (known !== 0) {
      this.references[known]!++;
      return known;
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
      this.unmetFor[stamp] = before.unmetFor;
      this.parkCount[stamp] = before.parkCount;
      this.parkFor[stamp] = before.parkFor;
    }
    this.#liveCount++;
    this.#index.add(cluster, stamp);
    return stamp;
  }

  /** Counts that another engine had, by triple: a stamp that is made here starts with its own. */
  countsBefore: ReadonlyMap<string, StampCounts> | null = null;

  /** The same by refs of these tables. */
  expectCounts(counts: CountColumns): void {
    const { cluster, fingerprint, group, unmetCount, unmetFor, parkCount, parkFor } = counts;
    const before = new Map<string, StampCounts>();
    for (let index = 0; index < cluster.length; index++) {
      before.set(this.#nameOfRefs(cluster[index]!, fingerprint[index]!, group[index]!), {
        unmetCount: unmetCount[index]!,
        unmetFor: unmetFor[index]!,
        parkCount: parkCount[index]!,
        parkFor: parkFor[index]!,
      });
    }
    this.countsBefore = before;
  }

  copyCounts(): Map<string, StampCounts> {
    const counts = new Map<string, StampCounts>(this.countsBefore ?? []);
    for (let stamp = 1; stamp < this.#limit; stamp++) {
      if (this.references[stamp] === 0 || Math.max(this.unmetFor[stamp]!, this.parkFor[stamp]!) === NEVER)
        continue;
      counts.set(this.#nameOf(stamp), {
        unmetCount: this.unmetCount[stamp]!,
        unmetFor: this.unmetFor[stamp]!,
        parkCount: this.parkCount[stamp]!,
        parkFor: this.parkFor[stamp]!,
      });
    }
    return counts;
  }

  /** Its need is gone: should it come back, A7 and A8 count from nothing. */
  forgetCounts(stamp: number): void {
    if (this.unmetFor[stamp] !== NEVER) this.unmetFor[stamp] = NEVER;
    if (this.parkFor[stamp] !== NEVER) this.parkFor[stamp] = NEVER;
  }

  /** Makes room for this many at once: a first cycle brings a million. */
  reserve(count: number): void {
    if (count > this.cluster.length) this.#widen(count);
    this.#index.reserve(count);
  }

  retain(stamp: number): void {
    this.references[stamp]!++;
  }

  /** Gives a reference back; with the last one goes the stamp (its machines are off its list by then). */
  release(stamp: number): void {
    if (this.references[stamp] === 0) fail(`stamp ${stamp} is not in use`);
    if (--this.references[stamp]! > 0) return;
    if (this.list[stamp] !== 0) fail(`stamp ${stamp} is given back with machines on its list`);
    this.#index.remove(this.cluster[stamp]!, stamp);
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
      'unmetFor',
      'parkFor',
    ] as const) {
      const wider = columnU32(length);
      wider.set(this[column]);
      this[column] = wider;
    }
  }
}
