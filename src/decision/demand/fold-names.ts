/** The groups of folds (A1): `fold:` and the canonical aggregate of one gang, formatted once per aggregate. */
import { formatAmounts } from '../../base/quantity.ts';
import type { StringTable } from '../../base/string-table.ts';
import type { VectorTable } from '../../base/vectors.ts';

export class FoldNames {
  readonly #groups: StringTable;
  readonly #vectors: VectorTable;
  /** By aggregate: the group's ref, to which this table holds a reference while the name has users. */
  readonly #byAggregate = new Map<number, { readonly group: number; users: number }>();

  constructor(groups: StringTable, vectors: VectorTable) {
    this.#groups = groups;
    this.#vectors = vectors;
  }

  /** Ref of the group; call `release` when done. */
  use(aggregate: number): number {
    const known = this.#byAggregate.get(aggregate);
    if (known !== undefined) {
      known.users++;
      return known.group;
    }
    const group = this.#groups.intern(`fold:${formatAmounts(this.#vectors.amountsOf(aggregate))}`);
    this.#vectors.retain(aggregate); // keeps the ref from being reused
    this.#byAggregate.set(aggregate, { group, users: 1 });
    return group;
  }

  release(aggregate: number): void {
    const known = this.#byAggregate.get(aggregate)!;
    if (--known.users > 0) return;
    this.#byAggregate.delete(aggregate);
    this.#groups.release(known.group);
    this.#vectors.release(aggregate);
  }
}
