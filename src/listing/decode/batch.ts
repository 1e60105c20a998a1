/**
 * One decoded answer as columns: a row per valid machine, with interned strings and shapes. A worker compares the rows
 * with the inventory and passes on those that changed; a listing of 500,000 unchanged machines creates no objects.
 *
 *   per row                     bytes   meaning
 *   pricePerHourUsd             8       f64, ≥ 0
 *   interruptionProbability     8       f64, 0…1
 *   idStart, idEnd              8       u32 offsets into `bytes`
 *   idHash                      4       u32, hashBytes of the id: what the inventory's id table uses
 *   shape                       4       u32, ref in `shapes`
 *   cluster                     4       u32, string ref, 0 = bound to no cluster
 *   need, group                 8       u32, string refs of the assignment's fingerprint and group, 0 = ''
 *   priority                    4       i32, of the assignment
 *   hostProviderStart, …End     8       u32 offsets; all four equal 0 = no host
 *   hostRefStart, …End          8       u32 offsets
 *   lastErrorStart, …End        8       u32 offsets; equal = none, or UNKNOWN_ERROR for a Failed machine
 *   state, capacityType         2       u8
 *   …Penalty (two)              2       u8, interruption and reclamation buckets of the assignment
 *   assignmentKeys              1       u8, bits of AssignmentKey; 0 = no assignment
 *   ownLabelStart, ownLabelEnd  8·keys  u32 offsets at row × keys + key; start 0 = the machine lacks the label
 *
 * 77 bytes a row and 8 for each own label key. All columns are SharedArrayBuffers, grown by doubling and reused for the
 * next answer. A thread that receives the batch by postMessage reads the columns in place (put `bytes` in the transfer
 * list) and must finish before the next decode begins.
 */
import type { InvalidReason } from '../../machine/machine.ts';
import type { RangeTable } from './range-table.ts';
import type { ShapeTable } from './shape-table.ts';
import {
  grownFloat64,
  grownInt32,
  grownUint8,
  grownUint32,
  sharedFloat64,
  sharedInt32,
  sharedUint8,
  sharedUint32,
} from './shared-columns.ts';

export const INVALID_REASONS: readonly InvalidReason[] = ['price', 'interruption_probability', 'structural'];

/** Enough for a log to show what is wrong; the batch keeps the ids of all rejected records. */
export const REJECTION_TEXTS_MAX = 20;

const ROWS_MIN = 16;

/** A growing list of byte ranges. */
export class RangeList {
  count = 0;
  start = sharedUint32(ROWS_MIN);
  end = sharedUint32(ROWS_MIN);

  push(start: number, end: number): void {
    if (this.count === this.start.length) {
      this.start = grownUint32(this.start, 2 * this.count);
      this.end = grownUint32(this.end, 2 * this.count);
    }
    this.start[this.count] = start;
    this.end[this.count++] = end;
  }
}

export class MachineBatch {
  /** The answer itself; every offset points into it. */
  bytes: Uint8Array = new Uint8Array();
  rowCount = 0;
  pricePerHourUsd = sharedFloat64(ROWS_MIN);
  interruptionProbability = sharedFloat64(ROWS_MIN);
  idStart = sharedUint32(ROWS_MIN);
  idEnd = sharedUint32(ROWS_MIN);
  idHash = sharedUint32(ROWS_MIN);
  shape = sharedUint32(ROWS_MIN);
  cluster = sharedUint32(ROWS_MIN);
  need = sharedUint32(ROWS_MIN);
  group = sharedUint32(ROWS_MIN);
  priority = sharedInt32(ROWS_MIN);
  hostProviderStart = sharedUint32(ROWS_MIN);
  hostProviderEnd = sharedUint32(ROWS_MIN);
  hostRefStart = sharedUint32(ROWS_MIN);
  hostRefEnd = sharedUint32(ROWS_MIN);
  lastErrorStart = sharedUint32(ROWS_MIN);
  lastErrorEnd = sharedUint32(ROWS_MIN);
  state = sharedUint8(ROWS_MIN);
  capacityType = sharedUint8(ROWS_MIN);
  interruptionPenalty = sharedUint8(ROWS_MIN);
  reclamationPenalty = sharedUint8(ROWS_MIN);
  assignmentKeys = sharedUint8(ROWS_MIN);
  ownLabelStart: Uint32Array<SharedArrayBuffer>;
  ownLabelEnd: Uint32Array<SharedArrayBuffer>;
  readonly ownLabelKeys: readonly string[];
  readonly strings: RangeTable;
  readonly shapes: ShapeTable;

