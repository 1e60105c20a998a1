/**
 * What the shard remembers of each cluster besides its needs: where they are, what the cluster sent last and whether
 * it has reported at all. The quarantine of suspicious roll-ups and the gate for clusters that have not reported rest on
 * it. Columns by cluster ref; the ledger holds one reference to the id of every cluster it knows.
 *
 *   column             bytes  meaning
 *   sliceStart         4      u32, first row of its needs
 *   sliceRoom          4      u32, rows that the slice takes up
 *   needCount          4      u32, rows in use
 *   rowsAccepted       4      u32, rows of the last accepted roll-up as received, before merging
 *   sumLow, sumHigh    8      u32, sum over those rows' digests: order does not matter
 *   rejectedCount      4      u32, roll-ups refused since the cluster became known
 *   version            4      u32, changes when the slice does; keeps counting when another cluster gets the ref
 *   rollup             4      u32, changes when the accepted roll-up does: the slice may follow it in parts (T7)
 *   quarantinedInARow  1      u8, roll-ups quarantined in a row, 0 … 2
 *   flags              1      u8, known 1, reported 2, dirty 4, the sums cover all rows 8,
 *                             the slice is not the accepted roll-up yet 16
 */
import { assert } from '../base/assert.ts';
import type { StringTable } from '../base/string-table.ts';
import { grown } from '../base/vectors.ts';
import { mix } from './pair-index.ts';

/** N7: a drop below a tenth of the accepted rows looks like a broken informer, not like less work. */
export const SUSPECT_DROP_FACTOR = 10;
/** A cluster with fewer rows, or fewer bound machines, may well end all its work at once. */
export const SUSPECT_ROWS_MIN = 10;
export const SUSPECT_BOUND_MIN = 10;
/** The shard believes a drop when this many roll-ups in a row report it. */
export const AGREEING_ROLLUPS = 3;

const KNOWN = 1;
const REPORTED = 2;
const DIRTY = 4;
const SUMMED = 8;
const TAKING_UP = 16;

export interface LedgerImage {
  readonly flags: Uint8Array;
  readonly sliceStart: Uint32Array;
  readonly needCount: Uint32Array;
}

export class ClusterLedger {
  readonly #clusters: StringTable;
  #flags = new Uint8Array(64);
  #quarantinedInARow = new Uint8Array(64);
  #rowsAccepted = new Uint32Array(64);
  #sumLow = new Uint32Array(64);
  #sumHigh = new Uint32Array(64);
  #rejectedCount = new Uint32Array(64);
  sliceStart = new Uint32Array(64);
  sliceRoom = new Uint32Array(64);
  needCount = new Uint32Array(64);
  version = new Uint32Array(64);
  rollup = new Uint32Array(64);
  readonly #dirty: number[] = [];

  constructor(clusters: StringTable) {
    this.#clusters = clusters;
  }

