/**
 * What is remembered of each cluster besides its needs: where they are, what it sent last, whether it has
 * reported at all, and the two safeguards that rest on it. Columns by cluster ref; the ledger holds one
 * reference to the id of every cluster it knows.
 *
 *   column          bytes   meaning
 *   sliceStart      4       u32, first row of its needs
 *   sliceRoom       4       u32, rows that the slice takes up
 *   needCount       4       u32, rows in use
 *   rowsAccepted    4       u32, rows of the last accepted roll-up as received, before merging
 *   sumLow, sumHigh 8       u32, sum over those rows' digests: order does not matter
 *   rejectedCount   4       u32, roll-ups refused since the cluster is known
 *   version         4       u32, changes when its slice is another one; goes on when the ref is another cluster's
 *   heldInARow      1       u8, roll-ups held in a row, 0 … 2
 *   flags           1       u8, known 1, reported 2, dirty 4, sums are of all rows 8
 */
import { assert } from '../base/assert.ts';
import type { StringTable } from '../base/string-table.ts';
import { grown } from '../base/vectors.ts';

/** A drop below a tenth of what was accepted looks like a broken informer, not like less work. */
export const SUSPECT_DROP_FACTOR = 10;
/** Clusters with fewer rows, or fewer bound machines, may well end all at once. */
export const SUSPECT_ROWS_MIN = 10;
export const SUSPECT_BOUND_MIN = 10;
/** So many roll-ups in a row make a drop believed. */
export const AGREEING_ROLLUPS = 3;

const KNOWN = 1;
const REPORTED = 2;
const DIRTY = 4;
const SUMMED = 8;

export interface LedgerImage {
  readonly flags: Uint8Array;
  readonly sliceStart: Uint32Array;
  readonly needCount: Uint32Array;
}

export class ClusterLedger {
  readonly #clusters: StringTable;
  #flags = new Uint8Array(64);
  #heldInARow = new Uint8Array(64);
  #rowsAccepted = new Uint32Array(64);
  #sumLow = new Uint32Array(64);
  #sumHigh = new Uint32Array(64);
  #rejectedCount = new Uint32Array(64);
  sliceStart = new Uint32Array(64);
  sliceRoom = new Uint32Array(64);
  needCount = new Uint32Array(64);
  version = new Uint32Array(64);
  readonly #dirty: number[] = [];

  constructor(clusters: StringTable) {
    this.#clusters = clusters;
  }