  /** The next cursor; start = end: none. */
  revisionStart = 0;
  revisionEnd = 0;
  /** As sent. An id that is listed as well is listed: the machine came back. */
  readonly deletedIds = new RangeList();
  /** Ids of rejected records: not applied, and not counted as removed. */
  readonly rejectedIds = new RangeList();
  /** Rejected records whose id could not be read: any known machine may be one of them. */
  unnamedCount = 0;
  /** Indexed as INVALID_REASONS. */
  readonly rejectedCounts = new Uint32Array(INVALID_REASONS.length);
  /** The reasons of the first of them. */
  rejectionTexts: string[] = [];
  /** Rows that replaced an earlier one with their id. */
  duplicateIdCount = 0;
  /** If the answer is read in parts: the first row of the latest part. */
  partStart = 0;
  /** Earlier rows that the latest part replaced; a row may occur twice. */
  repeatedRows: number[] = [];

  constructor(strings: RangeTable, shapes: ShapeTable, ownLabelKeys: readonly string[]) {
    this.strings = strings;
    this.shapes = shapes;
    this.ownLabelKeys = ownLabelKeys;
    this.ownLabelStart = sharedUint32(ROWS_MIN * ownLabelKeys.length);
    this.ownLabelEnd = sharedUint32(ROWS_MIN * ownLabelKeys.length);
  }

  reset(bytes: Uint8Array): void {
    this.bytes = bytes;
    this.rowCount = 0;
    this.revisionStart = this.revisionEnd = 0;
    this.deletedIds.count = 0;
    this.rejectedIds.count = 0;
    this.rejectedCounts.fill(0);
    this.unnamedCount = 0;
    this.rejectionTexts = [];
    this.duplicateIdCount = 0;
    this.beginPart();
  }

  beginPart(): void {
    this.partStart = this.rowCount;
    this.repeatedRows = [];
  }

  /** A record repeats an earlier id and takes that row. */
  noteRepeated(row: number): void {
    this.duplicateIdCount++;
    if (row < this.partStart) this.repeatedRows.push(row);
  }

  grow(): void {
    this.reserve(2 * this.idStart.length);
  }

  /** Allocates columns for so many rows at once, which saves the copies and garbage of repeated doubling. */
  reserve(rows: number): void {
    if (rows <= this.idStart.length) return;
    const keys = this.ownLabelKeys.length;
    this.pricePerHourUsd = grownFloat64(this.pricePerHourUsd, rows);
    this.interruptionProbability = grownFloat64(this.interruptionProbability, rows);
    this.idStart = grownUint32(this.idStart, rows);
    this.idEnd = grownUint32(this.idEnd, rows);
    this.idHash = grownUint32(this.idHash, rows);
    this.shape = grownUint32(this.shape, rows);
    this.cluster = grownUint32(this.cluster, rows);
    this.need = grownUint32(this.need, rows);
    this.group = grownUint32(this.group, rows);
    this.priority = grownInt32(this.priority, rows);
    this.hostProviderStart = grownUint32(this.hostProviderStart, rows);
    this.hostProviderEnd = grownUint32(this.hostProviderEnd, rows);
    this.hostRefStart = grownUint32(this.hostRefStart, rows);
    this.hostRefEnd = grownUint32(this.hostRefEnd, rows);
    this.lastErrorStart = grownUint32(this.lastErrorStart, rows);
    this.lastErrorEnd = grownUint32(this.lastErrorEnd, rows);
    this.state = grownUint8(this.state, rows);
    this.capacityType = grownUint8(this.capacityType, rows);
    this.interruptionPenalty = grownUint8(this.interruptionPenalty, rows);
    this.reclamationPenalty = grownUint8(this.reclamationPenalty, rows);
    this.assignmentKeys = grownUint8(this.assignmentKeys, rows);
    this.ownLabelStart = grownUint32(this.ownLabelStart, rows * keys);
    this.ownLabelEnd = grownUint32(this.ownLabelEnd, rows * keys);
  }
}
