/**
 * Draining machines that needs may count (P6: a deficit causes its victims once): those preempted for a need, and those
 * that the first listing found Draining, whose need is unknown. Every cycle decides which need counts which
 * (preempt/draining-credit.ts). There are few at a time: maps, not columns.
 */
import type { StringTable } from '../../base/string-table.ts';
import { sortFew } from '../columns/sort-few.ts';
import type { AssignmentTable } from './assignments.ts';

const NONE: readonly number[] = [];

export class Drains {
  readonly #assignments: AssignmentTable;
  readonly #clusters: StringTable;
  readonly #assignmentOf = new Map<number, number>();
  readonly #slotsOf = new Map<number, number[]>();
  /** Machines found Draining after a start: no need is known for them. */
  readonly found = new Set<number>();

  constructor(assignments: AssignmentTable, clusters: StringTable) {
    this.#assignments = assignments;
    this.#clusters = clusters;
  }

  /** The machine drains for this need from now on; returns its assignment, to which it holds a reference. */
  begin(slot: number, cluster: number, fingerprint: number, group: number): number {
    this.end(slot);
    const assignment = this.#assignments.intern(cluster, fingerprint, group);
    this.#assignments.held[assignment]!++;
    this.#clusters.retain(cluster); // the drain may outlast the cluster's demand and machines
    this.#assignmentOf.set(slot, assignment);
    const slots = this.#slotsOf.get(assignment);
    if (slots === undefined) this.#slotsOf.set(assignment, [slot]);
    else slots.push(slot);
    return assignment;
  }

  /** The machine no longer drains. */
  end(slot: number): void {
    this.found.delete(slot);
    const assignment = this.#assignmentOf.get(slot);
    if (assignment === undefined) return;
    this.#assignmentOf.delete(slot);
    const slots = this.#slotsOf.get(assignment)!.filter((other) => other !== slot);
    if (slots.length > 0) this.#slotsOf.set(assignment, slots);
    else this.#slotsOf.delete(assignment);
    this.#assignments.held[assignment]!--;
    this.#clusters.release(this.#assignments.cluster[assignment]!);
    this.#assignments.release(assignment);
  }

  /** 0 = no need is known. */
  assignmentOf(slot: number): number {
    return this.#assignmentOf.get(slot) ?? 0;
  }

  slotsFor(assignment: number): readonly number[] {
    return this.#slotsOf.get(assignment) ?? NONE;
  }

  /** The same, sorted; the list stays in this order. */
  sortedFor(assignment: number, compare: (slotA: number, slotB: number) => number): readonly number[] {
    const slots = this.#slotsOf.get(assignment);
    if (slots === undefined) return NONE;
    sortFew(slots, compare);
    return slots;
  }

  get isEmpty(): boolean {
    return this.#assignmentOf.size === 0 && this.found.size === 0;
  }

  /** All draining machines, each once. */
  *slots(): IterableIterator<number> {
    yield* this.#assignmentOf.keys();
    for (const slot of this.found) if (!this.#assignmentOf.has(slot)) yield slot;
  }

  *[Symbol.iterator](): IterableIterator<[slot: number, assignment: number]> {
    yield* this.#assignmentOf;
  }
}
