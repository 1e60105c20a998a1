/**
 * Since when each need lacks something, and whether an earlier cycle left it unmet. The shard measures with it how long a
 * need waits for its nodes, and for what; no decision reads it. So an engine that decides from scratch need not have it,
 * and after a throw (T2) the times begin again.
 *
 * A need lacks something while credit does not cover it, that is, while it has an entry among the unmet needs. What is
 * enqueued for it counts as credit, so the time ends when all of it is enqueued: a need that waits for the queue still
 * lacks it.
 *
 *   by assignment   sinceMs    f64   when the lack began, valid if the assignment `isLacking`
 *                   unmetIn    u32   the first cycle since then that left it unmet; 0 = none
 *                   holders    u32   entries of its need: two while a need is numbered again, else one or none
 */
import { columnF64, columnU32, widerF64, widerU32 } from '../columns/columns.ts';
import type { CurrentCycle } from '../engine-tables.ts';
import type { AssignmentTable } from '../supply/assignments.ts';

/** What a need lacks, as of the last cycle. */
export interface Lack {
  /** When the roll-up arrived that asked for it, or the cycle ran that found it missing. */
  readonly sinceMs: number;
  /** An earlier cycle found no machine for all of it. */
  readonly hasWaited: boolean;
}

/** A need that a cycle left unmet for the first time, or that is met again. */
export interface NeedFlip {
  readonly assignment: number;
  /** UnmetReason; 0: it is met. */
  readonly reason: number;
}

/** For the history. A cycle that leaves more needs unmet at once is a start or a catastrophe: the rest are counted. */
const FLIPS_MAX = 1_000;

export class Lacks {
  readonly #assignments: AssignmentTable;
  readonly #cycle: CurrentCycle;
  #sinceMs = columnF64(64);
  #unmetIn = columnU32(64);
  #holders = columnU32(64);
  #flips: NeedFlip[] = [];
  #flipsUntold = 0;
  /** Assignments that perhaps no entry holds any more. */
  readonly #ended: number[] = [];

  constructor(assignments: AssignmentTable, cycle: CurrentCycle) {
    this.#assignments = assignments;
    this.#cycle = cycle;
  }

  /** Credit left the need with a deficit in this cycle … */
  begin(assignment: number, cluster: number): void {
    const { isLacking } = this.#assignments;
    this.#sinceMs = widerF64(this.#sinceMs, assignment);
    this.#unmetIn = widerU32(this.#unmetIn, assignment);
    this.#holders = widerU32(this.#holders, assignment);
    this.#holders[assignment]!++;
    if (isLacking[assignment] === 1) return;
    isLacking[assignment] = 1;
    this.#sinceMs[assignment] = this.#cycle.askedMs?.get(cluster) ?? this.#cycle.nowMs;
    this.#unmetIn[assignment] = 0;
  }

  /** … and acquisition did not cover it … */
  unmet(assignment: number, reason: number): void {
    if (this.#unmetIn[assignment] !== 0) return;
    this.#unmetIn[assignment] = this.#cycle.number;
    this.#flip(assignment, reason);
  }

  /** … until credit covers it, or it is gone, or it is numbered again. */
  end(assignment: number): void {
    if (--this.#holders[assignment]! === 0) this.#ended.push(assignment);
  }

  /** Ends a cycle, after all of these calls. */
  endCycle(): void {
    const { isLacking, rowCount, carriers } = this.#assignments;
    for (const assignment of this.#ended) {
      if (this.#holders[assignment] !== 0 || isLacking[assignment] === 0) continue;
      isLacking[assignment] = 0;
      // One that its cluster withdrew is not met.
      if (this.#unmetIn[assignment] !== 0 && rowCount[assignment]! + carriers[assignment]! > 0)
        this.#flip(assignment, 0);
    }
    this.#ended.length = 0;
  }

  /** What changed since the last call, in order, and how many more did. */
  takeFlips(): { readonly flips: readonly NeedFlip[]; readonly untold: number } {
    const taken = { flips: this.#flips, untold: this.#flipsUntold };
    this.#flips = [];
    this.#flipsUntold = 0;
    return taken;
  }

  #flip(assignment: number, reason: number): void {
    if (this.#flips.length < FLIPS_MAX) this.#flips.push({ assignment, reason });
    else this.#flipsUntold++;
  }

  /** Null: the last cycle found nothing missing. */
  of(assignment: number): Lack | null {
    if (assignment === 0 || this.#assignments.isLacking[assignment] !== 1) return null;
    const unmetIn = this.#unmetIn[assignment]!;
    return {
      sinceMs: this.#sinceMs[assignment]!,
      hasWaited: unmetIn !== 0 && unmetIn < this.#cycle.number,
    };
  }
}