  /** Views of where needs are and who has reported. */
  image(): LedgerImage {
    const { sliceStart, needCount } = this;
    return { flags: this.#flags, sliceStart, needCount };
  }

  restore(image: LedgerImage): void {
    this.#reserve(image.flags.length);
    this.#flags.set(image.flags);
    this.sliceStart.set(image.sliceStart);
    this.needCount.set(image.needCount);
  }

  /** The cluster's ref, known from now on. */
  open(clusterId: string): number {
    assert(clusterId !== '', 'a session has a cluster id');
    const found = this.#clusters.find(clusterId);
    if (found !== 0 && this.#has(found, KNOWN)) return found;
    const cluster = this.#clusters.intern(clusterId);
    this.#reserve(cluster + 1);
    this.#flags[cluster]! |= KNOWN;
    return cluster;
  }

  /** Forgets a cluster without needs; its ref may be another cluster's soon. */
  close(cluster: number): void {
    assert(
      this.#has(cluster, KNOWN) && this.needCount[cluster] === 0,
      'only a known cluster without needs is closed',
    );
    this.#flags[cluster]! &= DIRTY;
    this.#heldInARow[cluster] = 0;
    this.#rowsAccepted[cluster] = 0;
    this.#rejectedCount[cluster] = 0;
    this.#clusters.release(cluster);
  }

  isKnown(cluster: number): boolean {
    return this.#has(cluster, KNOWN);
  }

  hasReported(cluster: number): boolean {
    return this.#has(cluster, REPORTED);
  }

  heldInARow(cluster: number): number {
    return this.#heldInARow[cluster] ?? 0;
  }

  rejectedCount(cluster: number): number {
    return this.#rejectedCount[cluster] ?? 0;
  }

  /**
   * Whether this roll-up is to be held: it drops below a tenth of what was accepted, or is the first word of
   * a cluster that has machines and says that it needs none. The third in a row is believed.
   */
  shouldHold(cluster: number, rowCount: number, boundMachines: number): boolean {
    const rowsAccepted = this.#rowsAccepted[cluster]!;
    const isSuspect = this.hasReported(cluster)
      ? rowsAccepted >= SUSPECT_ROWS_MIN && rowCount * SUSPECT_DROP_FACTOR < rowsAccepted
      : rowCount === 0 && boundMachines >= SUSPECT_BOUND_MIN;
    return isSuspect && this.#heldInARow[cluster]! + 1 < AGREEING_ROLLUPS;
  }

  held(cluster: number): void {
    this.#heldInARow[cluster]!++;
  }

  /** A refused roll-up agrees with nothing: held ones before it are no longer in a row. */
  rejected(cluster: number): void {
    this.#heldInARow[cluster] = 0;
    this.#rejectedCount[cluster]!++;
  }

  /** Whether these rows are, as far as their digests tell, those of the last accepted roll-up. */
  isRepeat(cluster: number, rowCount: number, sum: DigestSum): boolean {
    return (
      sum.isComplete &&
      this.#has(cluster, SUMMED) &&
      this.#rowsAccepted[cluster] === rowCount &&
      this.#sumLow[cluster] === sum.low &&
      this.#sumHigh[cluster] === sum.high
    );
  }

  accepted(cluster: number, rowCount: number, sum: DigestSum): void {
    this.#heldInARow[cluster] = 0;
    this.#rowsAccepted[cluster] = rowCount;
    this.#sumLow[cluster] = sum.low;
    this.#sumHigh[cluster] = sum.high;
    this.#flags[cluster]! = (this.#flags[cluster]! & ~SUMMED) | REPORTED | (sum.isComplete ? SUMMED : 0);
  }

  markDirty(cluster: number): void {
    if (this.#has(cluster, DIRTY)) return;
    this.#flags[cluster]! |= DIRTY;
    this.#dirty.push(cluster);
  }

  get dirtyCount(): number {
    return this.#dirty.length;
  }

  /** Appends the dirty clusters to `out` and makes them clean. */
  takeDirty(out: number[]): void {
    for (const cluster of this.#dirty) {
      this.#flags[cluster]! &= ~DIRTY;
      out.push(cluster);
    }
    this.#dirty.length = 0;
  }

  /** Clusters that have reported, by ref. */
  *reported(): Generator<number> {
    for (let cluster = 1; cluster < this.#flags.length; cluster++) {
      if (this.#has(cluster, REPORTED)) yield cluster;
    }
  }

  #has(cluster: number, flag: number): boolean {
    return ((this.#flags[cluster] ?? 0) & flag) !== 0;
  }

  #reserve(refLimit: number): void {
    let refs = this.#flags.length;
    if (refLimit <= refs) return;
    while (refs < refLimit) refs *= 2;
    this.#flags = grown(this.#flags, new Uint8Array(refs));
    this.#heldInARow = grown(this.#heldInARow, new Uint8Array(refs));
    this.#rowsAccepted = grown(this.#rowsAccepted, new Uint32Array(refs));
    this.#sumLow = grown(this.#sumLow, new Uint32Array(refs));
    this.#sumHigh = grown(this.#sumHigh, new Uint32Array(refs));
    this.#rejectedCount = grown(this.#rejectedCount, new Uint32Array(refs));
    this.sliceStart = grown(this.sliceStart, new Uint32Array(refs));
    this.sliceRoom = grown(this.sliceRoom, new Uint32Array(refs));
    this.needCount = grown(this.needCount, new Uint32Array(refs));
    this.version = grown(this.version, new Uint32Array(refs));
  }
}

/** Digests of all rows of a roll-up in one: equal for equal rows in any order. */
export interface DigestSum {
  readonly low: number;
  readonly high: number;
  /** Every row had a digest. */
  readonly isComplete: boolean;
}