  /** Views of where needs are and which clusters have reported. */
  image(): LedgerImage {
    const { sliceStart, needCount } = this;
    return { flags: this.#flags, sliceStart, needCount };
  }

  restore(image: LedgerImage): void {
    this.#reserve(image.flags.length);
    // Without the sums no roll-up is a repeat.
    for (let cluster = 0; cluster < image.flags.length; cluster++)
      this.#flags[cluster] = image.flags[cluster]! & ~SUMMED;
    this.sliceStart.set(image.sliceStart);
    this.needCount.set(image.needCount);
  }

  /** The cluster's ref; makes the cluster known. */
  open(clusterId: string): number {
    assert(clusterId !== '', 'a session has a cluster id');
    const found = this.#clusters.find(clusterId);
    if (found !== 0 && this.#has(found, KNOWN)) return found;
    const cluster = this.#clusters.intern(clusterId);
    this.#reserve(cluster + 1);
    this.#flags[cluster]! |= KNOWN;
    return cluster;
  }

  /** Forgets a cluster without needs; another cluster may get its ref. */
  close(cluster: number): void {
    assert(
      this.#has(cluster, KNOWN) && this.needCount[cluster] === 0,
      'only a known cluster without needs is closed',
    );
    this.#flags[cluster]! &= DIRTY;
    this.#quarantinedInARow[cluster] = 0;
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

  isTakingUp(cluster: number): boolean {
    return this.#has(cluster, TAKING_UP);
  }

  setTakingUp(cluster: number, isTakingUp: boolean): void {
    if (isTakingUp) this.#flags[cluster]! |= TAKING_UP;
    else this.#flags[cluster]! &= ~TAKING_UP;
  }

  quarantinedInARow(cluster: number): number {
    return this.#quarantinedInARow[cluster] ?? 0;
  }

  acceptedRows(cluster: number): number {
    return this.#rowsAccepted[cluster] ?? 0;
  }

  rejectedCount(cluster: number): number {
    return this.#rejectedCount[cluster] ?? 0;
  }

  /**
   * A roll-up is suspect if it drops below a tenth of the accepted rows, or if it is a cluster's first, is empty and the
   * cluster has machines. The third suspect roll-up in a row is believed.
   */
  shouldQuarantine(cluster: number, rowCount: number, boundMachines: number): boolean {
    const rowsAccepted = this.#rowsAccepted[cluster]!;
    const isSuspect = this.hasReported(cluster)
      ? rowsAccepted >= SUSPECT_ROWS_MIN && rowCount * SUSPECT_DROP_FACTOR < rowsAccepted
      : rowCount === 0 && boundMachines >= SUSPECT_BOUND_MIN;
    return isSuspect && this.#quarantinedInARow[cluster]! + 1 < AGREEING_ROLLUPS;
  }

  quarantined(cluster: number): void {
    this.#quarantinedInARow[cluster]!++;
  }

  /** A refused roll-up agrees with no other: it ends a row of quarantined ones. */
  rejected(cluster: number): void {
    this.#quarantinedInARow[cluster] = 0;
    this.#rejectedCount[cluster]!++;
  }

  /** Whether these rows have the digests of the last accepted roll-up. */
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
    this.#quarantinedInARow[cluster] = 0;
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

  isDirty(cluster: number): boolean {
    return this.#has(cluster, DIRTY);
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
    this.#quarantinedInARow = grown(this.#quarantinedInARow, new Uint8Array(refs));
    this.#rowsAccepted = grown(this.#rowsAccepted, new Uint32Array(refs));
    this.#sumLow = grown(this.#sumLow, new Uint32Array(refs));
    this.#sumHigh = grown(this.#sumHigh, new Uint32Array(refs));
    this.#rejectedCount = grown(this.#rejectedCount, new Uint32Array(refs));
    this.sliceStart = grown(this.sliceStart, new Uint32Array(refs));
    this.sliceRoom = grown(this.sliceRoom, new Uint32Array(refs));
    this.needCount = grown(this.needCount, new Uint32Array(refs));
    this.version = grown(this.version, new Uint32Array(refs));
    this.rollup = grown(this.rollup, new Uint32Array(refs));
  }
}

/** The sum of a roll-up's row digests: equal for equal rows in any order. */
export interface DigestSum {
  readonly low: number;
  readonly high: number;
  /** Every row had a digest. */
  readonly isComplete: boolean;
}

export function sumOf(digests: Uint32Array): DigestSum {
  let low = 0;
  let high = 0;
  let isComplete = true;
  for (let word = 0; word < digests.length; word += 2) {
    const rowLow = digests[word]!;
    const rowHigh = digests[word + 1]!;
    if (rowLow === 0 && rowHigh === 0) isComplete = false;
    // Mixed first: plain sums would be equal for two rows that swap their halves.
    low = (low + mix(rowLow, rowHigh)) >>> 0;
    high = (high + mix(rowHigh, rowLow ^ 0x9e3779b1)) >>> 0;
  }
  return { low, high, isComplete };
}
