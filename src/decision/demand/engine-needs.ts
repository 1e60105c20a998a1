/**
 * The needs that phase 1 scans, as columns. A cluster's needs are one slice in order N4 (priority, arrival, fingerprint,
 * group), with empty places between them (need-places.ts); each is a plain need, a gang (Same) or a fold of gangs that each fit one machine (A1).
 *
 *   by need   cluster              u32           ref
 *             kind                 u8            NeedKind
 *             marks                u16           Mark bits; `mark` and `setMarks` write them
 *             watched              1 bit         whether a mark makes credit look at the need: a scan visits those alone
 *             profile              u32           ref; of a fold: without its Same requirements
 *             filter               u32           id (filters.ts)
 *             aggregate            u32           vector ref; the demand is `multiplier` times this
 *             multiplier           u32           gangs in the fold; 1 for any other need
 *             firstRow             u32           its row in the cluster's slice of the need table; of a fold: the first
 *                                                member's
 *             assignment           u32           of its machines
 *             plainAssignment      u32           a fold's second assignment: the reference gives folds the empty group
 *             priority             i32
 *             interruptionPenalty  u8            bucket
 *             reclamationPenalty   u8            bucket
 *             arrivalMs            f64
 *             firstClaim           u32           slot; the claim list continues in the fleet's nextClaim
 *             claimCount           u32           machines on its claim list
 *             creditCount          u32           those that count for it; a gang may hold more (A6: make before break)
 *             ownCount             u32           those of them that are assigned to it
 *             ownFamily            u32           a family with the capacity of all its own machines; 0 = it has none;
 *                                                MIXED = capacities differ, or it does not need all of them
 *             lastTaken            u32           slot that credit took last, in the part of the scan that …
 *             lastPart             u8            … this says: ScanPart
 *             domain               u32           chosen domain of a gang (domains.ts); 0 = none
 *             remaining            f64 × width   uncovered demand, by wanted dimension in the vector's order
 *             afterOwn             f64 × width   the same after its own machines, if those are MIXED and do not suffice
 *
 * Credit counts down in `scanned`, one row for all needs, and writes `remaining` only if it differs: most needs are
 * always covered, and pages that are never written take no memory.
 *
 * Slices come in multiples of 32 needs and are reused.
 */
import type { VectorTable } from '../../base/vectors.ts';
import {
  columnF64,
  columnI32,
  columnU8,
  columnU16,
  columnU32,
  widerF64,
  widerI32,
  widerU8,
  widerU16,
  widerU32,
} from '../columns/columns.ts';
import type { Families } from '../supply/families.ts';

/** None: an empty place in a cluster's slice. */
export const NeedKind = { None: 0, Plain: 1, Fold: 2, Gang: 3 } as const;
export type NeedKind = (typeof NeedKind)[keyof typeof NeedKind];

export const Mark = {
  /** Must be credited again. */
  Dirty: 1,
  /** Something remains after credit. */
  Deficit: 2,
  /** A gang that its own machines do not cover in exactly one domain: it chooses again when a change may move it. */
  Unsettled: 4,
  /** A gang whose chosen domain can hold all of it. */
  Satisfiable: 8,
  /** A gang that credit alone serves for now (A7: no domain could hold it for eight cycles). */
  Parked: 16,
  /** Its scan passed over a machine that it may take but that had none of the remaining dimensions. */
  Passed: 32,
  /** Lost a machine of another assignment, or an own one that counts by number: credit resumes where it stopped. */
  Lost: 64,
  /** A machine that is assigned to it became available, perhaps to it. */
  OwnNewlyAvailable: 128,
  /** Claims a machine that is not assigned to it: an earlier one in the scan would replace it. */
  Foreign: 256,
  /** An unsettled gang that machines of its cluster cover in some domain: nothing outside its cluster moves it (docs/adr/0037). */
  Local: 512,
} as const;

/** A need without any of these is covered and unchanged: a settled gang, or a need with machines of its own. */
const WATCHED =
  Mark.Dirty | Mark.Deficit | Mark.Lost | Mark.OwnNewlyAvailable | Mark.Foreign | Mark.Unsettled;

/** The parts of a credit scan, in order (A2: first the need's own machines, then the cluster's others). */
export const ScanPart = {
  OwnConfigured: 0,
  OwnConfiguring: 1,
  OwnCreating: 2,
  Configured: 3,
  Configuring: 4,
} as const;

/** `ownFamily` of a need whose own machines do not count by number alone. */
export const MIXED = 0xffff_ffff;

