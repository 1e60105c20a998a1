/**
 * Assignments: the need that a machine was bound or created for, as one number. An assignment is the triple (cluster,
 * fingerprint, group); machines carry the assignment of their need and needs carry their own, so the machines of a need
 * are one list, and whether a machine is a need's own is one comparison.
 *
 *   by assignment   cluster                u32   ref; the engine drops a cluster before its ref is reused
 *                   fingerprint, group     u32   refs; each assignment holds a reference, so they keep their meaning
 *                   references             u32   needs and machines that carry it; 0 = unused number
 *                   list                   u32   list of its machines in keep order; 0 = none yet
 *                   held                   u32   machines Creating, Configuring, Configured or draining for it
 *                   folds                  u32   possible folds of its cluster's rows whose machines carry it
 *                   fold                   u32   fold group that depends on its machines, as index in its cluster + 1
 *                   live                   u32   needs of this cycle whose own machines carry it
 *                   carriers               u32   those of them whose first assignment it is (a fold has two)
 *                   carrier                u32   one of these, as index in its cluster + 1; 0 = none
 *                   rowCount               u32   rows of roll-ups that have it (one, unless fingerprints are alike)
 *                   gang                   u32   the gang that carries it, as index in its cluster + 1; 0 = none
 *                   unmetSince             u32   ordinaryCount when its row became unmet (A8); 0 = it is not unmet
 *                   unmetHolders           u32   entries of unmet needs that count it
 *                   parkCount              u32   ordinary cycles without a domain (A7), valid if …
 *                   parkFor                u32   … this is the cycle they were counted for; 0 = never. Few are ever
 *                                                written, and pages of zeros take no memory
 *                   isLacking              u32   1 = the lack of its need has begun (verdicts/lacks.ts)
 *   by group          assignmentsOf          u32   assignments with that group: most groups of a roll-up have none
 *   index                                          by triple (assignment-index.ts)
 */
import { fail } from '../../base/assert.ts';
import type { StringTable } from '../../base/string-table.ts';
import { columnU32, widerU32 } from '../columns/columns.ts';
import { AssignmentIndex } from './assignment-index.ts';

const ASSIGNMENTS_AT_START = 64;
const NEVER = 0;
/** No count from elsewhere is as large: a shard that runs for a thousand years has 2^32 cycles. */
const ORDINARY_AT_START = 2 ** 31;

export interface AssignmentCounts {
  readonly unmetCount: number;
  readonly parkCount: number;
  readonly parkFor: number;
}

/** Assignments with counts that the next cycle continues, as columns. */
export interface CountColumns {
  readonly assignment: Uint32Array;
  readonly cluster: Uint32Array;
  readonly fingerprint: Uint32Array;
  readonly group: Uint32Array;
  readonly unmetCount: Uint32Array;
  readonly parkCount: Uint32Array;
  readonly parkFor: Uint32Array;
}

/** The same by name, as of the last cycle. */
export interface NeedCounts {
  readonly cluster: string;
  readonly fingerprint: string;
  readonly group: string;
  readonly unmetCycles: number;
  readonly parkedCycles: number;
}

