/** Names of folds (A1): `fold:` and the canonical aggregate of one gang, put into words once per aggregate. */
import { formatAmounts } from '../../base/quantity.ts';
import type { StringTable } from '../../base/string-table.ts';
import type { VectorTable } from '../../base/vectors.ts';

export class FoldNames {
  readonly #groups: StringTable;
  readonly #vectors: VectorTable;
  /** By aggregate: the group's ref, which this table holds while somebody uses the name. */
  readonly #byAggregate = new Map<number, { readonly group: number; users: number }>();

  constructor(groups: StringTable, vectors: VectorTable) {
    this.#groups = groups;
    this.#vectors = vectors;
  }

  /** Ref of the group; give it back with `release`. */
  use(aggregate: number): number {
    const known = this.#byAggregate.get(aggregate);
    if (known !== undefined) {
      known.users++;
      return known.group;
    }
    const group = this.#groups.intern(`fold:${formatAmounts(this.#vectors.amountsOf(aggregate))}`);
    this.#vectors.retain(aggregate); // so that its ref keeps its meaning
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