const NEEDS_AT_START = 64;
/** One word of `watched`. */
export const SLICE_STEP = 32;
const WORD_SHIFT = 5;
const WORD_BITS = 1 << WORD_SHIFT;

export class EngineNeeds {
  cluster = columnU32(NEEDS_AT_START);
  kind = columnU8(NEEDS_AT_START);
  marks = columnU16(NEEDS_AT_START);
  #watched = columnU32(NEEDS_AT_START / WORD_BITS);
  profile = columnU32(NEEDS_AT_START);
  filter = columnU32(NEEDS_AT_START);
  aggregate = columnU32(NEEDS_AT_START);
  multiplier = columnU32(NEEDS_AT_START);
  firstRow = columnU32(NEEDS_AT_START);
  assignment = columnU32(NEEDS_AT_START);
  plainAssignment = columnU32(NEEDS_AT_START);
  priority = columnI32(NEEDS_AT_START);
  interruptionPenalty = columnU8(NEEDS_AT_START);
  reclamationPenalty = columnU8(NEEDS_AT_START);
  arrivalMs = columnF64(NEEDS_AT_START);
  firstClaim = columnU32(NEEDS_AT_START);
  claimCount = columnU32(NEEDS_AT_START);
  creditCount = columnU32(NEEDS_AT_START);
  ownCount = columnU32(NEEDS_AT_START);
  ownFamily = columnU32(NEEDS_AT_START);
  lastTaken = columnU32(NEEDS_AT_START);
  lastPart = columnU8(NEEDS_AT_START);
  domain = columnU32(NEEDS_AT_START);
  width = 4;
  remaining = columnF64(NEEDS_AT_START * 4);
  afterOwn = columnF64(NEEDS_AT_START * 4);
  /** What remains of the demand of the need that is being credited. */
  #scanned = new Float64Array(4);
  readonly #freeSlices: number[][] = [];
  #limit = SLICE_STEP; // no need is 0, and each slice starts a word of `watched`

  /** Every need is below this. */
  get limit(): number {
    return this.#limit;
  }

  /** Makes room for this many more needs at once. */
  reserve(count: number): void {
    this.#widen(this.#limit + count);
  }

  /** First need of a slice for `count` needs; return it with the same count. */
  takeSlice(count: number): number {
    if (count === 0) return 0;
    const sizeClass = sizeClassOf(count);
    const free = this.#freeSlices[sizeClass]?.pop();
    if (free !== undefined) return free;
    const start = this.#limit;
    this.#limit += sizeClass * SLICE_STEP;
    this.#widen(this.#limit - 1);
    return start;
  }

  giveSlice(start: number, count: number): void {
    if (count === 0) return;
    const sizeClass = sizeClassOf(count);
    this.#freeSlices[sizeClass] ??= [];
    this.#freeSlices[sizeClass].push(start);
  }

  /** Moves a need to an empty place. */
  move(from: number, to: number): void {
    this.cluster[to] = this.cluster[from]!;
    this.kind[to] = this.kind[from]!;
    this.profile[to] = this.profile[from]!;
    this.filter[to] = this.filter[from]!;
    this.aggregate[to] = this.aggregate[from]!;
    this.multiplier[to] = this.multiplier[from]!;
    this.firstRow[to] = this.firstRow[from]!;
    this.assignment[to] = this.assignment[from]!;
    this.plainAssignment[to] = this.plainAssignment[from]!;
    this.priority[to] = this.priority[from]!;
    this.interruptionPenalty[to] = this.interruptionPenalty[from]!;
    this.reclamationPenalty[to] = this.reclamationPenalty[from]!;
    this.arrivalMs[to] = this.arrivalMs[from]!;
    this.firstClaim[to] = this.firstClaim[from]!;
    this.claimCount[to] = this.claimCount[from]!;
    this.creditCount[to] = this.creditCount[from]!;
    this.ownCount[to] = this.ownCount[from]!;
    this.ownFamily[to] = this.ownFamily[from]!;
    this.lastTaken[to] = this.lastTaken[from]!;
    this.lastPart[to] = this.lastPart[from]!;
    this.domain[to] = this.domain[from]!;
    this.setMarks(to, this.marks[from]!);
    const { width, remaining, afterOwn } = this;
    for (let index = 0; index < width; index++) {
      const at = to * width + index;
      const before = from * width + index;
      if (remaining[at] !== remaining[before]) remaining[at] = remaining[before]!;
      if (afterOwn[at] !== afterOwn[before]) afterOwn[at] = afterOwn[before]!;
    }
    this.setMarks(from, 0);
    this.kind[from] = NeedKind.None;
    this.assignment[from] = this.plainAssignment[from] = 0;
    this.firstClaim[from] = this.claimCount[from] = 0;
  }