export class AssignmentTable {
  readonly #clusters: StringTable;
  readonly #fingerprints: StringTable;
  readonly #groups: StringTable;
  cluster = columnU32(ASSIGNMENTS_AT_START);
  fingerprint = columnU32(ASSIGNMENTS_AT_START);
  group = columnU32(ASSIGNMENTS_AT_START);
  references = columnU32(ASSIGNMENTS_AT_START);
  list = columnU32(ASSIGNMENTS_AT_START);
  held = columnU32(ASSIGNMENTS_AT_START);
  folds = columnU32(ASSIGNMENTS_AT_START);
  fold = columnU32(ASSIGNMENTS_AT_START);
  live = columnU32(ASSIGNMENTS_AT_START);
  carriers = columnU32(ASSIGNMENTS_AT_START);
  carrier = columnU32(ASSIGNMENTS_AT_START);
  rowCount = columnU32(ASSIGNMENTS_AT_START);
  gang = columnU32(ASSIGNMENTS_AT_START);
  unmetSince = columnU32(ASSIGNMENTS_AT_START);
  unmetHolders = columnU32(ASSIGNMENTS_AT_START);
  parkCount = columnU32(ASSIGNMENTS_AT_START);
  parkFor = columnU32(ASSIGNMENTS_AT_START);
  isLacking = columnU32(ASSIGNMENTS_AT_START);
  /** Ordinary cycles decided, from ORDINARY_AT_START. */
  #ordinaryCount = ORDINARY_AT_START;
  /** Assignments that perhaps no entry counts any more. */
  readonly #ended: number[] = [];
  #assignmentsOf = columnU32(ASSIGNMENTS_AT_START);
  readonly #index = new AssignmentIndex(this);
  #free: number[] = [];
  /** The one that was interned last. */
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

  /** Every assignment is below this. */
  get limit(): number {
    return this.#limit;
  }

  find(cluster: number, fingerprint: number, group: number): number {
    return this.#index.find(cluster, fingerprint, group);
  }

  /** Whether any assignment has this group; a mostly sufficient answer without a look-up. */
  isGroupAssigned(group: number): boolean {
    return group < this.#assignmentsOf.length && this.#assignmentsOf[group]! > 0;
  }

  /** The assignment of the triple, with one more reference. */
  intern(cluster: number, fingerprint: number, group: number): number {
    const last = this.#last; // machines of one need mostly arrive together
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
    const assignment = this.#free.pop() ?? this.#nextAssignment();
    this.#fingerprints.retain(fingerprint);
    this.#groups.retain(group);
    this.cluster[assignment] = cluster;
    this.fingerprint[assignment] = fingerprint;
    this.group[assignment] = group;
    this.#assignmentsOf = widerU32(this.#assignmentsOf, group);
    this.#assignmentsOf[group]!++;
    this.references[assignment] = 1;
    this.forgetCounts(assignment);
    const before = this.countsBefore === null ? undefined : this.countsBefore.get(this.#nameOf(assignment));
    if (before !== undefined) {
      if (before.unmetCount > 0) {
        this.unmetSince[assignment] = this.#ordinaryCount - before.unmetCount;
        this.#ended.push(assignment); // unless the next cycle counts it too
      }
      this.parkCount[assignment] = before.parkCount;
      this.parkFor[assignment] = before.parkFor;
    }
    this.#liveCount++;
    this.#index.add(cluster, assignment);
    return assignment;
  }

  /** Counts from another engine, by triple: a new assignment starts with its count from here. */
  countsBefore: ReadonlyMap<string, AssignmentCounts> | null = null;

  /** The same by refs of these tables. */
  expectCounts(counts: CountColumns): void {
    const { cluster, fingerprint, group, unmetCount, parkCount, parkFor } = counts;
    const before = new Map<string, AssignmentCounts>();
    for (let index = 0; index < cluster.length; index++) {
      before.set(this.#nameOfRefs(cluster[index]!, fingerprint[index]!, group[index]!), {
        unmetCount: unmetCount[index]!,
        parkCount: parkCount[index]!,
        parkFor: parkFor[index]!,
      });
    }
    this.countsBefore = before;
  }

