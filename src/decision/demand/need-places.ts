/**
 * Places of needs. A cluster's needs are a slice of EngineNeeds in order N4 (priority, arrival, fingerprint, group), with empty
 * places between them: a new need gets a place between its neighbours, and a need that is gone leaves an empty one. So a
 * need keeps its number from roll-up to roll-up, and with it its claims, marks and counts. If neighbours have too few empty
 * places between them, the needs around them spread evenly over the nearest places of which enough are empty; if the slice is
 * full, all move to a wider one.
 *
 * New needs come in runs: all that belong between the same two neighbours get their places at once. One by one, each need of
 * a run would move the ones before it, which costs a large roll-up (T7) the square of its rows.
 */
import type { Claims } from '../assign/claims.ts';
import type { ClusterState } from '../cluster-state.ts';
import { columnU32, widerU32 } from '../columns/columns.ts';
import type { EngineTables } from '../engine-tables.ts';
import type { AssignmentTable } from '../supply/assignments.ts';
import { type EngineNeeds, NeedKind, SLICE_STEP } from './engine-needs.ts';
import type { NeedKey, ServingOrder } from './serving-order.ts';

/** One place in nine of a new slice is empty, and more where the slice is rounded up. */
const EMPTY_SHARE = 1 / 8;
/** Needs that spread leave so much of their places empty that the next runs find room, except over a few places. */
const SPREAD_EMPTY_SHARE = 1 / 16;
const FEW_PLACES = 32;

/** Consecutive places over which needs are spread evenly, in order: those that are there, and a run between them. */
interface Window {
  start: number;
  places: number;
  /** Needs before the run. */
  before: number;
  /** All needs, with the run. */
  needs: number;
}

export class NeedPlaces {
  readonly #needs: EngineNeeds;
  readonly #assignments: AssignmentTable;
  readonly #order: ServingOrder;
  readonly #claims: Claims;
  readonly #window: Window = { start: 0, places: 0, before: 0, needs: 0 };
  /** The needs of the window, before they move. */
  #moved = columnU32(2 * FEW_PLACES);

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

  /** The first need after this key in order; the end of the slice if there is none. */
  after(cluster: ClusterState, key: NeedKey): number {
    return this.#firstAfter(cluster.needStart, cluster.needStart + cluster.needSpan, key);
  }

  /** Makes empty places for a run of needs directly before `next`, a need or the end; the slice must have as many. */
  makeRoom(cluster: ClusterState, next: number, runLength: number): void {
    const start = cluster.needStart;
    const window = this.#window;
    let first = next;
    while (first > start && this.#isEmpty(first - 1)) first--;
    window.start = first;
    window.places = next - first;
    window.before = 0;
    window.needs = runLength;
    if (window.places < runLength) this.#spread(cluster, next, runLength);
  }

  /** The place of a need of the run that the last `makeRoom` was for. */
  placeInRun(index: number): number {
    return placeIn(this.#window, this.#window.before + index);
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

  /** Spreads the needs around the run over the nearest places of which enough are empty. */
  #spread(cluster: ClusterState, next: number, runLength: number): void {
    const start = cluster.needStart;
    const end = start + cluster.needSpan;
    const window = this.#window;
    let from = window.start;
    let to = next;
    let emptyCount = window.places;
    for (let reach = FEW_PLACES / 4; ; reach *= 2) {
      const places = to - from;
      const isSparse = places <= FEW_PLACES || emptyCount - runLength >= SPREAD_EMPTY_SHARE * places;
      if (emptyCount >= runLength && (isSparse || places === cluster.needSpan)) break;
      for (const least = Math.max(start, from - reach); from > least; )
        if (this.#isEmpty(--from)) emptyCount++;
      for (const most = Math.min(end, to + reach); to < most; ) if (this.#isEmpty(to++)) emptyCount++;
    }
    window.start = from;
    window.places = to - from;
    window.needs = window.places - emptyCount + runLength;
    this.#moved = widerU32(this.#moved, window.needs);
    let count = 0;
    for (let need = from; need < to; need++) {
      if (need === next) window.before = count;
      if (!this.#isEmpty(need)) this.#moved[count++] = need;
    }
    if (to === next) window.before = count;
    this.#moveAll(cluster, count, runLength);
  }

  /** Those that move to a lower place go first, from the lowest, and then the others, from the highest: each finds its place empty. */
  #moveAll(cluster: ClusterState, count: number, runLength: number): void {
    const window = this.#window;
    const placeOf = (index: number) => placeIn(window, index < window.before ? index : index + runLength);
    for (let index = 0; index < count; index++) {
      const need = this.#moved[index]!;
      if (placeOf(index) < need) this.#moveLinked(cluster, need, placeOf(index));
    }
    for (let index = count - 1; index >= 0; index--) {
      const need = this.#moved[index]!;
      if (placeOf(index) > need) this.#moveLinked(cluster, need, placeOf(index));
    }
  }

  #moveLinked(cluster: ClusterState, from: number, to: number): void {
    this.move(from, to, cluster.needStart);
    this.link(cluster, to);
  }
}

/** Not at the edges, where the next run would find no room. */
function placeIn({ start, places, needs }: Window, index: number): number {
  return start + Math.floor(((index + 0.5) * places) / needs);
}