  /** Makes room for vectors with this many dimensions. */
  fitWidth(dimensionCount: number): void {
    if (dimensionCount <= this.width) return;
    this.remaining = this.#respaced(this.remaining, dimensionCount);
    this.afterOwn = this.#respaced(this.afterOwn, dimensionCount);
    this.#scanned = new Float64Array(dimensionCount);
    this.width = dimensionCount;
  }

  #respaced(units: Float64Array, width: number): Float64Array {
    const wider = columnF64(this.cluster.length * width);
    for (let need = 0; need < this.#limit; need++) {
      for (let index = 0; index < this.width; index++) {
        wider[need * width + index] = units[need * this.width + index]!;
      }
    }
    return wider;
  }

  has(need: number, mark: number): boolean {
    return (this.marks[need]! & mark) !== 0;
  }

  set(need: number, mark: number, on: boolean): void {
    this.setMarks(need, on ? this.marks[need]! | mark : this.marks[need]! & ~mark);
  }

  mark(need: number, marks: number): void {
    this.marks[need]! |= marks;
    if ((marks & WATCHED) !== 0) this.#watched[need >>> WORD_SHIFT]! |= 1 << need;
  }

  setMarks(need: number, marks: number): void {
    this.marks[need] = marks;
    const word = need >>> WORD_SHIFT;
    if ((marks & WATCHED) !== 0) this.#watched[word]! |= 1 << need;
    else this.#watched[word]! &= ~(1 << need);
  }

  /** The first watched need from this one on; `end` if there is none before that. */
  nextWatched(need: number, end: number): number {
    for (let from = need; from < end; from = (from | (WORD_BITS - 1)) + 1) {
      const bits = this.#watched[from >>> WORD_SHIFT]! >>> from;
      if (bits !== 0) return Math.min(end, from + 31 - Math.clz32(bits & -bits));
    }
    return end;
  }

  /** Begins a scan for the whole demand; returns the number of wanted dimensions. */
  beginScan(need: number, vectors: VectorTable): number {
    const { start, length, units } = vectors;
    const aggregate = this.aggregate[need]!;
    const multiplier = this.multiplier[need]!;
    const first = start[aggregate]!;
    const count = length[aggregate]!;
    for (let index = 0; index < count; index++) this.#scanned[index] = multiplier * units[first + index]!;
    return count;
  }

  /** Ends the scan: writes the remaining demand. */
  endScan(need: number, vectors: VectorTable): void {
    const row = need * this.width;
    const count = vectors.length[this.aggregate[need]!]!;
    for (let index = 0; index < count; index++) {
      if (this.remaining[row + index] !== this.#scanned[index])
        this.remaining[row + index] = this.#scanned[index]!;
    }
  }

  /** Saves what remains after the need's own machines … */
  saveAfterOwn(need: number, vectors: VectorTable): void {
    const row = need * this.width;
    const count = vectors.length[this.aggregate[need]!]!;
    for (let index = 0; index < count; index++) this.afterOwn[row + index] = this.#scanned[index]!;
  }

  /** … and continues from there; returns the number of dimensions that remain. */
  resumeAfterOwn(need: number, families: Families, vectors: VectorTable): number {
    const family = this.ownFamily[need]!;
    if (family !== MIXED) return this.#afterAlike(need, this.ownCount[need]!, families, family, vectors);
    const row = need * this.width;
    const count = vectors.length[this.aggregate[need]!]!;
    let left = 0;
    for (let index = 0; index < count; index++) {
      this.#scanned[index] = this.afterOwn[row + index]!;
      if (this.#scanned[index]! > 0) left++;
    }
    return left;
  }

  /** Whether the need takes all of `machineCount` machines of this family if it takes them first. */
  wants(
    need: number,
    machineCount: number,
    families: Families,
    family: number,
    vectors: VectorTable,
  ): boolean {
    const left = this.#afterAlike(need, machineCount - 1, families, family, vectors);
    return left > 0 && this.subtract(need, families, family, vectors) >= 0;
  }

  /** Sets what remains after the need took `machineCount` machines of one family. */
  #afterAlike(
    need: number,
    machineCount: number,
    families: Families,
    family: number,
    vectors: VectorTable,
  ): number {
    const { start, length, dims, units } = vectors;
    const aggregate = this.aggregate[need]!;
    const first = start[aggregate]!;
    const count = length[aggregate]!;
    const multiplier = this.multiplier[need]!;
    const isFold = this.kind[need] === NeedKind.Fold;
    const gangs = isFold && machineCount > 0 ? machineCount * families.gangsPerMachine(family, aggregate) : 0;
    let left = 0;
    for (let index = 0; index < count; index++) {
      const unit = units[first + index]!;
      let given = gangs * unit;
      if (!isFold && machineCount > 0) given = machineCount * families.unitsOf(family, dims[first + index]!);
      const wanted = multiplier * unit - given;
      this.#scanned[index] = wanted > 0 ? wanted : 0;
      if (wanted > 0) left++;
    }
    return left;
  }

  /**
   * The taking rule (A2): if a machine of this family has some of a dimension that remains, subtracts its capacity,
   * never below zero. Returns how many dimensions remain then, or -1 if the machine has none of them.
   */
  subtract(need: number, families: Families, family: number, vectors: VectorTable): number {
    return this.subtractFrom(this.#scanned, 0, need, families, family, vectors);
  }

  /** The same on any row of units laid out as the need's aggregate. A fold counts whole gangs (docs/adr/0040). */
  subtractFrom(
    remaining: Float64Array,
    row: number,
    need: number,
    families: Families,
    family: number,
    vectors: VectorTable,
  ): number {
    const aggregate = this.aggregate[need]!;
    if (this.kind[need] !== NeedKind.Fold)
      return subtractCapacity(remaining, row, vectors, aggregate, families, family);
    const gangs = families.gangsPerMachine(family, aggregate);
    const first = vectors.start[aggregate]!;
    const count = vectors.length[aggregate]!;
    if (gangs === 0 || count === 0 || remaining[row] === 0) return -1;
    for (let index = 0; index < count; index++) {
      const after = remaining[row + index]! - gangs * vectors.units[first + index]!;
      remaining[row + index] = after > 0 ? after : 0;
    }
    return remaining[row]! > 0 ? count : 0; // all dimensions end together
  }

  #widen(last: number): void {
    if (last < this.cluster.length) return;
    this.cluster = widerU32(this.cluster, last);
    const length = this.cluster.length - 1;
    this.kind = widerU8(this.kind, length);
    this.marks = widerU16(this.marks, length);
    this.#watched = widerU32(this.#watched, length >>> WORD_SHIFT);
    this.profile = widerU32(this.profile, length);
    this.filter = widerU32(this.filter, length);
    this.aggregate = widerU32(this.aggregate, length);
    this.multiplier = widerU32(this.multiplier, length);
    this.firstRow = widerU32(this.firstRow, length);
    this.assignment = widerU32(this.assignment, length);
    this.plainAssignment = widerU32(this.plainAssignment, length);
    this.priority = widerI32(this.priority, length);
    this.interruptionPenalty = widerU8(this.interruptionPenalty, length);
    this.reclamationPenalty = widerU8(this.reclamationPenalty, length);
    this.arrivalMs = widerF64(this.arrivalMs, length);
    this.firstClaim = widerU32(this.firstClaim, length);
    this.claimCount = widerU32(this.claimCount, length);
    this.creditCount = widerU32(this.creditCount, length);
    this.ownCount = widerU32(this.ownCount, length);
    this.ownFamily = widerU32(this.ownFamily, length);
    this.lastTaken = widerU32(this.lastTaken, length);
    this.lastPart = widerU8(this.lastPart, length);
    this.domain = widerU32(this.domain, length);
    this.remaining = widerF64(this.remaining, (length + 1) * this.width);
    this.afterOwn = widerF64(this.afterOwn, (length + 1) * this.width);
  }
}

/** The taking rule on any row of units laid out as `aggregate`. */
export function subtractCapacity(
  remaining: Float64Array,
  row: number,
  vectors: VectorTable,
  aggregate: number,
  families: Families,
  family: number,
): number {
  const { start, length, dims } = vectors;
  const first = start[aggregate]!;
  const count = length[aggregate]!;
  const { capacity } = families;
  const machine = family * families.stride;
  let gives = false;
  let left = 0;
  for (let index = 0; index < count; index++) {
    const wanted = remaining[row + index]!;
    if (wanted === 0) continue;
    const units = capacity[machine + dims[first + index]!]!;
    if (units > 0) gives = true;
    if (units < wanted) left++;
  }
  if (!gives) return -1;
  for (let index = 0; index < count; index++) {
    const wanted = remaining[row + index]!;
    const units = capacity[machine + dims[first + index]!]!;
    remaining[row + index] = units < wanted ? wanted - units : 0;
  }
  return left;
}

function sizeClassOf(count: number): number {
  return Math.ceil(count / SLICE_STEP);
}