  copyCounts(): Map<string, AssignmentCounts> {
    const counts = new Map<string, AssignmentCounts>(this.countsBefore ?? []);
    for (let assignment = 1; assignment < this.#limit; assignment++) {
      const unmetCount = this.unmetCount(assignment);
      if (this.references[assignment] === 0 || (unmetCount === 0 && this.parkFor[assignment] === NEVER))
        continue;
      counts.set(this.#nameOf(assignment), {
        unmetCount,
        parkCount: this.parkCount[assignment]!,
        parkFor: this.parkFor[assignment]!,
      });
    }
    return counts;
  }

  /** Its need is gone: if it returns, A7 (parking) and A8 (cycles unmet) count from zero. */
  forgetCounts(assignment: number): void {
    if (this.unmetSince[assignment] !== NEVER) this.unmetSince[assignment] = NEVER;
    if (this.parkFor[assignment] !== NEVER) this.parkFor[assignment] = NEVER;
    if (this.isLacking[assignment] !== 0) this.isLacking[assignment] = 0;
  }

  /** A8: ordinary cycles in a row that left its row unmet, the last one included. */
  unmetCount(assignment: number): number {
    const since = this.unmetSince[assignment]!;
    return since === NEVER ? 0 : this.#ordinaryCount - since;
  }

  /** An entry of an unmet need counts the assignment from this cycle on … */
  beginUnmet(assignment: number): void {
    this.unmetHolders[assignment]!++;
    if (this.unmetSince[assignment] === NEVER) this.unmetSince[assignment] = this.#ordinaryCount;
  }

  /** … until this one. Another entry may count it instead: a need that is numbered again goes on counting. */
  endUnmet(assignment: number): void {
    if (--this.unmetHolders[assignment]! === 0) this.#ended.push(assignment);
  }

  /** H4: its count stands still in this ordinary cycle. */
  holdUnmet(assignment: number): void {
    if (this.unmetSince[assignment] !== NEVER) this.unmetSince[assignment]!++;
  }

  /** Ends a cycle, after all of these calls. */
  endCycle(isCounting: boolean): void {
    for (const assignment of this.#ended)
      if (this.unmetHolders[assignment] === 0) this.unmetSince[assignment] = NEVER;
    this.#ended.length = 0;
    if (isCounting) this.#ordinaryCount++;
  }

  /** Makes room for this many assignments at once: a first cycle brings a million. */
  reserve(count: number): void {
    if (count > this.cluster.length) this.#widen(count);
    this.#index.reserve(count);
  }

  retain(assignment: number): void {
    this.references[assignment]!++;
  }

  /** Releases a reference; the last one frees the assignment, whose list must be empty by then. */
  release(assignment: number): void {
    if (this.references[assignment] === 0) fail(`assignment ${assignment} is not in use`);
    if (--this.references[assignment]! > 0) return;
    if (this.list[assignment] !== 0) fail(`assignment ${assignment} is released with machines on its list`);
    this.#index.remove(this.cluster[assignment]!, assignment);
    this.#assignmentsOf[this.group[assignment]!]!--;
    this.#fingerprints.release(this.fingerprint[assignment]!);
    this.#groups.release(this.group[assignment]!);
    this.held[assignment] = 0;
    this.folds[assignment] = 0;
    this.fold[assignment] = 0;
    this.live[assignment] = 0;
    this.carriers[assignment] = 0;
    this.carrier[assignment] = 0;
    this.gang[assignment] = 0;
    this.#free.push(assignment);
    this.#liveCount--;
  }

  /** An assignment as text, valid across engines and processes. T4: the same whether or not the whole texts are known. */
  nameOf(cluster: string, fingerprint: string, group: string): string {
    return JSON.stringify([
      cluster,
      this.#fingerprints.shortened(fingerprint),
      this.#groups.shortened(group),
    ]);
  }

  #nameOf(assignment: number): string {
    return this.#nameOfRefs(
      this.cluster[assignment]!,
      this.fingerprint[assignment]!,
      this.group[assignment]!,
    );
  }

  #nameOfRefs(cluster: number, fingerprint: number, group: number): string {
    return this.nameOf(
      this.#clusters.get(cluster),
      this.#fingerprints.shortText(fingerprint),
      this.#groups.shortText(group),
    );
  }

  #nextAssignment(): number {
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
      'unmetSince',
      'unmetHolders',
      'parkCount',
      'parkFor',
      'isLacking',
    ] as const) {
      const wider = columnU32(length);
      wider.set(this[column]);
      this[column] = wider;
    }
  }
}
