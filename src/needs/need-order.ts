/**
 * Puts a cluster's needs in the order that the whole shard uses: priority desc, arrival asc, then fingerprint and
 * group bytewise. Needs kept from the old slice are in that order already, because the fields that order a need never
 * change; so only new needs are sorted, and the two lists are merged. Both work in steps: a cluster's first roll-up may
 * have a hundred thousand rows, and sorting them at once would block the main thread (ADR 0021).
 */
import type { StringTable } from '../base/string-table.ts';
import type { NeedColumns } from './need-columns.ts';
import type { ProfileTable } from './profiles.ts';
import type { RollupDraft } from './rollup-draft.ts';

/** Rows sorted or merged in one step: about a millisecond. */
const RUN_ROWS = 2_048;
/** Rows looked at in one step without comparing them. */
const COUNTED_ROWS = 16_384;

export class NeedOrder {
  readonly #profiles: ProfileTable;
  readonly #groups: StringTable;
  #known = new Uint32Array(0);
  #new = new Uint32Array(0);
  #order = new Uint32Array(0);
  #priority = new Int32Array(0);
  /** Read again in each step: ranks may be renumbered between two steps, but two profiles never change places. */
  #rankOf: Uint32Array = new Uint32Array(0);
  #spare = new Uint32Array(0);

  constructor(profiles: ProfileTable, groups: StringTable) {
    this.#profiles = profiles;
    this.#groups = groups;
  }

  /** The draft's rows in order. Valid until the next call. */
  *of(draft: RollupDraft, oldCount: number): Generator<void, Uint32Array> {
    const { columns, count } = draft;
    this.#reserve(count);
    let newCount = 0;
    for (let row = 0; row < count; row++) {
      this.#priority[row] = this.#profiles.get(columns.profile[row]!).priority;
      if (!draft.isKnown(row)) this.#new[newCount++] = row;
      if (row % COUNTED_ROWS === COUNTED_ROWS - 1) yield;
    }
    let knownCount = 0;
    for (let position = 0; position < oldCount; position++) {
      const row = draft.successorOf(position);
      if (row >= 0) this.#known[knownCount++] = row;
      if (position % COUNTED_ROWS === COUNTED_ROWS - 1) yield;
    }
    yield* this.#sortNew(columns, newCount);
    const ends = { a: 0, endA: knownCount, b: 0, endB: newCount };
    yield* this.#merge(columns, this.#known, this.#new, ends, this.#order, 0);
    return this.#order.subarray(0, knownCount + newCount);
  }

  /** Sorts short runs one by one, then merges them in pairs. */
  *#sortNew(columns: NeedColumns, count: number): Generator<void> {
    for (let start = 0; start < count; start += RUN_ROWS) {
      const run = this.#new.subarray(start, Math.min(count, start + RUN_ROWS));
      this.#rankOf = this.#profiles.fingerprintRanks();
      run.sort((rowA, rowB) => this.#compare(columns, rowA, rowB));
      if (count > RUN_ROWS) yield;
    }
    for (let runRows = RUN_ROWS; runRows < count; runRows *= 2) {
      for (let start = 0; start < count; start += 2 * runRows) {
        const middle = Math.min(count, start + runRows);
        const ends = { a: start, endA: middle, b: middle, endB: Math.min(count, start + 2 * runRows) };
        yield* this.#merge(columns, this.#new, this.#new, ends, this.#spare, start);
      }
      const sorted = this.#spare;
      this.#spare = this.#new;
      this.#new = sorted;
    }
  }

  *#merge(
    columns: NeedColumns,
    from: Uint32Array,
    andFrom: Uint32Array,
    ends: { a: number; readonly endA: number; b: number; readonly endB: number },
    into: Uint32Array,
    start: number,
  ): Generator<void> {
    const end = start + ends.endA - ends.a + ends.endB - ends.b;
    for (let place = start; place < end; ) {
      const pauseAt = Math.min(end, place + RUN_ROWS);
      this.#rankOf = this.#profiles.fingerprintRanks();
      for (; place < pauseAt; place++) {
        const takesFirst =
          ends.a < ends.endA &&
          (ends.b === ends.endB || this.#compare(columns, from[ends.a]!, andFrom[ends.b]!) < 0);
        into[place] = takesFirst ? from[ends.a++]! : andFrom[ends.b++]!;
      }
      if (place < end) yield;
    }
  }

  #compare(columns: NeedColumns, rowA: number, rowB: number): number {
    return (
      this.#priority[rowB]! - this.#priority[rowA]! ||
      columns.arrivalMs[rowA]! - columns.arrivalMs[rowB]! ||
      this.#rankOf[columns.profile[rowA]!]! - this.#rankOf[columns.profile[rowB]!]! ||
      this.#groups.compare(columns.group[rowA]!, columns.group[rowB]!)
    );
  }

  #reserve(rowCount: number): void {
    if (rowCount <= this.#order.length) return;
    this.#known = new Uint32Array(2 * rowCount);
    this.#new = new Uint32Array(2 * rowCount);
    this.#spare = new Uint32Array(2 * rowCount);
    this.#order = new Uint32Array(2 * rowCount);
    this.#priority = new Int32Array(2 * rowCount);
  }
}
