/**
 * Places of needs. A cluster's needs are a slice of EngineNeeds in order N4 (priority, arrival, fingerprint, group), with empty
 * places between them: a new need gets a place between its neighbours, and a need that is gone leaves an empty one. So a
 * need keeps its number from roll-up to roll-up, and with it its claims, marks and counts. If neighbours have no empty place
 * between them, needs move by one place to the nearest empty one; if the slice is full, all move to a wider one.
 */
import type { Claims } from '../assign/claims.ts';
import type { ClusterState } from '../cluster-state.ts';
import type { EngineTables } from '../engine-tables.ts';
import type { AssignmentTable } from '../supply/assignments.ts';
import { type EngineNeeds, NeedKind, SLICE_STEP } from './engine-needs.ts';
import type { NeedKey, ServingOrder } from './serving-order.ts';

/** One place in nine of a new slice is empty, and more where the slice is rounded up. */
const EMPTY_SHARE = 1 / 8;

export class NeedPlaces {
  readonly #needs: EngineNeeds;
  readonly #assignments: AssignmentTable;
  readonly #order: ServingOrder;
  readonly #claims: Claims;

  constructor({ needs, assignments, order, claims }: EngineTables) {
    this.#needs = needs;
    this.#assignments = assignments;
    this.#order = order;
    this.#claims = claims;
  }

  /** Places of a new slice for this many needs. */
  spanFor(needCount: number): number {
    return Math.ceil((needCount * (1 + EMPTY_SHARE)) / SLICE_STEP) * SLICE_STEP;
  }

  /** Whether a slice with this span has room for so many needs, and does not take much more memory than they need. */
  isSpanFitting(span: number, needCount: number): boolean {
    return needCount <= span && (span <= 2 * SLICE_STEP || span <= 4 * needCount);
  }

  /** An empty place for a need with this key, which has none yet; the slice must have one. */
  take(cluster: ClusterState, key: NeedKey): number {
    const start = cluster.needStart;
    const end = start + cluster.needSpan;
    const next = this.#firstAfter(start, end, key);
    let before = next - 1;
    while (before >= start && this.#isEmpty(before)) before--;
    if (next - before > 1) return (next + before) >>> 1;
    return this.#makeRoom(cluster, next);
  }

  /** The need has this place from now on: its rows and its assignment name it. */
  link(cluster: ClusterState, need: number): void {
    const needs = this.#needs;
    const assignment = needs.assignment[need]!;
    const index = need - cluster.needStart + 1;
    const row = needs.firstRow[need]!;
    this.#assignments.carrier[assignment] = index;
    if (needs.kind[need] === NeedKind.Gang) this.#assignments.gang[assignment] = index;
    if (needs.kind[need] !== NeedKind.Fold) {
      cluster.rowNeed[row] = need;
      return;
    }
    const { groups } = cluster;
    const group = cluster.rowGroup[row]! - 1;
    for (let position = groups.rowsStart(group); position < groups.rowsEnd(group); position++) {
      const member = cluster.groupRows[position]!;
      if (cluster.rowFolds[member] === 1) cluster.rowNeed[member] = need;
    }
  }

  /** Moves a need, with its claims, to an empty place of the slice that begins at `start`. */
  move(from: number, to: number, start: number): void {
    this.#needs.move(from, to);
    this.#claims.renumber(to, to - start);
  }

  #isEmpty(need: number): boolean {
    return this.#needs.kind[need] === NeedKind.None;
  }

  /** The first need after the key in the order; `end` if there is none. */
  #firstAfter(start: number, end: number, key: NeedKey): number {
    let low = start;
    let high = end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      let probe = middle;
      while (probe >= low && this.#isEmpty(probe)) probe--;
      if (probe < low || this.#order.compareToKey(probe, key) < 0) low = middle + 1;
      else high = probe;
    }
    while (low < end && this.#isEmpty(low)) low++;
    return low;
  }

  /** Makes the place before `next` empty: moves the needs between it and the nearest empty place. */
  #makeRoom(cluster: ClusterState, next: number): number {
    const start = cluster.needStart;
    const end = start + cluster.needSpan;
    let left = next - 1;
    let right = next;
    while (left >= start && right < end && !this.#isEmpty(left) && !this.#isEmpty(right)) {
      left--;
      right++;
    }
    while (left >= start && !this.#isEmpty(left) && right >= end) left--;
    while (right < end && !this.#isEmpty(right) && left < start) right++;
    if (left >= start && this.#isEmpty(left)) {
      for (let to = left; to < next - 1; to++) this.#shift(cluster, to + 1, to);
      return next - 1;
    }
    for (let to = right; to > next; to--) this.#shift(cluster, to - 1, to);
    return next;
  }

  #shift(cluster: ClusterState, from: number, to: number): void {
    this.move(from, to, cluster.needStart);
    this.link(cluster, to);
  }
}
