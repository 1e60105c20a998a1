/**
 * A cluster's needs in the one order that holds everywhere: priority desc, arrival asc, then fingerprint and
 * group bytewise. What goes on from the old slice is in that order already, because nothing that orders a
 * need can change while it lives; so only new needs are sorted, and the two are merged.
 */
import type { StringTable } from '../base/string-table.ts';
import type { NeedColumns } from './need-columns.ts';
import type { ProfileTable } from './profiles.ts';
import type { RollupDraft } from './rollup-draft.ts';

export class NeedOrder {
  readonly #profiles: ProfileTable;
  readonly #groups: StringTable;
  #known = new Uint32Array(0);
  #fresh = new Uint32Array(0);
  #order = new Uint32Array(0);
  #priority = new Int32Array(0);
  #rank = new Uint32Array(0);

  constructor(profiles: ProfileTable, groups: StringTable) {
    this.#profiles = profiles;
    this.#groups = groups;
  }

  /** The draft's rows in order. Valid until the next call. */
  of(draft: RollupDraft, oldCount: number): Uint32Array {
    const { columns, count } = draft;
    this.#reserve(count);
    const ranks = this.#profiles.fingerprintRanks();
    let freshCount = 0;
    for (let row = 0; row < count; row++) {
      this.#priority[row] = this.#profiles.get(columns.profile[row]!).priority;
      this.#rank[row] = ranks[columns.profile[row]!]!;
      if (!draft.isKnown(row)) this.#fresh[freshCount++] = row;
    }
    let knownCount = 0;
    for (let position = 0; position < oldCount; position++) {
      const row = draft.successorOf(position);
      if (row >= 0) this.#known[knownCount++] = row;
    }
    this.#fresh.subarray(0, freshCount).sort((rowA, rowB) => this.#compare(columns, rowA, rowB));
    return this.#merge(columns, knownCount, freshCount);
  }

  #merge(columns: NeedColumns, knownCount: number, freshCount: number): Uint32Array {
    const order = this.#order;
    let known = 0;
    let fresh = 0;
    for (let place = 0; place < knownCount + freshCount; place++) {
      const takesKnown =
        known < knownCount &&
        (fresh === freshCount || this.#compare(columns, this.#known[known]!, this.#fresh[fresh]!) < 0);
      order[place] = takesKnown ? this.#known[known++]! : this.#fresh[fresh++]!;
    }
    return order.subarray(0, knownCount + freshCount);
  }

  #compare(columns: NeedColumns, rowA: number, rowB: number): number {
    return (
      this.#priority[rowB]! - this.#priority[rowA]! ||
      columns.arrivalMs[rowA]! - columns.arrivalMs[rowB]! ||
      this.#rank[rowA]! - this.#rank[rowB]! ||
      this.#groups.compare(columns.group[rowA]!, columns.group[rowB]!)
    );
  }

  #reserve(rowCount: number): void {
    if (rowCount <= this.#order.length) return;
    this.#known = new Uint32Array(2 * rowCount);
    this.#fresh = new Uint32Array(2 * rowCount);
    this.#order = new Uint32Array(2 * rowCount);
    this.#priority = new Int32Array(2 * rowCount);
    this.#rank = new Uint32Array(2 * rowCount);
  }
}
